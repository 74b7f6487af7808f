//! `host-steal`: the machine is a guest, and its host ran something else on the CPUs that the program was using. The
//! evidence reports interrupts.
//!
//! Cost: stolen time of the CPUs that the program may use, averaged over them: what an average lane lost. The
//! counters have steps of 10 ms and are summed over everything that ran on a CPU, hence confidence `medium`. A
//! twentieth of the wall clock is more than their rounding and more than a busy host takes now and then.

use super::needs::log_alone;
use super::{Cost, Facts, Need, Rule, Says, Verdict, longest};
use rtscope_model::units::duration;
use rtscope_model::{Cause, Confidence, Figure, Remedy};

/// Step of the counters, nanoseconds.
const STEP_NS: u64 = 10_000_000;

pub(super) static RULE: Rule = Rule {
    id: "host-steal",
    explains: &["standing-still", "no-cpu"],
    order: 100,
    needs: Some(&Need { name: "counters of stolen time", optional: false, missing: no_counters }),
    share_min: 0.05,
    why: "every machine has a little of it",
    check,
    ..Rule::BLANK
};

/// The mean: a program that is free to run may collect more often.
const STOP_MEAN: Figure = Figure {
    path: "pauses.time_to_stop_ns.mean",
    shows: "the stolen time stays near 0, and the mean time to stop falls",
};

fn no_counters(facts: &Facts<'_>) -> Option<String> {
    if facts.context.kernel.is_none() {
        return Some(log_alone(facts, "what the host took"));
    }
    stolen(facts).is_none().then(|| "the counters of stolen time were not recorded.".to_owned())
}

/// Steal and interrupt time over the CPUs that the program may use, nanoseconds, and the number of these CPUs.
fn stolen(facts: &Facts<'_>) -> Option<(u64, u64, u64)> {
    let allowed = &facts.context.cpus_allowed;
    let mut sums: Option<(u64, u64, u64)> = None;
    for (cpu, steal, irq) in facts.counters.stolen_totals() {
        if allowed.is_empty() || allowed.contains(&cpu.0) {
            let sum = sums.get_or_insert((0, 0, 0));
            *sum = (sum.0 + steal, sum.1 + irq, sum.2 + 1);
        }
    }
    sums
}

fn check(facts: &Facts<'_>) -> Option<Verdict> {
    let (steal, irq, cpus) = stolen(facts).filter(|stolen| stolen.0 >= STEP_NS * 2)?;
    let counted = facts.overall(format!(
        "The kernel counts {} stolen from the {cpus} CPUs that the program may use, and {} of interrupts.",
        duration(steal),
        duration(irq)
    ));
    let what = "The host of this virtual machine ran something else on the program's CPUs, for ";
    let verdict = Verdict::new(Cost::Time(steal / cpus.max(1)), Confidence::Medium, what).says(Says::ShareOfEach);
    let longest = longest(facts, Cause::HostSteal, " while the host or an interrupt had the CPU");
    Some(verdict.seen([counted].into_iter().chain(longest)).remedies(remedies(facts)))
}

fn remedies(facts: &Facts<'_>) -> Vec<Remedy> {
    let unshared = "Ask for CPUs that are not shared: another class of machine, a dedicated or less crowded host.";
    let sequential = facts.runtime.sequential_flag().map(|flag| {
        Remedy::new("Until then collect with one thread, so that a collection does not wait for every CPU at once.")
            .set(flag)
            .falls(STOP_MEAN)
            .verify("Record again and compare the mean time to stop.")
    });
    [Remedy::new(unshared).falls(STOP_MEAN)].into_iter().chain(sequential).collect()
}

//! `host-steal`: the machine is a guest, and its host ran something else on the CPUs
//! that the program was using. Interrupts are told in the evidence.
//!
//! Cost: stolen time of the CPUs that the program may use, averaged over them: what
//! an average lane lost. The counters have steps of 10 ms and are summed over all
//! that ran on a CPU, hence confidence `medium`; a twentieth of the wall clock is
//! more than their rounding and more than a busy host takes now and then.

use super::{Cost, Facts, Rule, Verdict, evidence, log_alone, longest};
use crate::results::BlamedPause;
use rtscope_model::units::{duration, percent};
use rtscope_model::{Cause, Confidence, Metric, Names, Remedy};

const SHARE_MIN: f64 = 0.05;
/// Steps of the counters, nanoseconds.
const STEP_NS: u64 = 10_000_000;

pub(super) struct HostSteal;

/// Steal and interrupts over the CPUs that the program may use, nanoseconds, and how
/// many CPUs that are.
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

impl Rule for HostSteal {
    fn id(&self) -> &'static str {
        "host-steal"
    }

    fn blind(&self, facts: &Facts<'_>) -> Option<String> {
        if facts.context.kernel.is_none() {
            return Some(log_alone(facts, "what the host took"));
        }
        let why = if stolen(facts).is_none() {
            "the counters of stolen time were not recorded."
        } else {
            return None;
        };
        Some(why.to_owned())
    }

    fn check(&self, facts: &Facts<'_>) -> Option<Verdict> {
        let (steal, irq, cpus) = stolen(facts)?;
        let cost_ns = steal / cpus.max(1);
        if facts.share(cost_ns) < SHARE_MIN || steal < STEP_NS * 2 {
            return None;
        }
        let mut seen = vec![evidence(
            format!(
                "The kernel counts {} stolen from the {cpus} CPUs that the program may use, and {} of interrupts.",
                duration(steal),
                duration(irq)
            ),
            Some((facts.started, facts.end)),
        )];
        seen.extend(longest(facts, Cause::HostSteal, " while the host or an interrupt had the CPU"));
        Some(Verdict {
            confidence: Confidence::Medium,
            cost: Cost::Time(cost_ns),
            evidence: seen,
            remedies: remedies(facts),
        })
    }

    fn summary(&self, facts: &Facts<'_>, verdict: &Verdict) -> String {
        format!(
            "The host of this virtual machine ran something else on the program's CPUs, for {} of {} on each ({}).",
            duration(verdict.cost_ns()),
            duration(facts.span_ns),
            percent(facts.share(verdict.cost_ns()))
        )
    }

    fn instance(&self, blamed: &BlamedPause, _: &Names) -> Option<String> {
        let stolen = blamed.causes.iter().filter(|piece| piece.cause == Cause::HostSteal);
        let ns: u64 = stolen.clone().map(|piece| piece.ns()).sum();
        let longest = stolen.max_by_key(|piece| piece.ns())?;
        let lane = longest.lane.map_or(String::new(), |lane| format!(" for lane {lane}"));
        Some(format!("The world waited {}{lane} while the host or an interrupt had its CPU.", duration(ns)))
    }
}

fn remedies(facts: &Facts<'_>) -> Vec<Remedy> {
    // The mean: a program that is not kept from running may collect more often.
    let metric = || Metric::falls("pauses.time_to_stop_ns.mean");
    let mut remedies = vec![Remedy {
        text: "Ask for CPUs that are not shared: another class of machine, a dedicated or less crowded host.".into(),
        flag: None,
        verify: "Record again: the stolen time stays near 0, and lanes stop sooner in the mean.".into(),
        metric: metric(),
    }];
    remedies.extend(facts.runtime.sequential_flag().map(|flag| Remedy {
        text: "Until then collect with one thread, so that a collection does not wait for every CPU at once.".into(),
        flag: Some(flag),
        verify: "Record again and compare how long lanes take to stop in the mean.".into(),
        metric: metric(),
    }));
    remedies
}

//! `oversubscribed`, as it shows with OCaml: the lane that leaves a collection last is off the CPU while others try
//! in vain to lead the next one.
//!
//! OCaml allows one open section at a time. It ends when the last domain has left it; the others resume at once, fill
//! their young heaps and then spin until they may lead. That cost is part of the time in which lanes waited for each
//! other's CPUs. If only idle domains are too many for the CPUs, `idle-domain` is the finding.

use super::seen::{LANES_NAMED, sections};
use super::{idle_domain, small_minor_heap};
use crate::findings::{Facts, PAUSED, Rule, Verdict, evidence, oversubscribed};
use rtscope_model::units::{counted, duration};
use rtscope_model::{Cause, Evidence, Remedy};

pub static RULE: Rule = Rule {
    yields_to: &["short-lived-domains", "late-safepoint", "unsafe-foreign-call", "blocked-in-kernel"],
    check,
    ..oversubscribed::BASE
};

fn check(facts: &Facts<'_>) -> Option<Verdict> {
    if idle_domain::crowding(facts) {
        return None;
    }
    let verdict = (oversubscribed::BASE.check)(facts)?;
    Some(verdict.seen(late(facts)).remedies(remedies(facts)))
}

fn late(facts: &Facts<'_>) -> Option<Evidence> {
    let late = Some(&sections(facts).lane_costs.late).filter(|late| late.count > 0)?;
    let causes = sections(facts).lane_costs.late_causes();
    let causes = causes.iter().take(3).map(|(cause, process, ns)| {
        let what = off_cpu(*cause, process.map(|process| facts.names.get(process)));
        format!("{} {what}", duration(*ns))
    });
    let lanes = sections(facts).lane_costs.late_lanes();
    let lanes = lanes.iter().take(LANES_NAMED).map(|(lane, ns)| format!("domain {lane} {}", duration(*ns)));
    let waited: u64 = sections(facts).leadership.lanes().map(|(_, waited)| waited.ran_ns).sum();
    let text = format!(
        "In {} of {} the last domain to leave was off the CPU while others spun to lead the next, {} on average: {}. \
         Late were {}. The others spun for {}, summed up{}.",
        late.count,
        counted(facts.sums.count, "collection", "collections"),
        duration(late.mean_ns()),
        causes.collect::<Vec<_>>().join("; "),
        lanes.collect::<Vec<_>>().join(", "),
        duration(waited),
        sections(facts).leadership.inference()
    );
    Some(evidence(text, late.longest))
}

/// What kept a thread off its CPU, in words that follow a duration.
fn off_cpu(cause: Cause, process: Option<&str>) -> String {
    match (cause, process) {
        (Cause::Oversubscribed, _) => "for a CPU that the program's own threads had".to_owned(),
        (Cause::Preempted, Some(process)) if !process.is_empty() => format!("while {process} ran on its CPU"),
        (Cause::Preempted, _) => "while another process ran on its CPU".to_owned(),
        (Cause::Throttled, _) => "throttled by the quota".to_owned(),
        (Cause::WakeLatency, _) => "woken and not yet on a CPU".to_owned(),
        (Cause::IdleCpu, _) => "waiting for a CPU that stood idle".to_owned(),
        (Cause::Asleep, _) => "asleep".to_owned(),
        (Cause::BlockedInKernel, _) => "blocked in the kernel".to_owned(),
        _ => "not scheduled".to_owned(),
    }
}

/// Remedies that keep the domains.
fn remedies(facts: &Facts<'_>) -> Vec<Remedy> {
    let larger = small_minor_heap::larger_crowded(facts).map(small_minor_heap::Larger::or_less_often);
    let processes = Remedy::or("use processes where the work can be split: each collects for itself.");
    larger.into_iter().chain([processes.falls(PAUSED).verify("Measure the rate of work.")]).collect()
}

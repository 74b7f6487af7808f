//! `late-release`: the lane that leaves a collection last is off the CPU while others try,
//! in vain, to lead the next one.
//!
//! OCaml lets one section be open at a time. It ends when the last domain has left it; the
//! others go on at once, fill their young heaps and then spin until they may lead. Cost:
//! wall-clock time in which the last one was off the CPU while at least one other lane
//! waited to lead. A twentieth of the wall clock is felt.

use super::seen::{answers, leadership};
use super::{idle_domain, small_minor_heap};
use crate::findings::{Cost, Facts, PAUSED, Rule, Verdict, evidence, needs};
use rtscope_model::units::{counted, duration};
use rtscope_model::{Cause, Confidence, Evidence, Remedy};

/// Domains that are named.
const LANES_NAMED: usize = 4;

/// A quota or another process that takes the CPU is the better name.
pub static RULE: Rule = Rule {
    id: "late-release",
    explains: &["standing-still", "no-cpu"],
    order: 30,
    needs: Some(&needs::RUNNERS),
    yields_to: &["cpu-throttled", "preempted", "host-steal"],
    share_min: 0.05,
    why: "domains meet on a CPU now and then also where there are enough",
    check,
    ..Rule::BLANK
};

fn check(facts: &Facts<'_>) -> Option<Verdict> {
    facts.held?;
    if idle_domain::crowding(facts) {
        return None;
    }
    let crowd = match facts.context.cpus_available() {
        Some(cpus) if facts.lanes as f64 > cpus => format!("{} domains on {cpus} CPUs: the", facts.lanes),
        _ => "The".to_owned(),
    };
    let what = format!(
        "{crowd} domain that leaves a collection last was off the CPU while others spun to lead the next, for "
    );
    let sure = if leadership(facts).inferred() { Confidence::Medium } else { Confidence::High };
    let verdict = Verdict::new(Cost::Time(answers(facts).late.ns), sure, what);
    Some(verdict.seen(seen(facts)).remedies(remedies(facts)))
}

fn seen(facts: &Facts<'_>) -> [Evidence; 3] {
    let late = &answers(facts).late;
    let off = format!(
        "In {} of {} collections the last domain to leave was off the CPU while others waited to lead, {} on average.",
        late.count,
        facts.sums.count,
        duration(late.mean_ns())
    );
    let causes = answers(facts).late_causes();
    let causes = causes.iter().take(3).map(|(cause, who, ns)| {
        let what = off_cpu(*cause, who.map(|who| facts.names.get(who)));
        format!("{} {what}", duration(*ns))
    });
    let lanes = answers(facts).late_lanes();
    let lanes = lanes.iter().take(LANES_NAMED).map(|(lane, ns)| format!("domain {lane} {}", duration(*ns)));
    let meanwhile = format!(
        "Meanwhile it was {}. Late were {}.",
        causes.collect::<Vec<_>>().join("; "),
        lanes.collect::<Vec<_>>().join(", ")
    );
    let waited: Vec<_> = leadership(facts).lanes().collect();
    let waits = format!(
        "{} waited {} to lead, summed up, {} of it spinning on a CPU{}.",
        counted(waited.len() as u64, "domain", "domains"),
        duration(waited.iter().map(|(_, waited)| waited.ns).sum()),
        duration(waited.iter().map(|(_, waited)| waited.ran_ns).sum()),
        inferred(facts)
    );
    let longest_wait = leadership(facts).longest.map(|(_, from, to)| (from, to));
    [evidence(off, late.longest), evidence(meanwhile, late.longest), evidence(waits, longest_wait)]
}

/// What kept a thread off its CPU, as words after a duration.
fn off_cpu(cause: Cause, who: Option<&str>) -> String {
    match (cause, who) {
        (Cause::Oversubscribed, _) => "behind the program's own threads".to_owned(),
        (Cause::Preempted, Some(who)) if !who.is_empty() => format!("while {who} ran on its CPU"),
        (Cause::Preempted, _) => "while another process ran on its CPU".to_owned(),
        (Cause::Throttled, _) => "throttled by the quota".to_owned(),
        (Cause::WakeLatency, _) => "woken and not yet on a CPU".to_owned(),
        (Cause::IdleCpu, _) => "waiting for a CPU that stood idle".to_owned(),
        (Cause::Asleep, _) => "asleep".to_owned(),
        (Cause::BlockedInKernel, _) => "blocked in the kernel".to_owned(),
        _ => "not scheduled".to_owned(),
    }
}

/// What is to be added where waits are inferred.
pub(super) fn inferred(facts: &Facts<'_>) -> &'static str {
    if leadership(facts).inferred() {
        " (inferred from how fast they allocate: this OCaml does not post it)"
    } else {
        ""
    }
}

fn remedies(facts: &Facts<'_>) -> Vec<Remedy> {
    let cpus = facts.context.cpus_available().map(|cpus| cpus.floor().max(1.0) as usize);
    let fewer = cpus.filter(|cpus| *cpus < facts.lanes).map(|cpus| {
        let text = format!(
            "Use as many domains as there are CPUs ({cpus}), the main one among them: each domain beyond that is off \
             the CPU in every collection."
        );
        Remedy::new(text).falls(PAUSED).shows("the time in which a collection is open falls")
    });
    let larger = small_minor_heap::larger_crowded(facts).map(small_minor_heap::Larger::or_less_often);
    let processes = Remedy::or("use processes where the work can be split: each collects for itself.");
    let processes = processes.falls(PAUSED).verify("Measure the rate of work.");
    fewer.into_iter().chain(larger).chain([processes]).collect()
}

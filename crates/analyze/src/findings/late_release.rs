//! `late-release`: the lane that leaves a collection last is off the CPU while others try,
//! in vain, to lead the next one.
//!
//! OCaml lets one section be open at a time. It ends when the last domain has left it; the
//! others go on at once, fill their young heaps and then spin until they may lead. Cost:
//! wall-clock time in which the last one was off the CPU while at least one other lane
//! waited to lead. A twentieth of the wall clock is felt.

use super::{Cost, Facts, PAUSED, Rule, Runtimes, Verdict, blind_to_runners, evidence, idle_domain, small_minor_heap};
use crate::results::BlamedPause;
use rtscope_model::runtimes::OCAML;
use rtscope_model::units::{counted, duration, percent};
use rtscope_model::{Cause, Confidence, Metric, Names, Remedy};

pub(super) const ID: &str = "late-release";
const SHARE_MIN: f64 = 0.05;
/// Domains told by name.
const LANES_NAMED: usize = 4;

pub(super) struct LateRelease;

impl Rule for LateRelease {
    fn id(&self) -> &'static str {
        ID
    }

    fn runtimes(&self) -> Runtimes {
        Runtimes::Only(&OCAML)
    }

    fn blind(&self, facts: &Facts<'_>) -> Option<String> {
        blind_to_runners(facts)
    }

    fn check(&self, facts: &Facts<'_>) -> Option<Verdict> {
        facts.held?;
        if idle_domain::crowding(facts) {
            return None;
        }
        let late = facts.answers.late_release();
        if facts.share(late.ns) < SHARE_MIN {
            return None;
        }
        let mut seen = vec![evidence(
            format!(
                "In {} of {} collections the last domain to leave was off the CPU while others waited to lead, {} on average.",
                late.count,
                facts.sums.count(),
                duration(late.ns / late.count.max(1))
            ),
            late.longest,
        )];
        let causes = facts.answers.late_causes();
        let told = causes.iter().take(3).map(|(cause, who, ns)| {
            let what = off_cpu(*cause, who.map(|who| facts.names.get(who)));
            format!("{} {what}", duration(*ns))
        });
        let lanes = facts.answers.late_lanes();
        let late_ones = lanes.iter().take(LANES_NAMED).map(|(lane, ns)| format!("domain {lane} {}", duration(*ns)));
        seen.push(evidence(
            format!(
                "Meanwhile it was {}. Late were {}.",
                told.collect::<Vec<_>>().join("; "),
                late_ones.collect::<Vec<_>>().join(", ")
            ),
            late.longest,
        ));
        let waited: Vec<_> = facts.leadership.lanes().collect();
        let all: u64 = waited.iter().map(|(_, waited)| waited.ns).sum();
        let ran: u64 = waited.iter().map(|(_, waited)| waited.ran_ns).sum();
        seen.push(evidence(
            format!(
                "{} waited {} to lead, summed up, {} of it spinning on a CPU{}.",
                counted(waited.len() as u64, "domain", "domains"),
                duration(all),
                duration(ran),
                inferred(facts)
            ),
            facts.leadership.longest().map(|(_, from, to)| (from, to)),
        ));
        let sure = if facts.leadership.inferred() { Confidence::Medium } else { Confidence::High };
        Some(Verdict { confidence: sure, cost: Cost::Time(late.ns), evidence: seen, remedies: remedies(facts) })
    }

    fn summary(&self, facts: &Facts<'_>, verdict: &Verdict) -> String {
        let cpus = facts.context.cpus_available();
        let crowd = match cpus {
            Some(cpus) if facts.lanes as f64 > cpus => format!("{} domains on {} CPUs: ", facts.lanes, cpus),
            _ => String::new(),
        };
        let the = if crowd.is_empty() { "The" } else { "the" };
        format!(
            "{crowd}{the} domain that leaves a collection last was off the CPU while others spun to lead the next, for {} of {} \
             ({}).",
            duration(verdict.cost_ns()),
            duration(facts.span_ns),
            percent(facts.share(verdict.cost_ns()))
        )
    }

    /// A quota or another process that takes the CPU is the better name.
    fn yields_to(&self) -> &'static [&'static str] {
        &["cpu-throttled", "preempted", "host-steal"]
    }

    fn instance(&self, blamed: &BlamedPause, _: &Names) -> Option<String> {
        let pause = &blamed.pause;
        let waits = blamed.causes.iter().filter(|piece| piece.from >= pause.collected);
        let ns: u64 = waits.clone().filter(|piece| piece.cause == Cause::Oversubscribed).map(|piece| piece.ns()).sum();
        let lane = waits.clone().next_back()?.lane?;
        (ns.saturating_mul(2) >= pause.release_ns() && ns > 0)
            .then(|| format!("Lane {lane} left the collection {} late: it had no CPU.", duration(ns)))
    }
}

/// What kept a thread off its CPU, as words behind a duration.
pub(super) fn off_cpu(cause: Cause, who: Option<&str>) -> String {
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
    if facts.leadership.inferred() {
        " (inferred from how fast they allocate: this OCaml does not post it)"
    } else {
        ""
    }
}

fn remedies(facts: &Facts<'_>) -> Vec<Remedy> {
    let mut remedies = Vec::new();
    let cpus = facts.context.cpus_available().map(|cpus| cpus.floor().max(1.0) as usize);
    if let Some(cpus) = cpus.filter(|cpus| *cpus < facts.lanes) {
        remedies.push(Remedy {
            text: format!(
                "Use as many domains as there are CPUs ({cpus}), the main one among them: each domain beyond that is off the CPU \
                 in every collection."
            ),
            flag: None,
            verify: "Record again: the time in which a collection is open falls.".into(),
            metric: Metric::falls(PAUSED),
        });
    }
    remedies
        .extend(small_minor_heap::remedy_crowded(facts, "Or collect less often: give each domain a larger minor heap"));
    remedies.push(Remedy {
        text: "Or use processes where the work can be split: each collects for itself.".into(),
        flag: None,
        verify: "Measure the rate of work.".into(),
        metric: Metric::falls(PAUSED),
    });
    remedies
}

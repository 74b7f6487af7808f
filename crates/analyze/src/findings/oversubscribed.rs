//! `oversubscribed`: more capabilities than CPUs, so that the program's threads
//! queue behind each other when the world has to stop.
//!
//! Cost: wall-clock time inside pauses in which a thread of the program waited
//! for a CPU on which another thread of the program ran; each moment once.
//! Outside pauses sharing a CPU loses nothing: the CPU does the program's work
//! either way. With more lanes than CPUs a fiftieth of the wall clock is
//! enough; otherwise (threads of foreign calls, an unlucky placement) it has to
//! be a tenth. The CPUs are those of the affinity mask: what a quota takes is
//! `cpu-throttled`'s.

use super::{Cost, Facts, Rule, Verdict, blind_to_runners, evidence, idle_domain, longest};
use crate::results::BlamedPause;
use rtscope_model::runtimes::OCAML;
use rtscope_model::units::{duration, percent};
use rtscope_model::{Cause, Confidence, Metric, Names, Remedy};

const SHARE_MIN_LANES: f64 = 0.02;
const SHARE_MIN_OTHERS: f64 = 0.10;
/// What its remedies shorten. Not the time to stop: fewer capabilities have less nursery
/// and collect more often.
const PAUSED: &str = "pauses.total_ns";

pub(super) struct Oversubscribed;

impl Rule for Oversubscribed {
    fn id(&self) -> &'static str {
        "oversubscribed"
    }

    fn blind(&self, facts: &Facts<'_>) -> Option<String> {
        blind_to_runners(facts)
    }

    fn check(&self, facts: &Facts<'_>) -> Option<Verdict> {
        let held = facts.held?;
        if *facts.runtime == OCAML && idle_domain::crowding(facts) {
            return None;
        }
        let cost_ns = held.sibling.in_pauses_ns();
        let too_many = more_lanes_than_cpus(facts);
        if facts.share(cost_ns) < if too_many.is_some() { SHARE_MIN_LANES } else { SHARE_MIN_OTHERS } {
            return None;
        }
        let mut seen = Vec::new();
        if let Some(cpus) = too_many {
            let text = format!("{} {} run on {cpus} CPUs.", facts.lanes, facts.runtime.lane.1);
            seen.push(evidence(text, Some((facts.started, facts.end))));
        }
        seen.extend(longest(facts, Cause::Oversubscribed, " behind the program's own threads"));
        seen.push(evidence(
            format!(
                "Inside pauses a thread of the program waited for a CPU behind a sibling during {}, over the whole recording \
                 during {}.",
                duration(cost_ns),
                duration(held.sibling.ns())
            ),
            held.sibling.longest,
        ));
        let confidence = if too_many.is_some() { Confidence::High } else { Confidence::Medium };
        Some(Verdict { confidence, cost: Cost::Time(cost_ns), evidence: seen, remedies: remedies(facts, too_many) })
    }

    fn summary(&self, facts: &Facts<'_>, verdict: &Verdict) -> String {
        let who = match more_lanes_than_cpus(facts) {
            Some(cpus) => {
                let lanes = facts.runtime.lane.1;
                format!("{} {lanes} share {cpus} CPUs: during pauses the program's threads queued", facts.lanes)
            }
            None => "During pauses the program's threads queued".to_owned(),
        };
        format!(
            "{who} behind each other for {} of {} ({}).",
            duration(verdict.cost_ns()),
            duration(facts.span_ns),
            percent(facts.share(verdict.cost_ns()))
        )
    }

    /// A leader that spins behind the very lane it waits for loses nothing by that.
    fn yields_to(&self) -> &'static [&'static str] {
        &["late-safepoint", "unsafe-foreign-call", "blocked-in-kernel", "late-release"]
    }

    fn instance(&self, blamed: &BlamedPause, _: &Names) -> Option<String> {
        let queued = blamed.causes.iter().filter(|piece| piece.cause == Cause::Oversubscribed);
        let ns: u64 = queued.clone().map(|piece| piece.ns()).sum();
        let longest = queued.max_by_key(|piece| piece.ns())?;
        let lane = longest.lane.map_or(String::new(), |lane| format!(" for lane {lane}"));
        Some(format!("The world waited {}{lane} while another thread of the program ran on its CPU.", duration(ns)))
    }
}

/// CPUs that the program may use, where it has more lanes than that.
pub(super) fn more_lanes_than_cpus(facts: &Facts<'_>) -> Option<usize> {
    let context = facts.context;
    let cpus = if context.cpus_allowed.is_empty() { context.cpus_online as usize } else { context.cpus_allowed.len() };
    (cpus > 0 && facts.lanes > cpus).then_some(cpus)
}

fn remedies(facts: &Facts<'_>, too_many: Option<usize>) -> Vec<Remedy> {
    let verify = "Record again: waits behind the program's own threads are gone and pauses are shorter.".to_owned();
    let mut remedies = Vec::new();
    if let Some(cpus) = too_many {
        remedies.push(Remedy {
            text: format!("Use as many {} as there are CPUs ({cpus}).", facts.runtime.lane.1),
            flag: facts.runtime.lanes_flag(cpus),
            verify: verify.clone(),
            metric: Metric::falls(PAUSED),
        });
    } else {
        remedies.push(Remedy {
            text: format!(
                "Use fewer {}: threads of foreign calls or of other parts of the program need CPUs, too.",
                facts.runtime.lane.1
            ),
            flag: facts.runtime.lanes_flag(facts.lanes.saturating_sub(1).max(1)),
            verify: verify.clone(),
            metric: Metric::falls(PAUSED),
        });
    }
    if let Some(flag) = facts.runtime.sequential_flag().filter(|_| facts.lanes > 1) {
        remedies.push(Remedy {
            text: "If the capabilities must stay, collect with fewer threads, so that collector threads do not spin for a CPU \
                   that a sibling needs."
                .into(),
            flag: Some(flag),
            verify,
            metric: Metric::falls(PAUSED),
        });
    }
    remedies
}

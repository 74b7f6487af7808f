//! `preempted`: other processes ran on the CPUs while the program had work.
//!
//! Cost: wall-clock time in which at least one thread of the program wanted a
//! CPU on which a thread of another process ran, and no quota explains it; each
//! moment once. Every machine has some of this (the kernel's own threads, a
//! shell), and on many CPUs there is always one that is taken for a moment: what
//! counts is the share of an average lane's time, and the share of the wall clock
//! inside pauses, where one held thread holds all. A twentieth of either is more
//! than housekeeping takes. The recorder's own threads are left out: they are the
//! tracer's cost. Only kernel events that name who ran can show it.

use super::{Cost, Facts, Rule, STOP, Verdict, blind_to_runners, evidence, longest};
use crate::blame::held::{Held, Part};
use crate::results::BlamedPause;
use rtscope_model::units::{duration, percent};
use rtscope_model::{Cause, CausePiece, Confidence, Metric, NameId, Names, Remedy, Tid};
use std::collections::BTreeSet;

const SHARE_MIN: f64 = 0.05;
/// Names told in the claim and the evidence.
const NAMED_MAX: usize = 3;

pub(super) struct Preempted;

impl Rule for Preempted {
    fn id(&self) -> &'static str {
        "preempted"
    }

    fn blind(&self, facts: &Facts<'_>) -> Option<String> {
        blind_to_runners(facts)
    }

    fn check(&self, facts: &Facts<'_>) -> Option<Verdict> {
        let held = facts.held?;
        let takers = takers(facts, held);
        let ours = recorder_ns(held, &facts.recorder);
        let cost_ns = held.foreign.ns().saturating_sub(ours);
        let inside = held.foreign.in_pauses_ns().saturating_sub(ours);
        let lost: u64 = takers.iter().map(|taker| taker.1.thread_ns).sum();
        let of_a_lane = facts.share(lost / facts.lanes.max(1) as u64);
        if facts.share(cost_ns).min(of_a_lane.max(facts.share(inside))) < SHARE_MIN {
            return None;
        }
        let mut seen: Vec<_> = takers
            .into_iter()
            .take(NAMED_MAX)
            .map(|(name, part, tid)| {
                let text = format!(
                    "{} (thread {tid}) ran during {} of it, in {} pieces.",
                    called(facts.names, name),
                    duration(part.ns()),
                    part.count
                );
                evidence(text, part.longest)
            })
            .collect();
        seen.extend(longest(facts, Cause::Preempted, " behind other processes"));
        seen.push(evidence(
            format!(
                "{} of it lay inside pauses, {} outside, where it delays the program's own work.",
                duration(inside),
                duration(cost_ns.saturating_sub(inside))
            ),
            held.foreign.longest,
        ));
        Some(Verdict {
            confidence: Confidence::High,
            cost: Cost::Time(cost_ns),
            evidence: seen,
            remedies: remedies(facts, held),
        })
    }

    fn summary(&self, facts: &Facts<'_>, verdict: &Verdict) -> String {
        let named: Vec<String> = facts.held.map_or_else(Vec::new, |held| {
            // Who took less than a tenth of the worst is left to the evidence.
            let all = takers(facts, held);
            let worst = all.first().map_or(0, |taker| taker.1.ns());
            let big = all.iter().take(NAMED_MAX).filter(|taker| taker.1.ns().saturating_mul(10) >= worst);
            big.map(|taker| called(facts.names, taker.0).to_owned()).collect()
        });
        format!(
            "{} ran on the program's CPUs while it had work there, for {} of {} ({}).",
            listed(&named),
            duration(verdict.cost_ns()),
            duration(facts.span_ns),
            percent(facts.share(verdict.cost_ns()))
        )
    }

    fn instance(&self, blamed: &BlamedPause, names: &Names) -> Option<String> {
        let taken =
            |piece: &&CausePiece| matches!(piece.cause, Cause::Preempted | Cause::WakeLatency) && piece.who.is_some();
        let pieces = blamed.causes.iter().filter(taken);
        let ns: u64 = pieces.clone().map(CausePiece::ns).sum();
        let longest = pieces.max_by_key(|piece| piece.ns())?;
        let lane = longest.lane.map_or(String::new(), |lane| format!(" for lane {lane}"));
        let pid = longest.who_pid.map_or(String::new(), |pid| format!(" (pid {pid})"));
        let who = called(names, longest.who.unwrap_or_default());
        Some(format!("The world waited {}{lane} while {who}{pid} ran on its CPU.", duration(ns)))
    }
}

/// Wall-clock time that the recorder's threads took, at most.
pub(crate) fn recorder_ns(held: &Held, recorder: &BTreeSet<NameId>) -> u64 {
    held.by_name.iter().filter(|(name, _)| recorder.contains(*name)).map(|(_, (part, _))| part.ns()).sum()
}

/// Who ran instead, worst first; not the recorder.
fn takers<'a>(facts: &Facts<'_>, held: &'a Held) -> Vec<(NameId, &'a Part, Tid)> {
    let others = held.by_name.iter().filter(|(name, _)| !facts.recorder.contains(*name));
    let mut takers: Vec<_> = others.map(|(name, (part, tid))| (*name, part, *tid)).collect();
    takers.sort_by_key(|taker| std::cmp::Reverse(taker.1.ns()));
    takers
}

/// "a", "a and b", "a, b and c".
fn listed(names: &[String]) -> String {
    match names {
        [] => "Other processes".to_owned(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

fn called(names: &Names, name: NameId) -> &str {
    match names.get(name) {
        "" => "another process",
        name => name,
    }
}

fn remedies(facts: &Facts<'_>, held: &Held) -> Vec<Remedy> {
    let who = takers(facts, held).first().map_or("the other process", |taker| called(facts.names, taker.0));
    let verify = format!("Record again: {who} no longer shows in the evidence and the time to stop falls.");
    let mut remedies = vec![Remedy {
        text: format!("Keep {who} off the program's CPUs: another machine, a cpuset of its own, or a lower weight."),
        flag: Some("systemd-run --scope -p AllowedCPUs=LIST PROGRAM".into()),
        verify: verify.clone(),
        metric: Metric::falls(STOP),
    }];
    if facts.lanes > 1 {
        let fewer = facts.lanes - 1;
        remedies.push(Remedy {
            text: format!(
                "If it must stay, leave it a CPU: a collection waits for every {}, so one CPU shared with another process \
                 slows down all of them. Use {fewer}.",
                facts.runtime.lane.0
            ),
            flag: facts.runtime.lanes_flag(fewer),
            verify: verify.clone(),
            metric: Metric::falls(STOP),
        });
        remedies.extend(facts.runtime.sequential_flag().map(|flag| Remedy {
            text: "Or collect with one thread, so that a collection needs no CPU that is taken.".into(),
            flag: Some(flag),
            verify,
            metric: Metric::falls(STOP),
        }));
    }
    remedies
}

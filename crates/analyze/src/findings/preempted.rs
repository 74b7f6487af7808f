//! `preempted`: other processes ran on the CPUs while the program had work.
//!
//! Cost: wall-clock time in which at least one thread of the program wanted a CPU on which a thread of another
//! process ran, and no quota explains it; each moment once. Every machine has some of this (the kernel's own threads,
//! a shell), and among many CPUs one is always taken for a moment. What counts is the share of an average lane's
//! time, and the share of the wall clock inside pauses, where one held thread holds all. A twentieth of either is
//! more than housekeeping takes. The recorder's own threads are left out: they are the tracer's cost. Only kernel
//! events that name the thread that ran can show it.

use super::{Cost, Facts, Rule, STOP, Verdict, evidence, longest, needs, recorder_ns};
use crate::blame::held::{Held, HeldTime};
use rtscope_model::units::{counted, duration};
use rtscope_model::{Cause, Confidence, NameId, Names, Remedy, Tid};

/// Names in the claim and in the evidence.
const NAMED_MAX: usize = 3;

pub(super) static RULE: Rule = Rule {
    id: "preempted",
    explains: &["standing-still", "no-cpu"],
    order: 20,
    needs: Some(&needs::RUNNERS),
    share_min: 0.05,
    also: ", and as much of an average lane's time or of the wall clock inside pauses",
    why: "kernel threads and housekeeping take a CPU now and then on every machine; on many CPUs there is always one \
          that is taken",
    check,
    ..Rule::BLANK
};

fn check(facts: &Facts<'_>) -> Option<Verdict> {
    let held = facts.held?;
    let takers = takers(facts, held);
    let ours = recorder_ns(held, &facts.recorder);
    let cost_ns = held.foreign.ns().saturating_sub(ours);
    let inside = held.foreign.in_pauses_ns.saturating_sub(ours);
    let lost: u64 = takers.iter().map(|taker| taker.1.pieces.ns).sum();
    let of_a_lane = facts.share(lost / facts.lanes.max(1) as u64);
    if of_a_lane.max(facts.share(inside)) < RULE.share_min {
        return None;
    }
    // A process that took less than a tenth of the worst appears only in the evidence.
    let worst = takers.first().map_or(0, |taker| taker.1.ns());
    let big = takers.iter().take(NAMED_MAX).filter(|taker| taker.1.ns().saturating_mul(10) >= worst);
    let named: Vec<String> = big.map(|taker| called(facts.names, taker.0).to_owned()).collect();
    let taken = takers.iter().take(NAMED_MAX).map(|(name, part, tid)| {
        let process = called(facts.names, *name);
        let text = format!(
            "{process} (thread {tid}) ran during {} of it, in {} pieces.",
            duration(part.ns()),
            part.pieces.count
        );
        evidence(text, part.pieces.longest)
    });
    let mut seen: Vec<_> = taken.collect();
    seen.extend(longest(facts, Cause::Preempted, " for CPUs that other processes had"));
    let outside = cost_ns.saturating_sub(inside);
    let text = format!(
        "{} of it lay inside pauses, {} outside, where it delays the program's own work.",
        duration(inside),
        duration(outside)
    );
    seen.push(evidence(text, held.foreign.pieces.longest));
    let what = format!("{} ran on the program's CPUs while it had work there, for ", listed(&named));
    let verdict = Verdict::new(Cost::Time(cost_ns), Confidence::High, what);
    Some(verdict.seen(seen).remedies(remedies(facts, takers.first().map(|taker| taker.0))))
}

/// The processes that ran instead, worst first, without the recorder.
fn takers<'a>(facts: &Facts<'_>, held: &'a Held) -> Vec<(NameId, &'a HeldTime, Tid)> {
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

fn remedies(facts: &Facts<'_>, worst: Option<NameId>) -> Vec<Remedy> {
    let process = worst.map_or("the other process", |worst| called(facts.names, worst));
    let gone = |remedy: Remedy| {
        remedy.falls(STOP).shows(&format!("{process} no longer shows in the evidence and the time to stop falls"))
    };
    let text =
        format!("Keep {process} off the program's CPUs: another machine, a cpuset of its own, or a lower weight.");
    let mut remedies = vec![gone(Remedy::new(text))];
    if facts.lanes > 1 {
        let cpus = facts.context.cpus().unwrap_or(facts.lanes);
        let fewer = (facts.lanes.min(cpus) - 1).max(1);
        let (one, many) = facts.runtime.lane;
        let text = format!(
            "If it must stay, run with {}: a collection waits for every {one}, so one that shares its CPU with another \
             process slows down all of them.",
            counted(fewer as u64, one, many)
        );
        remedies.push(gone(Remedy::new(text)).set(facts.runtime.lanes_flag(fewer)));
        remedies.extend(facts.runtime.sequential_flag().map(|flag| {
            gone(Remedy::or("collect with one thread, so that a collection needs no CPU that is taken.").set(flag))
        }));
    }
    remedies
}

//! `leadership-contention`: lanes with full young heaps wait for the one collection that
//! is open, and nothing kept its lanes off the CPU.
//!
//! Cost: wall-clock time in which some lane waited to lead, without the part that late
//! releases explain. A tenth of the wall clock is felt.

use super::late_release::inferred;
use super::seen::{answers, leadership};
use super::small_minor_heap;
use crate::findings::{Cost, Facts, Rule, Verdict, evidence};
use rtscope_model::Confidence;
use rtscope_model::units::duration;

/// Domains that are named.
const LANES_NAMED: usize = 4;

pub static RULE: Rule = Rule {
    id: "leadership-contention",
    explains: &["standing-still"],
    order: 170,
    yields_to: &[
        "late-release",
        "idle-domain",
        "cpu-throttled",
        "preempted",
        "oversubscribed",
        "unsafe-foreign-call",
        "fork-pause",
    ],
    share_min: 0.10,
    why: "minor heaps that fill at the same time make domains wait a little in every program",
    check,
    ..Rule::BLANK
};

fn check(facts: &Facts<'_>) -> Option<Verdict> {
    let cost_ns = leadership(facts).wall_ns().saturating_sub(answers(facts).late.ns);
    let mut lanes: Vec<_> = leadership(facts).lanes().collect();
    lanes.sort_by_key(|(_, waited)| std::cmp::Reverse(waited.ns));
    let named = lanes.iter().take(LANES_NAMED);
    let named = named.map(|(lane, waited)| format!("domain {lane} {} in {} waits", duration(waited.ns), waited.count));
    let text = format!("To lead a collection waited {}{}.", named.collect::<Vec<_>>().join(", "), inferred(facts));
    let seen = evidence(text, leadership(facts).longest.map(|(_, from, to)| (from, to)));
    let sure = if leadership(facts).inferred() { Confidence::Low } else { Confidence::Medium };
    let what =
        "Domains whose minor heap was full waited for another collection to end before they could begin theirs, for ";
    let larger = small_minor_heap::larger_crowded(facts).map(small_minor_heap::Larger::less_often);
    Some(Verdict::new(Cost::Time(cost_ns), sure, what).seen([seen]).remedies(larger))
}

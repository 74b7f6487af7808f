//! `leadership-contention`: lanes with full young heaps wait for the one open collection, and no cause with a name
//! keeps its lanes off the CPU.
//!
//! Cost: wall-clock time in which any lane waited to lead. A tenth of the wall clock is noticeable.

use super::seen::{LANES_NAMED, sections};
use super::small_minor_heap;
use crate::findings::oversubscribed::{more_lanes_than_cpus, one_for_each_cpu};
use crate::findings::{Cost, Facts, Rule, Verdict, evidence};
use rtscope_model::Confidence;
use rtscope_model::units::duration;

pub static RULE: Rule = Rule {
    id: "leadership-contention",
    explains: &["standing-still"],
    order: 170,
    yields_to: &[
        "short-lived-domains",
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
    let cost_ns = sections(facts).leadership.wall.ns();
    let mut lanes: Vec<_> = sections(facts).leadership.lanes().collect();
    lanes.sort_by_key(|(_, waited)| std::cmp::Reverse(waited.ns));
    let named = lanes.iter().take(LANES_NAMED);
    let named = named.map(|(lane, waited)| format!("domain {lane} {} in {} waits", duration(waited.ns), waited.count));
    let text = format!(
        "To lead a collection waited {}{}.",
        named.collect::<Vec<_>>().join(", "),
        sections(facts).leadership.inference()
    );
    let seen = evidence(text, sections(facts).leadership.longest.map(|(_, from, to)| (from, to)));
    let sure = if sections(facts).leadership.inferred() { Confidence::Low } else { Confidence::Medium };
    let what =
        "Domains whose minor heap was full waited for another collection to end before they could begin theirs, for ";
    let fewer = more_lanes_than_cpus(facts).map(|cpus| one_for_each_cpu(facts, cpus));
    let larger = small_minor_heap::larger_crowded(facts)
        .map(|larger| if fewer.is_some() { larger.or_less_often() } else { larger.less_often() });
    Some(Verdict::new(Cost::Time(cost_ns), sure, what).seen([seen]).remedies(fewer.into_iter().chain(larger)))
}

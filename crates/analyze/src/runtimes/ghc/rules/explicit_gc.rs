//! `explicit-gc`: collections that the program requested (`performGC` and similar functions).
//!
//! The log does not show the origin. What remains after allocation, large objects, idleness, the heap limit and the
//! end of the program are ruled out is a call, hence medium confidence. Cost: the wall-clock time of these pauses,
//! each from its request until the last lane has resumed. Threshold: a fiftieth of the wall clock, in at least three
//! of them.

use super::seen::{ALLOCATION, triggers};
use crate::findings::nodes::{EXPLICIT_GC, EXPLICIT_MIN};
use crate::findings::{Cost, Facts, PAUSED, Rule, Verdict, evidence};
use crate::runtimes::ghc::triggers::Early;
use rtscope_model::units::{bytes, duration};
use rtscope_model::{Confidence, Evidence, Remedy};

pub static RULE: Rule = Rule { needs: Some(&ALLOCATION), check, ..EXPLICIT_GC };

fn check(facts: &Facts<'_>) -> Option<Verdict> {
    let requested = triggers(facts).requested();
    if requested.waits.count < EXPLICIT_MIN || triggers(facts).census() {
        return None;
    }
    let period = requested.period_ns().map_or(String::new(), |ns| format!(", about every {}", duration(ns)));
    let what = format!(
        "The program asks for collections itself (performGC): {} that its allocation does not explain{period}, {} \
         each: ",
        requested.waits.count,
        duration(requested.waits.mean_ns())
    );
    let verdict = Verdict::new(Cost::Time(requested.waits.ns), Confidence::Medium, what);
    Some(verdict.seen(seen(facts, requested)).remedies(remedies()))
}

fn seen(facts: &Facts<'_>, requested: &Early) -> Vec<Evidence> {
    let due = triggers(facts).due_bytes().unwrap_or_default();
    let kind = match (requested.majors, requested.waits.count) {
        (majors, count) if majors == count => "all of them major".to_owned(),
        (majors, _) => format!("{majors} of them major"),
    };
    let mut seen = vec![facts.overall(format!(
        "Before each of the {} ({kind}) all capabilities together had allocated {} since the collection before, on average; \
         the runtime asks for one when a capability has filled its {} (-A).",
        requested.waits.count,
        bytes(requested.mean_allocated_bytes()),
        bytes(due)
    ))];
    if let Some(period) = requested.period_ns() {
        seen.push(evidence(format!("Most of them come about {} after the one before.", duration(period)), None));
    }
    let text = format!(
        "The longest took {}, {} on average.",
        duration(requested.waits.longest_ns()),
        duration(requested.waits.mean_ns())
    );
    seen.push(evidence(text, requested.waits.longest));
    let limit = match triggers(facts).near_limit {
        0 => "the heap limit (-M) was not near".to_owned(),
        count => format!("{count} more came near the heap limit (-M) and are not counted"),
    };
    let text = format!(
        "Ruled out: large objects (too little was allocated, or they ask for no other collection either), idleness \
         (-I), the end of the program; {limit}. What remains is a call from Haskell or C."
    );
    seen.push(evidence(text, None));
    seen
}

fn remedies() -> [Remedy; 2] {
    [
        Remedy::new(
            "Remove the calls of performGC, performMajorGC and performMinorGC (System.Mem; hs_perform_gc in C): the \
             runtime collects when it has to.",
        )
        .falls(PAUSED)
        .shows("these collections are gone and the sum of pauses falls"),
        Remedy::new(
            "If they must stay (finalizers, memory figures), call once after a large phase and not by a timer or for \
             each request.",
        )
        .falls(PAUSED)
        .shows("few of them are left and the sum of pauses falls"),
    ]
}

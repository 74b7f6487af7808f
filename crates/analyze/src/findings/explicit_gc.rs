//! `explicit-gc`: collections that the program asked for (`performGC` and its kin).
//!
//! The log does not say who asked. What is left when allocation, large objects,
//! idleness, the heap limit and the end of the program are ruled out is a call, hence
//! medium confidence. Cost: these pauses on the wall clock, each from its request
//! until the last lane is back. A fiftieth of the wall clock in at least three.

use super::{Cost, Facts, PAUSED, Rule, Runtimes, Verdict, evidence};
use crate::results::BlamedPause;
use crate::runtimes::ghc::triggers::Early;
use rtscope_model::runtimes::GHC;
use rtscope_model::units::{bytes, duration, percent};
use rtscope_model::{Confidence, Evidence, Metric, Names, Remedy};

const COUNT_MIN: u64 = 3;
const SHARE_MIN: f64 = 0.02;

pub(super) struct ExplicitGc;

impl Rule for ExplicitGc {
    fn id(&self) -> &'static str {
        "explicit-gc"
    }

    fn runtimes(&self) -> Runtimes {
        Runtimes::Only(&GHC)
    }

    fn blind(&self, facts: &Facts<'_>) -> Option<String> {
        blind_to_allocation(facts)
    }

    fn check(&self, facts: &Facts<'_>) -> Option<Verdict> {
        let asked = facts.triggers.asked();
        if asked.count < COUNT_MIN || facts.share(asked.ns) < SHARE_MIN || facts.triggers.census() {
            return None;
        }
        let confidence = Confidence::Medium;
        Some(Verdict { confidence, cost: Cost::Time(asked.ns), evidence: seen(facts, asked), remedies: remedies() })
    }

    fn summary(&self, facts: &Facts<'_>, verdict: &Verdict) -> String {
        let asked = facts.triggers.asked();
        let period = asked.period_ns().map_or(String::new(), |ns| format!(", about every {}", duration(ns)));
        format!(
            "The program asks for collections itself (performGC): {} that its allocation does not explain{period}, {} each: \
             {} of {} ({}).",
            asked.count,
            duration(asked.mean_ns()),
            duration(verdict.cost_ns()),
            duration(facts.span_ns),
            percent(facts.share(verdict.cost_ns()))
        )
    }

    fn instance(&self, _: &BlamedPause, _: &Names) -> Option<String> {
        // One pause does not tell why it was asked for: that takes the ones before it.
        None
    }
}

fn seen(facts: &Facts<'_>, asked: &Early) -> Vec<Evidence> {
    let due = facts.triggers.due_bytes().unwrap_or_default();
    let kind = match (asked.majors, asked.count) {
        (majors, count) if majors == count => "all of them major".to_owned(),
        (majors, _) => format!("{majors} of them major"),
    };
    let mut seen = vec![evidence(
        format!(
            "Before each of the {} ({kind}) all lanes together had allocated {} since the collection before, on average; the \
             runtime asks for one when a lane has filled its {} (-A).",
            asked.count,
            bytes(asked.mean_allocated_bytes()),
            bytes(due)
        ),
        Some((facts.started, facts.end)),
    )];
    if let Some(period) = asked.period_ns() {
        seen.push(evidence(format!("Most of them come about {} after the one before.", duration(period)), None));
    }
    let text = format!("The longest took {}, {} on average.", duration(asked.ns_max()), duration(asked.mean_ns()));
    seen.push(evidence(text, asked.longest));
    let limit = match facts.triggers.near_limit() {
        0 => "the heap limit (-M) was not near".to_owned(),
        count => format!("{count} more came near the heap limit (-M) and are not counted"),
    };
    seen.push(evidence(
        format!(
            "Ruled out: large objects (too little was allocated, or they ask for no other collection either), idleness (-I), the end of the program; {limit}. What \
             remains is a call from Haskell or C."
        ),
        None,
    ));
    seen
}

/// Why it is not known what a collection followed from.
pub(super) fn blind_to_allocation(facts: &Facts<'_>) -> Option<String> {
    if !facts.runtime.is_known() {
        return Some("no log of a runtime was recorded.".to_owned());
    }
    facts.triggers.due_bytes().is_none().then(|| {
        "the log does not say how large the allocation area is: collections were logged without heap figures."
            .to_owned()
    })
}

fn remedies() -> Vec<Remedy> {
    vec![
        Remedy {
            text: "Remove the calls of performGC, performMajorGC and performMinorGC (System.Mem; hs_perform_gc in C): the \
                   runtime collects when it has to."
                .into(),
            flag: None,
            verify: "Record again: these collections are gone and the sum of pauses falls.".into(),
            metric: Metric::falls(PAUSED),
        },
        Remedy {
            text: "If they must stay (finalizers, memory figures), call once after a large phase and not by a timer or for \
                   each request."
                .into(),
            flag: None,
            verify: "Record again: few of them are left and the sum of pauses falls.".into(),
            metric: Metric::falls(PAUSED),
        },
    ]
}

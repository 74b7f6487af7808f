//! `explicit-gc` for a runtime that posts who asked: OCaml writes a span around `Gc.minor`,
//! `Gc.full_major`, `Gc.compact` and their kin.
//!
//! Cost: wall-clock time in which some domain was in such a call. A fiftieth of the wall
//! clock in at least three.

use super::{Cost, Facts, PAUSED, Rule, Runtimes, Verdict, evidence};
use crate::results::BlamedPause;
use rtscope_model::runtimes::OCAML;
use rtscope_model::units::{counted, duration, percent};
use rtscope_model::{Confidence, Metric, Names, Remedy};

const COUNT_MIN: u64 = 3;
const SHARE_MIN: f64 = 0.02;

pub(super) struct AskedGc;

impl Rule for AskedGc {
    fn id(&self) -> &'static str {
        "explicit-gc"
    }

    fn runtimes(&self) -> Runtimes {
        Runtimes::Only(&OCAML)
    }

    fn blind(&self, _: &Facts<'_>) -> Option<String> {
        None
    }

    fn check(&self, facts: &Facts<'_>) -> Option<Verdict> {
        let asked = facts.answers.asked();
        let cost_ns = facts.answers.asked_wall_ns();
        if asked.count < COUNT_MIN || facts.share(cost_ns) < SHARE_MIN {
            return None;
        }
        let text = format!(
            "{}, {} each, {} at the longest.",
            counted(asked.count, "call", "calls"),
            duration(asked.ns / asked.count.max(1)),
            duration(asked.longest.map_or(0, |(from, to)| to.since(from)))
        );
        Some(Verdict {
            confidence: Confidence::High,
            cost: Cost::Time(cost_ns),
            evidence: vec![evidence(text, asked.longest)],
            remedies: vec![Remedy {
                text: "Leave these calls out: the runtime collects by what is allocated. Where memory has to be given back, do it \
                       once, when the program is idle."
                    .into(),
                flag: None,
                verify: "Record again: this finding is gone and collections take less of the run.".into(),
                metric: Metric::falls(PAUSED),
            }],
        })
    }

    fn summary(&self, facts: &Facts<'_>, verdict: &Verdict) -> String {
        format!(
            "The program asks for collections itself (Gc.full_major, Gc.compact or the like): {}, which took {} of {} ({}).",
            counted(facts.answers.asked().count, "call", "calls"),
            duration(verdict.cost_ns()),
            duration(facts.span_ns),
            percent(facts.share(verdict.cost_ns()))
        )
    }

    fn instance(&self, _: &BlamedPause, _: &Names) -> Option<String> {
        None
    }
}

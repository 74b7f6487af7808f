//! `late-safepoint`: the program's own code ran on while the world waited for it.
//! A GHC thread stops where it allocates; a loop that does not allocate has no such
//! place unless it is compiled with yields.
//!
//! Cost: time that the world waited for a lane which was on a CPU in the program's
//! code, in waits too long for code that allocates. Each moment waits for one lane,
//! so nothing is counted twice. The length of these waits is exact; which part of
//! them was the program's code comes from samples. A twentieth of the wall clock is
//! felt.

use super::{Cost, Facts, Rule, Runtimes, STOP, Verdict, blind_to_code, evidence, found_in, listed_code, longest};
use crate::kernel::code::LATE_MIN_NS;
use crate::results::BlamedPause;
use rtscope_model::runtimes::GHC;
use rtscope_model::units::{duration, percent};
use rtscope_model::{Cause, CodeKind, Confidence, Metric, Names, Remedy, Symbol};

const SHARE_MIN: f64 = 0.05;
/// So many samples are more than chance.
const SAMPLES_SURE: u64 = 5;

pub(super) struct LateSafepoint;

impl Rule for LateSafepoint {
    fn id(&self) -> &'static str {
        "late-safepoint"
    }

    fn runtimes(&self) -> Runtimes {
        Runtimes::Only(&GHC)
    }

    fn blind(&self, facts: &Facts<'_>) -> Option<String> {
        blind_to_code(facts)
    }

    fn check(&self, facts: &Facts<'_>) -> Option<Verdict> {
        let stops = facts.code?.stops();
        let cost_ns = stops.part_ns(CodeKind::Program);
        if facts.share(cost_ns) < SHARE_MIN {
            return None;
        }
        let mut seen = vec![evidence(
            format!(
                "The world waited {} for a lane that was on a CPU, where that took {} and more: {}.",
                duration(stops.ns),
                duration(LATE_MIN_NS),
                found_in(facts, stops, CodeKind::Program, "the program's own code"),
            ),
            stops.longest.map(|piece| (piece.from, piece.to)),
        )];
        seen.extend(longest(facts, Cause::LateSafepoint, " for the program's own code to come to a safepoint"));
        let sure = stops.samples >= SAMPLES_SURE;
        let confidence = if sure { Confidence::High } else { Confidence::Medium };
        Some(Verdict { confidence, cost: Cost::Time(cost_ns), evidence: seen, remedies: remedies(facts) })
    }

    fn summary(&self, facts: &Facts<'_>, verdict: &Verdict) -> String {
        let code = facts.code.map_or_else(Vec::new, |code| code.stops().top(CodeKind::Program));
        format!(
            "{} ran on without a place to stop while every other capability waited for a collection, for {} of {} ({}).",
            listed_code(facts.symbols, &code, "The program's own code"),
            duration(verdict.cost_ns()),
            duration(facts.span_ns),
            percent(facts.share(verdict.cost_ns()))
        )
    }

    fn instance(&self, blamed: &BlamedPause, _: &Names) -> Option<String> {
        let late = blamed.causes.iter().filter(|piece| piece.cause == Cause::LateSafepoint);
        let ns: u64 = late.clone().map(|piece| piece.ns()).sum();
        let longest = late.max_by_key(|piece| piece.ns())?;
        let lane = longest.lane.map_or("a lane".to_owned(), |lane| format!("lane {lane}"));
        Some(format!("The world waited {} while {lane} ran code that came to no safepoint.", duration(ns)))
    }
}

/// `Main` of `Main.$wspin`.
fn module(symbol: &Symbol) -> Option<&str> {
    let (module, _) = symbol.name.split_once(".$").or_else(|| symbol.name.rsplit_once('.'))?;
    module.starts_with(char::is_uppercase).then_some(module)
}

fn remedies(facts: &Facts<'_>) -> Vec<Remedy> {
    let verify = "Record again: this finding is gone and the time to stop falls.".to_owned();
    let worst = facts.code.and_then(|code| code.stops().top(CodeKind::Program).first().copied());
    let module = worst.and_then(|(symbol, _)| module(facts.symbols.get(symbol)));
    let at = module.map_or("the module of that code".to_owned(), |module| format!("the module {module}"));
    vec![
        Remedy {
            text: format!("Compile {at} so that loops which do not allocate can be stopped, too."),
            flag: Some("{-# OPTIONS_GHC -fno-omit-yields #-}".into()),
            verify: verify.clone(),
            metric: Metric::falls(STOP),
        },
        Remedy {
            text: "Or cut the work into chunks of less than a millisecond and call `yield` between them.".into(),
            flag: None,
            verify,
            metric: Metric::falls(STOP),
        },
    ]
}

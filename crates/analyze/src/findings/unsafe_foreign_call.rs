//! `unsafe-foreign-call`: a call into another language kept its capability while
//! the world waited for it. A call imported `unsafe` cannot be stopped; one
//! imported `safe` gives the capability up first.
//!
//! Cost: time that the world waited for a lane whose thread was in such a call: on a
//! CPU (by samples, as in `late-safepoint`) or asleep in the kernel, where the runtime
//! itself only ever sleeps on its locks. Each moment waits for one lane.

use super::{Cost, Facts, Rule, STOP, Verdict, blind_to_code, evidence, found_in, listed_code, longest};
use crate::kernel::code::{CodeSamples, LATE_MIN_NS, called};
use crate::results::BlamedPause;
use rtscope_model::runtimes::OCAML;
use rtscope_model::units::{duration, percent};
use rtscope_model::{Cause, CodeKind, Confidence, Metric, Names, Remedy, SymbolId};

const SHARE_MIN: f64 = 0.05;
/// So many samples are more than chance.
const SAMPLES_SURE: u64 = 5;

pub(super) struct UnsafeForeignCall;

impl Rule for UnsafeForeignCall {
    fn id(&self) -> &'static str {
        "unsafe-foreign-call"
    }

    fn blind(&self, facts: &Facts<'_>) -> Option<String> {
        blind_to_code(facts)
    }

    fn check(&self, facts: &Facts<'_>) -> Option<Verdict> {
        let code = facts.code?;
        let (stops, asleep) = (code.stops(), code.asleep());
        let cost_ns = stops.part_ns(CodeKind::Foreign) + asleep.ns;
        if facts.share(cost_ns) < SHARE_MIN {
            return None;
        }
        let mut seen = Vec::new();
        if stops.sampled_ns(CodeKind::Foreign) > 0 {
            let text = format!(
                "The world waited {} for a lane that was on a CPU, where that took {} and more: {}.",
                duration(stops.ns),
                duration(LATE_MIN_NS),
                found_in(facts, stops, CodeKind::Foreign, "foreign code"),
            );
            seen.push(evidence(text, stops.longest.map(|piece| (piece.from, piece.to))));
        }
        if asleep.ns > 0 {
            let places: Vec<_> = asleep.top(CodeKind::Foreign);
            let text = format!(
                "{} {} in {} waits while the thread of the lane was asleep in {}.",
                if seen.is_empty() { "The world waited" } else { "It waited another" },
                duration(asleep.ns),
                asleep.count,
                listed_code(facts.symbols, &places, "the kernel")
            );
            seen.push(evidence(text, asleep.longest.map(|piece| (piece.from, piece.to))));
        }
        if stops.sampled_ns(CodeKind::Foreign) > 0 {
            seen.extend(longest(facts, Cause::ForeignCall, " for foreign calls"));
        }
        let sure = stops.samples >= SAMPLES_SURE && asleep.ns * 2 < cost_ns;
        let confidence = if sure { Confidence::High } else { Confidence::Medium };
        Some(Verdict { confidence, cost: Cost::Time(cost_ns), evidence: seen, remedies: remedies(facts, code) })
    }

    fn summary(&self, facts: &Facts<'_>, verdict: &Verdict) -> String {
        let lane = facts.runtime.lane.0;
        let (who, did) = match facts.code {
            Some(code) if mostly_asleep(code) => {
                let places = listed_code(facts.symbols, &code.asleep().top(CodeKind::Foreign), "the kernel");
                ("A foreign call".to_owned(), format!("slept in {places} and kept its {lane}"))
            }
            code => {
                let top = code.map_or_else(Vec::new, |code| code.stops().top(CodeKind::Foreign));
                let who = listed_code(facts.symbols, &top, "Foreign code");
                (who, format!("called from {}, kept its {lane}", facts.runtime.language))
            }
        };
        let comma = if did.starts_with("called") { ", " } else { " " };
        format!(
            "{who}{comma}{did} while every other one waited for a collection, for {} of {} ({}).",
            duration(verdict.cost_ns()),
            duration(facts.span_ns),
            percent(facts.share(verdict.cost_ns()))
        )
    }

    fn instance(&self, blamed: &BlamedPause, _: &Names) -> Option<String> {
        let calls = blamed.causes.iter().filter(|piece| piece.cause == Cause::ForeignCall);
        let ns: u64 = calls.clone().map(|piece| piece.ns()).sum();
        let longest = calls.max_by_key(|piece| piece.ns())?;
        let lane = longest.lane.map_or("a lane".to_owned(), |lane| format!("lane {lane}"));
        Some(format!("The world waited {} while {lane} was in a foreign call that kept it.", duration(ns)))
    }
}

fn mostly_asleep(code: &CodeSamples) -> bool {
    code.asleep().ns > code.stops().part_ns(CodeKind::Foreign)
}

fn remedies(facts: &Facts<'_>, code: &CodeSamples) -> Vec<Remedy> {
    let verify = "Record again: this finding is gone and the time to stop falls.".to_owned();
    let named = |places: Vec<(SymbolId, u64)>| places.first().map(|(id, _)| called(facts.symbols.get(*id)).to_owned());
    let (what, import) = if mostly_asleep(code) {
        ("the function that waits there".to_owned(), "foreign import ccall interruptible \"NAME\" …".to_owned())
    } else {
        let name = named(code.stops().top(CodeKind::Foreign)).unwrap_or_else(|| "NAME".into());
        (format!("`{name}`"), format!("foreign import ccall safe \"{name}\" …"))
    };
    let first = if *facts.runtime == OCAML {
        Remedy {
            text: format!(
                "Let {what} (or whatever calls it) give the domain up around its work, and take it back before it touches an \
                 OCaml value again: collections then do not wait for it."
            ),
            flag: Some("caml_release_runtime_system(); …; caml_acquire_runtime_system();".into()),
            verify: verify.clone(),
            metric: Metric::falls(STOP),
        }
    } else {
        Remedy {
            text: format!(
                "Import {what} (or whatever calls it) `safe` instead of `unsafe`: the call then costs about 100 ns more and \
                 gives its capability up first."
            ),
            flag: Some(import),
            verify: verify.clone(),
            metric: Metric::falls(STOP),
        }
    };
    vec![
        first,
        Remedy {
            text: "Or give it less work for each call, so that it returns within a millisecond.".into(),
            flag: None,
            verify,
            metric: Metric::falls(STOP),
        },
    ]
}

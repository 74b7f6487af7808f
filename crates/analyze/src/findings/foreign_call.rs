//! `unsafe-foreign-call`: a call into another language, or of a primitive of the runtime, held its lane while the world
//! waited for it. Most runtimes let a call release its lane first; one that does not cannot be stopped.
//!
//! Cost: time that the world waited for a lane whose thread was in such a call: on a CPU (by samples, as in
//! `late-safepoint`) or asleep in the kernel, where the runtime itself only ever sleeps on its locks. Each moment is
//! a wait for one lane.

use super::{
    Cost, Facts, Rule, SAMPLES_SURE, STOP, Verdict, evidence, listed_code, longest, needs, stopped_late, sure,
};
use crate::kernel::code::{CodeSamples, called};
use rtscope_model::units::duration;
use rtscope_model::{Cause, CodeKind, Evidence, Remedy, Setting};

pub(super) static RULE: Rule = Rule {
    id: "unsafe-foreign-call",
    explains: &["standing-still", "kept"],
    order: 70,
    needs: Some(&needs::CODE),
    share_min: 0.05,
    also: ", of waits in which the lane had a CPU for 1.5 ms and more",
    why: "code that allocates stops within microseconds, or where it missed the request within a millisecond",
    check,
    ..Rule::BLANK
};

fn check(facts: &Facts<'_>) -> Option<Verdict> {
    let code = facts.code?;
    let (stops, asleep) = (&code.stops, &code.asleep);
    let cost_ns = stops.part_ns(CodeKind::Foreign) + asleep.lengths.ns;
    let sure = sure(stops.samples >= SAMPLES_SURE && asleep.lengths.ns * 2 < cost_ns);
    let lane = facts.runtime.lane.0;
    let call = if mostly_asleep(code) {
        let places = listed_code(facts.symbols, &asleep.top(CodeKind::Foreign), "the kernel");
        format!("A foreign call slept in {places} and kept its {lane}")
    } else {
        let place = listed_code(facts.symbols, &stops.top(CodeKind::Foreign), "Foreign code");
        format!("{place}, called from {}, kept its {lane}", facts.runtime.language)
    };
    let what = format!("{call} while every other one waited for a collection, for ");
    let verdict = Verdict::new(Cost::Time(cost_ns), sure, what);
    Some(verdict.seen(seen(facts, code)).remedies(remedies(facts, code)))
}

fn mostly_asleep(code: &CodeSamples) -> bool {
    code.asleep.lengths.ns > code.stops.part_ns(CodeKind::Foreign)
}

fn seen(facts: &Facts<'_>, code: &CodeSamples) -> Vec<Evidence> {
    let (stops, asleep) = (&code.stops, &code.asleep);
    let on_cpu = stops.sampled_ns(CodeKind::Foreign) > 0;
    let mut seen = Vec::new();
    if on_cpu {
        let what = if is_primitive(facts, code) { "code that cannot be stopped" } else { "foreign code" };
        seen.push(stopped_late(facts, stops, CodeKind::Foreign, what));
    }
    if asleep.lengths.ns > 0 {
        let text = format!(
            "{} {} in {} waits while the thread of the {} was asleep in {}.",
            if on_cpu { "Another" } else { "Pauses waited" },
            duration(asleep.lengths.ns),
            asleep.lengths.count,
            facts.runtime.lane.0,
            listed_code(facts.symbols, &asleep.top(CodeKind::Foreign), "the kernel")
        );
        seen.push(evidence(text, asleep.lengths.longest));
    }
    seen.extend(longest(facts, Cause::ForeignCall, " for foreign calls").filter(|_| on_cpu));
    seen
}

/// Whether most of it is a primitive of the runtime: how that is called cannot be changed.
fn is_primitive(facts: &Facts<'_>, code: &CodeSamples) -> bool {
    let top = code.stops.top(CodeKind::Foreign);
    !mostly_asleep(code) && top.first().is_some_and(|(id, _)| facts.symbols.get(*id).kind == CodeKind::Runtime)
}

fn remedies(facts: &Facts<'_>, code: &CodeSamples) -> Vec<Remedy> {
    let call = facts.runtime.knobs.foreign_call.filter(|_| !is_primitive(facts, code));
    let Some(call) = call else {
        return vec![Remedy::new("Give each call less work, so that it returns within a millisecond.").falls(STOP)];
    };
    // For a call that sleeps, only the place in the kernel is visible.
    let top = if mostly_asleep(code) { Vec::new() } else { code.stops.top(CodeKind::Foreign) };
    let name = top.first().map(|(id, _)| called(facts.symbols.get(*id)));
    let what = name.map_or("the function that waits there".to_owned(), |name| format!("`{name}`"));
    vec![
        Remedy::new(call.text.replace("{}", &what)).set(call.line_for(name).map(Setting::Code)).falls(STOP),
        Remedy::or("give it less work for each call, so that it returns within a millisecond.").falls(STOP),
    ]
}

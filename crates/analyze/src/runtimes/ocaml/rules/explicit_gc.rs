//! `explicit-gc` for a runtime that posts the caller: OCaml writes a span around `Gc.minor`, `Gc.full_major`,
//! `Gc.compact` and similar functions.
//!
//! Cost: wall-clock time in which any domain was in such a call. Threshold: a fiftieth of the wall clock, in at least
//! three calls.

use super::seen::sections;
use crate::findings::nodes::{EXPLICIT_GC, EXPLICIT_MIN};
use crate::findings::{Cost, Facts, PAUSED, Rule, Verdict, evidence};
use rtscope_model::units::{counted, duration};
use rtscope_model::{Confidence, Remedy};

pub static RULE: Rule = Rule { check, ..EXPLICIT_GC };

fn check(facts: &Facts<'_>) -> Option<Verdict> {
    let requested = &sections(facts).lane_costs.requested;
    if requested.count < EXPLICIT_MIN {
        return None;
    }
    let calls = counted(requested.count, "call", "calls");
    let text = format!(
        "{calls}, {} each, {} at the longest.",
        duration(requested.mean_ns()),
        duration(requested.longest_ns())
    );
    let what = format!(
        "The program asks for collections itself (Gc.full_major, Gc.compact or the like): {calls}, which took "
    );
    let leave_out = "Leave these calls out: the runtime collects by what is allocated. Where memory has to be given \
                     back, do it once, when the program is idle.";
    let verdict = Verdict::new(Cost::Time(sections(facts).lane_costs.requested_wall.ns()), Confidence::High, what);
    Some(verdict.seen([evidence(text, requested.longest)]).remedies([Remedy::new(leave_out).falls(PAUSED)]))
}

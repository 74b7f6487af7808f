//! `idle`: lanes had nothing to run although the program was not done, and no other rule explains it.
//!
//! Cost: wall-clock time that an even division of the work would save, if it was meant to be shared or several threads
//! wait for each other; and time in which threads waited only for each other. Threads that wait for time, for input or
//! for a call explain their share: see `with_work` and `hand_over`.

use super::hand_over::{among_threads, broadcast, lost_time, waited};
use super::with_work::{Shared, WithWork, seen};
use super::{Cost, Facts, IDLE, LOOKS_MIN, Rule, Verdict, needs};
use crate::results::waits::Waits;
use rtscope_model::{Confidence, Remedy};

/// Threads per look that wait for each other: one may wait for the others to end, as a main thread does.
const WAITERS_MIN: f64 = 1.5;

pub(super) static RULE: Rule = Rule {
    id: "idle",
    order: 186,
    needs: Some(&needs::LOOKS),
    rest: true,
    share_min: 0.20,
    also: " beyond what other rules explain",
    why: "it is what even division would save, at most, and no work divides evenly",
    check,
    ..Rule::BLANK
};

fn check(facts: &Facts<'_>) -> Option<Verdict> {
    let waits = facts.context.waits.as_ref().filter(|waits| waits.looks >= LOOKS_MIN)?;
    let with_work = WithWork::of(facts)?;
    let shared = Shared::of(facts, waits, &with_work).is_some() || waiters(waits) >= WAITERS_MIN;
    let lost_ns = if shared { with_work.lost_to_waits_ns(waits) } else { 0 };
    let ns = lost_ns.saturating_add(lost_time(facts, waits).map_or(0, |lost_time| lost_time.least_ns));
    let what = format!("Some {} had nothing to run although the program was not done: up to ", facts.runtime.lane.1);
    let most = waits.by.iter().find(|wait| among_threads(wait.kind));
    let rest =
        most.map_or(".".to_owned(), |most| format!(", while threads waited for a {}{}.", most.kind.word(), most.at()));
    let seen = seen(facts).into_iter().chain(most.map(|most| waited(facts, most)));
    let see = Remedy::new("See what each thread waits for, and who has it: `rtscope report -v`.");
    let see = see.verify("The list of waits names the thread that the others wait for.");
    let herd = most.and_then(broadcast).map(|text| Remedy::new(text).falls(IDLE));
    let remedies = herd.into_iter().chain([see]);
    Some(Verdict::new(Cost::Time(ns), Confidence::Medium, what).then(rest).seen(seen).remedies(remedies))
}

/// Threads per look that wait for one another, on average.
fn waiters(waits: &Waits) -> f64 {
    waits.kinds.iter().filter(|kind| among_threads(kind.kind)).map(|kind| kind.threads_mean).sum()
}

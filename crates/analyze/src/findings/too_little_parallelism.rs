//! `too-little-parallelism`: some lanes have work, but fewer than the CPUs could serve.
//!
//! Cost: over the moments at which any lane had work, the share of lanes that could have had work and had none: an
//! upper bound of what an even division of their work would save. Each thread that waits for time, for input or for a
//! call explains one lane without work, and a program in which only one lane at a time ever worked may be sequential
//! on purpose: neither is a finding. A thread that waits for the working one to end proves the opposite: the work was
//! divided, but unevenly. So do as many ended threads as there are lanes, with none left that waits for another: what
//! they were made for is done by the one that is left. So do lanes that each worked for most of their own time, of which
//! one lived for much longer.

use super::looks::at_least;
use super::with_work::{TWO_MIN, WithWork, made_for_work, seen};
use super::{Cost, Facts, IDLE, LOOKS_MIN, Rule, Verdict, needs};
use crate::results::waits::{WaitShare, Waits};
use rtscope_model::units::{counted, percent};
use rtscope_model::{Confidence, Doing, Remedy, WaitKind};

/// Share of the wall clock outside pauses: if no lane had work for longer, the program waits for some.
const NONE_MAX: f64 = 0.05;
/// Share of looks while a lane is idle: from here on a thread mostly waits for the working one to end.
const WAITED_MIN: f64 = 0.5;

pub(super) static RULE: Rule = Rule {
    id: "too-little-parallelism",
    explains: &["idle"],
    order: 267,
    needs: Some(&needs::LOOKS),
    yields_to: &["sparks", "overhead", "lock-convoy", "blackhole-or-lock", "domain-lock", "stm-contention"],
    share_min: 0.20,
    also: ", any lane with work for 95 % of the run; two for 5 %, or a thread that waits for the end of the one at work at half of looks, or as many ended threads as lanes, and none that waits for another, or lanes that each worked for half of their own time",
    why: "it is what even division would save, at most, and no work divides evenly",
    check,
    ..Rule::BLANK
};

fn check(facts: &Facts<'_>) -> Option<Verdict> {
    let waits = facts.context.waits.as_ref().filter(|waits| waits.looks >= LOOKS_MIN)?;
    let with_work = WithWork::of(facts)?;
    let one_at_work = with_work.two < TWO_MIN;
    let waited = waited_for_work(waits);
    let is_divided = at_least(waited, waits.looks) >= WAITED_MIN;
    let left = threads_left_one(facts, waits);
    // Then a lane that has ended has no idle time.
    let by_lives = one_at_work && !is_divided && left.is_none();
    if with_work.none > NONE_MAX || by_lives && !facts.account.is_some_and(made_for_work) {
        return None;
    }
    let ns = with_work.lost_to_waits_ns(waits);
    let what = format!("Too few {} had work, which cost up to ", facts.runtime.lane.1);
    // A quota need not be a whole number of CPUs.
    let could = format!("{:.1}", with_work.could).trim_end_matches(".0").to_owned();
    let rest = format!(": {:.1} had work on average, and CPUs were there for {could}.", with_work.mean);
    let verdict = Verdict::new(Cost::Time(ns), Confidence::Medium, what).then(rest);
    let lane = facts.runtime.lane.0;
    let waits = one_at_work.then(|| match left {
        _ if is_divided => {
            format!("At {} of looks a thread waited for the end of one that had work.", percent(waited))
        }
        Some(ended) => {
            format!("One {lane} at a time had work, after {} had ended.", counted(ended, "thread", "threads"))
        }
        None => format!("Each {lane} worked for most of its own time, and one lived for much longer than the others."),
    });
    let lazy =
        Some(facts.runtime.unevaluated).filter(|text| one_at_work && !is_divided && left.is_some() && !text.is_empty());
    let lazy = lazy.map(|text| Remedy::new(text).falls(IDLE));
    let seen = seen(facts).into_iter().chain(waits.map(|text| facts.overall(text)));
    Some(verdict.seen(seen).remedies(lazy.into_iter().chain(remedies(facts, !by_lives))))
}

/// The number of threads that have ended, if there were as many as lanes, and no thread is left that waits for another.
fn threads_left_one(facts: &Facts<'_>, waits: &Waits) -> Option<u64> {
    let waits_for_another = waits.kinds.iter().any(|kind| kind.kind.is_for_each_other() && kind.looks_share > 0.0);
    waits.ended.filter(|ended| *ended >= facts.lanes as u64 && !waits_for_another)
}

/// Looks at which a thread waited for a running or runnable one to end, as a share of all. A thread that waits for a
/// lock may have nothing else to do, such as a main thread whose only worker does everything.
fn waited_for_work(waits: &Waits) -> f64 {
    let for_work =
        |kind: &&WaitShare| kind.kind == WaitKind::Child && matches!(kind.holder, Some(Doing::Runs | Doing::Ready));
    waits.kinds.iter().filter(for_work).map(|kind| kind.looks_share).sum::<f64>().min(1.0)
}

fn remedies(facts: &Facts<'_>, is_idle: bool) -> [Remedy; 2] {
    let many = facts.runtime.lane.1;
    let shows = format!("more {many} have work at once");
    [
        format!(
            "Divide the work into several times as many pieces as there are {many}, which they take from one queue."
        ),
        "Let what runs alone at the beginning or the end, such as reading or merging, run in pieces too.".to_owned(),
    ]
    .map(|text| if is_idle { Remedy::new(text).falls(IDLE) } else { Remedy::new(text) }.shows(&shows))
}

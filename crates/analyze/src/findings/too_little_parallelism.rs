//! `too-little-parallelism`: some lanes have work, but fewer than the CPUs could serve.
//!
//! Cost: over the moments at which any lane had work, the share of lanes that could have had work and had none: an
//! upper bound of what an even division of their work would save. Each thread that waits for time, for input or for a
//! call explains one lane without work, and a program in which only one lane at a time ever worked may be sequential
//! on purpose: neither is a finding. `with_work` says what shows that work was meant to be shared.

use super::with_work::{Shared, WithWork, seen};
use super::{Cost, Facts, IDLE, LOOKS_MIN, Rule, Verdict, needs};
use rtscope_model::units::{counted, percent};
use rtscope_model::{Confidence, Figure, Remedy};

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
    let with_work = WithWork::of(facts).filter(WithWork::is_never_without)?;
    let shared = Shared::of(facts, waits, &with_work)?;
    let ns = with_work.lost_to_waits_ns(waits);
    let (lane, many) = facts.runtime.lane;
    let what = format!("Too few {many} had work, which cost up to ");
    // A quota need not be a whole number of CPUs.
    let could = format!("{:.1}", with_work.could).trim_end_matches(".0").to_owned();
    let rest = format!(": {:.1} had work on average, and CPUs were there for {could}.", with_work.mean);
    let shows = match shared {
        Shared::AtOnce => None,
        Shared::Waited(share) => {
            Some(format!("At {} of looks a thread waited for the end of one that had work.", percent(share)))
        }
        Shared::Left(ended) => {
            Some(format!("One {lane} at a time had work, after {} had ended.", counted(ended, "thread", "threads")))
        }
        Shared::Lives => {
            Some(format!("Each {lane} worked for most of its own time, and one lived for much longer than the others."))
        }
    };
    let lazy = Some(facts.runtime.unevaluated).filter(|text| matches!(shared, Shared::Left(_)) && !text.is_empty());
    let lazy = lazy.map(|text| Remedy::new(text).falls(ALONE));
    let seen = seen(facts).into_iter().chain(shows.map(|text| facts.overall(text)));
    let verdict = Verdict::new(Cost::Time(ns), Confidence::Medium, what).then(rest);
    Some(verdict.seen(seen).remedies(lazy.into_iter().chain(remedies(facts, &with_work))))
}

/// Lane time without work does not fall where the others have ended.
const ALONE: Figure = Figure { path: "account.with_work_ns.1", shows: "one alone has work for less of the run" };

fn remedies(facts: &Facts<'_>, with_work: &WithWork) -> [Remedy; 2] {
    let many = facts.runtime.lane.1;
    let shows = format!("more {many} have work at once");
    let figure = if with_work.alone { ALONE } else { IDLE };
    [
        format!(
            "Divide the work into several times as many pieces as there are {many}, which they take from one queue."
        ),
        "Let what runs alone at the beginning or the end, such as reading or merging, run in pieces too.".to_owned(),
    ]
    .map(|text| Remedy::new(text).falls(figure).shows(&shows))
}

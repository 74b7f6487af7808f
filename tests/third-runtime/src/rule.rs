//! `uneven-hollows`: most gatherings wait for the same hollow. With fewer hollows than processors, one
//! processor remains for whatever delays it. Cost: the time that all others waited for it.

use rtscope_analyze::findings::{Cost, Facts, Rule, STOP, Verdict, sure};
use rtscope_model::Remedy;

/// Pebble's only rule.
pub static RULES: [&Rule; 1] = [&Rule {
    id: "uneven-hollows",
    explains: &["standing-still"],
    order: 1_000,
    share_min: 0.01,
    also: "one hollow is the last in most gatherings",
    why: "a hundredth of the run is more than a gathering needs to begin",
    check,
    ..Rule::BLANK
}];

fn check(facts: &Facts<'_>) -> Option<Verdict> {
    let stragglers = facts.sums.stragglers();
    let all: u64 = stragglers.iter().map(|one| one.count).sum();
    let worst = stragglers.first().filter(|worst| worst.count * 2 > all)?;
    let (one, many) = facts.runtime.lane;
    let what = format!("{one} {} kept all other {many} waiting: ", worst.lane);
    let seen = facts.overall(format!("It was the last to stop in {} of {all} gatherings.", worst.count));
    let fewer = facts.runtime.lanes_flag(facts.lanes.saturating_sub(1).max(1));
    let remedy = Remedy::new(format!("Use fewer {many}.")).set(fewer).falls(STOP);
    Some(Verdict::new(Cost::Time(worst.sum_ns), sure(true), what).seen([seen]).remedies([remedy]))
}

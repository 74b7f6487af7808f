//! `blocked-output`: lanes have nothing to run because threads wait until they can write.
//!
//! The reader of the output (a pipe's other end, a terminal, a peer, a disk) then sets the program's pace. Cost: idle
//! time of the average lane, in proportion to such threads among those that looks saw waiting.

use super::collected::mean;
use super::{Cost, Facts, IDLE, LOOKS_MIN, Rule, Verdict, needs};
use crate::results::waits::Wait;
use rtscope_model::units::percent;
use rtscope_model::{Confidence, Remedy, WaitKind};

/// System calls that write, by their names in looks.
const CALLS: [&str; 11] = [
    "write", "__write", "writev", "pwrite", "pwrite64", "pwritev", "send", "sendto", "sendmsg", "sendmmsg", "sendfile",
];

pub(super) static RULE: Rule = Rule {
    id: "blocked-output",
    order: 269,
    needs: Some(&needs::LOOKS),
    share_min: 0.10,
    also: ", five looks",
    why: "every program that writes waits for it now and then",
    check,
    ..Rule::BLANK
};

fn check(facts: &Facts<'_>) -> Option<Verdict> {
    let waits = facts.context.waits.as_ref().filter(|waits| waits.looks >= LOOKS_MIN)?;
    let account = facts.account?;
    let idle = account.part("idle")?;
    let writes: Vec<&Wait> = waits.by.iter().filter(|wait| writes(wait, facts.runtime.writing)).collect();
    let share: f64 = writes.iter().map(|wait| wait.share).sum();
    let most = writes.iter().max_by(|one, other| one.share.total_cmp(&other.share))?;
    let at = most.at();
    let what = format!("The average {} had nothing to run for ", facts.runtime.lane.0);
    let cost = Cost::Time(mean(account, (idle.ns as f64 * share.min(1.0)) as u64));
    let rest = format!(", while threads waited{at} until they could write: what they write is taken too slowly.");
    let seen = format!("Threads waited for that at {} of looks.", percent(most.looks_share));
    let remedies = [
        "Look at what takes the output: a pipe's reader, a terminal, a peer or a disk sets the pace.",
        "Write less, or have a thread of its own write from a queue with room for a burst: the others go on meanwhile.",
    ]
    .map(|text| Remedy::new(text).falls(IDLE).shows("less of the run is waiting for output"));
    Some(Verdict::new(cost, Confidence::Medium, what).then(rest).seen([facts.overall(seen)]).remedies(remedies))
}

/// Whether these threads wait until they can write.
fn writes(wait: &Wait, places: &[&str]) -> bool {
    let calls = wait.callee.as_deref().is_some_and(|callee| CALLS.contains(&callee));
    let place = wait.place.as_deref().is_some_and(|place| places.iter().any(|part| place.contains(part)));
    wait.kind == WaitKind::InputOutput && (calls || place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writing_is_recognised_by_its_call_or_by_its_place() {
        let wait = |place: &str, callee: Option<&str>| Wait {
            kind: WaitKind::InputOutput,
            place: Some(place.to_owned()),
            callee: callee.map(str::to_owned),
            ..Wait::default()
        };
        assert!(writes(&wait("Stdlib.output_string", Some("write")), &[]));
        assert!(writes(&wait("Log.put", None), &["Log.put"]));
        assert!(!writes(&wait("Stdlib.input_line", Some("read")), &["Log.put"]));
        assert!(!writes(&Wait { kind: WaitKind::Time, ..wait("Log.put", Some("write")) }, &["Log.put"]));
    }
}

//! The verdict on a recording without a finding: what takes much of the time and no rule explains (parts of the account,
//! and waiting for lanes), else what "nothing found" stands on. Owns the shares from which it names them.

use super::words::{cause_groups, has_runtime};
use rtscope_analyze::results::{Outcome, Pauses, Results};
use rtscope_model::units::{self, duration, percent, percent_of};
use rtscope_model::{Account, Cause, Node};
use std::fmt::Write as _;

/// A part above this share of lane time is named.
const PART_NAMED: f64 = 0.1;
/// A part of a part that is this share of it is most of it.
const MOST: f64 = 0.5;

/// Waiting for lanes above this share of the run is named.
const WAITING_NAMED: f64 = 0.1;

/// The verdict on a recording without a finding: whether every rule looked and nothing was lost, in a few words,
/// and what it stands on.
pub fn without_findings(results: &Results) -> (bool, &'static str, String) {
    let (clear, verdict, text) = without_findings_in_short(results);
    let whole = has_runtime(results) && unexplained(results).is_none();
    (clear, verdict, if whole { format!("{text}{}", checked(results)) } else { text })
}

/// The same without the rules that were checked.
pub fn without_findings_in_short(results: &Results) -> (bool, &'static str, String) {
    if !has_runtime(results) {
        let text = "No log of a runtime was recorded, so pauses could not be looked at. A GHC program writes one when \
                    `rtscope record -- PROGRAM` starts it, unless it cannot; then the end of this report says what it \
                    needs.";
        return (false, "Pauses unknown.", text.into());
    }
    if let Some(text) = unexplained(results) {
        return (false, "No cause found.", text);
    }
    let pauses = units::counted(results.pauses.count, "pause", "pauses");
    let mut seen = vec![format!("{pauses} ({} of the run)", percent_of(results.pauses.total_ns, results.span_ns))];
    if results.pauses.time_to_stop_ns.count > 0 {
        seen.push("who was last to stop".into());
    }
    if results.kernel.used {
        seen.push("what the kernel did to those threads".into());
    }
    if results.memory.rss_bytes.is_some() || results.memory.heap_bytes.is_some() {
        seen.push("memory".into());
    }
    let text = format!("Looked at {}.", seen.join(", "));
    let blind = results.checked.iter().any(|rule| rule.outcome == Outcome::CouldNotLook);
    let clear = super::seen::exit_code(results) == 0 && !blind;
    (clear, if clear { "Nothing found." } else { "Nothing found in what was seen." }, text)
}

/// Which rules were clear, and which could not look and why.
fn checked(results: &Results) -> String {
    let with = |outcome: Outcome| results.checked.iter().filter(move |rule| rule.outcome == outcome);
    let mut text = String::new();
    let clear: Vec<_> = with(Outcome::Clear).map(|rule| rule.id).collect();
    if !clear.is_empty() {
        let _ = write!(text, " Clear: {}.", clear.join(", "));
    }
    let mut blind: Vec<(&str, Vec<&str>)> = Vec::new();
    for rule in results.checked.iter().filter(|rule| rule.outcome.blind()) {
        let why = rule.why.as_deref().unwrap_or("what it needs was not recorded.");
        match blind.iter_mut().find(|(other, _)| *other == why) {
            Some((_, ids)) => ids.push(rule.id),
            None => blind.push((why, vec![rule.id])),
        }
    }
    for (why, ids) in blind {
        let _ = write!(text, " Could not look for {}: {why}", ids.join(", "));
    }
    text
}

/// What takes much of the time and no rule explains.
fn unexplained(results: &Results) -> Option<String> {
    let parts = results.account.as_ref().and_then(parts);
    let all: Vec<String> = parts.into_iter().chain(waiting(results)).collect();
    (!all.is_empty()).then(|| all.join(" "))
}

/// Parts of lane time in which the program was kept from its work.
fn parts(account: &Account) -> Option<String> {
    let all = account.lanes_ns;
    let big = |part: &&Node| part.ns as f64 > PART_NAMED * all as f64;
    // The program's own work, and having none, take nothing from it.
    let takes = |part: &&Node| !matches!(part.id.as_str(), "program" | "idle");
    let big: Vec<&Node> = account.parts.iter().filter(takes).filter(big).collect();
    let said: Vec<String> = big.iter().map(|part| of_lane_time(part, all)).collect();
    let collects = big.iter().any(|part| part.id == "collecting");
    let next = if collects { " `rtscope tune` measures what other settings of the collector gain." } else { "" };
    (!said.is_empty()).then(|| format!("No rule explains {}.{next}", said.join(", and ")))
}

/// "collecting, 1.61 s = 27 % of lane time (80 % of it the runtime: copying objects that are alive)"
fn of_lane_time(part: &Node, all: u64) -> String {
    let text = format!("{}, {} = {} of lane time", part.name, duration(part.ns), percent_of(part.ns, all));
    match most(part) {
        Some(inner) => format!("{text} ({} of it {})", percent_of(inner.ns, part.ns), inner.name),
        None => text,
    }
}

/// The part of a part that is most of it; one that is all of it by another name says nothing.
fn most(part: &Node) -> Option<&Node> {
    let inner = part.parts.iter().find(|inner| inner.ns as f64 >= MOST * part.ns as f64)?;
    if inner.ns == part.ns { most(inner) } else { Some(inner) }
}

/// Waiting for lanes, to stop or to get back to work.
fn waiting(results: &Results) -> Option<String> {
    let Pauses { time_to_stop_ns, release_ns, .. } = &results.pauses;
    let (stop, release) = (time_to_stop_ns.sum.unwrap_or(0), release_ns.sum.unwrap_or(0));
    let waited = stop.saturating_add(release);
    if waited as f64 / results.span_ns.max(1) as f64 <= WAITING_NAMED {
        return None;
    }
    let what = match (stop >= release, stop.min(release) * 4 > waited) {
        (_, true) => "lanes to stop and to get back to work",
        (true, false) => "lanes to stop",
        (false, false) => "lanes to get back to work",
    };
    let (share, waited) = (percent_of(waited, results.span_ns), duration(waited));
    let first = cause_groups(&results.causes).into_iter().find(|group| group.cause != Cause::Unknown);
    let why = match first.filter(|group| results.kernel.used && group.share >= 0.1) {
        Some(group) if group.cause == Cause::NotScheduled => format!(
            "for {} of it the lane was ready and had no CPU, and this recording cannot see who or what had it.",
            percent(group.share)
        ),
        Some(group) => format!("no rule explains it; most of it: {} ({}).", group.words(), percent(group.share)),
        None => "why they were late (quota, neighbours, too few CPUs) cannot be seen in this recording.".into(),
    };
    Some(format!("Waiting for {what} took {waited}, {share} of the run; {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(parts: Vec<Node>) -> Account {
        let whole = Node::sum("", "", parts);
        Account { lanes_ns: whole.ns, wall_ns: whole.ns, lanes: Vec::new(), parts: whole.parts }
    }

    fn leaf(name: &str, ns: u64) -> Node {
        Node::leaf(name, name, ns)
    }

    #[test]
    fn what_keeps_the_program_from_its_work_is_said_from_a_tenth_on() {
        let inner = vec![leaf("copying", 160), leaf("roots", 40)];
        let collecting = Node::sum("collecting", "collecting", vec![Node::sum("in-pauses", "in pauses", inner)]);
        let said = parts(&account(vec![leaf("program", 400), leaf("idle", 300), collecting, leaf("kept", 100)]));
        let expected = "No rule explains collecting, 200 ns = 20 % of lane time (80 % of it copying).";
        assert!(said.is_some_and(|said| said.starts_with(expected)));
    }

    #[test]
    fn no_program_is_kept_from_its_work_by_itself_or_for_want_of_it() {
        assert_eq!(parts(&account(vec![leaf("program", 500), leaf("idle", 400), leaf("collecting", 100)])), None);
    }

    #[test]
    fn another_name_for_all_of_a_part_is_not_said() {
        let stands = Node::sum("stands", "standing still", vec![leaf("others-work", 500)]);
        let said = parts(&account(vec![leaf("program", 500), stands]));
        assert_eq!(said.as_deref(), Some("No rule explains standing still, 500 ns = 50 % of lane time."));
    }
}

//! The verdict on a recording without a finding: what "nothing found" is based on. Whatever takes much of the time
//! and no rule explains is a finding itself.

use super::words::{has_runtime, no_log};
use indexmap::IndexMap;
use rtscope_analyze::results::{Results, RuleOutcome};
use rtscope_model::units::{self, percent_of};
use std::fmt::Write as _;

/// The verdict on a recording without a finding: whether every rule looked and nothing was lost, the verdict in a few
/// words, and what it is based on.
pub fn without_findings(results: &Results) -> (bool, &'static str, String) {
    let (clear, verdict, text) = without_findings_in_short(results);
    (clear, verdict, if has_runtime(results) { format!("{text}{}", checked(results)) } else { text })
}

/// Like [`without_findings`], but without the rules that were checked.
pub fn without_findings_in_short(results: &Results) -> (bool, &'static str, String) {
    if let Some(why) = no_log(results) {
        return (false, "Pauses unknown.", why);
    }
    let of = |is: fn(RuleOutcome) -> bool| results.checked.iter().filter(|rule| is(rule.outcome)).count() as u64;
    let passed = units::counted(of(|outcome| outcome == RuleOutcome::Clear), "check", "checks");
    let not = Some(of(RuleOutcome::blind)).filter(|not| *not > 0);
    let not = not.map_or_else(String::new, |not| format!(", {} could not be made", units::count(not)));
    let pauses = units::counted(results.pauses.count, "pause", "pauses");
    let share = percent_of(results.pauses.total_ns, results.span_ns);
    let text = format!("{passed} passed{not}; {pauses} took {share} of the run.");
    let blind = results.checked.iter().any(|rule| rule.outcome == RuleOutcome::CouldNotLook);
    let clear = super::seen::exit_code(results) == 0 && !blind;
    (clear, if clear { "Nothing found." } else { "Nothing found in what was seen." }, text)
}

/// Which rules were clear, and which could not look and why.
fn checked(results: &Results) -> String {
    let with = |outcome: RuleOutcome| results.checked.iter().filter(move |rule| rule.outcome == outcome);
    let mut text = String::new();
    let clear: Vec<_> = with(RuleOutcome::Clear).map(|rule| rule.id).collect();
    if !clear.is_empty() {
        let _ = write!(text, " Clear: {}.", clear.join(", "));
    }
    let mut blind: IndexMap<&str, Vec<&str>> = IndexMap::new();
    for rule in results.checked.iter().filter(|rule| rule.outcome.blind()) {
        blind.entry(rule.why.as_deref().unwrap_or("what it needs was not recorded.")).or_default().push(rule.id);
    }
    for (why, ids) in blind {
        let _ = write!(text, " Could not look for {}: {why}", ids.join(", "));
    }
    text
}

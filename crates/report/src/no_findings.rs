//! The verdict on a recording without a finding: what "nothing found" is based on. Whatever takes much of the time
//! and no rule explains is a finding itself.

use super::account;
use super::words::{has_runtime, no_log};
use indexmap::IndexMap;
use rtscope_analyze::results::{Code, Results, RuleOutcome};
use rtscope_model::CodeKind;
use rtscope_model::units::{self, percent_of};
use std::fmt::Write as _;

/// From these shares on a part of the time, and a function, are named, and how many functions.
const PART_SHARE: f64 = 0.25;
const FUNCTION_SHARE: f64 = 0.1;
const FUNCTIONS_MAX: usize = 3;

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
    let most = most(results).unwrap_or_default();
    let text = format!("{most}{passed} passed{not}; {pauses} took {share} of the run.");
    let blind = results.checked.iter().any(|rule| rule.outcome == RuleOutcome::CouldNotLook);
    let clear = super::seen::exit_code(results) == 0 && !blind;
    (clear, if clear { "Nothing found." } else { "Nothing found in what was seen." }, text)
}

/// The large parts of the time, each with what most of it was.
fn most(results: &Results) -> Option<String> {
    let account = account::of_run(results)?;
    let large = account.parts.iter().filter(|part| part.ns as f64 >= account.lanes_ns as f64 * PART_SHARE);
    let parts: Vec<String> = large
        .map(|part| {
            let share = percent_of(part.ns, account.lanes_ns);
            let functions = results.code.as_ref().filter(|_| part.id == "program").and_then(functions);
            let most = || Some(part.parts.first().filter(|most| most.ns * 2 >= part.ns)?.name.clone());
            let detail = functions.or_else(most).map_or_else(String::new, |detail| format!(" ({detail})"));
            format!("{} {share}{detail}", part.name)
        })
        .collect();
    (!parts.is_empty()).then(|| format!("Most time: {}. ", parts.join(", ")))
}

/// The program's functions with the most CPU time, and their shares of all samples.
fn functions(code: &Code) -> Option<String> {
    let all = code.samples.saturating_mul(code.period_ns).max(1);
    let own = code.top.iter().filter(|place| matches!(place.kind, CodeKind::Program | CodeKind::Foreign));
    let shares = own.map(|place| (&place.symbol, place.running_ns as f64 / all as f64));
    let named = shares.filter(|(symbol, share)| !symbol.is_empty() && *share >= FUNCTION_SHARE).take(FUNCTIONS_MAX);
    let named: Vec<String> = named.map(|(symbol, share)| format!("{} in {symbol}", units::percent(share))).collect();
    (!named.is_empty()).then(|| format!("of CPU time {}", named.join(", ")))
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

#[cfg(test)]
mod tests {
    use super::*;
    use rtscope_analyze::results::CodePlace;
    use rtscope_model::{Account, Node};

    fn results(parts: Vec<Node>) -> Results {
        let parts = Node::sum("", "", parts).parts;
        let lanes_ns = parts.iter().map(|part| part.ns).sum();
        Results { account: Some(Account { lanes_ns, parts, ..Account::default() }), ..Results::default() }
    }

    #[test]
    fn large_parts_are_named_with_the_function_or_the_wait() {
        let waits =
            Node::sum("idle", "nothing to run", vec![Node::leaf("lock", "threads wait for a lock in take", 30)]);
        let mut results = results(vec![Node::leaf("program", "program", 60), waits, Node::leaf("kept", "kept", 10)]);
        assert_eq!(
            most(&results).unwrap(),
            "Most time: program 60 %, nothing to run 30 % (threads wait for a lock in take). "
        );
        let place = |symbol: &str, kind, running_ns| CodePlace {
            symbol: symbol.to_owned(),
            kind,
            running_ns,
            ..CodePlace::default()
        };
        let top = vec![
            place("evacuate", CodeKind::Runtime, 42),
            place("look_up", CodeKind::Program, 30),
            place("memcmp", CodeKind::Foreign, 20),
            place("main", CodeKind::Program, 8),
        ];
        results.code = Some(Code { period_ns: 1, samples: 100, top, ..Code::default() });
        let named = "Most time: program 60 % (of CPU time 30 % in look_up, 20 % in memcmp), nothing";
        assert!(most(&results).unwrap().starts_with(named));
        results.account = None;
        assert_eq!(most(&results), None);
    }
}

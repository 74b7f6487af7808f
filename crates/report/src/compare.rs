//! The comparison of two runs, in words and as one JSON document. Owns the sentences that the text and the page
//! share; `analyze` computes the answer.

use super::{units, words};
use crate::compared::{Compared, ConditionOutcome, Evaluated};
use rtscope_analyze::compare::Unit;
use rtscope_analyze::compare::account::PartChange;
use rtscope_analyze::compare::findings::{Change, FindingChange, RunFinding};
use rtscope_analyze::compare::judge::Compared as Figure;
use rtscope_analyze::compare::setting::{Difference, SettingKind};
use rtscope_analyze::compare::{Comparison, OtherProcesses, SCHEMA, Verdict};
use rtscope_analyze::results::Results;
use rtscope_terminal::style::clean;
use serde_json::{Value, json};

/// Maximum findings named in the headline.
const NAMED_MAX: usize = 2;

fn run(results: &Results) -> Value {
    json!({
        "path": results.source.path,
        "log": results.source.log,
        "runtime": results.runtime,
        "span_ns": results.span_ns,
        "pauses": words::has_runtime(results).then_some(results.pauses.count),
        "losses_matter": super::exit_code(results) != 0,
    })
}

/// The document of `docs/compare-json.md`, on one line.
pub fn json(compared: &Compared) -> serde_json::Result<String> {
    let Comparison { verdict, settings, account, figures, findings, others } = &compared.comparison;
    rtscope_terminal::style::json(&json!({
        "schema": SCHEMA,
        "verdict": verdict,
        "headline": headline(compared),
        "a": run(&compared.a.results),
        "b": run(&compared.b.results),
        "settings": settings,
        "others": others,
        "account": account,
        "figures": figures,
        "findings": findings,
        "conditions": compared.conditions,
    }))
}

/// What changed and by how much, in a sentence or two, after what could not be compared at all.
pub fn headline(compared: &Compared) -> String {
    let answer = answer(compared);
    let seen = [&compared.a.results, &compared.b.results].map(words::has_runtime);
    let unseen = match seen {
        [true, true] => return answer,
        [false, false] => "either run",
        [false, true] => "A",
        [true, false] => "B",
    };
    format!("No log of a runtime was recorded in {unseen}, so pauses are not compared. {answer}")
}

fn answer(compared: &Compared) -> String {
    let comparison = &compared.comparison;
    match comparison.verdict {
        Verdict::Different => different(compared, false),
        Verdict::OthersDiffer => {
            let took = others(comparison.others).map_or(String::new(), |took| format!(": {took}"));
            let what = different(compared, true);
            match comparison.settings.iter().any(|of| matches!(of.kind, SettingKind::Program | SettingKind::Setup)) {
                true => format!(
                    "The machine and the program's settings both differ{took}: these two runs cannot tell which of them did \
                     it. {what}"
                ),
                false => format!("The machine differs, not the program{took}. {what}"),
            }
        }
        Verdict::NoDifference => {
            let took = others(comparison.others).map_or(String::new(), |took| format!(" Around it, {took}."));
            format!(
                "No difference: nothing in which the two runs differ is both more than chance and large enough to \
                 matter.{took}"
            )
        }
        Verdict::CannotTell => {
            let mut whys = comparison.figures.iter().filter_map(|figure| figure.why_not.as_deref());
            let why = whys.next_back().unwrap_or("nothing of it was recorded in both");
            format!("Not known: no figure could be compared ({why}).")
        }
    }
}

/// What other processes took, if the runs differ much in that.
fn others(others: OtherProcesses) -> Option<String> {
    let (a, b) = others.a_share.zip(others.b_share).filter(|_| others.differ)?;
    Some(format!(
        "other processes, or where the kernel put its threads, kept it from CPUs for {} of B (A: {})",
        units::percent(b),
        units::percent(a)
    ))
}

/// The largest difference and the findings that go with it.
fn different(compared: &Compared, by_others: bool) -> String {
    let comparison = &compared.comparison;
    let differs = |figure: &&Figure| figure.differs() && figure.by_others == by_others;
    let differing: Vec<&Figure> = comparison.figures.iter().filter(differs).collect();
    let found: Vec<&FindingChange> = comparison.findings.iter().filter(|finding| finding.matters).collect();
    let own = || found.iter().filter(|finding| finding.by_others == by_others);
    let span = compared.b.results.span_ns as f64;
    let largest = own().map(|finding| finding.share_change().abs() * span).fold(0.0, f64::max);
    match (differing.first(), own().next()) {
        // A finding may cost more than pauses show: a quota also stops a program between them.
        (Some(figure), _) if figure.cost_ns.map_or(0.0, f64::abs) * 4.0 >= largest => {
            let cost = figure.cost_ns.unwrap_or(0.0);
            // A finding that is gone does not explain what became worse.
            let fits = |finding: &&&FindingChange| finding.share_change() * cost > 0.0;
            let named = found.iter().filter(fits).take(NAMED_MAX).map(|finding| phrase(finding));
            let named = words::all_of(named, ", ").map_or(String::new(), |named| format!(": {named}"));
            format!("{}{named}.", sentence(figure, &differing))
        }
        (_, Some(finding)) => finding_sentence(finding),
        (Some(figure), None) => format!("{}.", sentence(figure, &differing)),
        (None, None) => String::new(),
    }
}

fn whole(path: &str) -> bool {
    path.starts_with("pauses.pause_ns") || path.starts_with("pauses.total_ns")
}

fn phrase(finding: &FindingChange) -> String {
    let id = clean(&finding.id);
    match finding.change {
        Change::Came => format!("{id} came"),
        Change::Gone => format!("{id} is gone"),
        Change::Stays => format!("{id} stays"),
        Change::CannotTell => format!("{id} is not known"),
    }
}

fn finding_sentence(finding: &FindingChange) -> String {
    let (seen, costs) = match finding.change {
        Change::Gone => (&finding.a, "cost A"),
        _ => (&finding.b, "costs B"),
    };
    let cost = seen.as_ref().map_or(String::new(), |seen| {
        let (cost, of) = words::costs(seen.cost_ns, seen.cost_bytes);
        format!("{cost} ({} {of})", units::percent(seen.share))
    });
    format!("The finding {}: it {costs} {cost}.", phrase(finding))
}

fn sentence_case(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |first| first.to_uppercase().collect::<String>() + chars.as_str())
}

/// The main difference: "B waits 2.10 s less for lanes to stop, 72 % of the run became 0.3 %".
fn sentence(first: &Figure, differing: &[&Figure]) -> String {
    let part = first.path.rsplit_once('.').map_or("", |(part, _)| part);
    let sum = differing.iter().find(|figure| figure.unit == Unit::NsPerSecond && same_part(&figure.path, part));
    let more = |change: Option<f64>| if change.unwrap_or(0.0) > 0.0 { "more" } else { "less" };
    if let Some(sum) = sum {
        let cost = units::duration(sum.cost_ns.unwrap_or(0.0).abs() as u64);
        let more = more(sum.change);
        let does = match part {
            "pauses.time_to_stop_ns" => format!("B waits {cost} {more} for all to stop"),
            "pauses.collect_ns" => format!("B collects {cost} {more}"),
            "pauses.release_ns" => format!("B waits {cost} {more} for all to run again"),
            _ => format!("B stands still {cost} {more}"),
        };
        return format!("{does}, {} of the run became {}", value(sum, sum.a), value(sum, sum.b));
    }
    let (before, after) = (value(first, first.a), value(first, first.b));
    match first.unit {
        Unit::Bytes => {
            let by = units::bytes(first.change.unwrap_or(0.0).abs() as u64);
            format!("B holds {by} {} memory ({}: {before} became {after})", more(first.change), name(&first.path))
        }
        _ => format!("{}: {after} in B, {before} in A", sentence_case(&name(&first.path))),
    }
}

fn same_part(path: &str, part: &str) -> bool {
    path.rsplit_once('.').is_some_and(|(other, _)| other == part) || (whole(path) && whole(&format!("{part}.")))
}

/// The name of the figure with the key `path`.
pub fn name(path: &str) -> String {
    let parts = [
        ("pauses.time_to_stop_ns.", "waiting for all to stop"),
        ("pauses.collect_ns.", "collecting"),
        ("pauses.release_ns.", "restarting"),
        ("pauses.pause_ns.", "whole pause"),
    ];
    if let Some((words, of)) = parts.iter().find_map(|(prefix, words)| Some((words, path.strip_prefix(prefix)?))) {
        let of = match of {
            "sum" => return (*words).to_string(),
            "p50" => "median",
            "p90" => "9 in 10",
            "p99" => "99 in 100",
            other => other,
        };
        return format!("{words}, {of}");
    }
    match path {
        "pauses.total_ns" => "all pauses".into(),
        "pauses.per_second" => "pauses a second".into(),
        "memory.rss_bytes.mean" => "RSS, mean".into(),
        "memory.heap_bytes.mean" => "heap held, mean".into(),
        "memory.live_bytes.mean" => "live, mean".into(),
        other => other.into(),
    }
}

/// Formats a figure or a change; `of_run` formats sums, which are nanoseconds per second.
fn amount(figure: &Figure, amount: f64, of_run: impl Fn(f64) -> String) -> String {
    match figure.unit {
        Unit::NsPerSecond => of_run(amount),
        Unit::Ns => units::duration(amount as u64),
        Unit::PerSecond => units::rate(amount),
        Unit::Bytes => units::bytes(amount as u64),
    }
}

/// Formats a figure of one run; sums as a share of the run.
pub fn value(figure: &Figure, value: Option<f64>) -> String {
    value.map_or_else(|| "-".into(), |value| amount(figure, value, |ns| units::percent(ns / 1e9)))
}

/// Formats a change; sums as what they cost in a run of `span_ns`.
pub fn change(figure: &Figure, change: Option<f64>, span_ns: u64) -> String {
    let Some(change) = change else { return "-".into() };
    let text = amount(figure, change.abs(), |ns| units::duration((ns * span_ns as f64 / 1e9) as u64));
    match (text.as_str(), change < 0.0) {
        ("0" | "0.00" | "0 B", _) => "0".into(),
        (_, true) => format!("-{text}"),
        (_, false) => format!("+{text}"),
    }
}

/// The interval of a change: "-2.4 s to -1.9 s".
pub fn interval(figure: &Figure, span_ns: u64) -> String {
    match (figure.low, figure.high) {
        (None, _) | (_, None) => "-".into(),
        (low, high) => format!("{} to {}", change(figure, low, span_ns), change(figure, high, span_ns)),
    }
}

/// Table cells of a part of the account: name, both shares and their difference in points of a hundred.
pub fn part_cells(part: &PartChange) -> [String; 4] {
    let points = 100.0 * part.change();
    let change = if points.abs() < 0.5 { "0".to_owned() } else { format!("{points:+.0} points") };
    [part.name.clone(), units::percent(part.a_share), units::percent(part.b_share), change]
}

/// Table cells of a figure: name, both values, change and the interval of the change.
pub fn cells(figure: &Figure, span_ns: u64) -> [String; 5] {
    let [a, b] = [figure.a, figure.b].map(|of| value(figure, of));
    [name(&figure.path), a, b, change(figure, figure.change, span_ns), interval(figure, span_ns)]
}

/// The judgement of a figure.
pub fn decided(figure: &Figure) -> &'static str {
    match (figure.real, figure.matters, figure.by_others) {
        (None, ..) => "not judged",
        (Some(true), true, true) => "others did it",
        (Some(true), true, false) => "differs",
        (Some(true), false, _) => "real, but small",
        (Some(false), ..) => "may be chance",
    }
}

/// Whether a figure gets a row: the main figures always, the others only if they differ.
pub fn shown(figure: &Figure) -> bool {
    let rare = figure.path.ends_with(".mean") && figure.path.starts_with("pauses.") || figure.path.ends_with(".p90");
    let known = figure.a.is_some() && figure.b.is_some();
    known && (!rare || figure.differs() && figure.unit != Unit::Ns)
}

/// A finding and its change, in a sentence.
pub fn finding(finding: &FindingChange) -> String {
    let cost = |seen: &RunFinding| {
        format!("{} ({})", words::costs(seen.cost_ns, seen.cost_bytes).0, units::percent(seen.share))
    };
    let small = if finding.matters { "" } else { "; so small a finding comes and goes by chance" };
    match (finding.change, &finding.a, &finding.b) {
        (Change::Stays, Some(a), Some(b)) => format!("{} stays: it cost {}, now {}", finding.id, cost(a), cost(b)),
        (Change::Gone, Some(a), _) => format!("{} is gone: it cost {}{small}", finding.id, cost(a)),
        (Change::Came, _, Some(b)) => format!("{} came: {}{small}", finding.id, b.claim),
        (_, a, b) => {
            let side = if a.is_some() { "A" } else { "B" };
            let cost = a.iter().chain(b).map(cost).collect::<String>();
            let why = finding.why.as_deref().unwrap_or("what it needs was not recorded");
            format!("{} is in {side} ({cost}); not known for the other: {why}", finding.id)
        }
    }
}

/// One thing that differs between the recordings.
pub fn setting(difference: &Difference) -> String {
    format!("{}: {} in A, {} in B", difference.what, difference.a, difference.b)
}

/// A condition and its outcome.
pub fn condition(evaluated: &Evaluated) -> String {
    let outcome = match evaluated.outcome {
        ConditionOutcome::Holds => "holds",
        ConditionOutcome::DoesNotHold => "does not hold",
        ConditionOutcome::NotReal => "does not hold, the change is not real",
        ConditionOutcome::Unknown => "unknown",
    };
    let number = |value: f64| {
        let key = evaluated.condition.split(['<', '>']).next().unwrap_or("").trim();
        match key {
            key if key.ends_with(".count") => units::count(value as u64),
            key if key.contains("_ns") => units::duration(value.max(0.0) as u64),
            key if key.contains("_bytes") => units::bytes(value.max(0.0) as u64),
            _ => format!("{value:.4}"),
        }
    };
    let values = match (evaluated.before, evaluated.after) {
        (None, None) => String::new(),
        (before, after) => {
            let text = |value: Option<f64>| value.map_or("null".into(), number);
            format!(" ({} in A, {} in B)", text(before), text(after))
        }
    };
    let note = evaluated.note.as_ref().map(|note| format!("; {note}")).unwrap_or_default();
    format!("{}: {outcome}{values}{note}", evaluated.condition)
}

/// What two runs can and cannot show.
pub fn limits(comparison: &Comparison) -> Vec<String> {
    let judged = comparison.figures.iter().filter(|figure| figure.real.is_some()).count();
    if judged == 0 {
        return Vec::new();
    }
    let mut limits = vec![format!(
        "with one run of each, only large and steady differences are trusted (1 false alarm in 20 comparisons of {judged} \
         figures). What changes from one start to the next can still look like a difference: record each again"
    )];
    // If a run varies by more than its length, no change of the sum can show at all.
    let smallest = |path: &str| comparison.figure(path).and_then(|figure| figure.smallest);
    let shown = [
        smallest("pauses.total_ns")
            .filter(|ns| *ns < 1e9)
            .map(|ns| units::percent(ns / 1e9) + " of the run in all pauses"),
        smallest("pauses.pause_ns.p50").map(|ns| units::duration(ns as u64) + " in the median pause"),
        smallest("pauses.pause_ns.p99").map(|ns| units::duration(ns as u64) + " in 99 of 100"),
    ];
    let shown = words::all_of(shown.into_iter().flatten(), ", ");
    limits.extend(shown.map(|shown| format!("changes smaller than {shown} could not have shown")));
    limits
}

/// What was lost on either side.
pub fn losses(compared: &Compared) -> Vec<String> {
    let sides = [("A", &compared.a.results), ("B", &compared.b.results)];
    let of = |(side, results)| words::losses(results).into_iter().map(move |loss| format!("{side}: {loss}"));
    sides.into_iter().flat_map(of).collect()
}

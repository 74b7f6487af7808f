//! Comparisons of runs made by hand: what is alike is reported as alike, what differs is named first, nothing
//! is guessed, and every key is documented.

use testkit::results as common;

use common::{MS, SECOND, START};
use rtscope_analyze::compare::Verdict;
use rtscope_analyze::compare::findings::Change;
use rtscope_analyze::compare::sample::Samples;
use rtscope_analyze::pauses::summary::Summary;
use rtscope_analyze::results::{BlamedPause, Results, RuleOutcome};
use rtscope_draw::page::SIZE_MAX;
use rtscope_model::{
    Account, Cause, CausePiece, Confidence, LaneId, Node, Pause, PauseKind, PauseMode, PauseQuality, ReleaseBasis, Time,
};
use rtscope_report::compared::{Analysed, Compared, ConditionOutcome, conditions};
use rtscope_report::{compare as words, html, text};
use rtscope_terminal::style::Style;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const SPAN: u64 = 3 * SECOND;

/// Noise derived from a seed, around 0, mostly within -1 to 1.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f64 {
        let mut sum = 0.0;
        for _ in 0..6 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            sum += (self.0 >> 11) as f64 / (1u64 << 53) as f64 - 0.5;
        }
        sum
    }
}

/// Properties of a run.
#[derive(Copy, Clone)]
struct Plan {
    every_ns: u64,
    stop_ns: f64,
    collect_ns: f64,
    /// Share of each stop during which another process had the CPU.
    others: f64,
}

const CALM: Plan = Plan { every_ns: 5 * MS, stop_ns: 20e3, collect_ns: 300e3, others: 0.0 };
const SLOW: Plan = Plan { stop_ns: 3e6, ..CALM };

/// A run whose pauses vary from one to the next and slowly: over a tenth of a second, over a second, and from
/// run to run.
fn run(plan: Plan, seed: u64, results: Results) -> Analysed {
    let mut noise = Noise(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let (mut samples, mut summary) = (Samples::default(), Summary::default());
    summary.start(START);
    // The sum of six has a spread of 0.7: starts are a tenth apart.
    let of_run = 0.14 * noise.next();
    let (mut slow, mut slower) = (0.0, 0.0);
    for (number, at) in (0..SPAN - 20 * MS).step_by(plan.every_ns as usize).enumerate() {
        if number % 20 == 0 {
            slow = noise.next() * 0.2;
        }
        if number % 200 == 0 {
            slower = noise.next() * 0.2;
        }
        let factor = (of_run + slow + slower).exp();
        let stop = plan.stop_ns * factor * (noise.next() * 0.8).exp();
        let collect = plan.collect_ns * factor * (noise.next() * 0.3).exp();
        let blamed = pause(number as u64, START.plus(at), (stop, collect), plan.others);
        samples.add(&blamed);
        summary.add(&blamed);
    }
    let mut results = results;
    results.span_ns = SPAN;
    results.started = START;
    results.pauses = summary.finish(SPAN, START.plus(SPAN)).0;
    results.drawing.memory.clear();
    results.memory = Default::default();
    Analysed::new(results, samples, None)
}

fn pause(id: u64, requested: Time, (stop, collect): (f64, f64), others: f64) -> BlamedPause {
    let stopped = requested.plus(stop as u64);
    let collected = stopped.plus(collect as u64);
    let piece = CausePiece {
        cause: Cause::Preempted,
        lane: Some(LaneId(1)),
        tid: None,
        who: None,
        who_pid: None,
        code: None,
        neighbour: false,
        from: requested,
        to: requested.plus((stop * others) as u64),
        confidence: Confidence::High,
    };
    let pause = Pause {
        id,
        kind: PauseKind::Minor,
        mode: PauseMode::Parallel,
        generation: Some(0),
        leader: Some(LaneId(0)),
        requested: Some(requested),
        stopped,
        collected,
        released: collected.plus(9_000),
        release_basis: ReleaseBasis::LowerBound,
        straggler: Some(LaneId(1)),
        lanes: Vec::new(),
        copied_bytes: None,
        gc_threads: None,
        quality: PauseQuality::Whole,
    };
    BlamedPause { pause, causes: vec![piece], kept_ns: None }
}

/// Nothing found, although every rule looked.
fn healthy() -> Results {
    let mut results = common::healthy().results;
    results.runtime = common::throttled().results.runtime;
    results.lanes = common::throttled().results.lanes;
    let part = |id: &str, name: &str, ms: u64| Node::leaf(id, name, ms * 1_000_000);
    let parts = vec![part("program", "program", 5_580), part("collecting", "collecting", 420)];
    results.account = Some(Account { lanes_ns: 6_000_000_000, parts, ..Account::default() });
    results
}

fn throttled() -> Results {
    common::throttled().results
}

fn compared(a: Analysed, b: Analysed) -> Compared {
    Compared::new(a, b, &[]).expect("no condition")
}

fn with(a: Analysed, b: Analysed, asked: &[&str]) -> Result<Compared, String> {
    let asked: Vec<String> = asked.iter().map(|text| (*text).to_string()).collect();
    let conditions = conditions(&asked).map_err(|error| error.to_string())?;
    Compared::new(a, b, &conditions).map_err(|error| error.to_string())
}

fn shown(compared: &Compared) -> String {
    text::compare::render(compared, &Style::plain(100))
}

#[test]
fn runs_of_the_same_are_called_so_in_nineteen_of_twenty() {
    let one = |seed: u64| compared(run(SLOW, 2 * seed, healthy()), run(SLOW, 2 * seed + 1, healthy()));
    let verdicts: Vec<Verdict> = (1..=20).map(|seed| one(seed).comparison.verdict).collect();
    let alike = verdicts.iter().filter(|verdict| **verdict == Verdict::NoDifference).count();
    assert!(alike >= 19, "{alike} of 20: {verdicts:?}");
}

#[test]
fn a_difference_of_the_program_is_named_first_with_the_finding_that_goes_with_it() {
    let compared = compared(run(SLOW, 1, throttled()), run(CALM, 2, healthy()));
    assert_eq!(compared.comparison.verdict, Verdict::Different);
    assert_eq!(compared.comparison.figures[0].path, "pauses.time_to_stop_ns.sum");
    let gone = &compared.comparison.findings[0];
    assert_eq!((gone.id.as_str(), gone.change, gone.matters), ("cpu-throttled", Change::Gone, true));
    let headline = words::headline(&compared);
    assert!(headline.starts_with("B waits "), "{headline}");
    assert!(headline.contains("s less for all to stop") && headline.contains("cpu-throttled is gone"), "{headline}");
    let back = words::headline(&self::compared(run(CALM, 2, healthy()), run(SLOW, 1, throttled())));
    assert!(back.contains("s more for all to stop") && back.contains("cpu-throttled came"), "{back}");
}

#[test]
fn the_same_file_twice_is_no_difference() {
    let compared = with(run(SLOW, 5, throttled()), run(SLOW, 5, throttled()), &["pauses.total_ns > +0%"]).unwrap();
    assert_eq!(compared.comparison.verdict, Verdict::NoDifference);
    assert!(compared.comparison.figures.iter().all(|figure| figure.real != Some(true)));
    assert_eq!(compared.exit_code(), 0);
    assert!(shown(&compared).contains("No difference"));
}

#[test]
fn what_other_processes_did_is_not_the_programs() {
    let busy = Plan { others: 0.99, ..SLOW };
    let compared = compared(run(CALM, 1, healthy()), run(busy, 2, healthy()));
    assert_eq!(compared.comparison.verdict, Verdict::OthersDiffer);
    assert!(words::headline(&compared).starts_with("The machine differs, not the program"));
    assert!(shown(&compared).contains("others did it"));
}

#[test]
fn a_rule_that_could_not_look_has_not_made_a_finding_go_away() {
    let mut blind = healthy();
    for rule in &mut blind.checked {
        rule.outcome = RuleOutcome::CouldNotLook;
        rule.why = Some("an eventlog alone does not show it.".into());
    }
    let compared = with(run(SLOW, 1, throttled()), run(SLOW, 2, blind), &["finding cpu-throttled"]).unwrap();
    assert_eq!(compared.comparison.findings[0].change, Change::CannotTell);
    assert!(!compared.comparison.findings[0].matters);
    assert_eq!((compared.conditions[0].outcome, compared.exit_code()), (ConditionOutcome::Unknown, 3));
}

#[test]
fn few_pauses_are_not_judged_and_that_is_reported() {
    let rare = Plan { every_ns: 300 * MS, ..SLOW };
    let compared = compared(run(rare, 1, healthy()), run(rare, 2, healthy()));
    let p99 = compared.comparison.figure("pauses.time_to_stop_ns.p99").expect("the figure");
    assert_eq!(p99.real, None);
    assert!(p99.why_not.as_ref().is_some_and(|why| why.contains("pauses are too few")), "{p99:?}");
    assert!(shown(&compared).contains("not judged"));
    let page = html::comparison(&compared);
    let list = page.split_once("<h4>Not judged</h4>").expect("a list").1;
    assert!(list.contains("waiting for all to stop, 99 in 100") && list.contains("pauses are too few (400 needed)"));
}

#[test]
fn without_a_runtime_nothing_is_compared() {
    let kernel_only = || Analysed::new(common::by_name("kernel_only").results, Samples::default(), None);
    let compared = with(kernel_only(), kernel_only(), &["pauses.total_ns > 1ms"]).unwrap();
    assert_eq!(compared.comparison.figure("pauses.total_ns").and_then(|figure| figure.a), None);
    assert_eq!((compared.conditions[0].outcome, compared.exit_code()), (ConditionOutcome::Unknown, 3));
    let headline = words::headline(&compared);
    assert!(
        headline.starts_with("No log of a runtime was recorded in either run, so pauses are not compared."),
        "{headline}"
    );
    let one = self::compared(kernel_only(), run(CALM, 1, healthy()));
    assert_eq!(one.comparison.verdict, Verdict::Different);
    assert!(words::headline(&one).starts_with("No log of a runtime was recorded in A, "));
}

#[test]
fn conditions_decide_the_exit_code() {
    let pair = || (run(CALM, 1, healthy()), run(SLOW, 2, throttled()));
    let exit = |asked: &[&str]| {
        let (a, b) = pair();
        with(a, b, asked).map(|compared| compared.exit_code())
    };
    assert_eq!(exit(&[]), Ok(0));
    assert_eq!(exit(&["pauses.time_to_stop_ns.p99 > +20%"]), Ok(4));
    assert_eq!(exit(&["pauses.time_to_stop_ns.p99 < -20%"]), Ok(0));
    assert_eq!(exit(&["pauses.time_to_stop_ns.max > 10s"]), Ok(0));
    assert_eq!(exit(&["pauses.time_to_stop_ns.max > 10s", "finding cpu-throttled"]), Ok(4));
    assert_eq!(exit(&["memory.rss_bytes.max > 1GiB"]), Ok(3), "null is not small");
    assert_eq!(exit(&["memory.rss_bytes.max > 1GiB", "finding cpu-throttled"]), Ok(4));
    assert!(exit(&["pauses.time_to_stop.p99 > 1"]).unwrap_err().contains("no figure"));
    assert!(exit(&["finding nonsense"]).unwrap_err().contains("there is no finding nonsense"));
    assert!(exit(&["pauses"]).unwrap_err().contains("cannot read the condition"));
}

#[test]
fn a_change_that_may_be_chance_fails_no_job() {
    let asked = ["pauses.time_to_stop_ns.sum > +1%", "pauses.time_to_stop_ns.sum < -1%"];
    let compared = with(run(SLOW, 21, healthy()), run(SLOW, 22, healthy()), &asked).unwrap();
    let outcomes: BTreeSet<_> = compared.conditions.iter().map(|asked| format!("{:?}", asked.outcome)).collect();
    assert!(outcomes.contains("NotReal"), "{:?}", compared.conditions);
    assert_eq!(compared.exit_code(), 0);
}

#[test]
fn what_differs_between_the_recordings_is_reported_and_not_guessed() {
    let mut other = healthy();
    other.runtime.version = Some("9.6.6".into());
    other.runtime.args = ["./other", "3", "+RTS", "-N2", "-A16m", "-RTS"].map(String::from).to_vec();
    let mut b = run(CALM, 2, other);
    b.results.span_ns = 9 * SECOND;
    let compared = compared(run(CALM, 1, healthy()), b);
    let settings: Vec<&str> = compared.comparison.settings.iter().map(|setting| setting.what).collect();
    assert_eq!(settings, ["program", "runtime", "runtime flags", "length"]);
    let shown = shown(&compared);
    assert!(shown.contains("program: mill in A, other in B: two things are compared"), "{shown}");
    assert!(shown.contains("runtime flags: -A1m in A, -A16m in B"), "{shown}");
}

#[test]
fn no_string_of_the_program_can_act() {
    let hostile = |seed| run(SLOW, seed, common::hostile().results);
    let compared = compared(hostile(1), run(CALM, 2, healthy()));
    let text = shown(&compared);
    assert!(!text.contains('\x1b') && !text.contains('\u{202e}'), "{text}");
    let page = html::comparison(&compared);
    assert!(!page.contains("<script>alert") && !page.contains("<img"), "escaped everywhere");
}

#[test]
fn the_page_stands_by_itself() {
    let page = html::comparison(&compared(run(SLOW, 1, throttled()), run(CALM, 2, healthy())));
    assert!(page.len() < SIZE_MAX);
    for part in [
        "id=\"verdict\"",
        "id=\"account\"",
        "id=\"distribution\"",
        "id=\"figures\"",
        "id=\"findings\"",
        "id=\"rtscope-data\"",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert!(!page.contains("http://") && !page.contains("https://") && !page.contains("style=\""));
    let data = page.split("id=\"rtscope-data\">").nth(1).and_then(|rest| rest.split("</script>").next());
    let data: Value = serde_json::from_str(data.expect("the data")).expect("JSON");
    assert_eq!(data["schema"], "rtscope/compare/1");
}

#[test]
fn pages_are_written_for_the_browser_test() {
    let folder = std::env::var_os("RTSCOPE_PAGES")
        .map_or_else(|| Path::new(env!("CARGO_TARGET_TMPDIR")).join("pages"), PathBuf::from);
    std::fs::create_dir_all(&folder).expect("the folder for pages");
    let page = html::comparison(&compared(run(SLOW, 1, throttled()), run(CALM, 2, healthy())));
    assert!(page.len() < SIZE_MAX, "{} bytes", page.len());
    std::fs::write(folder.join("compare.html"), page).expect("writing a page");
}

fn documented() -> BTreeSet<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/compare-json.md");
    let text = std::fs::read_to_string(path).expect("docs/compare-json.md");
    let mut keys = BTreeSet::new();
    for row in text.lines().filter(|line| line.starts_with("| `")) {
        let key = row.split('`').nth(1).unwrap_or("");
        match key.split_once('{') {
            Some((prefix, group)) => {
                keys.extend(group.trim_end_matches('}').split(", ").map(|name| format!("{prefix}{name}")));
            }
            None => _ = keys.insert(key.to_string()),
        }
    }
    keys
}

#[test]
fn every_key_is_documented_and_every_documented_key_exists() {
    let mut a = run(SLOW, 1, throttled());
    a.results.runtime.version = Some("9.6.6".into());
    let compared = with(a, run(CALM, 2, healthy()), &["finding cpu-throttled"]).unwrap();
    let document: Value = serde_json::from_str(&words::json(&compared).unwrap()).unwrap();
    let mut found = BTreeSet::new();
    common::key_paths(&document, "", &mut found);
    // Both runs, and both sides of a finding, have the same keys; the runtime's are the report's.
    let again =
        |path: &String| path.starts_with("b.") || path.starts_with("findings[].b.") || path.starts_with("a.runtime.");
    found.retain(|path| !again(path));
    let documented = documented();
    let missing: Vec<_> = found.difference(&documented).collect();
    let stale: Vec<_> = documented.difference(&found).collect();
    assert!(missing.is_empty() && stale.is_empty(), "not documented: {missing:?}; gone: {stale:?}");
}

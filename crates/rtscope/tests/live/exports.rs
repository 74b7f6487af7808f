//! Live: exports can be read by the tools that they are for, and say what the report says. Perfetto's published
//! descriptors decode the trace, speedscope imports Chrome's and Firefox's files, DuckDB and Arrow read the
//! tables and answer the questions of `docs/formats/parquet.md`.

use testkit::ground;
use testkit::output::pauses;

use ground::{ground, record, reported, scratch, stderr};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use xtask::cache::cache;
use xtask::missing;

const HERE: &str = env!("CARGO_MANIFEST_DIR");

/// The folder of readers for `what`, created if missing; `None`: they are not available.
fn tools(what: &str) -> Option<PathBuf> {
    let folder = cache().join("exports");
    let script = Path::new(HERE).join("tests/exports/tools.sh");
    let done = Command::new(script).arg(what).arg(&folder).output().unwrap();
    if !done.status.success() {
        missing(&format!("readers of exports for {what}: {}", stderr(&done)));
        return None;
    }
    Some(folder.join(what))
}

fn export(format: &str, from: &Path, to: &Path) {
    let mut command = Command::new(testkit::rtscope());
    let done = command.args(["export", "--to", format, "-o"]).arg(to).arg(from).output().unwrap();
    assert!(matches!(done.status.code(), Some(0 | 3)), "{format}: {}", stderr(&done));
}

/// The JSON output of one of our scripts.
fn python(tools: &Path, script: &str, args: &[&Path]) -> Value {
    let script = Path::new(HERE).join("tests/exports").join(script);
    let done = Command::new(tools.join("bin/python")).arg(script).args(args).output().unwrap();
    assert!(done.status.success(), "{}: {}", args[0].display(), stderr(&done));
    serde_json::from_slice(&done.stdout).unwrap()
}

/// Logs of the corpus that lost nothing.
fn logs() -> Vec<PathBuf> {
    let corpus = Path::new(HERE).join("../../corpus");
    let ghc = ["ghc-9.0", "ghc-9.6", "ghc-9.10"].into_iter();
    let kinds = ["parallel", "sequential", "non-threaded", "non-moving", "all-classes", "heap-profile"];
    let ghc = ghc.flat_map(|version| kinds.map(|kind| format!("{version}/{kind}.eventlog")));
    let ocaml = ["ocaml-5.3/whole.events", "ocaml-5.4/whole.events"].map(str::to_owned);
    ghc.chain(ocaml).map(|name| corpus.join(name)).collect()
}

/// One of these logs for each way of drawing: compiler versions are drawn alike, as is any number of lanes
/// that collect.
fn drawn_differently() -> impl Iterator<Item = PathBuf> {
    let kinds =
        ["ghc-9.0/non-moving", "ghc-9.6/parallel", "ghc-9.10/all-classes", "ghc-9.10/heap-profile", "ocaml-5.4/whole"];
    logs().into_iter().filter(move |log| kinds.iter().any(|kind| log.with_extension("").ends_with(kind)))
}

fn number(value: &Value, key: &str) -> u64 {
    value[key].as_u64().unwrap_or_else(|| panic!("{key}: {value}"))
}

/// Nanoseconds between two moments, over all pauses that have both.
fn sum_ns(pauses: &[Value], from: &str, to: &str) -> u64 {
    let length = |pause: &Value| Some(pause[to].as_u64()?.saturating_sub(pause[from].as_u64()?));
    pauses.iter().filter_map(length).sum()
}

fn overlap(pauses: &[Value]) -> bool {
    let begin = |pause: &Value| pause["requested_ns"].as_u64().unwrap_or(number(pause, "stopped_ns"));
    pauses.windows(2).any(|pair| begin(&pair[1]) < number(&pair[0], "released_ns"))
}

/// Checks a decoded trace against the pauses of the report.
fn trace_has_the_pauses(trace: &Value, pauses: &[Value], name: &str) {
    let spans = trace["spans"].as_object().unwrap();
    let drawn: u64 = spans.iter().filter(|(name, _)| name.ends_with(" pause")).filter_map(|(_, n)| n.as_u64()).sum();
    assert_eq!(drawn, pauses.len() as u64, "{name}");
    if !overlap(pauses) {
        let drawn = |span: &str| trace["pauses_ns"][span].as_u64().unwrap_or(0);
        assert_eq!(drawn("time to stop"), sum_ns(pauses, "requested_ns", "stopped_ns"), "{name}");
        assert_eq!(drawn("collect"), sum_ns(pauses, "stopped_ns", "collected_ns"), "{name}");
        assert_eq!(drawn("release"), sum_ns(pauses, "collected_ns", "released_ns"), "{name}");
    }
}

#[test]
fn perfettos_descriptors_decode_every_log() {
    let Some(tools) = tools("python") else { return };
    let folder = scratch();
    let out = folder.path().join("t.pftrace");
    for log in logs() {
        let name = log.display().to_string();
        export("perfetto", &log, &out);
        let trace = python(&tools, "decode_perfetto.py", &[&out]);
        trace_has_the_pauses(&trace, &pauses(&log), &name);
        let deepest = trace["deepest"].as_object().unwrap();
        if name.contains("parallel") || name.contains("whole") {
            let nested = deepest.iter().any(|(track, depth)| track.ends_with(" 1") && depth.as_u64() >= Some(2));
            assert!(nested && number(&trace, "flows") > 0, "{name}: {trace}");
        }
        assert!(number(&trace, "packets") > 100, "{name}");
    }
}

#[test]
fn a_capture_has_the_kernels_scheduling_in_perfetto() {
    let (Some(tools), Some(ground)) = (tools("python"), ground()) else { return };
    let folder = scratch();
    let (capture, out) = (folder.path().join("c.rtscope"), folder.path().join("t.pftrace"));
    let output = record(&capture, &["--detail", "full"], &ground.a_second());
    assert!(output.status.success(), "{}", stderr(&output));
    export("perfetto", &capture, &out);
    let trace = python(&tools, "decode_perfetto.py", &[&out]);
    trace_has_the_pauses(&trace, &pauses(&capture), "capture");
    assert_eq!(trace["clocks"], serde_json::json!([6, 3, 1]));
    assert_eq!(trace["process"]["name"], "faulty", "{trace}");
    for line in ["resident set", "heap", "allocated"] {
        assert!(number(&trace["values"], line) > 1, "{line}: {}", trace["values"]);
    }
    let report = reported(&capture);
    if !report["code"].is_null() {
        let samples = trace["samples"].as_object().unwrap();
        let drawn: u64 = samples.values().filter_map(Value::as_u64).sum();
        assert_eq!(drawn, number(&report["code"], "samples"), "{samples:?}");
    }
    if report["kernel"]["tier"] == "tracepoints" {
        let (switches, broken) = (number(&trace, "switches"), number(&trace, "broken_switches"));
        assert!(switches > 100 && broken * 100 <= switches, "{broken} of {switches}");
        // The runtime's workers have a name of their own from 9.10 on: `faulty:w`.
        let own = |(name, _): &(&String, &Value)| name.starts_with("faulty");
        let comms = trace["comms"].as_object().unwrap().iter().filter(own);
        let switched: u64 = comms.filter_map(|(_, times)| times.as_u64()).sum();
        assert!(switched > 10 && number(&trace, "wakings") > 10, "{}", trace["comms"]);
    }
    tables_answer(&capture, folder.path());
}

#[test]
fn speedscope_imports_the_files_for_chrome_and_firefox() {
    if !Path::new("/usr/bin/chromium").exists() && std::env::var_os("CHROMIUM").is_none() {
        return missing("chromium: tests/browser/run.sh installs it");
    }
    let Some(tools) = tools("node") else { return };
    let folder = scratch();
    let mut files = Vec::new();
    for (number, log) in drawn_differently().enumerate() {
        for format in ["chrome", "firefox"] {
            files.push(folder.path().join(format!("{number}.{format}.trace")));
            export(format, &log, files.last().unwrap());
        }
    }
    let script = Path::new(HERE).join("tests/exports/speedscope.mjs");
    let done = Command::new("node").arg(script).arg(&tools).args(&files).output().unwrap();
    assert!(done.status.success(), "{}", stderr(&done));
    let text = String::from_utf8(done.stdout).unwrap();
    assert_eq!((files.len(), text.lines().count()), (10, 10));
    for line in text.lines() {
        let file: Value = serde_json::from_str(line).unwrap();
        let chrome = file["file"].as_str().unwrap().contains("chrome");
        let imported = if chrome { "Importing as Trace Event Format profile" } else { "Importing as Firefox profile" };
        assert!(file["said"].as_array().unwrap().contains(&imported.into()), "{file}");
        assert_eq!(file["wrong"], Value::Array(Vec::new()), "{file}");
    }
}

#[test]
fn duckdb_and_arrow_read_the_tables() {
    for log in logs() {
        let folder = scratch();
        tables_answer(&log, folder.path());
    }
}

/// Exports tables and checks DuckDB's answers against the pauses of the report.
fn tables_answer(from: &Path, folder: &Path) {
    let Some(tools) = tools("python") else { return };
    let (tables, name) = (folder.join("tables"), from.display());
    export("parquet", from, &tables);
    let document = Path::new(HERE).join("../../docs/formats/parquet.md");
    let found = python(&tools, "query_tables.py", &[&tables, &document]);
    let pauses = pauses(from);
    assert_eq!(number(&found["tables"]["pauses"], "rows"), pauses.len() as u64, "{name}");
    let lanes: usize = pauses.iter().map(|pause| pause["lanes"].as_array().unwrap().len()).sum();
    assert_eq!(number(&found["tables"]["pause_lanes"], "rows"), lanes as u64, "{name}");

    let answers = &found["answers"];
    let rows = |title: &str| answers[title].as_array().unwrap_or_else(|| panic!("no question {title}")).clone();
    let ms = |rows: &[Value]| rows.iter().filter_map(|row| row["ms"].as_f64()).sum::<f64>();
    let same = |found: f64, expected_ns: u64, what: &str| {
        assert!((found * 1e6 - expected_ns as f64).abs() < 1_000.0, "{name}: {what}: {found} ms, {expected_ns} ns");
    };
    let whole: Vec<Value> = pauses.iter().filter(|pause| pause["quality"] == "whole").cloned().collect();
    let still = &rows("How long does the world stand still?")[0];
    assert_eq!(number(still, "pauses"), whole.len() as u64, "{name}");
    same(still["stop_ms"].as_f64().unwrap_or(0.0), sum_ns(&whole, "requested_ns", "stopped_ns"), "stop");
    same(still["collect_ms"].as_f64().unwrap_or(0.0), sum_ns(&whole, "stopped_ns", "collected_ns"), "collect");

    let causes: Vec<Value> = pauses.iter().flat_map(|pause| pause["causes"].as_array().unwrap().clone()).collect();
    let title = "What was waited for, and which process took the CPU?";
    same(ms(&rows(title)), sum_ns(&causes, "from_ns", "to_ns"), "causes");

    let late = rows("Who is late, and how much does that cost?");
    let times: u64 = late.iter().map(|row| number(row, "times")).sum();
    assert_eq!(times, pauses.iter().filter(|pause| !pause["straggler"].is_null()).count() as u64, "{name}");

    let stops = rows("Who stops when, in the slowest stop?");
    let slowest = pauses.iter().max_by_key(|pause| sum_ns(std::slice::from_ref(pause), "requested_ns", "stopped_ns"));
    if let (Some(last), Some(slowest)) = (stops.last(), slowest.filter(|slowest| !slowest["straggler"].is_null())) {
        assert_eq!(last["lane"], slowest["straggler"], "{name}");
    }
    assert!(!rows("What does each lane do with its time?").is_empty(), "{name}");
}

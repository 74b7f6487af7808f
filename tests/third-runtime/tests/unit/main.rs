//! What a runtime from outside the tree gets through the registries alone. Its log is `uneven.pebble`:
//! twelve gatherings of two hollows; hollow 1 is late in ten of them.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Terms of other runtimes, which must not appear.
const FOREIGN: [&str; 8] = ["capabilit", "domain", "GHC", "OCaml", "Haskell", "eventlog", "+RTS", "OCAMLRUNPARAM"];

fn log() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("uneven.pebble")
}

fn run(args: &[&str], file: &Path) -> Output {
    let mut program = Command::new(env!("CARGO_BIN_EXE_rtscope-pebble"));
    program.args(args).arg(file).env("COLUMNS", "100").output().expect("runs")
}

/// What rtscope prints for a file that it can read.
fn printed(args: &[&str], file: &Path) -> String {
    let output = run(args, file);
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn json(file: &Path) -> Value {
    serde_json::from_str(&printed(&["report", "--json"], file)).expect("JSON")
}

fn has_own_words_only(text: &str) {
    for word in FOREIGN {
        assert!(!text.contains(word), "{word} in {text}");
    }
}

/// Writes a log with `lines` after its first line.
fn written(folder: &tempfile::TempDir, lines: &str) -> PathBuf {
    let path = folder.path().join("made.pebble");
    std::fs::write(&path, lines).expect("is written");
    path
}

#[test]
fn the_report_has_its_nouns_and_its_rule_speaks_first() {
    let text = printed(&["report"], &log());
    assert!(text.contains("Pebble 0.3 · 2 hollows · 312 ms · 12 pauses"), "{text}");
    assert!(text.contains("1. hollow 1 kept all other hollows waiting: 65.7 ms of 312 ms (21 %)."), "{text}");
    assert!(text.contains("change Use fewer hollows.\n          --hollows=1"), "{text}");
    assert!(text.contains("verify Record again: this finding is gone and the time to stop falls."), "{text}");
    assert!(text.contains("It was the last to stop in 10 of 12 gatherings."), "{text}");
    has_own_words_only(&text);
}

#[test]
fn json_has_its_lanes_pauses_and_finding() {
    let report = json(&log());
    assert_eq!(report["source"]["kind"], "pebble-log");
    assert_eq!(report["runtime"]["family"], "pebble");
    assert_eq!(report["pauses"]["count"], 12);
    assert_eq!(report["lanes"][1]["name"], "hollow 1");
    let ids: Vec<_> = report["findings"].as_array().expect("a list").iter().map(|found| &found["id"]).collect();
    assert_eq!(ids, ["uneven-hollows"]);
    assert_eq!(report["findings"][0]["remedies"][0]["flag"], "--hollows=1");
    assert_eq!(report["losses"].as_array().map(Vec::len), Some(0));
}

#[test]
fn its_pauses_are_split_into_request_stop_work_and_release() {
    let lines = printed(&["report", "--pauses"], &log());
    let first: Value = serde_json::from_str(lines.lines().next().expect("a pause")).expect("JSON");
    assert_eq!(lines.lines().count(), 12);
    assert_eq!(first["quality"], "whole");
    let times = ["requested_ns", "stopped_ns", "collected_ns", "released_ns"].map(|time| first[time].as_u64());
    assert!(times.is_sorted() && times[0] == Some(1_000_000), "{times:?}");
}

#[test]
fn its_page_speaks_its_nouns() {
    let folder = tempfile::tempdir().expect("a folder");
    let page = folder.path().join("page.html");
    printed(&["report", "--html", page.to_str().expect("UTF-8")], &log());
    let page = std::fs::read_to_string(page).expect("a page");
    assert!(page.contains("hollow 1") && page.contains("hollows") && page.contains("--hollows=1"));
    assert!(page.contains("Pebble 0.3"));
    has_own_words_only(&page);
}

#[test]
fn perfetto_gets_its_lanes() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = folder.path().join("made.pftrace");
    let output = run(&["export", "--to", "perfetto", "-o", trace.to_str().expect("UTF-8")], &log());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let trace = std::fs::read(trace).expect("a trace");
    let has = |name: &str| trace.windows(name.len()).any(|bytes| bytes == name.as_bytes());
    assert!(has("hollow 0") && has("hollow 1") && has("waiting to stop"));
}

#[test]
fn a_line_that_cannot_be_read_is_a_loss_and_the_rest_is_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = std::fs::read_to_string(log()).expect("text");
    let report = json(&written(&folder, &format!("{text}12 of what\n99999999999999999999 0 asks\n")));
    assert_eq!(report["pauses"]["count"], 12);
    assert_eq!(report["losses"].as_array().map(Vec::len), Some(2));
}

#[test]
fn a_log_that_is_cut_anywhere_is_read_or_refused_in_words() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = std::fs::read_to_string(log()).expect("text");
    for length in (0..text.len()).step_by(61) {
        let output = run(&["report"], &written(&folder, &text[..length]));
        let read = matches!(output.status.code(), Some(0 | 3));
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!stderr.contains("panicked"), "{length}: {stderr}");
        assert!(read || stderr.starts_with("rtscope: "), "{length}: {stderr}");
    }
}

#[test]
fn the_program_without_it_does_not_know_its_log() {
    let built_in = testkit::rtscope();
    let output = Command::new(built_in).arg("report").arg(log()).output().expect("runs");
    assert!(!output.status.success(), "the program without it does not know it");
    assert!(String::from_utf8_lossy(&output.stderr).contains("cannot read"));
}

/// Collects the files below a folder, except build output.
fn files(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        match path.is_dir() {
            true if !path.ends_with("target") => files(&path, out),
            true => {}
            false => out.push(path),
        }
    }
}

#[test]
fn no_file_of_crates_names_it() {
    let mut all = Vec::new();
    files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates"), &mut all);
    assert!(all.len() > 500, "{} files", all.len());
    for file in all {
        let bytes = std::fs::read(&file).expect("is read");
        let names = String::from_utf8_lossy(&bytes).to_lowercase().contains("pebble");
        assert!(!names, "{}", file.display());
    }
}

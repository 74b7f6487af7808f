//! Live: the benchmark programs of transactions on each GHC, with one thread and with more than
//! there are capabilities, threaded and not, and the experiment that runs them. Owns nothing
//! about speed, nor about how many aborts there are.

use testkit::bindings;
use testkit::executable;

use bindings::Bench;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use xtask::cache::cache;
use xtask::missing;
use xtask::runner::target_folder;
use xtask::toolchain::{Spec, Toolchain};
use xtask::workload::{self, Language};

/// Each with a number of operations that takes some milliseconds, and with options.
const BENCHMARKS: [(&str, &str, &[&str]); 11] = [
    ("si", "20001", &[]),
    ("ll", "2001", &[]),
    ("ll", "4001", &["--keys", "24"]),
    ("hash", "20001", &[]),
    ("rbtree", "20001", &[]),
    ("rbtree", "20001", &["--keys", "24"]),
    ("queue", "20001", &[]),
    ("bank", "20001", &["--keys", "5"]),
    ("readers", "5001", &[]),
    ("retry", "5001", &[]),
    ("orelse", "5001", &["--keys", "3"]),
];

/// A compiled program, and a folder that it can be run in.
struct Built {
    toolchain: Toolchain,
    /// Folder with everything that it needs.
    builds: PathBuf,
    program: PathBuf,
    folder: tempfile::TempDir,
}

fn built(ghc: &str, threaded: bool) -> Option<Built> {
    let Some(toolchain) = Spec::find(ghc).unwrap().installed(&cache()) else {
        missing(&format!("{ghc}: `cargo xtask toolchains --only {ghc}`"));
        return None;
    };
    let builds = target_folder().join("workloads");
    fs::create_dir_all(&builds).unwrap();
    let builds = fs::canonicalize(builds).unwrap();
    let program = workload::build(Language::Haskell, "stm-bench", threaded, &toolchain, &builds).unwrap();
    let folder = tempfile::tempdir_in(&builds).unwrap();
    Some(Built { toolchain, builds, program, folder })
}

impl Built {
    fn run(&self, words: &[&str]) -> Output {
        let mut command = self.toolchain.command(self.program.as_os_str(), self.folder.path(), &[&self.builds]);
        command.args(words).output().unwrap()
    }

    fn figures(&self, words: &[&str]) -> BTreeMap<String, u64> {
        figures(&self.run(words), words)
    }

    /// Writes a script that starts this program in its tree, for callers that need a path.
    fn script(&self) -> PathBuf {
        let path = self.folder.path().join("stm-bench");
        let mut words = self.toolchain.enter(&[&self.builds]);
        words.push(self.program.clone().into());
        script(&path, &words);
        path
    }
}

/// The figures in a run's last line.
fn figures(done: &Output, words: &[&str]) -> BTreeMap<String, u64> {
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(done.status.success(), "{words:?}: {}", String::from_utf8_lossy(&done.stderr));
    let line = said.lines().last().and_then(|line| line.strip_prefix("stm ")).unwrap_or_else(|| panic!("{said}"));
    let pairs = line.split(' ').map(|word| word.split_once('=').unwrap());
    pairs.map(|(name, figure)| (name.to_owned(), figure.parse().unwrap())).collect()
}

/// Writes a script that runs this command line with its own arguments appended.
fn script(path: &Path, words: &[OsString]) {
    let quoted = |word: &OsString| format!("'{}'", word.to_string_lossy().replace('\'', r"'\''"));
    let words: Vec<String> = words.iter().map(quoted).collect();
    executable::write(path, format!("#!/bin/sh\nexec {} \"$@\"\n", words.join(" ")));
}

/// Nothing is lost, whatever else runs, and every operation is counted once.
fn nothing_is_lost(ghc: &str) {
    for threaded in [true, false] {
        let Some(built) = built(ghc, threaded) else { return };
        for (name, operations, options) in BENCHMARKS {
            for threads in ["1", "8"] {
                let runtime: &[&str] = if threaded { &["+RTS", "-N2", "-RTS"] } else { &[] };
                let words = [&[name, threads, operations, "--count"], options, runtime].concat();
                let found = built.figures(&words);
                assert!(found["ns"] > 0 && found["operations"].to_string() == operations, "{words:?}: {found:?}");
                // An item that is handed on is given and taken; one read is of many accounts.
                let of_one = if name == "retry" { 2 } else { 1 };
                assert_eq!(found["transactions"], of_one * found["operations"], "{words:?}: {found:?}");
                assert!(found["attempts"] >= found["transactions"] + found["waits"], "{words:?}: {found:?}");
                assert!(threads != "1" || found["waits"] == 0, "{words:?}: {found:?}");
                assert!(!found.contains_key("aborts"), "only the program counts: {found:?}");
            }
        }
        // Without counting it reports no attempts.
        assert_eq!(built.figures(&["si", "2", "100"]).keys().collect::<Vec<_>>(), ["ns", "operations"]);
    }
}

#[test]
fn live_stm_bench_loses_nothing_on_9_0() {
    nothing_is_lost("ghc-9.0");
}

#[test]
fn live_stm_bench_loses_nothing_on_9_6() {
    nothing_is_lost("ghc-9.6");
}

#[test]
fn live_stm_bench_loses_nothing_on_9_10() {
    nothing_is_lost("ghc-9.10");
}

#[test]
fn live_stm_bench_sees_what_is_lost_and_refuses_what_makes_no_sense() {
    let Some(built) = built("ghc-9.0", true) else { return };
    for (name, ..) in BENCHMARKS {
        let done = built.run(&[name, "3", "500", "--spoil"]);
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(
            done.status.code() == Some(1) && said.starts_with("broken: ") && done.stdout.is_empty(),
            "{name}: {said}"
        );
    }
    for words in [
        &[][..],
        &["si"],
        &["si", "0"],
        &["sl", "1"],
        &["si", "1", "2", "3"],
        &["si", "1", "--keys"],
        &["si", "1", "--x"],
    ] {
        let done = built.run(words);
        assert!(done.status.code() == Some(2) && done.stdout.is_empty(), "{words:?}");
    }
    assert_eq!(built.run(&["bank", "1", "9", "--keys", "1"]).status.code(), Some(2), "one account");
}

/// Two runs of everything that the article measured, of small programs.
fn a_whole_document(ghc: &str) {
    let Some(built) = built(ghc, true) else { return };
    let script = built.script();
    let mut command = Command::new(testkit::rtscope());
    command.args(["bench", "stm", "--noisy", "--runs", "6", "--threads", "1,4", "--only", "si,ll", "--counted", "1"]);
    command.args(["--capabilities", "2", "--operations", "2000,si=20000", "--json", "-q", "-o", "out", "--program"]);
    let done = command.arg(script).current_dir(built.folder.path()).output().unwrap();
    assert_eq!(done.status.code(), Some(0), "{}", String::from_utf8_lossy(&done.stderr));
    let found: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!((&found["schema"], &found["ended"]), (&"rtscope/stm-bench/1".into(), &Value::Null));
    let benchmarks = found["benchmarks"].as_array().unwrap();
    assert_eq!(benchmarks.iter().map(|one| one["name"].as_str().unwrap()).collect::<Vec<_>>(), ["si", "ll"]);
    for benchmark in benchmarks {
        let points = benchmark["points"].as_array().unwrap();
        // The article's: GHC's turns, often, never; on all cores and on one.
        assert_eq!(points.len(), 2 * 6, "{benchmark}");
        for point in points {
            let default = point["configuration"] == "default";
            assert!(point["time_ns"]["median"].as_f64().unwrap() > 0.0, "{point}");
            assert!(default || point["of_default"]["ratio"].as_f64().unwrap() > 0.0, "{point}");
            assert!(
                point["aborts"]["median"].as_f64().is_some() && point["times"].as_array().unwrap().len() == 6,
                "{point}"
            );
            // One thread on one core has no conflicts.
            let alone = point["threads"] == 1 && point["configuration"] == "few";
            assert!(!alone || point["aborts"]["median"] == 0.0, "{point}");
        }
    }
    let written = |name: &str| Path::new(built.folder.path()).join("out").join(name).exists();
    assert!(["stm.txt", "stm.html", "stm.json", "stm-si.svg", "stm-ll.svg"].into_iter().all(written));
}

#[test]
fn live_stm_bench_is_measured_on_9_0() {
    a_whole_document("ghc-9.0");
}

#[test]
fn live_stm_bench_is_measured_on_9_6() {
    a_whole_document("ghc-9.6");
}

#[test]
fn live_stm_bench_is_measured_on_9_10() {
    a_whole_document("ghc-9.10");
}

/// The program as it is (`plain`) and with the package (`linked`), each with a script next to it (`plain.sh`).
fn linked_and_plain(ghc: &str) -> Option<Bench> {
    let bench = Bench::of(ghc)?;
    bench.build_package("haskell-stm");
    for entry in fs::read_dir(Language::Haskell.folder().join("stm-bench")).unwrap().flatten() {
        let name = entry.file_name().into_string().unwrap();
        bench.write(&format!("source/{name}"), &fs::read_to_string(entry.path()).unwrap());
    }
    let flags = ["-O1", "-threaded", "-rtsopts", "-isource", "source/counts.c"];
    for (packages, program) in [(&[][..], "plain"), (&["rtscope-stm"], "linked")] {
        bench.link_packages(packages, "source/Main.hs", &flags, program);
        script(&bench.path(&format!("{program}.sh")), &bench.line(&[program]));
    }
    Some(bench)
}

/// What the package counted is what the program counted: of its attempts each took effect, was
/// lost or waited.
fn both_count_the_same(bench: &Bench) {
    for (name, operations) in [("si", "20001"), ("ll", "2001"), ("retry", "5001"), ("orelse", "5001")] {
        for mode in ["count", "adaptive"] {
            let words = ["linked", name, "8", operations, "--count", "+RTS", "-N2"];
            let found = figures(&bench.run(None, &[("RTSCOPE_STM", mode)], &words), &words);
            let count = |key: &str| *found.get(key).unwrap_or_else(|| panic!("no {key}, {words:?} {mode}: {found:?}"));
            assert_eq!(count("commits"), count("transactions"), "{words:?} {mode}: {found:?}");
            let ends = count("commits") + count("aborts") + count("blocks");
            assert_eq!(ends, count("attempts"), "{words:?} {mode}: {found:?}");
            // One that came to `retry` blocked, or was lost.
            assert!(count("blocks") <= count("waits"), "{words:?} {mode}: {found:?}");
        }
    }
}

/// With the scheduler as one of its configurations: the linked program reports aborts in every run.
fn a_document_with_the_scheduler(ghc: &str) {
    const RUNS: usize = 6;
    let Some(bench) = linked_and_plain(ghc) else { return };
    both_count_the_same(&bench);
    let mut command = Command::new(testkit::rtscope());
    command.args(["bench", "stm", "--noisy", "--runs", &RUNS.to_string(), "--threads", "1,4", "--only", "si,retry"]);
    command.args(["--counted", "0", "--capabilities", "2", "--operations", "2000,si=20000", "--json", "-q"]);
    command.args(["--configurations", "default,scheduler,counting", "--program", "./plain.sh"]);
    let done = command.args(["--scheduled", "./linked.sh"]).current_dir(bench.path("")).output().unwrap();
    assert_eq!(done.status.code(), Some(0), "{}", String::from_utf8_lossy(&done.stderr));
    let found: Value = serde_json::from_slice(&done.stdout).unwrap();
    let ways: Vec<_> = found["configurations"].as_array().unwrap().iter().map(|one| &one["environment"]).collect();
    assert_eq!(ways, [&json!([]), &json!([["RTSCOPE_STM", "adaptive"]]), &json!([["RTSCOPE_STM", "count"]])]);
    for (benchmark, name) in found["benchmarks"].as_array().unwrap().iter().zip(["si", "retry"]) {
        assert_eq!(benchmark["name"], name, "{benchmark}");
        let points = benchmark["points"].as_array().unwrap();
        let cells: Vec<_> = points.iter().map(|point| (&point["threads"], &point["configuration"])).collect();
        let expected =
            [1, 4].map(|threads| ["default", "scheduler", "counting"].map(|way| (json!(threads), json!(way))));
        assert!(cells.into_iter().eq(expected.iter().flatten().map(|(threads, way)| (threads, way))), "{benchmark}");
        for point in points {
            assert_eq!(point["times"].as_array().unwrap().len(), RUNS, "{point}");
            let counted = point["aborts_of_runs"].as_array().unwrap();
            if point["configuration"] == "default" {
                assert!(counted.is_empty() && point["of_default"].is_null(), "{point}");
                continue;
            }
            assert!(counted.len() == RUNS && point["of_default"]["ratio"].as_f64().unwrap() > 0.0, "{point}");
            // One thread has no conflicts.
            assert!(point["threads"] != 1 || point["aborts"]["median"] == 0.0, "{point}");
        }
    }
}

#[test]
fn live_stm_bench_is_scheduled_on_9_0() {
    a_document_with_the_scheduler("ghc-9.0");
}

#[test]
fn live_stm_bench_is_scheduled_on_9_6() {
    a_document_with_the_scheduler("ghc-9.6");
}

#[test]
fn live_stm_bench_is_scheduled_on_9_10() {
    a_document_with_the_scheduler("ghc-9.10");
}

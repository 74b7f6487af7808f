//! Live: what threads wait for in programs of which it is known, on every GHC and OCaml: kind, thing, holder,
//! place and C function, each over all threads of all looks, as `cargo xtask waits` counts them over more
//! seeds; and what a report contains of it.

use testkit::ground;

use ground::{manifest, recorder, reported, scratch};
use serde_json::Value;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::Path;
use xtask::cache::cache;
use xtask::missing;
use xtask::toolchain::{Spec, Toolchain};
use xtask::waits::Subject;
use xtask::waits::rows::misses;
use xtask::waits::score::Score;
use xtask::workload::Language;

/// Seed for the numbers of threads and for which of them holds what.
const SEED: u64 = 1;

/// Threads on average, kind, place (a part of its name), what their holder does and where.
type Known<'w> = (f64, &'w str, &'w str, Option<(&'w str, &'w str)>);

fn toolchain(name: &str) -> Option<Toolchain> {
    let toolchain = Spec::find(name).unwrap().installed(&cache());
    if toolchain.is_none() {
        missing(&format!("{name}: `cargo xtask toolchains --only {name}`"));
    }
    toolchain
}

fn recorded(toolchain: &Toolchain, folder: &Path, words: &[&str]) -> Value {
    let program = folder.join("waits");
    let capture = folder.join(format!("{}.rtscope", words.join("-").replace('+', "")));
    let mut line = toolchain.enter(&[folder]);
    line.push(program.into());
    line.extend(words.iter().chain(&["+RTS", "-N2"]).map(Into::into));
    let line: Vec<&OsStr> = line.iter().map(AsRef::as_ref).collect();
    let done = recorder(&capture, &[], &line).current_dir(folder).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let own = &manifest(&capture)["own_cost"];
    println!("{}: looks took {} of {} ns", words.join(" "), own["waits_cpu_ns"], own["cpu_ns"]);
    reported(&capture)["waits"].clone()
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.pointer(key).and_then(Value::as_str).unwrap_or("")
}

/// Checks how many of the known threads were seen as they are.
fn holds(waits: &Value, known: &[Known<'_>]) {
    let looks = waits["looks"].as_u64().unwrap();
    assert!(looks >= 5, "{waits:#}");
    // The first look may come while the program starts its threads.
    let least = 0.95 * (looks - 1) as f64 / looks as f64;
    let by = waits["by"].as_array().unwrap();
    for (threads, kind, place, holder) in known {
        let is_known = |wait: &&Value| {
            let doing = (text(wait, "/holder/doing"), text(wait, "/holder/place"));
            let held = holder.is_none_or(|(does, at)| does == doing.0 && doing.1.contains(at));
            wait["kind"] == *kind && text(wait, "/place").contains(place) && held
        };
        let seen: f64 = by.iter().filter(is_known).map(|wait| wait["threads_mean"].as_f64().unwrap()).sum();
        assert!((least * threads..=1.05 * threads).contains(&seen), "{threads} {kind} {place}: {seen} in {waits:#}");
    }
}

/// All cases of one seed are within the bounds, on each runtime of a toolchain.
fn known(name: &str) {
    let Some(toolchain) = toolchain(name) else { return };
    let folder = scratch();
    for subject in Subject::of(&toolchain) {
        let rows = subject.run(testkit::rtscope().as_ref(), SEED, 2.0, folder.path()).unwrap();
        let sum = rows.iter().fold(Score::default(), |sum, row| sum.and(row.score));
        let cases: Vec<String> = rows.iter().map(|row| format!("{} {:?}", row.case, row.score)).collect();
        assert!(rows[0].looks > 0 && sum.kind.of >= 50, "{}: {cases:#?}", subject.name);
        assert_eq!(misses(&sum), [""; 0], "{}: {cases:#?}", subject.name);
    }
}

#[test]
fn live_waits_are_as_the_program_knows_them_on_9_0() {
    known("ghc-9.0");
}

#[test]
fn live_waits_are_as_the_program_knows_them_on_9_6_and_5_3() {
    known("ghc-9.6");
}

#[test]
fn live_waits_are_as_the_program_knows_them_on_9_10_and_5_4() {
    known("ghc-9.10");
}

#[test]
fn live_the_report_has_what_threads_wait_for() {
    let Some(toolchain) = toolchain("ghc-9.6") else { return };
    let folder = scratch();
    let source = Language::Haskell.folder().join("waits");
    toolchain.compile(&[&source], &["-threaded"], &folder.path().join("waits")).unwrap();
    let waits = recorded(&toolchain, folder.path(), &["18", "call", "4", "3"]);
    let known: [Known<'_>; 6] = [
        (18.0, "lock", "Desk", Some(("call", "holdInCall"))),
        (3.0, "value", "Waiting", Some(("call", "slowValue"))),
        (4.0, "time", "sleepLong", None),
        (2.0, "io", "awaitInput", None),
        (1.0, "call", "callOut", None),
        (1.0, "message", "Waiting", Some(("call", "callOut"))),
    ];
    holds(&waits, &known);
    let by = waits["by"].as_array().unwrap();
    let lock = by.iter().find(|wait| text(wait, "/place").contains("Desk")).unwrap();
    assert!(text(lock, "/holder/callee").contains("sleep") && lock["callee"].is_null(), "{lock:#}");
}

/// Threads that the last look of a capture saw wait for `kind` in a place with `name` in it.
fn in_the_last_look(capture: &Path, kind: &str, name: &str) -> u64 {
    let text = std::fs::read_to_string(capture.join("waits.jsonl")).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let names: HashMap<u64, &str> =
        lines.iter().filter_map(|line| Some((line["x"][0].as_u64()?, line["x"][1].as_str()?))).collect();
    let last = lines.iter().rev().find_map(|line| line["w"][3].as_array()).unwrap();
    let in_place = |place: &Value| place.as_u64().is_some_and(|id| names[&id].contains(name));
    let asked = last.iter().filter(|group| group[0] == kind && in_place(&group[3]));
    asked.map(|group| group[1].as_u64().unwrap()).sum()
}

#[test]
fn live_ten_thousand_threads_are_looked_at_within_the_share() {
    let Some(toolchain) = toolchain("ghc-9.6") else { return };
    let folder = scratch();
    let source = Language::Haskell.folder().join("waits");
    toolchain.compile(&[&source], &["-threaded"], &folder.path().join("waits")).unwrap();
    // The first look may come before all of them sleep, and the second one a hundred times as long after it as it took:
    // up to a quarter of a second each.
    let waits = recorded(&toolchain, folder.path(), &["10", "call", "10000", "28"]);
    let capture = folder.path().join("10-call-10000-28.rtscope");
    let sleepers = in_the_last_look(&capture, "time", "sleepLong");
    // Estimated from a thousand of them; those that wait for one variable are all counted.
    assert!((9_800..=10_024).contains(&sleepers), "{sleepers}: {waits:#}");
    assert_eq!(in_the_last_look(&capture, "lock", "Desk"), 10, "{waits:#}");
    assert!(waits["looks"].as_u64().unwrap() <= 28, "28 seconds of 4 looks a second: {waits:#}");
}

#[test]
fn live_nothing_is_looked_at_where_that_is_not_wanted() {
    let folder = scratch();
    let capture = folder.path().join("sleep.rtscope");
    let line = ["sleep", "0.6"].map(OsStr::new);
    let done = recorder(&capture, &["--no-waits"], &line).output().unwrap();
    assert!(done.status.success());
    assert!(!capture.join("waits.jsonl").exists() && reported(&capture)["waits"].is_null());
    let notes = manifest(&capture)["notes"].to_string();
    assert!(notes.contains("--no-waits"), "{notes}");
}

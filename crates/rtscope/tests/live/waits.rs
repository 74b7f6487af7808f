//! Live: what threads wait for in programs of which it is known, on every GHC and OCaml. Owns what counts as
//! right: kind, thing, holder and place, each over all threads of all looks.

use testkit::{ground, rings};

use ground::{manifest, recorder, reported, scratch};
use serde_json::Value;
use std::ffi::OsStr;
use std::path::Path;
use xtask::cache::cache;
use xtask::missing;
use xtask::toolchain::{Spec, Toolchain};
use xtask::workload::Language;

/// A domain holds a lock, others wait for it, a signal, time, bytes, a connection, its end.
const DOMAINS: &str = testkit::source!("ocaml/waits/main.ml");

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

/// How many threads of those that are known were seen as they are.
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

fn haskell(name: &str) {
    let Some(toolchain) = toolchain(name) else { return };
    let folder = scratch();
    let source = Language::Haskell.folder().join("waits");
    toolchain.compile(&[&source], &["-threaded"], &folder.path().join("waits")).unwrap();
    for (does, doing) in [("call", "call"), ("delay", "time"), ("read", "io"), ("lock", "lock")] {
        let waits = recorded(&toolchain, folder.path(), &["18", does, "4", "3"]);
        let at = if does == "call" { "holdInCall" } else { "" };
        let known: [Known<'_>; 6] = [
            (18.0, "lock", "Desk", Some((doing, at))),
            (3.0, "value", "Waiting", Some(("call", "slowValue"))),
            (4.0, "time", "sleepLong", None),
            (2.0, "io", "awaitInput", None),
            (1.0, "call", "callOut", None),
            (1.0, "message", "Waiting", Some(("call", "callOut"))),
        ];
        holds(&waits, &known);
    }
}

#[test]
fn live_waits_of_threads_of_9_0() {
    haskell("ghc-9.0");
}

#[test]
fn live_waits_of_threads_of_9_6() {
    haskell("ghc-9.6");
}

#[test]
fn live_waits_of_threads_of_9_10() {
    haskell("ghc-9.10");
}

#[test]
fn live_ten_thousand_threads_are_looked_at_within_the_share() {
    let Some(toolchain) = toolchain("ghc-9.6") else { return };
    let folder = scratch();
    let source = Language::Haskell.folder().join("waits");
    toolchain.compile(&[&source], &["-threaded"], &folder.path().join("waits")).unwrap();
    let waits = recorded(&toolchain, folder.path(), &["10", "call", "10000", "8"]);
    let sleepers = |wait: &&Value| wait["kind"] == "time" && text(wait, "/place").contains("sleepLong");
    let by = waits["by"].as_array().unwrap();
    let sleepers: f64 = by.iter().filter(sleepers).map(|wait| wait["threads_mean"].as_f64().unwrap()).sum();
    assert!((9_800.0..=10_000.0).contains(&sleepers), "{waits:#}");
    assert!(waits["looks"].as_u64().unwrap() <= 8, "eight seconds of 4 looks a second: {waits:#}");
}

#[test]
fn live_waits_of_domains() {
    for ground in rings::grounds() {
        std::fs::write(ground.path("program.ml"), DOMAINS).unwrap();
        ground.build("ocamlopt", &[], "program");
        let done = ground.record("waits", &[], &["7"]);
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        let waits = reported(&ground.path("waits"))["waits"].clone();
        let known: [Known<'_>; 5] = [
            (1.0, "lock", "take_lock", Some(("time", "hold_lock"))),
            (1.0, "condition", "await_signal", None),
            (1.0, "io", "accept_one", None),
            (1.0, "child", "Domain", None),
            (1.0, "time", "hold_lock", None),
        ];
        holds(&waits, &known);
    }
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

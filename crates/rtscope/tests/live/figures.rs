//! Live: figures of a recorded program against what its runtime prints at the end (`+RTS -s`).

use testkit::ground;

use ground::{recorder, report, scratch, stderr};
use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use xtask::cache::cache;
use xtask::toolchain::{Spec, Toolchain};
use xtask::{missing, workload};

/// Figures of the line `SPARKS: 906 (12 converted, 3 overflowed, …)`, by their names.
fn fates(summary: &str) -> Vec<(String, u64)> {
    let line = summary.lines().find(|line| line.trim_start().starts_with("SPARKS:")).expect("a line about sparks");
    let (all, rest) = line.split_once('(').expect("their fates");
    let number = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>().parse().unwrap();
    let fate = |part: &str| {
        let (count, name) = part.trim().split_once(' ').expect("a count and a name");
        (name.trim_end_matches(')').to_owned(), number(count))
    };
    std::iter::once(("all".to_owned(), number(all))).chain(rest.split(',').map(fate)).collect()
}

#[test]
fn the_line_about_sparks_is_understood() {
    let found = fates("x\n  SPARKS: 1,024 (5 converted, 6 overflowed, 7 dud, 8 GC'd, 998 fizzled)\n");
    let names: Vec<_> = found.iter().map(|(name, count)| (name.as_str(), *count)).collect();
    assert_eq!(names[..3], [("all", 1024), ("converted", 5), ("overflowed", 6)]);
    assert_eq!(names[4..], [("GC'd", 8), ("fizzled", 998)]);
}

fn sparks_are_what_the_runtime_says(ghc: &str) {
    let Some(toolchain) = Spec::find(ghc).unwrap().installed(&cache()) else {
        return missing(&format!("{ghc}: `cargo xtask toolchains --only {ghc}`"));
    };
    let folder = scratch();
    let workload = workload::load("sparks").unwrap();
    let program = workload.build(&toolchain, folder.path()).unwrap();
    let summary = folder.path().join("summary");
    let capture = folder.path().join("c");
    let mut command: Vec<OsString> = toolchain.enter(&[folder.path()]);
    command.extend([program.into(), "20".into(), "+RTS".into()]);
    command.extend(workload.rts.iter().map(OsString::from));
    command.push(format!("-s{}", summary.display()).into());
    let command: Vec<&OsStr> = command.iter().map(OsString::as_os_str).collect();
    let options: Vec<&str> = workload.record.iter().map(String::as_str).collect();
    // A toolchain's tree contains the folders that it was given, and is entered in one of them.
    let output = recorder(&capture, &options, &command).current_dir(folder.path()).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let (_, report, _) = report(&capture);
    let said = fates(&fs::read_to_string(&summary).unwrap());
    let of = |name: &str| said.iter().find(|fate| fate.0 == name).expect("a fate").1;
    let sparks = &report["sparks"];
    let figure = |key: &str| sparks[key].as_u64().unwrap_or_else(|| panic!("{key}: {sparks}"));
    for (name, key) in [
        ("converted", "converted"),
        ("overflowed", "overflowed"),
        ("dud", "dud"),
        ("GC'd", "collected"),
        ("fizzled", "fizzled"),
    ] {
        assert_eq!(figure(key), of(name), "{name}: {sparks}, {said:?}");
    }
    assert_eq!(figure("created") + figure("dud") + figure("overflowed"), of("all"), "{sparks}");
    assert_eq!(of("all"), 20 * (40 + 30_000 + 1), "what the program offered");
    assert!(figure("overflowed") > 0 && figure("converted") > 0, "{sparks}");
    let lanes = sparks["lanes"].as_array().unwrap();
    let sum: u64 = lanes.iter().filter_map(|lane| lane["created"].as_u64()).sum();
    assert_eq!((lanes.len(), sum), (2, figure("created")));
    assert_eq!(report["concurrent"], Value::Null);
}

/// The maximum of each label, and the last sample, of a profile as the runtime writes it next to its log;
/// samples without a label are those at begin and end.
fn of_profile(text: &str) -> (Vec<BTreeMap<String, u64>>, BTreeMap<String, u64>) {
    let (mut samples, mut most) = (Vec::new(), BTreeMap::<String, u64>::new());
    let mut sample = BTreeMap::<String, u64>::new();
    for line in text.lines() {
        if line.starts_with("BEGIN_SAMPLE") {
            sample.clear();
        } else if line.starts_with("END_SAMPLE") && !sample.is_empty() {
            for (label, bytes) in &sample {
                let known = most.entry(label.clone()).or_default();
                *known = (*known).max(*bytes);
            }
            samples.push(std::mem::take(&mut sample));
        } else if let Some((label, bytes)) = line.rsplit_once('\t') {
            *sample.entry(label.to_owned()).or_default() += bytes.parse::<u64>().unwrap();
        }
    }
    (samples, most)
}

/// Runs `program` of `folder` with the heap profile that `flag` asks for. Gives what the report says of it, and
/// what the runtime wrote.
fn profiled(toolchain: &Toolchain, folder: &Path, program: PathBuf, flag: &str) -> (Value, String) {
    let capture = folder.join("c");
    let mut command: Vec<OsString> = toolchain.enter(&[folder]);
    command.extend([program.into(), "50000".into()]);
    command.extend(["+RTS", "-N1", "-A16m", flag, "-i0.05"].map(OsString::from));
    let command: Vec<&OsStr> = command.iter().map(OsString::as_os_str).collect();
    let output = recorder(&capture, &[], &command).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let (_, mut report, _) = report(&capture);
    let is_profile = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "hp");
    let mut files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let text = fs::read_to_string(files.find(is_profile).expect("a profile")).unwrap();
    (report["heap_profile"].take(), text)
}

/// Samples and their sums are those of the runtime's own profile; gives the latter.
fn sums_agree(found: &Value, text: &str) -> (Vec<BTreeMap<String, u64>>, BTreeMap<String, u64>) {
    let (samples, most) = of_profile(text);
    assert_eq!((found["samples"].as_u64(), found["cut"].as_u64()), (Some(samples.len() as u64), Some(0)));
    assert!(samples.len() > 3, "{} samples", samples.len());
    assert_eq!(found["last_bytes"].as_u64(), samples.last().map(|last| last.values().sum()));
    assert_eq!(found["max_bytes"].as_u64(), samples.iter().map(|sample| sample.values().sum()).max());
    (samples, most)
}

fn heap_profile_is_what_the_runtime_says(ghc: &str) {
    let Some(toolchain) = Spec::find(ghc).unwrap().installed(&cache()) else {
        return missing(&format!("{ghc}: `cargo xtask toolchains --only {ghc}`"));
    };
    let folder = scratch();
    let program = workload::load("long-major-gc").unwrap().build(&toolchain, folder.path()).unwrap();
    let (found, text) = profiled(&toolchain, folder.path(), program, "-hT");
    assert_eq!(found["breakdown"], "closure type");
    let (samples, most) = sums_agree(&found, &text);
    let last = samples.last().unwrap();
    let bands = found["bands"].as_array().unwrap();
    for band in bands {
        let label = band["label"].as_str().unwrap();
        assert_eq!(band["max_bytes"].as_u64(), most.get(label).copied(), "{label}");
        assert_eq!(band["last_bytes"].as_u64(), Some(last.get(label).copied().unwrap_or(0)), "{label}");
    }
    assert!(bands.iter().any(|band| band["label"].as_str().unwrap().ends_with("Data.Map.Internal.Bin")), "{found}");
}

/// By info table; the compiler says which of them comes from where.
fn heap_profile_by_place(ghc: &str) {
    let Some(toolchain) = Spec::find(ghc).unwrap().installed(&cache()) else {
        return missing(&format!("{ghc}: `cargo xtask toolchains --only {ghc}`"));
    };
    let folder = scratch();
    let source = workload::repository().join("workloads/haskell/long-major-gc");
    let program = folder.path().join("by-place");
    toolchain
        .compile(&[&source], &["-threaded", "-finfo-table-map", "-fdistinct-constructor-tables"], &program)
        .unwrap();
    let (found, text) = profiled(&toolchain, folder.path(), program, "-hi");
    assert_eq!(found["breakdown"], "info table");
    let (_, most) = sums_agree(&found, &text);
    let bands = found["bands"].as_array().unwrap();
    let label = |band: &Value| band["label"].as_str().unwrap().to_owned();
    // The lists that the table holds, made in `main` and in `loop`.
    let lists: Vec<&Value> = bands.iter().filter(|band| label(band).contains("Main.hs:")).collect();
    assert!(lists.iter().any(|band| label(band).contains("Main.loop (")), "{found}");
    for band in bands.iter().filter(|band| label(band).starts_with("0x")) {
        assert_eq!(band["max_bytes"].as_u64(), most.get(&label(band)).copied(), "{band}");
    }
}

#[test]
fn live_9_6_heap_profile_by_place() {
    heap_profile_by_place("ghc-9.6");
}

#[test]
fn live_9_10_heap_profile_by_place() {
    heap_profile_by_place("ghc-9.10");
}

#[test]
fn live_9_0_heap_profile_is_what_the_runtime_says() {
    heap_profile_is_what_the_runtime_says("ghc-9.0");
}

#[test]
fn live_9_6_heap_profile_is_what_the_runtime_says() {
    heap_profile_is_what_the_runtime_says("ghc-9.6");
}

#[test]
fn live_9_10_heap_profile_is_what_the_runtime_says() {
    heap_profile_is_what_the_runtime_says("ghc-9.10");
}

#[test]
fn live_9_0_sparks_are_what_the_runtime_says() {
    sparks_are_what_the_runtime_says("ghc-9.0");
}

#[test]
fn live_9_6_sparks_are_what_the_runtime_says() {
    sparks_are_what_the_runtime_says("ghc-9.6");
}

#[test]
fn live_9_10_sparks_are_what_the_runtime_says() {
    sparks_are_what_the_runtime_says("ghc-9.10");
}

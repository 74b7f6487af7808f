//! `rtscope report` on logs that are damaged, cut, or no logs at all: a clear
//! message or a report up to the damage, never a panic and never silence.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn corpus() -> Vec<PathBuf> {
    let logs = xtask::corpus::logs(&["eventlog"]).unwrap();
    assert!(logs.len() >= 6, "the corpus is missing: {logs:?}");
    logs
}

fn report(arguments: &[&str], file: &Path) -> Output {
    Command::new(testkit::rtscope()).args(["report", "-v"]).args(arguments).arg(file).output().unwrap()
}

/// What every run must satisfy, whatever the input.
fn check(output: &Output, what: &str) -> i32 {
    let said = String::from_utf8_lossy(&output.stderr);
    let code = output.status.code().unwrap_or_else(|| panic!("{what}: killed: {said}"));
    assert!(!said.contains("panicked"), "{what}: {said}");
    assert!(matches!(code, 0 | 1 | 3), "{what}: exit {code}: {said}");
    assert_eq!(code == 1, output.stdout.is_empty(), "{what}: exit {code}, said {said}");
    assert_eq!(code == 1, said.starts_with("rtscope: "), "{what}: exit {code}, said {said}");
    code
}

fn json(file: &Path, what: &str) -> Option<serde_json::Value> {
    let output = report(&["--json"], file);
    (check(&output, what) != 1).then(|| serde_json::from_slice(&output.stdout).unwrap())
}

/// Offset of the first block marker.
fn data(log: &[u8]) -> usize {
    log.windows(4).position(|four| four == b"datb").unwrap() + 4
}

struct Scratch {
    _folder: tempfile::TempDir,
    path: PathBuf,
}

impl Scratch {
    fn new() -> Scratch {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a log.eventlog");
        Scratch { _folder: folder, path }
    }

    fn with(&self, bytes: &[u8]) -> &Path {
        std::fs::write(&self.path, bytes).unwrap();
        &self.path
    }
}

#[test]
fn a_log_cut_anywhere_is_reported_up_to_the_cut() {
    let scratch = Scratch::new();
    for log in corpus() {
        let bytes = std::fs::read(&log).unwrap();
        let whole = json(&log, "whole").unwrap()["pauses"]["count"].as_u64().unwrap();
        let mut last = 0;
        for part in 0..=12 {
            let end = bytes.len() * part / 12;
            let what = format!("{} cut at {end}", log.display());
            let Some(report) = json(scratch.with(&bytes[..end]), &what) else { continue };
            let count = report["pauses"]["count"].as_u64().unwrap();
            assert!(count <= whole, "{what}: {count} pauses of {whole}");
            if part < 12 {
                assert!(!report["losses"].as_array().unwrap().is_empty(), "{what}: nothing said of the cut");
            }
            last = count;
        }
        assert_eq!(last, whole, "{}", log.display());
    }
}

#[test]
fn flipped_bytes_never_panic() {
    let scratch = Scratch::new();
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    for log in corpus() {
        let bytes = std::fs::read(&log).unwrap();
        for _ in 0..6 {
            let mut broken = bytes.clone();
            for _ in 0..3 {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let at = (seed >> 33) as usize % broken.len();
                broken[at] ^= 1 << (seed & 7);
            }
            check(&report(&[], scratch.with(&broken)), &format!("{} flipped", log.display()));
            check(&report(&["--json"], &scratch.path), &format!("{} flipped", log.display()));
        }
    }
}

#[test]
fn absurd_block_sizes_are_reported_and_survived() {
    let scratch = Scratch::new();
    let log = &corpus()[0];
    let bytes = std::fs::read(log).unwrap();
    let size_at = data(&bytes) + 10;
    for size in [0_u32, 1, 23, u32::MAX] {
        let mut broken = bytes.clone();
        broken[size_at..size_at + 4].copy_from_slice(&size.to_be_bytes());
        let what = format!("block size {size}");
        let report = json(scratch.with(&broken), &what).unwrap_or_else(|| panic!("{what}: refused"));
        assert!(!report["losses"].as_array().unwrap().is_empty(), "{what}: nothing said");
    }
}

#[test]
fn what_is_no_log_is_refused_with_the_next_step() {
    let scratch = Scratch::new();
    let bytes = std::fs::read(&corpus()[0]).unwrap();
    for (content, expected) in [
        (&b""[..], "empty"),
        (b"#!/bin/sh\n", "not a GHC eventlog"),
        (b"\x7fELF", "rtscope record"),
        (&bytes[..40], "inside its header"),
        (&bytes[..data(&bytes)], "ends with its header"),
    ] {
        let output = report(&[], scratch.with(content));
        assert_eq!(check(&output, expected), 1);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains(expected), "wanted {expected:?}, got {said}");
    }
    let output = report(&[], Path::new("/nonexistent/log"));
    assert_eq!(check(&output, "missing"), 1);
}

#[test]
fn a_log_through_a_pipe_gives_the_same_figures() {
    use std::io::Write;
    let log = &corpus()[0];
    let mut child = Command::new(testkit::rtscope())
        .args(["report", "--json", "-"])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(&std::fs::read(log).unwrap()).unwrap();
    let piped = child.wait_with_output().unwrap();
    let piped: serde_json::Value = serde_json::from_slice(&piped.stdout).unwrap();
    let direct = json(log, "direct").unwrap();
    for key in ["pauses", "lanes", "memory", "span_ns", "mmu"] {
        assert_eq!(piped[key], direct[key], "{key}");
    }
}

//! Live: transactions of real programs, counted from outside, on every GHC: attempts of programs that know
//! nothing of rtscope, and everything of one that has a block of counters. The programs count themselves; both
//! have to agree to the last attempt.

use testkit::ground;

use ground::{recorder, reported, scratch, wait_for};
use serde_json::Value;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Lines, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};
use xtask::cache::cache;
use xtask::missing;
use xtask::toolchain::Spec;

/// `count THREADS EACH NESTED`: threads that add to one variable, EACH times; with NESTED each time through an
/// `orElse`. Waits for a line before it begins, prints how often its transactions were begun and took effect
/// (two numbers: outermost, nested), and waits for a line before it ends.
const COUNT: &str = testkit::source!("haskell/stm-count/Main.hs");

/// Replaces the package: the block, and as much counting as these programs need. Commits of a lane are the
/// attempts that did not end otherwise; those of names are counted.
const BLOCK: &str = r#"#include "Rts.h"
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct lane { uint64_t attempts, restarts, conflicts, others[12]; uint32_t arm, limit; uint64_t rest[16]; };
struct named { uint64_t attempts, commits, waits, exceptions; };
struct block {
  char magic[8];
  uint32_t header_bytes, lane_bytes, lanes_max, lanes_offset;
  uint32_t names_max, name_bytes, names_offset, names_used, mode, flags;
  uint64_t named_offset;
  char reserved[8];
  struct lane lanes[256];
  char names[1][64];
  struct named named[256][1];
};

__attribute__((aligned(128))) struct block rtscope_stm = {
  { 'R', 'T', 'S', 'C', 'S', 'T', 'M', 1 }, 64, 256, 256, 64, 1, 64, offsetof(struct block, names), 1, 0, 1,
  offsetof(struct block, named), { 0 }, { { 0 } }, { "add" }, { { { 0 } } }
};

static uint32_t number(Capability *capability) {
  uint32_t number;
  memcpy(&number, (char *)capability + offsetof(CapabilityPublic, r) + sizeof(StgRegTable), sizeof number);
  return number < 255 ? number : 255;
}

extern StgTRecHeader *__real_stmStartTransaction(Capability *, StgTRecHeader *);
extern StgBool __real_stmCommitTransaction(Capability *, StgTRecHeader *);

StgTRecHeader *__wrap_stmStartTransaction(Capability *capability, StgTRecHeader *outer) {
  if (outer == (StgTRecHeader *)(void *)&stg_NO_TREC_closure) {
    rtscope_stm.lanes[number(capability)].attempts++;
    rtscope_stm.named[number(capability)][0].attempts++;
  }
  return __real_stmStartTransaction(capability, outer);
}

StgBool __wrap_stmCommitTransaction(Capability *capability, StgTRecHeader *transaction) {
  StgBool committed = __real_stmCommitTransaction(capability, transaction);
  if (committed)
    rtscope_stm.named[number(capability)][0].commits++;
  else
    rtscope_stm.lanes[number(capability)].conflicts++;
  return committed;
}
"#;

const WRAPPED: [&str; 2] = ["-optl-Wl,--wrap=stmStartTransaction", "-optl-Wl,--wrap=stmCommitTransaction"];

/// The program compiled by one GHC: the words of its command line.
fn program(name: &str, folder: &Path, flags: &[&str]) -> Option<Vec<OsString>> {
    let Some(toolchain) = Spec::find(name).unwrap().installed(&cache()) else {
        missing(&format!("{name}: `cargo xtask toolchains --only {name}`"));
        return None;
    };
    let source = folder.join("source");
    std::fs::create_dir_all(&source).unwrap();
    std::fs::write(source.join("Main.hs"), COUNT).unwrap();
    if flags.contains(&WRAPPED[0]) {
        std::fs::write(source.join("block.c"), BLOCK).unwrap();
    }
    let program = folder.join("count");
    toolchain.compile(&[&source], flags, &program).unwrap();
    let mut words = toolchain.enter(&[folder]);
    words.push(program.into());
    Some(words)
}

/// What the program reports of itself, and what rtscope reports of it.
struct Counted {
    began: u64,
    inside: u64,
    commits: u64,
    seen: Value,
    said: String,
}

impl Counted {
    fn of(&self, key: &str) -> u64 {
        let found = self.seen.pointer(&format!("/transactions/{key}")).and_then(Value::as_u64);
        found.unwrap_or_else(|| panic!("{key} in {:#}; {}", self.seen, self.said))
    }
}

/// Runs it under `rtscope stm`; it stays for some looks after it has counted.
fn counted(words: &[OsString], arguments: &[&str], folder: &Path) -> Counted {
    let out = folder.join("stm.json");
    let mut command = Command::new(testkit::rtscope());
    command.args(["stm", "--json", "-o"]).arg(&out).arg("--").args(words).args(arguments);
    let (line, done) = conversation(command.current_dir(folder));
    let text = std::fs::read(&out).unwrap_or_default();
    let seen = serde_json::from_slice(&text).unwrap_or(Value::Null);
    let numbers: Vec<u64> = line.split_whitespace().map(|word| word.parse().unwrap()).collect();
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(done.status.success(), "{said}");
    Counted { began: numbers[0], inside: numbers[1], commits: numbers[2], seen, said }
}

/// Lets a program begin, gives what it counted, waits for some looks and lets it end.
fn conversation(command: &mut Command) -> (String, Output) {
    let mut child = command
        .env_remove("GHCRTS")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut line = || {
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        line.trim().to_owned()
    };
    assert_eq!(line(), "ready");
    input.write_all(b"begin\n").unwrap();
    let counts = line();
    // Its counts are in its memory until it ends; looks are some milliseconds apart.
    std::thread::sleep(std::time::Duration::from_millis(500));
    input.write_all(b"end\n").unwrap();
    assert_eq!(line(), "over");
    drop(input);
    (counts, child.wait_with_output().unwrap())
}

fn attempts_are_counted_from_outside(name: &str) {
    let folder = scratch();
    let Some(words) = program(name, folder.path(), &["-threaded", "-rtsopts"]) else { return };
    for (nested, threads) in [("False", "1"), ("False", "7"), ("True", "4")] {
        let found = counted(&words, &[threads, "20000", nested, "+RTS", "-N2"], folder.path());
        assert_eq!(found.commits, threads.parse::<u64>().unwrap() * 20_000);
        assert!(found.began >= found.commits);
        assert_eq!(found.of("runtime_attempts"), found.began + found.inside, "{threads} threads, nested: {nested}");
        let transactions = &found.seen["transactions"];
        assert_eq!((transactions["outcomes"].as_bool(), transactions["counts"].is_null()), (Some(false), true));
        assert!(transactions["why"].as_str().unwrap().contains("not linked in"), "{transactions:#}");
        assert_eq!(transactions["whole"], true);
    }
    // Capabilities added while it runs have tokens of their own.
    let found = counted(&words, &["8", "20000", "False", "grow", "+RTS", "-N2"], folder.path());
    assert_eq!(found.of("runtime_attempts"), found.began);
}

#[test]
fn attempts_on_ghc_9_0() {
    attempts_are_counted_from_outside("ghc-9.0");
}

#[test]
fn attempts_on_ghc_9_6() {
    attempts_are_counted_from_outside("ghc-9.6");
}

#[test]
fn attempts_on_ghc_9_10() {
    attempts_are_counted_from_outside("ghc-9.10");
}

fn outcomes_are_read(name: &str) {
    let folder = scratch();
    let flags = ["-threaded", "-rtsopts", WRAPPED[0], WRAPPED[1]];
    let Some(words) = program(name, folder.path(), &flags) else { return };
    let check = |found: &Counted| {
        assert_eq!(found.of("counts/attempts"), found.began, "{:#}", found.seen);
        assert_eq!((found.of("counts/commits"), found.of("lost")), (found.commits, found.began - found.commits));
        assert_eq!(
            (found.of("names/0/attempts"), found.of("names/0/lost")),
            (found.began, found.began - found.commits)
        );
        assert_eq!(found.seen["transactions"]["names"][0]["name"], "add");
        let lanes = found.seen["transactions"]["lanes"].as_array().unwrap();
        let sum: u64 = lanes.iter().map(|lane| lane["attempts"].as_u64().unwrap()).sum();
        assert_eq!(sum, found.began);
    };
    let arguments = ["6", "20000", "False", "+RTS", "-N2"];
    let found = counted(&words, &arguments, folder.path());
    check(&found);
    assert_eq!(found.of("runtime_attempts"), found.began);
    // Without symbols the block is found by how it begins.
    let stripped = Command::new("strip").arg(folder.path().join("count")).status().unwrap();
    assert!(stripped.success());
    let found = counted(&words, &arguments, folder.path());
    check(&found);
    assert!(found.seen["transactions"]["runtime_attempts"].is_null());
}

#[test]
fn outcomes_on_ghc_9_0() {
    outcomes_are_read("ghc-9.0");
}

#[test]
fn outcomes_on_ghc_9_6() {
    outcomes_are_read("ghc-9.6");
}

#[test]
fn outcomes_on_ghc_9_10() {
    outcomes_are_read("ghc-9.10");
}

#[test]
fn a_capture_keeps_what_was_counted_and_says_what_it_missed() {
    let folder = scratch();
    let flags = ["-threaded", "-rtsopts", WRAPPED[0], WRAPPED[1]];
    let Some(words) = program("ghc-9.0", folder.path(), &flags) else { return };
    let capture = folder.path().join("count.rtscope");
    let line: Vec<_> = words.iter().map(OsString::as_os_str).collect();
    let mut command = recorder(&capture, &["--redact"], &line);
    command.args(["4", "30000", "False", "+RTS", "-N2"]);
    let (counts, done) = conversation(&mut command);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let numbers: Vec<u64> = counts.split_whitespace().map(|word| word.parse().unwrap()).collect();
    let report = reported(&capture);
    let found = &report["transactions"];
    assert_eq!((found["outcomes"].as_bool(), found["whole"].as_bool()), (Some(true), Some(true)));
    assert_eq!(
        (found["counts"]["attempts"].as_u64(), found["counts"]["commits"].as_u64()),
        (Some(numbers[0]), Some(numbers[2]))
    );
    assert_eq!(found["runtime_attempts"].as_u64(), Some(numbers[0]));
    assert_eq!(found["names"][0]["name"], "transaction 0");
    let slices = found["over_time"].as_array().unwrap();
    let sum: u64 = slices.iter().map(|slice| slice["attempts"].as_u64().unwrap()).sum();
    assert_eq!(sum, numbers[0]);
    // The words of `rtscope stm`.
    let text = Command::new(testkit::rtscope()).arg("stm").arg(&capture).output().unwrap();
    let said = String::from_utf8_lossy(&text.stdout).into_owned();
    assert!(text.status.success() && said.contains("took effect") && said.contains("By name"), "{said}");
    assert!(said.contains("after the last look"), "{said}");
    // The figures of `rtscope top`.
    let top = Command::new(testkit::rtscope()).args(["top", "--json"]).arg(&capture).output().unwrap();
    assert_shares(&serde_json::from_slice(&top.stdout).unwrap(), numbers[0], numbers[2]);
}

/// The program by itself, which waits for a line before it begins.
fn waiting(words: &[OsString]) -> (Child, ChildStdin, Lines<BufReader<ChildStdout>>) {
    let mut child = Command::new(&words[0])
        .args(&words[1..])
        .args(["3", "50000", "False", "+RTS", "-N2"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap()).lines();
    assert_eq!(output.next().unwrap().unwrap(), "ready");
    (child, input, output)
}

/// Everything that was begun and took effect is in what `rtscope top` shows of a window.
fn assert_shares(shown: &Value, began: u64, commits: u64) {
    let rate = |key: &str| shown["transactions"][key].as_f64().unwrap_or_else(|| panic!("{key} in {shown:#}"));
    assert!(rate("attempts_per_second") > 0.0);
    let (ratio, exact) = (rate("commits_per_second") / rate("attempts_per_second"), commits as f64 / began as f64);
    assert!((ratio - exact).abs() < 1e-9 && (rate("lost_share") - (1.0 - exact)).abs() < 1e-9, "{exact} in {shown:#}");
}

#[test]
fn top_shows_transactions_of_a_process() {
    let folder = scratch();
    let flags = ["-threaded", "-rtsopts", WRAPPED[0], WRAPPED[1]];
    let Some(words) = program("ghc-9.0", folder.path(), &flags) else { return };
    let (mut child, mut input, mut output) = waiting(&words);
    let mut top = Command::new(testkit::rtscope())
        .args(["top", "--json", "--over", "60s", &child.id().to_string()])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut shown = BufReader::new(top.stdout.take().unwrap()).lines();
    // The counters are looked for on a separate thread.
    let first = shown.nth(1).unwrap().unwrap();
    assert!(serde_json::from_str::<Value>(&first).unwrap()["transactions"].is_null(), "{first}");
    input.write_all(b"begin\n").unwrap();
    let counts = output.next().unwrap().unwrap();
    let numbers: Vec<u64> = counts.split_whitespace().map(|word| word.parse().unwrap()).collect();
    let last = shown.nth(2).unwrap().unwrap();
    assert_shares(&serde_json::from_str(&last).unwrap(), numbers[0], numbers[2]);
    input.write_all(b"end\n").unwrap();
    drop(input);
    shown.for_each(drop);
    assert!(child.wait().unwrap().success() && top.wait().unwrap().success());
}

#[test]
fn what_cannot_be_counted_is_reported_and_the_program_s_status_kept() {
    let folder = scratch();
    let Some(words) = program("ghc-9.0", folder.path(), &["-rtsopts"]) else { return };
    let out = folder.path().join("none.json");
    let stm = |of: &[OsString]| {
        let mut command = Command::new(testkit::rtscope());
        command.args(["stm", "--json", "-o"]).arg(&out).arg("--").args(of);
        command
    };
    let (counts, done) = conversation(stm(&words).args(["2", "100", "False"]));
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(counts.ends_with(" 0 200") && said.contains("the non-threaded runtime does not count"), "{said}");
    assert!(said.contains("add the package rtscope-stm") && done.status.success() && !out.exists(), "{said}");
    // Stripped: neither.
    let Some(threaded) = program("ghc-9.0", folder.path(), &["-threaded", "-rtsopts"]) else { return };
    assert!(Command::new("strip").arg(folder.path().join("count")).status().unwrap().success());
    let (_, done) = conversation(stm(&threaded).args(["2", "100", "False"]));
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(said.contains("its symbols are gone") && done.status.success(), "{said}");
    // No GHC program at all, and one that ends with a status of its own.
    let shell = ["sh", "-c", "sleep 0.2; exit 7"].map(OsString::from);
    let done = stm(&shell).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(done.status.code() == Some(7) && said.contains("is not a Haskell program"), "{said}");
    let none = stm(&["/no/such/program".into()]).output().unwrap();
    assert_eq!(none.status.code(), Some(127));
}

#[test]
fn a_process_is_looked_at_from_the_first_look_on() {
    let folder = scratch();
    let Some(words) = program("ghc-9.0", folder.path(), &["-threaded", "-rtsopts"]) else { return };
    let run = |input: &mut ChildStdin| input.write_all(b"begin\n").unwrap();
    let (mut child, mut input, mut output) = waiting(&words);
    let out = folder.path().join("attached.json");
    let mut stm = Command::new(testkit::rtscope())
        .args(["stm", "--json", "-o"])
        .arg(&out)
        .arg(child.id().to_string())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // It catches SIGTERM from just before its first look on, and ends with the process.
    wait_for("the first look", || {
        let status = std::fs::read_to_string(format!("/proc/{}/status", stm.id())).unwrap_or_default();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        let caught = caught.and_then(|set| u64::from_str_radix(set.trim(), 16).ok());
        caught.is_some_and(|set| set & (1 << 14) != 0)
    });
    std::thread::sleep(std::time::Duration::from_millis(300));
    run(&mut input);
    let line = output.next().unwrap().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(300));
    input.write_all(b"end\n").unwrap();
    drop(input);
    assert!(child.wait().unwrap().success() && stm.wait().unwrap().success());
    let seen: Value = serde_json::from_slice(&std::fs::read(&out).unwrap()).unwrap();
    let began: u64 = line.split_whitespace().next().unwrap().parse().unwrap();
    assert_eq!(seen["transactions"]["runtime_attempts"].as_u64(), Some(began), "{seen:#}");
    assert_eq!(seen["transactions"]["whole"], false);
    assert!(seen["transactions"]["unseen_ns"].as_u64().is_some());
}

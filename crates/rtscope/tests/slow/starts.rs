//! Slow: what `rtscope run` adds to a start. It is timed, which no test of CI is.

use serde_json::Value;
use std::fs;
use std::io::Read;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use testkit::ground::scratch;
use xtask::missing;
use xtask::toolchain::Toolchain;

/// Prints how many capabilities it has.
const PROGRAM: &str = testkit::source!("haskell/first-word/Main.hs");

/// From the start to the program's first word: GHC 9.0 ends on a 10 ms grid.
fn time_to_first_word(command: &mut Command) -> Duration {
    let from = Instant::now();
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let mut byte = [0];
    child.stdout.take().unwrap().read_exact(&mut byte).unwrap();
    let took = from.elapsed();
    child.wait().unwrap();
    took
}

#[test]
fn slow_a_run_adds_at_most_five_milliseconds() {
    let Some(toolchain) = Toolchain::of_this_machine() else { return missing("ghc") };
    let folder = scratch();
    let (source, program) = (folder.path().join("source"), folder.path().join("program"));
    fs::create_dir(&source).unwrap();
    fs::write(source.join("Main.hs"), PROGRAM).unwrap();
    toolchain.compile(&[&source], &["-threaded", "-rtsopts=all"], &program).unwrap();
    let plan = Command::new(testkit::rtscope()).args(["plan", "--json"]).arg(&program).output().unwrap();
    let plan: Value = serde_json::from_slice(&plan.stdout).unwrap();
    // With the same flags, whose own cost is not that of setting them.
    let ghcrts = plan["env"]["GHCRTS"].as_str().unwrap();
    let (mut with, mut without) = (Vec::new(), Vec::new());
    for _ in 0..60 {
        with.push(time_to_first_word(Command::new(testkit::rtscope()).args(["run", "--"]).arg(&program)));
        without.push(time_to_first_word(Command::new(&program).env("GHCRTS", ghcrts)));
    }
    // Other load only ever adds time: a start that was left alone is among the fastest tenth.
    let undisturbed = |times: &mut Vec<Duration>| {
        times.sort_unstable();
        times[times.len() / 10].as_secs_f64() * 1e3
    };
    let added = undisturbed(&mut with) - undisturbed(&mut without);
    println!("rtscope run adds {added:.2} ms to a start");
    assert!(added < 5.0, "{added} ms");
}

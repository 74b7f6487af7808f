//! What recording costs a program. Owns the measured programs, the ways in which they run, and the rounds;
//! `statistics` does the arithmetic.

use crate::runner::Runner;
use crate::statistics::{Interval, median, ratio, shuffle};
use crate::toolchain::Toolchain;
use crate::workload;
use anyhow::{Context, Result, ensure};
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::Command;

/// A wider A/A comparison decides nothing.
const UNDECIDED: f64 = 0.03;

/// Programs with a fixed amount of work: a workload and arguments that make it run for a few seconds, so
/// that the recorder's start does not dominate.
const PROGRAMS: [(&str, &[&str], &str); 3] = [
    ("throttled", &["28000"], "two workers"),
    ("sleepers", &["28000", "10"], "one worker, 10 threads that sleep"),
    ("sleepers", &["24000", "10000"], "one worker, 10,000 threads that sleep"),
];

/// How a program runs: plainly, with its runtime's log, or recorded with these options.
enum RunMode {
    Plain,
    Log,
    Recorded(&'static [&'static str]),
}

const WAYS: [RunMode; 7] = [
    RunMode::Plain,
    RunMode::Plain,
    RunMode::Log,
    RunMode::Log,
    RunMode::Recorded(&[]),
    RunMode::Recorded(&["--no-waits"]),
    RunMode::Recorded(&["--no-waits", "--sample-code", "0"]),
];

/// Runs each program in rounds, each round in its own order (a run pays for the write-back that the
/// previous one leaves). Compares the program's own mutator and collection wall time (process wall time
/// falls on the ticker's grid).
pub fn run(runner: &Runner, toolchain: &Toolchain, pairs: usize, print: &mut dyn FnMut(&str)) -> Result<()> {
    for (name, arguments, about) in PROGRAMS {
        let program = workload::load(name)?.build(toolchain, &runner.builds)?;
        let mut arms = WAYS.map(|_| Vec::new());
        for pair in 0..pairs {
            let mut order: Vec<usize> = (0..arms.len()).collect();
            shuffle(&mut order, (pair as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
            for arm in order {
                arms[arm].push(one_run(runner, toolchain, (&program, arguments), &WAYS[arm])?);
            }
        }
        let [plain, plain_again, log, log_again, record, without_looks, without_both] = &arms;
        print(&format!(
            "{about}: {pairs} rounds of {:.2} s, GHC {}, -N2; medians of ratios with 95 % intervals",
            median(plain),
            toolchain.version
        ));
        print(&line("plain over plain (A/A)", ratio(plain_again, plain), None));
        print(&line("eventlog (-l-agp) over plain", ratio(log, plain), Some(ratio(plain_again, plain))));
        print(&line("eventlog over eventlog (A/A)", ratio(log_again, log), None));
        let control = Some(ratio(log_again, log));
        print(&line("rtscope record over eventlog alone", ratio(record, log), control));
        print(&line("record --no-waits over it", ratio(without_looks, log), control));
        print(&line("and --sample-code 0 over it", ratio(without_both, log), control));
    }
    Ok(())
}

fn line(what: &str, figure: Interval, control: Option<Interval>) -> String {
    let undecided = control.is_some_and(|aa| aa.high - 1.0 > UNDECIDED || 1.0 - aa.low > UNDECIDED);
    format!("{what:<36} {figure}{}", if undecided { "  undecided: the A/A is wider than 3 %" } else { "" })
}

fn one_run(
    runner: &Runner,
    toolchain: &Toolchain,
    (program, arguments): (&Path, &[&str]),
    way: &RunMode,
) -> Result<f64> {
    let scratch = &runner.scratch;
    let [times, capture, log] = ["times", "overhead.rtscope", "overhead.eventlog"].map(|name| scratch.join(name));
    // Left by the previous run, of any kind.
    let _ = (fs::remove_dir_all(&capture), fs::remove_file(&log));
    let mut words: Vec<OsString> = Vec::new();
    if let RunMode::Recorded(options) = way {
        words.extend([runner.rtscope.clone().into(), "record".into(), "-o".into(), capture.into()]);
        words.extend(options.iter().map(Into::into));
        words.push("--".into());
    }
    words.extend(toolchain.enter(&[scratch, &runner.builds]));
    words.push(program.into());
    words.extend(arguments.iter().chain(&["+RTS", "-N2", "-A4m"]).map(Into::into));
    words.extend([format!("-t{}", times.display()).into(), "--machine-readable".into()]);
    if matches!(way, RunMode::Log) {
        words.extend(["-l-agp".into(), format!("-ol{}", log.display()).into()]);
    }
    let done = Command::new(&words[0]).args(&words[1..]).current_dir(scratch).output()?;
    ensure!(done.status.success(), "overhead run: {}", String::from_utf8_lossy(&done.stderr));
    let text = fs::read_to_string(&times)?;
    let value = |key: &str| -> Result<f64> {
        let from = text.find(&format!("\"{key}\", \"")).with_context(|| format!("no {key} in {text}"))?;
        let rest = text[from..].split('"').nth(3).context("cut")?;
        Ok(rest.parse()?)
    };
    Ok(value("mut_wall_seconds")? + value("GC_wall_seconds")?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wide_control_decides_nothing() {
        let figure = Interval { median: 1.0, low: 0.99, high: 1.01 };
        let control = Interval { median: 1.0, low: 0.96, high: 1.01 };
        assert!(line("x", figure, Some(control)).contains("undecided"));
        assert!(!line("x", figure, Some(figure)).contains("undecided"));
    }
}

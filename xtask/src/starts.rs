//! `xtask starts`: what a planned start changes. Runs the throttled and the oversubscribed workload, each
//! plainly and with `rtscope run`, in pairs; also measures the time that `rtscope run` adds to a start. Owns
//! the measuring; `statistics` does the arithmetic.

use crate::runner::{ReportedRun, Runner};
use crate::statistics::{bootstrap, median, ratio, shuffle};
use crate::toolchain::Toolchain;
use crate::workload::{self, Workload};
use anyhow::{Context, Result, ensure};
use std::ffi::OsStr;
use std::process::{Command, Stdio};
use std::time::Instant;

/// Starts of each kind per block; their median is one figure.
const STARTS: usize = 20;

/// Figures of one kind of start, one per run.
#[derive(Debug, Default)]
struct Arm {
    worst_ms: Vec<f64>,
    paused: Vec<f64>,
    throttled: Vec<f64>,
    allocated: Vec<f64>,
}

impl Arm {
    fn add(&mut self, outcome: &ReportedRun) -> Result<()> {
        let number = |pointer: &str| outcome.report.pointer(pointer).and_then(serde_json::Value::as_f64);
        let needed = |pointer| number(pointer).with_context(|| format!("the report has no {pointer}"));
        self.worst_ms.push(needed("/pauses/pause_ns/max")? / 1e6);
        self.paused.push(needed("/pauses/total_ns")? / needed("/span_ns")?);
        let lanes = outcome.report["lanes"].as_array().context("the report has no lanes")?;
        self.allocated.push(lanes.iter().filter_map(|lane| lane["allocated_bytes"].as_f64()).sum());
        self.throttled.extend(outcome.throttled_periods.map(|periods| periods as f64));
        Ok(())
    }
}

/// Measures `pairs` pairs; every line goes to `print`.
pub fn run(runner: &Runner, toolchain: &Toolchain, pairs: usize, print: &mut dyn FnMut(&str)) -> Result<()> {
    for name in ["throttled", "oversubscribed"] {
        let plain = workload::load(name)?;
        for goal in ["latency", "throughput"] {
            compare(runner, toolchain, &plain, goal, pairs, print)?;
        }
    }
    print(&format!("rtscope run adds to a start: {}", added(runner, pairs)?));
    Ok(())
}

fn compare(
    runner: &Runner,
    toolchain: &Toolchain,
    plain: &Workload,
    goal: &str,
    pairs: usize,
    print: &mut dyn FnMut(&str),
) -> Result<()> {
    let rtscope = runner.rtscope.to_string_lossy().into_owned();
    let launcher = [&rtscope, "run", "--goal", goal, "--"].map(str::to_owned).into();
    let program = Some(plain.program().to_owned());
    let name = format!("{}-planned", plain.name);
    let planned = Workload { name, program, rts: Vec::new(), launcher, ..plain.clone() };
    let mut arms: [Arm; 2] = Default::default();
    for pair in 0..pairs {
        let mut order = [(0, plain), (1, &planned)];
        shuffle(&mut order, (pair as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        for (arm, workload) in order {
            arms[arm].add(&runner.run(workload, toolchain)?)?;
        }
    }
    let [before, after] = &arms;
    print(&format!("{}, as it is (+RTS {}) and planned for {goal}; {pairs} pairs", plain.name, plain.rts.join(" ")));
    let mut line = |what: &str, before: &[f64], after: &[f64], scale: f64, digits: usize| {
        if before.is_empty() {
            return;
        }
        let [b, a] = [median(before) * scale, median(after) * scale];
        // A ratio to 0 says nothing.
        let change = if before.contains(&0.0) { String::new() } else { format!("  {}", ratio(after, before)) };
        print(&format!("  {what:<28} {b:>9.digits$} -> {a:>9.digits$}{change}"));
    };
    line("worst pause, ms", &before.worst_ms, &after.worst_ms, 1.0, 1);
    line("of the run paused, %", &before.paused, &after.paused, 100.0, 1);
    line("periods throttled", &before.throttled, &after.throttled, 1.0, 0);
    line("allocated (work done), GB", &before.allocated, &after.allocated, 1e-9, 2);
    Ok(())
}

/// How much longer a start takes through `rtscope run`, milliseconds.
fn added(runner: &Runner, blocks: usize) -> Result<String> {
    let through = [runner.rtscope.as_os_str(), "run".as_ref(), "--".as_ref(), "true".as_ref()];
    let alone: [&OsStr; 1] = ["true".as_ref()];
    let mut more = Vec::new();
    for _ in 0..blocks {
        let (mut slow, mut fast) = (Vec::new(), Vec::new());
        for _ in 0..STARTS {
            fast.push(milliseconds(&alone)?);
            slow.push(milliseconds(&through)?);
        }
        more.push(median(&slow) - median(&fast));
    }
    let interval = bootstrap(&more);
    Ok(format!("{:.2} ms [{:.2}, {:.2}]", interval.median, interval.low, interval.high))
}

fn milliseconds(words: &[&OsStr]) -> Result<f64> {
    let start = Instant::now();
    let mut command = Command::new(words[0]);
    let status = command.args(&words[1..]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status()?;
    ensure!(status.success(), "{words:?} ended with {status}");
    Ok(start.elapsed().as_secs_f64() * 1000.0)
}

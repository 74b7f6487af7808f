//! `xtask bench`: how fast a large log is read, compared with the ghc-events library and a naive walk in
//! C, and how much memory that takes. Owns the measuring; `statistics` does the arithmetic, `overhead`
//! measures the cost of recording.

use crate::apt;
use crate::runner::{Runner, target_folder};
use crate::statistics::median;
use crate::toolchain::Toolchain;
use crate::workload::{self, repository};
use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Events by type.
type EventCounts = BTreeMap<u16, u64>;

/// Tag of block markers.
const BLOCK_MARKER: u16 = 18;
/// Runs per reader.
const REPEATS: usize = 5;

/// Measures speed and memory of reading; writes every line to `print`. Returns what is wrong.
pub fn reading(runner: &Runner, toolchain: &Toolchain, print: &mut dyn FnMut(&str)) -> Result<Vec<String>> {
    let log = churned(runner, toolchain)?;
    let bytes = fs::metadata(&log)?.len();
    let walk = compile_walk()?;
    let mut wrong = Vec::new();
    let naive = counts_of(&Command::new(&walk).arg(&log).output()?.stdout)?;
    let events: u64 = naive.values().sum();
    print(&format!(
        "log: {:.1} MB, {:.1} M events, all classes, GHC {}",
        bytes as f64 / 1e6,
        events as f64 / 1e6,
        toolchain.version
    ));
    if bytes < 200_000_000 || events < 15_000_000 {
        wrong.push("the log is smaller than 200 MB or 15 M events".into());
    }
    print(&quietness());
    let report = [runner.rtscope.clone().into_os_string(), "report".into(), log.clone().into_os_string()];
    let ours = timed(&report)?;
    print(&speed("rtscope report", bytes, ours));
    print(&speed("naive C walk, counts only", bytes, timed(&[walk.into_os_string(), log.clone().into_os_string()])?));
    let json = runner.report(&log)?;
    wrong.extend(differences("the C walk", &naive, &counts_of_report(&json)));
    match compile_ghc_events(toolchain) {
        Ok(reader) => {
            let start = Instant::now();
            let done = Command::new(&reader).arg(&log).output()?;
            ensure!(done.status.success(), "ghc_events_count: {}", String::from_utf8_lossy(&done.stderr));
            print(&speed("ghc-events library, streaming", bytes, start.elapsed().as_secs_f64()));
            // The library follows block markers and does not return them.
            let mut ours = counts_of_report(&json);
            ours.remove(&BLOCK_MARKER);
            wrong.extend(differences("ghc-events", &counts_of(&done.stdout)?, &ours));
        }
        Err(error) => wrong.push(format!("not compared with ghc-events: {error:#}")),
    }
    let peaks = (0..REPEATS).map(|_| peak_anonymous_kib(&report)).collect::<Result<Vec<_>>>()?;
    let anonymous = peaks.into_iter().max().unwrap_or(0);
    print(&format!("rtscope report, anonymous memory  {:>6.1} MiB at most", anonymous as f64 / 1024.0));
    if anonymous > 64 * 1024 {
        wrong.push("more than 64 MiB of anonymous memory".into());
    }
    let rate = bytes as f64 / 1e9 / ours;
    if rate < 1.2 {
        wrong.push(format!("report reads {rate:.2} GB/s, less than 1.2"));
    }
    wrong.extend(exporting(runner, &log, bytes, print)?);
    Ok(wrong)
}

/// Measures speed and memory of exporting the same log.
fn exporting(runner: &Runner, log: &Path, bytes: u64, print: &mut dyn FnMut(&str)) -> Result<Vec<String>> {
    let mut wrong = Vec::new();
    for format in ["perfetto", "chrome", "fxt"] {
        let out = runner.scratch.join(format!("churner.{format}"));
        let words = ["export", "--to", format, "-o"].map(OsString::from);
        let rtscope = std::iter::once(runner.rtscope.clone().into_os_string());
        let words: Vec<OsString> = rtscope.chain(words).chain([out.clone().into(), log.into()]).collect();
        let seconds = timed(&words)?;
        let peak = peak_anonymous_kib(&words)?;
        let written = fs::metadata(&out)?.len();
        let line = speed(&format!("rtscope export --to {format}"), bytes, seconds);
        print(&format!("{line}, {:.0} MB written, {:.1} MiB of memory", written as f64 / 1e6, peak as f64 / 1024.0));
        let rate = bytes as f64 / 1e6 / seconds;
        if format == "perfetto" && rate < 150.0 {
            wrong.push(format!("export to Perfetto reads {rate:.0} MB/s, less than 150"));
        }
        fs::remove_file(&out)?;
    }
    Ok(wrong)
}

fn speed(reader: &str, bytes: u64, seconds: f64) -> String {
    format!("{reader:<32} {seconds:>8.3} s {:>8.2} GB/s", bytes as f64 / 1e9 / seconds)
}

/// Whether figures measured now can be trusted.
fn quietness() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load: f64 = text.split_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or(0.0);
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let verdict = if load > 0.5 { "NOT QUIET: compare lines with each other only" } else { "quiet" };
    format!("machine: {cpus} CPUs, load average {load:.2}, {verdict}")
}

/// The churner's log; cached, because it takes ten seconds to make.
fn churned(runner: &Runner, toolchain: &Toolchain) -> Result<PathBuf> {
    let churner = workload::load("churner")?;
    let program = churner.build(toolchain, &runner.builds)?;
    let log =
        target_folder().join("bench").join(format!("churner-{}-{}.eventlog", churner.args.join("-"), toolchain.name));
    if !log.exists() {
        let folder = log.parent().context("no folder")?;
        fs::create_dir_all(folder)?;
        let part = log.with_extension("part");
        let mut command = toolchain.command(program.as_os_str(), folder, &[folder, &runner.builds]);
        command.args(&churner.args).arg("+RTS").args(&churner.rts);
        command.arg(format!("-l{}", churner.classes.as_deref().unwrap_or("a"))).arg(format!("-ol{}", part.display()));
        let done = command.output()?;
        ensure!(done.status.success(), "churner: {}", String::from_utf8_lossy(&done.stderr));
        fs::rename(part, &log)?;
    }
    Ok(log)
}

/// Median wall time in seconds of [`REPEATS`] runs, after one that warms the cache.
fn timed(words: &[OsString]) -> Result<f64> {
    let mut seconds = Vec::new();
    for run in 0..=REPEATS {
        let start = Instant::now();
        let status = Command::new(&words[0]).args(&words[1..]).stdout(Stdio::null()).status()?;
        ensure!(matches!(status.code(), Some(0 | 3)), "{} ended with {status}", words[0].display());
        if run > 0 {
            seconds.push(start.elapsed().as_secs_f64());
        }
    }
    Ok(median(&seconds))
}

/// Largest `RssAnon` while it runs, sampled every half millisecond.
fn peak_anonymous_kib(words: &[OsString]) -> Result<u64> {
    let mut child = Command::new(&words[0]).args(&words[1..]).stdout(Stdio::null()).spawn()?;
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    while child.try_wait()?.is_none() {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("RssAnon:"));
        let now = line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0);
        peak = peak.max(now);
        std::thread::sleep(Duration::from_micros(500));
    }
    Ok(peak)
}

fn compile_walk() -> Result<PathBuf> {
    let output = target_folder().join("bench/walk");
    fs::create_dir_all(output.parent().context("no folder")?)?;
    let status = Command::new("cc").args(["-O2", "-o"]).arg(&output).arg(repository().join("bench/walk.c")).status();
    ensure!(status.context("cc (package gcc) cannot be run")?.success(), "bench/walk.c does not compile");
    Ok(output)
}

/// Debian's library belongs to the machine's own GHC.
fn compile_ghc_events(toolchain: &Toolchain) -> Result<PathBuf> {
    if toolchain.root.is_some() {
        bail!("the library is used from the machine's own GHC, which is not the tested one");
    }
    if crate::toolchain::is_root() {
        apt::install(&["libghc-ghc-events-dev"])?;
    }
    let output = target_folder().join("bench/ghc_events_count");
    let done = Command::new("ghc")
        .args(["-v0", "-O2", "-rtsopts", "-package", "ghc-events", "-outputdir"])
        .arg(output.with_extension("objects"))
        .arg(repository().join("bench/ghc_events_count.hs"))
        .arg("-o")
        .arg(&output)
        .output()?;
    ensure!(done.status.success(), "ghc: {}", String::from_utf8_lossy(&done.stderr));
    Ok(output)
}

/// Parses lines of `tag count`.
fn counts_of(text: &[u8]) -> Result<EventCounts> {
    let text = std::str::from_utf8(text)?;
    let pairs = text.lines().map(|line| {
        let (tag, count) = line.split_once(' ').context("not `tag count`")?;
        Ok((tag.parse()?, count.parse()?))
    });
    pairs.collect()
}

/// Counts of `report --json`, without types that have no events.
pub fn counts_of_report(report: &Value) -> EventCounts {
    let rows = report["source"]["events_by_type"].as_array().map_or(&[][..], Vec::as_slice);
    let pair = |row: &Value| Some((u16::try_from(row["tag"].as_u64()?).ok()?, row["count"].as_u64()?));
    rows.iter().filter_map(pair).filter(|(_, count)| *count > 0).collect()
}

fn differences(reader: &str, theirs: &EventCounts, ours: &EventCounts) -> Vec<String> {
    let tags: std::collections::BTreeSet<_> = theirs.keys().chain(ours.keys()).collect();
    let differing = tags.into_iter().filter(|tag| theirs.get(tag) != ours.get(tag));
    let none = 0;
    differing
        .map(|tag| {
            let [a, b] = [theirs, ours].map(|side| side.get(tag).unwrap_or(&none));
            format!("events of type {tag}: {reader} counts {a}, rtscope {b}")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_compared_by_type() {
        let report = serde_json::json!({"source": {"events_by_type": [
            {"tag": 9, "name": "GC start", "count": 3}, {"tag": 10, "name": "GC end", "count": 0}]}});
        let ours = counts_of_report(&report);
        assert!(differences("x", &counts_of(b"9 3\n").unwrap(), &ours).is_empty());
        let wrong = differences("x", &counts_of(b"9 4\n11 1\n").unwrap(), &ours);
        assert_eq!(wrong, ["events of type 9: x counts 4, rtscope 3", "events of type 11: x counts 1, rtscope 0"]);
    }
}

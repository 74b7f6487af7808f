//! Runs a workload as its `workload.toml` says, under `rtscope record`, and gets the findings from
//! `rtscope report`. Owns the command line and the surroundings; `truth` judges series of runs.

use crate::guest;
use crate::noise::{Noise, Reading};
use crate::surroundings::{QuotaGroup, Surroundings};
use crate::toolchain::Toolchain;
use crate::workload::{NOTHING, PORT, SharedHost, Workload, repository};
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

/// Runs workloads.
#[derive(Clone, Debug)]
pub struct Runner {
    /// The `rtscope` that records and reports.
    pub rtscope: PathBuf,
    /// Folder of compiled workloads, which outlives runs.
    pub builds: PathBuf,
    /// Folder of captures, one per run; the run creates and empties it.
    pub scratch: PathBuf,
}

/// What was observed of a run from outside.
#[derive(Clone, Debug)]
pub struct TimedRun {
    /// Duration of the run.
    pub seconds: f64,
    /// Periods in which the quota ran out, if there was one.
    pub throttled_periods: Option<u64>,
    /// Other load during the run.
    pub noise: Noise,
}

/// A run that was recorded.
#[derive(Clone, Debug)]
pub struct Recording {
    /// The capture.
    pub capture: PathBuf,
    /// Periods in which the quota ran out, where there was one.
    pub throttled_periods: Option<u64>,
    /// Other load during the run.
    pub noise: Noise,
}

/// A recording and its report.
#[derive(Clone, Debug)]
pub struct ReportedRun {
    /// The recording.
    pub recording: Recording,
    /// `report --json`.
    pub report: Value,
}

impl std::ops::Deref for ReportedRun {
    type Target = Recording;

    fn deref(&self) -> &Recording {
        &self.recording
    }
}

impl ReportedRun {
    /// Id of the first finding, or [`NOTHING`].
    pub fn first(&self) -> &str {
        self.report["findings"][0]["id"].as_str().unwrap_or(NOTHING)
    }

    /// Ids of all findings.
    pub fn findings(&self) -> Vec<&str> {
        let list = self.report["findings"].as_array().map_or(&[][..], Vec::as_slice);
        list.iter().filter_map(|finding| finding["id"].as_str()).collect()
    }

    /// Whether the first finding's claim or evidence contains `text`, such as a symbol.
    pub fn names(&self, text: &str) -> bool {
        let first = &self.report["findings"][0];
        let evidence = first["evidence"].as_array().map_or(&[][..], Vec::as_slice);
        let texts = evidence.iter().map(|seen| &seen["text"]).chain([&first["claim"]]);
        texts.filter_map(Value::as_str).any(|seen| seen.contains(text))
    }
}

impl Runner {
    /// A runner with folders in `target/`, and the given `rtscope`.
    pub fn new(rtscope: &Path) -> Result<Runner> {
        let rtscope = fs::canonicalize(rtscope)
            .with_context(|| format!("no rtscope at {}: `cargo build --release -p rtscope`", rtscope.display()))?;
        let target = target_folder();
        // Each runner has its own folder, which is removed with it while other runners of this process go on.
        static RUNNERS: AtomicU32 = AtomicU32::new(0);
        let number = RUNNERS.fetch_add(1, Ordering::Relaxed);
        let scratch = target.join(format!("captures/{}-{number}", std::process::id()));
        let runner = Runner { rtscope, builds: target.join("workloads"), scratch };
        fs::create_dir_all(&runner.builds)?;
        fs::create_dir_all(&runner.scratch)?;
        Ok(runner)
    }

    /// Builds, records and reports `workload` once.
    pub fn run(&self, workload: &Workload, toolchain: &Toolchain) -> Result<ReportedRun> {
        self.judged(self.record(workload, toolchain)?)
    }

    /// Builds and records `workload` once.
    pub fn record(&self, workload: &Workload, toolchain: &Toolchain) -> Result<Recording> {
        let program = workload.build(toolchain, &self.builds)?;
        let capture = self.scratch.join(format!("{}-{}.rtscope", workload.name, toolchain.name));
        if capture.exists() {
            fs::remove_dir_all(&capture)?;
        }
        if let Some(host) = workload.host {
            return self.record_in_guest(host, workload, toolchain, &program, capture);
        }
        let recorder = |command: &[OsString]| {
            let mut recorder = Command::new(&self.rtscope);
            recorder.arg("record").args(&workload.record).arg("-o").arg(&capture).arg("--").args(command);
            recorder
        };
        let TimedRun { noise, throttled_periods, .. } = self.surrounded(workload, toolchain, &program, recorder)?;
        Ok(Recording { capture, throttled_periods, noise })
    }

    /// Builds `workload`, and records it once with a recorder that `becoming` starts next to the program, inside
    /// its surroundings; returns the report. Its captures are in [`Runner::scratch`].
    pub fn recorded_by(&self, becoming: &[&str], workload: &Workload, toolchain: &Toolchain) -> Result<Value> {
        ensure!(workload.host.is_none(), "{} runs in a guest", workload.name);
        let program = workload.build(toolchain, &self.builds)?;
        let capture = self.scratch.join(format!("{}.rtscope", workload.name));
        if capture.exists() {
            fs::remove_dir_all(&capture)?;
        }
        let mut launcher: Vec<String> = becoming.iter().copied().map(Into::into).collect();
        launcher.extend([self.rtscope.to_string_lossy().into_owned(), "record".into()]);
        launcher.extend(workload.record.iter().cloned());
        launcher.extend(["-o".into(), capture.to_string_lossy().into_owned(), "--".into()]);
        launcher.extend(workload.launcher.iter().cloned());
        let started = Workload { launcher, ..workload.clone() };
        self.surrounded(&started, toolchain, &program, plainly)?;
        self.report_of_a_runtime(&capture)
    }

    /// Builds `workload` and runs it once without a recorder.
    pub fn alone(&self, workload: &Workload, toolchain: &Toolchain) -> Result<TimedRun> {
        ensure!(workload.host.is_none(), "{} runs in a guest", workload.name);
        let program = workload.build(toolchain, &self.builds)?;
        self.surrounded(workload, toolchain, &program, plainly)
    }

    /// Runs the command that `started` makes from the workload's command, in the workload's surroundings.
    fn surrounded(
        &self,
        workload: &Workload,
        toolchain: &Toolchain,
        program: &Path,
        started: impl FnOnce(&[OsString]) -> Command,
    ) -> Result<TimedRun> {
        ensure!(workload.server.is_none(), "{} is a server: it does not end by itself", workload.name);
        let around = Surroundings::make(workload, &self.scratch)?;
        let mut command = self.started(workload, toolchain, program, &around, started);
        let expected = around.neighbours.pids();
        let (before, start) = (Reading::now(&expected), Instant::now());
        let done = command.output()?;
        let seconds = start.elapsed().as_secs_f64();
        let noise = Reading::now(&expected).since(&before);
        let throttled_periods = around.end();
        let stderr = String::from_utf8_lossy(&done.stderr);
        ensure!(done.status.success(), "{} ended with {}: {stderr}", workload.name, done.status);
        Ok(TimedRun { seconds, throttled_periods, noise })
    }

    /// The command that `started` makes from the workload's command, ready to run.
    pub(crate) fn started(
        &self,
        workload: &Workload,
        toolchain: &Toolchain,
        program: &Path,
        around: &Surroundings,
        started: impl FnOnce(&[OsString]) -> Command,
    ) -> Command {
        let mut command = started(&self.command(workload, toolchain, program, around.group.as_ref()));
        if let Some(runparam) = &workload.runparam {
            // Not for the program alone: a recorder adds its own settings to it.
            command.env("OCAMLRUNPARAM", runparam);
        }
        command.current_dir(&self.scratch).stdin(Stdio::null());
        command
    }

    fn record_in_guest(
        &self,
        host: SharedHost,
        workload: &Workload,
        toolchain: &Toolchain,
        program: &Path,
        capture: PathBuf,
    ) -> Result<Recording> {
        let before = Reading::now(&[]);
        let (rtscope, arguments) = ((&*self.rtscope, &*workload.record), arguments(workload));
        let scratch = self.scratch.join("guest");
        let recorded = guest::workload::record(host, rtscope, toolchain, (program, &arguments), &scratch)?;
        let noise = Reading::now(&[]).since(&before);
        fs::rename(recorded, &capture)?;
        Ok(Recording { capture, throttled_periods: None, noise })
    }

    /// The command line: the group, the CPUs, the toolchain's tree, the program.
    fn command(
        &self,
        workload: &Workload,
        toolchain: &Toolchain,
        program: &Path,
        group: Option<&QuotaGroup>,
    ) -> Vec<OsString> {
        let mut words: Vec<OsString> =
            group.map_or_else(Vec::new, QuotaGroup::enter).into_iter().map(Into::into).collect();
        if let Some(cpus) = workload.cpus {
            words.extend(["taskset".into(), "-c".into(), format!("0-{}", cpus - 1).into()]);
        }
        words.extend(toolchain.enter(&[&self.scratch, &self.builds]));
        if !workload.environment.is_empty() {
            // For the program alone: the recorder keeps its own value.
            words.push("env".into());
            words.extend(workload.environment.iter().map(|(name, value)| format!("{name}={value}").into()));
        }
        words.extend(workload.launcher.iter().map(OsString::from));
        words.push(program.into());
        words.extend(arguments(workload));
        words
    }

    /// The recording with its report.
    pub fn judged(&self, recording: Recording) -> Result<ReportedRun> {
        Ok(ReportedRun { report: self.report_of_a_runtime(&recording.capture)?, recording })
    }

    /// A report that knows a runtime: one that saw none finds nothing, and that is no answer.
    fn report_of_a_runtime(&self, capture: &Path) -> Result<Value> {
        let report = self.report(capture)?;
        ensure!(report["runtime"]["family"].is_string(), "the report knows no runtime");
        Ok(report)
    }

    /// `rtscope report --json` of a capture or log. Losses (status 3) are an answer, too.
    pub fn report(&self, file: &Path) -> Result<Value> {
        self.report_with(file, &[])
    }

    /// `rtscope report --json` without this rule.
    pub fn report_without(&self, file: &Path, rule: &str) -> Result<Value> {
        self.report_with(file, &["--without", rule])
    }

    fn report_with(&self, file: &Path, options: &[&str]) -> Result<Value> {
        let done = Command::new(&self.rtscope).args(["report", "--json"]).args(options).arg(file).output()?;
        let stderr = String::from_utf8_lossy(&done.stderr);
        ensure!(matches!(done.status.code(), Some(0 | 3)), "report ended with {}: {stderr}", done.status);
        serde_json::from_slice(&done.stdout).context("report --json printed no JSON")
    }
}

/// A command with exactly these words.
pub fn plainly(words: &[OsString]) -> Command {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    command
}

/// The arguments of the program and its runtime. A server takes a free port.
fn arguments(workload: &Workload) -> Vec<OsString> {
    let mut words: Vec<OsString> = workload.args.iter().map(|word| word.replace(PORT, "0").into()).collect();
    if !workload.rts.is_empty() {
        words.push("+RTS".into());
        words.extend(workload.rts.iter().map(OsString::from));
        words.push("-RTS".into());
    }
    words
}

impl Drop for Runner {
    fn drop(&mut self) {
        // Remove only its own captures.
        if !keeps_captures() {
            let _ = fs::remove_dir_all(&self.scratch);
        }
    }
}

/// Whether `RTSCOPE_KEEP` is set, so that captures stay for inspection.
pub fn keeps_captures() -> bool {
    std::env::var_os("RTSCOPE_KEEP").is_some()
}

/// Cargo's target folder.
pub fn target_folder() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| repository().join("target"), PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload;

    /// A fake `rtscope` that runs the command and reports `finding`.
    fn fake(folder: &Path, finding: &str) -> PathBuf {
        let script = format!(
            "#!/bin/sh\nif [ $1 = record ]; then mkdir \"$3\"; shift 4; exec \"$@\"; fi\n\
             echo '{{\"findings\":[{finding}]}}'\n"
        );
        let path = folder.join("rtscope");
        testkit::executable::write(&path, script);
        path
    }

    fn outcome(report: Value) -> ReportedRun {
        let noise = Noise::default();
        ReportedRun { recording: Recording { capture: PathBuf::new(), throttled_periods: None, noise }, report }
    }

    #[test]
    fn the_first_finding_is_the_answer() {
        let folder = tempfile::tempdir().unwrap();
        for (finding, first) in [("{\"id\":\"preempted\"},{\"id\":\"other\"}", "preempted"), ("", NOTHING)] {
            let runner = Runner {
                rtscope: fake(folder.path(), finding),
                builds: folder.path().join("builds"),
                scratch: folder.path().join("captures"),
            };
            assert_eq!(outcome(runner.report(Path::new("x")).unwrap()).first(), first);
        }
    }

    #[test]
    fn a_report_that_saw_no_runtime_is_no_answer() {
        let folder = tempfile::tempdir().unwrap();
        let runner = Runner {
            rtscope: fake(folder.path(), ""),
            builds: folder.path().join("builds"),
            scratch: folder.path().join("captures"),
        };
        assert!(runner.report(Path::new("x")).is_ok());
        assert_eq!(runner.report_of_a_runtime(Path::new("x")).unwrap_err().to_string(), "the report knows no runtime");
    }

    #[test]
    fn the_command_goes_through_group_cpus_and_tree() {
        let folder = tempfile::tempdir().unwrap();
        let runner = Runner { rtscope: "r".into(), builds: "/b".into(), scratch: folder.path().into() };
        let tree = Toolchain { name: "ghc-9.6", version: "9.6.6".into(), root: Some("/root-of-it".into()) };
        let neighbour = workload::load("neighbour").unwrap();
        let words = runner.command(&neighbour, &tree, Path::new("/b/p"), None);
        let text: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
        assert_eq!(text[..3], ["taskset", "-c", "0-1"]);
        assert_eq!(text[text.len() - 5..], ["/b/p", "+RTS", "-N2", "-A4m", "-RTS"]);
        assert!(text.contains(&"/root-of-it".into()));
    }

    #[test]
    fn the_environment_is_the_program_s_alone() {
        let folder = tempfile::tempdir().unwrap();
        let runner = Runner { rtscope: "r".into(), builds: "/b".into(), scratch: folder.path().into() };
        let own = Toolchain { name: "ghc-9.0", version: "9.0.2".into(), root: None };
        let environment = [("LIMIT".to_owned(), "3 4".to_owned())].into();
        let workload = Workload { environment, rts: Vec::new(), ..workload::load("healthy").unwrap() };
        assert_eq!(runner.command(&workload, &own, Path::new("/b/p"), None), ["env", "LIMIT=3 4", "/b/p"]);
    }

    #[test]
    fn a_name_is_looked_for_in_the_first_finding_only() {
        let report = serde_json::json!({"findings": [
            {"id": "a", "claim": "late in `c_busy`", "evidence": [{"text": "seen in `crunch`"}]},
            {"id": "b", "claim": "in `other`", "evidence": []},
        ]});
        let outcome = outcome(report);
        assert!(outcome.names("`c_busy`") && outcome.names("crunch") && !outcome.names("other"));
    }
}

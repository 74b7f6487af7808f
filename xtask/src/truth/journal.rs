//! The record of a suite, as JSON lines: first the plan, then a line for each attempt, as soon as it ends. Owns
//! the file's format. A killed suite continues from it and every table is computed from it, so each line
//! contains everything that is needed to judge it.

use crate::noise::Noise;
use crate::workload::NOTHING;
use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Changes when lines of old files no longer have the same meaning.
const SCHEMA: &str = "rtscope/truth/1";

/// What a suite is to run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SuitePlan {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// Seed of the order.
    pub seed: u64,
    /// Runs of each workload.
    pub runs: usize,
    /// Names of the workloads.
    pub workloads: Vec<String>,
    /// Names of the toolchains.
    pub toolchains: Vec<String>,
    /// Output of `rtscope --version`.
    pub rtscope: String,
    /// The commit that it was built from, as far as known.
    #[serde(default)]
    pub commit: String,
    /// Families are drawn, once per place in the order; else workloads run as they are written.
    #[serde(default)]
    pub drawn: bool,
    /// If other load takes this share of all CPUs, a run is dirty.
    pub noise_max: f64,
    /// How often a dirty run is repeated.
    pub repeats: usize,
    /// The remedy is tried after every this-many-th hit; 0: never.
    pub remedies_every: usize,
    /// After each hit, report again without its rule.
    #[serde(default)]
    pub rules_off: bool,
}

impl SuitePlan {
    /// The value of `schema`.
    pub fn schema() -> String {
        SCHEMA.to_owned()
    }
}

/// One attempt at one run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Attempt {
    /// Its place in the order.
    pub slot: usize,
    /// Name of the workload.
    pub workload: String,
    /// Name of the toolchain.
    pub on: String,
    /// How it was run: its arguments, flags, quota.
    #[serde(default)]
    pub given: String,
    /// The truth about the workload: a finding's id or [`NOTHING`].
    pub expect: String,
    /// A second finding that must be present.
    #[serde(default)]
    pub second: Option<String>,
    /// Further findings that are true.
    #[serde(default)]
    pub also: Vec<String>,
    /// The findings, in order.
    pub found: Vec<String>,
    /// Whether the first finding named the required code; `None`: no name is required.
    pub named: Option<bool>,
    /// Whether the lost time still has a name without the hit's rule; `None`: not tested.
    #[serde(default)]
    pub named_without: Option<bool>,
    /// What the remedy to be tried promises; `None`: no hit, or the report gives no remedy.
    pub promise: Option<Promise>,
    /// Other load on the machine.
    pub noise: Noise,
    /// Whether other load took more than is allowed.
    pub dirty: bool,
    /// Why there is no report.
    pub error: Option<String>,
}

impl Attempt {
    /// Id of the first finding.
    pub fn first(&self) -> &str {
        self.found.first().map_or(NOTHING, String::as_str)
    }

    /// Whether the truth came first or, if nothing is to be found, nothing false was found.
    pub fn hit(&self) -> bool {
        let healthy = self.expect == NOTHING;
        let right = if healthy { self.false_alarms().next().is_none() } else { self.first() == self.expect };
        self.error.is_none() && right
    }

    /// With two causes: whether the larger came first and the other was found; `None`: there is one cause.
    pub fn both(&self) -> Option<bool> {
        let second = self.second.as_ref()?;
        Some(self.hit() && self.found.contains(second))
    }

    /// Findings that are not true.
    pub fn false_alarms(&self) -> impl Iterator<Item = &str> {
        let true_too =
            |id: &&String| **id == self.expect || self.second.as_ref() == Some(*id) || self.also.contains(id);
        self.found.iter().filter(move |id| !true_too(id)).map(String::as_str)
    }
}

/// What a remedy promises.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Promise {
    /// The flag that the report prints to paste.
    pub flag: Option<String>,
    /// Runtime options that it sets, however the report prints them.
    #[serde(default)]
    pub options: Vec<String>,
    /// The figure of `report --json` that should change; `None`: the remedy names none.
    pub path: Option<String>,
    /// Whether the figure should rise; else it should fall.
    pub rises: bool,
    /// The figure in the run with the finding.
    pub before: Option<f64>,
}

/// One attempt at one remedy, after a hit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cure {
    /// Place of the hit in the order.
    pub slot: usize,
    /// Name of the workload.
    pub workload: String,
    /// Name of the toolchain.
    pub on: String,
    /// Id of the finding.
    pub finding: String,
    /// Description of the change.
    pub applied: String,
    /// What the remedy promised.
    pub promise: Promise,
    /// The figure after the change.
    pub after: Option<f64>,
    /// The findings after the change.
    pub found: Vec<String>,
    /// Other load, as in [`Attempt`].
    pub noise: Noise,
    /// Whether it was dirty, as in [`Attempt`].
    pub dirty: bool,
    /// Why there is nothing to compare.
    pub error: Option<String>,
}

/// A line of a journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum JournalLine {
    /// The plan, on the first line.
    Plan(SuitePlan),
    /// An attempt at a run.
    Run(Attempt),
    /// An attempt at a remedy.
    Cure(Cure),
}

/// A journal that is being written.
#[derive(Debug)]
pub struct Journal {
    /// Path of the file.
    pub path: PathBuf,
    file: File,
}

impl Journal {
    /// Starts a journal; the file must not exist yet.
    pub fn begin(path: &Path, plan: &SuitePlan) -> Result<Journal> {
        fs::create_dir_all(path.parent().context("a file without a folder")?)?;
        let file = File::create_new(path).with_context(|| path.display().to_string())?;
        let mut journal = Journal { path: path.to_owned(), file };
        journal.add(&JournalLine::Plan(plan.clone()))?;
        Ok(journal)
    }

    /// Continues a journal. Ends a line that was being written when the suite was killed.
    pub fn resume(path: &Path) -> Result<Journal> {
        let whole = fs::read(path).with_context(|| path.display().to_string())?.ends_with(b"\n");
        let mut file = File::options().append(true).open(path)?;
        if !whole {
            file.write_all(b"\n")?;
        }
        Ok(Journal { path: path.to_owned(), file })
    }

    /// Appends a line and writes it immediately.
    pub fn add(&mut self, line: &JournalLine) -> Result<()> {
        let text = serde_json::to_string(line)? + "\n";
        self.file.write_all(text.as_bytes()).with_context(|| self.path.display().to_string())
    }
}

/// The content of a journal.
#[derive(Clone, Debug, PartialEq)]
pub struct Read {
    /// The suite's plan.
    pub plan: SuitePlan,
    /// All attempts at runs, in the order in which they ended.
    pub runs: Vec<Attempt>,
    /// All attempts at remedies, in the order in which they ended.
    pub cures: Vec<Cure>,
    /// Number of lines that a kill cut short: their attempts are repeated.
    pub cut: usize,
}

/// Reads a journal.
pub fn read(path: &Path) -> Result<Read> {
    let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let mut lines = text.lines().filter(|line| !line.is_empty());
    let first = lines.next().and_then(|line| serde_json::from_str(line).ok());
    let Some(JournalLine::Plan(plan)) =
        first.filter(|line| matches!(line, JournalLine::Plan(plan) if plan.schema == SCHEMA))
    else {
        bail!("{} does not begin with the plan of a truth suite ({SCHEMA})", path.display());
    };
    let mut read = Read { plan, runs: Vec::new(), cures: Vec::new(), cut: 0 };
    for line in lines {
        match serde_json::from_str(line) {
            Ok(JournalLine::Run(run)) => read.runs.push(run),
            Ok(JournalLine::Cure(cure)) => read.cures.push(cure),
            Ok(JournalLine::Plan(_)) => bail!("{} holds two plans", path.display()),
            Err(_) => read.cut += 1,
        }
    }
    Ok(read)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> SuitePlan {
        SuitePlan {
            schema: SuitePlan::schema(),
            seed: 7,
            runs: 2,
            workloads: vec!["a".into()],
            toolchains: vec!["g".into()],
            rtscope: "rtscope 0".into(),
            commit: "0123".into(),
            drawn: true,
            noise_max: 0.05,
            repeats: 2,
            remedies_every: 1,
            rules_off: true,
        }
    }

    #[test]
    fn what_was_written_is_read_and_a_cut_line_costs_itself_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deeper/7.jsonl");
        let mut journal = Journal::begin(&path, &plan()).unwrap();
        let run = Attempt { workload: "a".into(), found: vec!["x".into()], named: Some(true), ..Attempt::default() };
        let cure = Cure { after: Some(0.5), ..Cure::default() };
        journal.add(&JournalLine::Run(run.clone())).unwrap();
        journal.add(&JournalLine::Cure(cure.clone())).unwrap();
        drop(journal);
        assert!(Journal::begin(&path, &plan()).is_err(), "a journal is never overwritten");
        File::options().append(true).open(&path).unwrap().write_all(b"{\"run\":{\"sl").unwrap();
        Journal::resume(&path).unwrap().add(&JournalLine::Run(run.clone())).unwrap();
        let read = read(&path).unwrap();
        assert_eq!(read, Read { plan: plan(), runs: vec![run.clone(), run], cures: vec![cure], cut: 1 });
    }

    #[test]
    fn another_file_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        for text in ["", "{}\n", "{\"run\":{}}\n"] {
            fs::write(&path, text).unwrap();
            assert!(read(&path).unwrap_err().to_string().contains("does not begin with the plan"), "{text}");
        }
    }

    #[test]
    fn what_is_true_as_well_is_no_false_alarm() {
        let found = ["late", "preempted", "other"].map(String::from).to_vec();
        let run = Attempt { expect: "late".into(), also: vec!["preempted".into()], found, ..Attempt::default() };
        assert!(run.hit() && run.false_alarms().eq(["other"]));
        let healthy = Attempt { expect: NOTHING.into(), ..Attempt::default() };
        assert!(healthy.hit() && healthy.false_alarms().next().is_none());
        let known = Attempt { found: vec!["x".into()], also: vec!["x".into()], ..healthy.clone() };
        assert!(known.hit() && !Attempt { also: Vec::new(), ..known }.hit());
        assert!(!Attempt { error: Some("no report".into()), ..healthy }.hit());
    }
}

//! What a suite saw, as JSON lines: first the plan, then a line for each attempt, as
//! soon as it ends. Owns that file's shape. A suite that was killed goes on from it,
//! and every table is computed from it; so a line says all that judging it takes.

use crate::noise::Noise;
use crate::workload::NOTHING;
use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Changes when lines of old files can no longer be read as they were meant.
const SCHEMA: &str = "rtscope/truth/1";

/// What was to be run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// The order's.
    pub seed: u64,
    /// Of each workload.
    pub runs: usize,
    /// Names.
    pub workloads: Vec<String>,
    /// Names.
    pub toolchains: Vec<String>,
    /// What `rtscope --version` says.
    pub rtscope: String,
    /// The commit that it was built from, as far as the suite knows.
    #[serde(default)]
    pub commit: String,
    /// Families are drawn, one anew for each place in the order; else workloads run as they are written.
    #[serde(default)]
    pub drawn: bool,
    /// From this share of all CPUs taken by others a run is dirty.
    pub noise_max: f64,
    /// How often a dirty run is repeated.
    pub repeats: usize,
    /// After each so-manieth hit the remedy is tried; 0: never.
    pub remedies_every: usize,
    /// After each hit its rule is left out.
    #[serde(default)]
    pub rules_off: bool,
}

impl Plan {
    /// The value of `schema`.
    pub fn schema() -> String {
        SCHEMA.to_owned()
    }
}

/// One attempt at one run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Place in the order.
    pub slot: usize,
    /// Name.
    pub workload: String,
    /// Toolchain.
    pub on: String,
    /// How it was run: its arguments, flags, quota.
    #[serde(default)]
    pub given: String,
    /// What is true of the workload: a finding's id or [`NOTHING`].
    pub expect: String,
    /// A second finding that has to be there.
    #[serde(default)]
    pub second: Option<String>,
    /// What is true as well.
    #[serde(default)]
    pub also: Vec<String>,
    /// What was found, first first.
    pub found: Vec<String>,
    /// Whether the first finding named the code that it had to; `None`: no name is asked.
    pub named: Option<bool>,
    /// With the rule of a hit left out, whether what it cost has a name still; `None`: not asked.
    #[serde(default)]
    pub named_without: Option<bool>,
    /// What the remedy to be tried promises; `None`: no hit, or no remedy is told.
    pub promise: Option<Promise>,
    /// What else the machine did.
    pub noise: Noise,
    /// Others took more than a run may suffer.
    pub dirty: bool,
    /// Why there is no report.
    pub error: Option<String>,
}

impl Run {
    /// Id of what came first.
    pub fn first(&self) -> &str {
        self.found.first().map_or(NOTHING, String::as_str)
    }

    /// The truth came first; where nothing is to be found: nothing that is not true.
    pub fn hit(&self) -> bool {
        let healthy = self.expect == NOTHING;
        let right = if healthy { self.false_alarms().next().is_none() } else { self.first() == self.expect };
        self.error.is_none() && right
    }

    /// Of two causes: the larger came first, and the other was found; `None`: it has one.
    pub fn both(&self) -> Option<bool> {
        let second = self.second.as_ref()?;
        Some(self.hit() && self.found.contains(second))
    }

    /// Found, but not true.
    pub fn false_alarms(&self) -> impl Iterator<Item = &str> {
        let true_too =
            |id: &&String| **id == self.expect || self.second.as_ref() == Some(*id) || self.also.contains(id);
        self.found.iter().filter(move |id| !true_too(id)).map(String::as_str)
    }
}

/// What a remedy says of itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Promise {
    /// What the report prints to paste.
    pub flag: Option<String>,
    /// Options of the runtime that it sets, however the report prints them.
    #[serde(default)]
    pub options: Vec<String>,
    /// The figure of `report --json` that shall change; `None`: the remedy names none.
    pub path: Option<String>,
    /// It shall rise; else fall.
    pub rises: bool,
    /// What it was in the run that found the finding.
    pub before: Option<f64>,
}

/// One attempt at one remedy, after a hit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cure {
    /// Of the hit.
    pub slot: usize,
    /// Name.
    pub workload: String,
    /// Toolchain.
    pub on: String,
    /// The finding.
    pub finding: String,
    /// What was changed, for people.
    pub applied: String,
    /// What it promised.
    pub promise: Promise,
    /// What the figure was afterwards.
    pub after: Option<f64>,
    /// What was found afterwards.
    pub found: Vec<String>,
    /// As in a run.
    pub noise: Noise,
    /// As in a run.
    pub dirty: bool,
    /// Why there is nothing to compare.
    pub error: Option<String>,
}

/// One line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Line {
    /// The first.
    Plan(Plan),
    /// A run.
    Run(Run),
    /// A remedy.
    Cure(Cure),
}

/// A file that is written.
#[derive(Debug)]
pub struct Journal {
    /// Where.
    pub path: PathBuf,
    file: File,
}

impl Journal {
    /// Begins one; there must be none yet.
    pub fn begin(path: &Path, plan: &Plan) -> Result<Journal> {
        fs::create_dir_all(path.parent().context("a file without a folder")?)?;
        let file = File::create_new(path).with_context(|| path.display().to_string())?;
        let mut journal = Journal { path: path.to_owned(), file };
        journal.add(&Line::Plan(plan.clone()))?;
        Ok(journal)
    }

    /// Goes on with one. A line that was being written when the suite was killed is ended.
    pub fn resume(path: &Path) -> Result<Journal> {
        let whole = fs::read(path).with_context(|| path.display().to_string())?.ends_with(b"\n");
        let mut file = File::options().append(true).open(path)?;
        if !whole {
            file.write_all(b"\n")?;
        }
        Ok(Journal { path: path.to_owned(), file })
    }

    /// Adds a line, at once.
    pub fn add(&mut self, line: &Line) -> Result<()> {
        let text = serde_json::to_string(line)? + "\n";
        self.file.write_all(text.as_bytes()).with_context(|| self.path.display().to_string())
    }
}

/// What a journal holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Read {
    /// Its plan.
    pub plan: Plan,
    /// Every attempt, in the order in which they ended.
    pub runs: Vec<Run>,
    /// Every remedy tried, likewise.
    pub cures: Vec<Cure>,
    /// Lines that a kill cut short: their attempts are made again.
    pub cut: usize,
}

/// Reads a journal.
pub fn read(path: &Path) -> Result<Read> {
    let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let mut lines = text.lines().filter(|line| !line.is_empty());
    let first = lines.next().and_then(|line| serde_json::from_str(line).ok());
    let Some(Line::Plan(plan)) = first.filter(|line| matches!(line, Line::Plan(plan) if plan.schema == SCHEMA)) else {
        bail!("{} does not begin with the plan of a truth suite ({SCHEMA})", path.display());
    };
    let mut read = Read { plan, runs: Vec::new(), cures: Vec::new(), cut: 0 };
    for line in lines {
        match serde_json::from_str(line) {
            Ok(Line::Run(run)) => read.runs.push(run),
            Ok(Line::Cure(cure)) => read.cures.push(cure),
            Ok(Line::Plan(_)) => bail!("{} holds two plans", path.display()),
            Err(_) => read.cut += 1,
        }
    }
    Ok(read)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> Plan {
        Plan {
            schema: Plan::schema(),
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
        let run = Run { workload: "a".into(), found: vec!["x".into()], named: Some(true), ..Run::default() };
        let cure = Cure { after: Some(0.5), ..Cure::default() };
        journal.add(&Line::Run(run.clone())).unwrap();
        journal.add(&Line::Cure(cure.clone())).unwrap();
        drop(journal);
        assert!(Journal::begin(&path, &plan()).is_err(), "a journal is never overwritten");
        File::options().append(true).open(&path).unwrap().write_all(b"{\"run\":{\"sl").unwrap();
        Journal::resume(&path).unwrap().add(&Line::Run(run.clone())).unwrap();
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
        let run = Run { expect: "late".into(), also: vec!["preempted".into()], found, ..Run::default() };
        assert!(run.hit() && run.false_alarms().eq(["other"]));
        let healthy = Run { expect: NOTHING.into(), ..Run::default() };
        assert!(healthy.hit() && healthy.false_alarms().next().is_none());
        let known = Run { found: vec!["x".into()], also: vec!["x".into()], ..healthy.clone() };
        assert!(known.hit() && !Run { also: Vec::new(), ..known }.hit());
        assert!(!Run { error: Some("no report".into()), ..healthy }.hit());
    }
}

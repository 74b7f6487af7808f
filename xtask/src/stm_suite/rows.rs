//! A row per run in a tab-separated file: what was run, how long, how it ended. Owns the columns and their
//! summary; refuses to change a written row.

use anyhow::{Context, Result, bail, ensure};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

const HEAD: &str =
    "turn\tcommit\tcompiler\tbuild\tprogram\tmode\tseed\tseconds\tcpu_seconds\tsteps\tstatus\tsignal\tcore";

/// One run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SuiteRow {
    pub turn: u32,
    pub commit: String,
    pub compiler: String,
    pub build: String,
    pub program: String,
    pub mode: String,
    pub seed: u32,
    /// Duration of the run.
    pub seconds: f64,
    /// CPU time of the program alone; 0 if it did not report it.
    pub cpu_seconds: f64,
    /// Steps of all its workers.
    pub steps: u64,
    /// `ok`, `broken` (an invariant), `hang`, `signal` or `exit N`.
    pub status: String,
    pub signal: Option<i32>,
    /// The core file of a run that did not end well.
    pub core: Option<PathBuf>,
}

impl SuiteRow {
    pub fn ended_well(&self) -> bool {
        self.status == "ok"
    }

    fn line(&self) -> String {
        let signal = self.signal.map_or_else(|| "-".into(), |signal| signal.to_string());
        let core = self.core.as_ref().map_or_else(|| "-".into(), |path| path.display().to_string());
        format!(
            "{}\t{}\t{}\t{}\t{}\t{}\t{}\t{:.3}\t{:.3}\t{}\t{}\t{signal}\t{core}",
            self.turn,
            self.commit,
            self.compiler,
            self.build,
            self.program,
            self.mode,
            self.seed,
            self.seconds,
            self.cpu_seconds,
            self.steps,
            self.status
        )
    }

    fn read(line: &str) -> Result<SuiteRow> {
        let fields: Vec<&str> = line.split('\t').collect();
        let [turn, commit, compiler, build, program, mode, seed, seconds, cpu, steps, status, signal, core] =
            fields[..]
        else {
            bail!("{} columns", fields.len());
        };
        Ok(SuiteRow {
            turn: turn.parse()?,
            commit: commit.into(),
            compiler: compiler.into(),
            build: build.into(),
            program: program.into(),
            mode: mode.into(),
            seed: seed.parse()?,
            seconds: seconds.parse()?,
            cpu_seconds: cpu.parse()?,
            steps: steps.parse()?,
            status: status.into(),
            signal: if signal == "-" { None } else { Some(signal.parse()?) },
            core: (core != "-").then(|| core.into()),
        })
    }
}

/// The file, open for appending.
#[derive(Debug)]
pub struct Rows {
    path: PathBuf,
    turns: BTreeSet<u32>,
    open: Mutex<(File, Vec<SuiteRow>)>,
}

impl Rows {
    /// Opens or creates it. An incomplete last line belongs to an interrupted run, and is removed.
    ///
    /// # Errors
    /// It cannot be read or written, or has another format.
    pub fn open(path: PathBuf) -> Result<Rows> {
        let text = if path.exists() { fs::read_to_string(&path)? } else { format!("{HEAD}\n") };
        let whole = &text[..text.rfind('\n').map_or(0, |end| end + 1)];
        let mut lines = whole.lines();
        ensure!(lines.next() == Some(HEAD), "{} is no file of this command", path.display());
        let rows = lines
            .enumerate()
            .map(|(at, line)| SuiteRow::read(line).with_context(|| format!("{}, line {}", path.display(), at + 2)));
        let rows = rows.collect::<Result<Vec<_>>>()?;
        fs::write(&path, whole).with_context(|| path.display().to_string())?;
        let file = OpenOptions::new().append(true).open(&path)?;
        Ok(Rows { turns: rows.iter().map(|row| row.turn).collect(), path, open: Mutex::new((file, rows)) })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the turn had its row when the file was opened.
    pub fn has(&self, turn: u32) -> bool {
        self.turns.contains(&turn)
    }

    /// Appends a row with a single write.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn append(&self, row: &SuiteRow) -> Result<()> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.0.write_all(format!("{}\n", row.line()).as_bytes())?;
        open.1.push(row.clone());
        Ok(())
    }

    /// All rows, those of earlier sessions first.
    pub fn all(self) -> Vec<SuiteRow> {
        self.open.into_inner().unwrap_or_else(PoisonError::into_inner).1
    }
}

/// For each case and in total: runs, seconds, runs that did not end well, and the bound that follows.
pub fn summary(rows: &[SuiteRow]) -> Vec<String> {
    let mut groups: BTreeMap<String, Vec<&SuiteRow>> = BTreeMap::new();
    for row in rows {
        let bank = row.program == "bank" && row.mode == "limit=1" && row.build == "threaded";
        let group = if bank { "bank limit=1 threaded" } else { "others" };
        groups.entry(format!("{} {group}", row.compiler)).or_default().push(row);
        groups.entry("~all".into()).or_default().push(row);
    }
    let bad = rows.iter().filter(|row| !row.ended_well()).map(|row| {
        let core = row.core.as_ref().map_or_else(String::new, |path| format!(", kept in {}", path.display()));
        let SuiteRow { turn, compiler, build, program, mode, status, .. } = row;
        format!("turn {turn}: {compiler} {program} {mode} {build}: {status}{core}")
    });
    groups.iter().map(|(name, rows)| sum(name.trim_start_matches('~'), rows)).chain(bad).collect()
}

fn sum(name: &str, rows: &[&SuiteRow]) -> String {
    let seconds: f64 = rows.iter().map(|row| row.seconds).sum();
    let cpu: f64 = rows.iter().map(|row| row.cpu_seconds).sum();
    let steps: u64 = rows.iter().map(|row| row.steps).sum();
    let faults = rows.iter().filter(|row| row.status == "signal").count();
    let bad = rows.iter().filter(|row| !row.ended_well()).count();
    // Without an event in a period, the rate is below three per period with 95 % confidence.
    let bound = if faults == 0 { format!("; below one in {:.0} s with 95 %", seconds / 3.0) } else { String::new() };
    format!(
        "{name}: {} runs, {seconds:.0} s ({cpu:.0} s of CPU, {steps} steps), {bad} did not end well, {faults} by a signal{bound}",
        rows.len()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(turn: u32) -> SuiteRow {
        SuiteRow {
            turn,
            commit: "abc".into(),
            compiler: "ghc-9.0".into(),
            build: "threaded".into(),
            program: "bank".into(),
            mode: "limit=1".into(),
            seed: turn,
            seconds: 2.25,
            cpu_seconds: 1.5,
            steps: 1000,
            status: "ok".into(),
            ..SuiteRow::default()
        }
    }

    #[test]
    fn what_was_begun_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.tsv");
        let rows = Rows::open(path.clone()).unwrap();
        let fault = SuiteRow { status: "signal".into(), signal: Some(11), core: Some("/k/core".into()), ..row(3) };
        rows.append(&row(0)).unwrap();
        rows.append(&fault).unwrap();
        // Cut off in the middle of a row: that turn runs again.
        OpenOptions::new().append(true).open(&path).unwrap().write_all(b"7\tabc\tghc").unwrap();
        let rows = Rows::open(path.clone()).unwrap();
        assert_eq!((0..10).filter(|turn| rows.has(*turn)).collect::<Vec<_>>(), [0, 3]);
        rows.append(&row(7)).unwrap();
        let all = Rows::open(path).unwrap().all();
        assert_eq!(all, [row(0), fault, row(7)]);
        let lines = summary(&all);
        assert!(
            lines[0].contains("3 runs, 7 s (4 s of CPU, 3000 steps), 1 did not end well, 1 by a signal"),
            "{lines:?}"
        );
        assert_eq!(lines.last().unwrap(), "turn 3: ghc-9.0 bank limit=1 threaded: signal, kept in /k/core");
    }

    #[test]
    fn a_bound_follows_from_runs_without_a_fault() {
        let rows: Vec<SuiteRow> = (0..4).map(row).collect();
        assert!(summary(&rows)[0].ends_with("0 by a signal; below one in 3 s with 95 %"));
    }

    #[test]
    fn a_file_of_another_kind_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notes");
        fs::write(&path, "mine\n").unwrap();
        assert!(Rows::open(path.clone()).is_err());
        assert_eq!(fs::read_to_string(path).unwrap(), "mine\n");
    }
}

//! `cargo xtask waits`: records programs whose threads wait for known objects, and scores what looks say
//! about them. Owns which runs there are, continuing an interrupted series, and that the truth comes from the
//! program itself; refuses to repeat a run that has its rows.

mod known;
pub mod rows;
pub mod score;

use crate::cache::cache;
use crate::commit::commit;
use crate::rows::Rows;
use crate::runner::{keeps_captures, target_folder};
use crate::toolchain::{ALL, Spec, Toolchain};
use crate::workload::{self, Language};
use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use known::Truth;
use rows::WaitRow;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const PROGRAM: &str = "known-waits";
/// Attempts until a run has a look.
const ATTEMPTS: u32 = 4;

/// What to run how often, and where rows go.
#[derive(Args, Clone, Debug)]
pub struct WaitsArgs {
    /// Seeds of the numbers of threads, the ways to lock and the holders.
    #[arg(long, num_args = 1.., default_values_t = [1, 2, 3])]
    pub seeds: Vec<u64>,
    /// Seconds for which threads wait.
    #[arg(long, default_value_t = 5.0)]
    pub seconds: f64,
    /// Only these toolchains: ghc-9.6 (with OCaml 5.3.0).
    #[arg(long, num_args = 1.., value_name = "NAME")]
    pub only: Vec<String>,
    /// Rows are appended here; runs of this commit with rows are not repeated.
    #[arg(long, value_name = "FILE.jsonl", default_value_os_t = target_folder().join("waits.jsonl"))]
    pub rows: PathBuf,
    /// Run nothing; print the tables of the rows.
    #[arg(long)]
    pub table: bool,
}

/// A runtime whose programs are looked at.
#[derive(Clone, Debug)]
pub struct Subject<'t> {
    /// The toolchain that compiles them.
    pub toolchain: &'t Toolchain,
    language: Language,
    /// GHC: linked with `-threaded`.
    threaded: bool,
    /// Its name in tables.
    pub name: String,
}

impl Subject<'_> {
    /// The runtimes of a toolchain.
    pub fn of(toolchain: &Toolchain) -> Vec<Subject<'_>> {
        let of = |language: Language, threaded, way: &str| {
            let name = format!("{}{way}", language.compiler(toolchain)?);
            Some(Subject { toolchain, language, threaded, name })
        };
        let all = [
            of(Language::Haskell, true, ""),
            of(Language::Haskell, false, ", not threaded"),
            of(Language::Ocaml, true, ""),
        ];
        all.into_iter().flatten().collect()
    }

    /// Makes one run with `rtscope`; returns a row per case. `scratch` must be visible to the program. Looks have
    /// the lowest priority and rest in proportion to their cost: a run in which a busy or slow machine left no time for
    /// a look is repeated, and takes twice as long.
    ///
    /// # Errors
    /// The program cannot be compiled, does not report the truth, or was not looked at.
    pub fn run(&self, rtscope: &Path, seed: u64, seconds: f64, scratch: &Path) -> Result<Vec<WaitRow>> {
        for attempt in 0..ATTEMPTS {
            let rows = self.once(rtscope, seed, seconds * f64::from(1 << attempt), scratch)?;
            if !rows.is_empty() {
                return Ok(rows);
            }
        }
        bail!("{}: no look fell into the time of which the program says what is true", self.name)
    }

    /// Makes one run; no rows: no look fell into the period.
    fn once(&self, rtscope: &Path, seed: u64, seconds: f64, scratch: &Path) -> Result<Vec<WaitRow>> {
        let builds = target_folder().join("workloads");
        fs::create_dir_all(&builds)?;
        let program =
            workload::build(self.language, PROGRAM, self.threaded, self.toolchain, &fs::canonicalize(builds)?)?;
        let capture = scratch.join(format!("{}-{seed}.rtscope", self.name.replace([' ', ','], "")));
        if capture.exists() {
            fs::remove_dir_all(&capture)?;
        }
        let mut recorder = Command::new(rtscope);
        for name in ["GHCRTS", "OCAMLRUNPARAM", "CAMLRUNPARAM"] {
            recorder.env_remove(name);
        }
        recorder.arg("record").arg("-o").arg(&capture).arg("--");
        let folder = program.parent().context("a program without a folder")?;
        recorder.args(self.toolchain.enter(&[folder, scratch])).arg(&program);
        recorder.args([seed.to_string(), seconds.to_string()]);
        if self.language == Language::Haskell {
            // Two capabilities have work, the others have none; collections are rare.
            recorder.args(["+RTS", if self.threaded { "-N4" } else { "-T" }, "-A16m"]);
            recorder.args(self.threaded.then_some("-qg")).arg("-RTS");
        }
        let done = recorder.current_dir(scratch).stdin(Stdio::null()).output().context("rtscope cannot be run")?;
        let stderr = String::from_utf8_lossy(&done.stderr);
        ensure!(done.status.success(), "{} ended with {}: {stderr}", self.name, done.status);
        let rows = self.rows(seed, &String::from_utf8(done.stdout)?, &capture);
        if !keeps_captures() {
            fs::remove_dir_all(&capture)?;
        }
        rows.with_context(|| format!("{}, seed {seed}: {stderr}", self.name))
    }

    fn rows(&self, seed: u64, printed: &str, capture: &Path) -> Result<Vec<WaitRow>> {
        let truth = Truth::read(printed)?;
        if keeps_captures() {
            fs::write(capture.join("truth.jsonl"), printed)?;
        }
        let waits = fs::read_to_string(capture.join("waits.jsonl")).context("nothing was looked at")?;
        let (by, looks) = score::score(&truth, &known::looks(&waits)?);
        let threads = |case: &str| truth.threads.iter().filter(|known| known.case == case).count() as u64;
        let row = |(case, score): (String, score::Score)| {
            let (runtime, threads) = (self.name.clone(), threads(&case));
            WaitRow { seed, commit: String::new(), runtime, threads, case, looks, score }
        };
        Ok(by.into_iter().map(row).collect())
    }
}

/// Makes all runs without rows and prints the tables; returns whether every runtime is within the bounds.
///
/// # Errors
/// A compiler is missing, a run failed, or rows cannot be written.
pub fn run(rtscope: &Path, options: &WaitsArgs, print: &mut dyn FnMut(&str)) -> Result<bool> {
    let mut rows = Rows::open(&options.rows)?;
    if !options.table {
        suite(rtscope, options, &mut rows, print)?;
    }
    print(rows::tables(&rows.all).trim_end());
    let mut good = !rows.all.is_empty();
    for (runtime, (_, score)) in rows::by(&rows.all, |row| &row.runtime) {
        for miss in rows::misses(&score) {
            good = false;
            print(&format!("NOT MET: {runtime}: {miss}"));
        }
    }
    Ok(good)
}

fn suite(rtscope: &Path, options: &WaitsArgs, rows: &mut Rows<WaitRow>, print: &mut dyn FnMut(&str)) -> Result<()> {
    let commit = commit(&["crates", "workloads"])?;
    let rtscope = &fs::canonicalize(rtscope).with_context(|| format!("{}: build it", rtscope.display()))?;
    let scratch = fs::canonicalize(target_folder())?.join("waits");
    fs::create_dir_all(&scratch)?;
    let toolchains = toolchains(&options.only)?;
    for seed in &options.seeds {
        for subject in toolchains.iter().flat_map(Subject::of) {
            if rows.all.iter().any(|row| row.is_of(*seed, &commit, &subject.name)) {
                continue;
            }
            let mut new = subject.run(rtscope, *seed, options.seconds, &scratch)?;
            new.iter_mut().for_each(|row| row.commit.clone_from(&commit));
            let sum = new.iter().fold(score::Score::default(), |sum, row| sum.and(row.score));
            rows.add(new)?;
            let below = rows::misses(&sum).join("; ");
            print(&format!("{}, seed {seed}: {}", subject.name, if below.is_empty() { "well" } else { &below }));
        }
    }
    Ok(())
}

fn toolchains(only: &[String]) -> Result<Vec<Toolchain>> {
    let names: Vec<&str> = match only {
        [] => ALL.iter().map(|spec| spec.name).collect(),
        only => only.iter().map(String::as_str).collect(),
    };
    let missing = |name: &str| format!("{name} is not installed: `cargo xtask toolchains --only {name}`");
    names.into_iter().map(|name| Spec::find(name)?.installed(&cache()).with_context(|| missing(name))).collect()
}

//! `xtask stm-suite`: thousands of short runs of the transaction scheduler's suite, so that a fault that
//! happens once in hours leaves a core file. Owns the order of cases, the row of each run, and continuing an
//! interrupted suite; refuses to repeat a turn that has its row.

mod cores;
mod programs;
mod rows;

use crate::cache::cache;
use crate::commit::commit;
use crate::toolchain::{ALL, Toolchain};
use anyhow::{Context, Result, ensure};
use clap::Args;
use cores::{Limit, Pattern, RunFolder};
use programs::Programs;
use rows::{Rows, SuiteRow, summary};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

/// Programs of the suite, each with its own invariants.
pub const PROGRAMS: [&str; 5] = ["bank", "list", "queue", "nest", "lazy"];

/// Values of `RTSCOPE_STM`.
pub const MODES: [&str; 5] = ["adaptive", "count", "backoff", "limit=1", "limit=2"];

/// How a program is linked; [`UNLED`] is threaded and has the package without its effect.
const BUILDS: [&str; 4] = ["threaded", "threaded", "single", UNLED];
const UNLED: &str = "unled";

/// What to run how often, and where rows and cores go.
#[derive(Args, Clone, Debug)]
pub struct SuiteArgs {
    /// Rows to have at the end; turns that already have one are not run again.
    #[arg(long, default_value_t = 5000)]
    pub runs: u32,
    /// A row for each run is appended here (default: STM-COMMIT.tsv in the folder of `--keep`).
    #[arg(long, value_name = "FILE.tsv")]
    pub out: Option<PathBuf>,
    /// Seconds per run.
    #[arg(long, default_value_t = 2.0)]
    pub seconds: f64,
    /// Concurrent runs: more than there are CPUs, as the fault happened under load.
    #[arg(long, default_value_t = 4)]
    pub at_once: usize,
    /// Folder of programs and cores (default: `stm-suite` in the cache).
    #[arg(long, value_name = "FOLDER")]
    pub keep: Option<PathBuf>,
}

/// What one turn runs.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Case {
    compiler: &'static str,
    build: &'static str,
    program: &'static str,
    mode: &'static str,
}

/// Half of all turns run the case that once ended with SIGSEGV; a quarter run that case on the later
/// compilers, and a quarter everything in turn, including programs without the package's effect.
fn case(turn: u32) -> Case {
    let nth = |all: u32, of: usize| all as usize % of;
    let round = turn / 4;
    let faulty = |compiler| Case { compiler, build: "threaded", program: "bank", mode: "limit=1" };
    match turn % 4 {
        0 | 2 => faulty(ALL[0].name),
        1 => faulty(ALL[1 + nth(round, ALL.len() - 1)].name),
        _ => Case {
            compiler: ALL[nth(round, 3)].name,
            program: PROGRAMS[nth(round / 3, 5)],
            mode: MODES[nth(round / 15, 5)],
            build: BUILDS[nth(round / 75, 4)],
        },
    }
}

/// Runs all turns without a row; returns whether every run ended well.
///
/// # Errors
/// A compiler is missing, a program cannot be built or started, a row cannot be written.
pub fn run(options: &SuiteArgs, print: &(dyn Fn(&str) + Sync)) -> Result<bool> {
    ensure!(options.seconds > 0.0 && options.at_once > 0, "--seconds and --at-once are above 0");
    let keep = options.keep.clone().unwrap_or_else(|| cache().join("stm-suite"));
    std::fs::create_dir_all(&keep)?;
    let keep = std::fs::canonicalize(keep)?;
    let commit = commit(&["bindings/haskell-stm"])?;
    let rows = Rows::open(options.out.clone().unwrap_or_else(|| keep.join(format!("stm-{commit}.tsv"))))?;
    let left: Vec<u32> = (0..options.runs).filter(|turn| !rows.has(*turn)).collect();
    print(&format!("{} of {} runs are left; rows: {}", left.len(), options.runs, rows.path().display()));
    if !left.is_empty() {
        let toolchains = toolchains()?;
        let built = Programs::build(&toolchains, &keep, &commit, print)?;
        let _unlimited = Limit::raise()?;
        let pattern = Pattern::into_working_directory(&keep, print)?;
        let place = RunFolder { keep: &keep, pattern: &pattern };
        let one = |turn: u32| -> Result<()> {
            let row = built.run(turn, &case(turn), options.seconds, &place, print)?;
            rows.append(&row)
        };
        each(&left, options.at_once, &one)?;
    }
    let rows = rows.all();
    summary(&rows).iter().for_each(|line| print(line));
    Ok(rows.iter().all(SuiteRow::ended_well))
}

/// Calls `one` for every turn, `at_once` in parallel; the first error stops it.
fn each(turns: &[u32], at_once: usize, one: &(dyn Fn(u32) -> Result<()> + Sync)) -> Result<()> {
    let next = AtomicU32::new(0);
    let worker = || -> Result<()> {
        while let Some(turn) = turns.get(next.fetch_add(1, Ordering::Relaxed) as usize) {
            one(*turn).inspect_err(|_| next.store(u32::MAX / 2, Ordering::Relaxed))?;
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..at_once).map(|_| scope.spawn(worker)).collect();
        workers
            .into_iter()
            .try_for_each(|worker| worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}

fn toolchains() -> Result<Vec<Toolchain>> {
    let there = |spec: &crate::toolchain::Spec| {
        spec.installed(&cache())
            .with_context(|| format!("{0} is not installed: `cargo xtask toolchains --only {0}`", spec.name))
    };
    ALL.iter().map(there).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::sync::Mutex;

    #[test]
    fn half_of_all_turns_are_the_case_that_failed_and_every_case_has_turns() {
        let cases: Vec<Case> = (0..5000).map(case).collect();
        let faulty = Case { compiler: "ghc-9.0", build: "threaded", program: "bank", mode: "limit=1" };
        let count = cases.iter().filter(|case| **case == faulty).count();
        assert!((2500..2600).contains(&count), "{count}");
        for program in PROGRAMS {
            for mode in MODES {
                let seen: BTreeSet<_> = cases
                    .iter()
                    .filter(|case| case.program == program && case.mode == mode)
                    .map(|case| (case.compiler, case.build))
                    .collect();
                assert_eq!(seen.len(), 3 * 3, "{program} {mode}: {seen:?}");
            }
        }
    }

    #[test]
    fn every_turn_is_run_once_and_an_error_ends_it() {
        let turns: Vec<u32> = (5..105).collect();
        let seen = Mutex::new(Vec::new());
        each(&turns, 7, &|turn| {
            seen.lock().unwrap().push(turn);
            Ok(())
        })
        .unwrap();
        let mut seen = seen.into_inner().unwrap();
        seen.sort_unstable();
        assert_eq!(seen, turns);
        let count = AtomicU32::new(0);
        let failed = each(&turns, 2, &|_| {
            count.fetch_add(1, Ordering::Relaxed);
            anyhow::bail!("no")
        });
        assert!(failed.is_err() && count.into_inner() <= 2);
    }
}

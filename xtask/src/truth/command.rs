//! `cargo xtask truth`: its options, and the plan that they start or continue. Owns where journals are.

use super::journal::{self, Journal, Read, SuitePlan};
use super::score::Score;
use super::suite::Suite;
use super::table;
use crate::cache::cache;
use crate::commit::commit;
use crate::runner::{Runner, target_folder};
use crate::toolchain::{ALL, Spec, Toolchain};
use crate::workload::{self, Workload};
use anyhow::{Context, Result, ensure};
use clap::Args;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

/// What to run.
#[derive(Args, Clone, Debug)]
pub struct TruthArgs {
    /// Runs of each workload.
    #[arg(long, default_value_t = 1)]
    pub runs: usize,
    /// Only these workloads.
    #[arg(long, num_args = 1.., value_name = "NAME")]
    pub only: Vec<String>,
    /// Only these toolchains: ghc-9.6 (with OCaml 5.3.0).
    #[arg(long, num_args = 1.., value_name = "NAME")]
    pub ghc: Vec<String>,
    /// The order's seed (default: the time).
    #[arg(long)]
    pub seed: Option<u64>,
    /// Run workloads as written; else each run draws another member of a family.
    #[arg(long)]
    pub as_written: bool,
    /// Try the remedy after each N-th hit of a workload; 0: never.
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub remedies_every: usize,
    /// After each hit, report again without its rule: a part of the account must be named.
    #[arg(long)]
    pub rules_off: bool,
    /// Repeat a run up to this often while other load keeps the machine busy.
    #[arg(long, default_value_t = 2)]
    pub repeats: usize,
    /// If other load takes this share of all CPUs, a run is dirty.
    #[arg(long, default_value_t = 0.05)]
    pub noise_max: f64,
    /// Continue a suite that was killed, with its plan.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["runs", "only", "ghc", "seed", "as_written", "rules_off", "remedies_every", "repeats", "noise_max"])]
    pub resume: Option<PathBuf>,
    /// Run nothing; print the table of a file.
    #[arg(long, value_name = "FILE", conflicts_with = "resume")]
    pub table: Option<PathBuf>,
    /// Print the tables as in docs/truth.md.
    #[arg(long)]
    pub markdown: bool,
}

/// Runs a suite, or the rest of one, and prints its table; returns whether it is good enough.
pub fn run(rtscope: &Path, options: &TruthArgs, print: &mut dyn FnMut(&str)) -> Result<bool> {
    let read = match &options.table {
        Some(file) => journal::read(file)?,
        None => suite(rtscope, options, print)?,
    };
    print(table::draw(&read, options.markdown).trim_end());
    Ok(Score::of(&read).passes())
}

fn suite(rtscope: &Path, options: &TruthArgs, print: &mut dyn FnMut(&str)) -> Result<Read> {
    let runner = Runner::new(rtscope)?;
    let (journal, seen) = match &options.resume {
        Some(file) => (Journal::resume(file)?, journal::read(file)?),
        None => begin(&runner, options, print)?,
    };
    let plan = &seen.plan;
    let workloads = plan.workloads.iter().map(|name| workload::load(name)).collect::<Result<Vec<_>>>()?;
    let toolchains = plan.toolchains.iter().map(|name| installed(name)).collect::<Result<Vec<_>>>()?;
    let kept = journal.path.display().to_string();
    let suite = Suite::new(&runner, workloads, toolchains, journal, seen, print)?;
    suite.run().with_context(|| format!("go on with `cargo xtask truth --resume {kept}`"))
}

fn begin(runner: &Runner, options: &TruthArgs, print: &mut dyn FnMut(&str)) -> Result<(Journal, Read)> {
    let toolchains: Vec<Toolchain> = match &options.ghc[..] {
        [] => ALL.iter().filter_map(|spec| spec.installed(&cache())).collect(),
        names => names.iter().map(|name| installed(name)).collect::<Result<_>>()?,
    };
    ensure!(!toolchains.is_empty(), "no compiler is installed: `cargo xtask toolchains`");
    let workloads = match &options.only[..] {
        [] => compiled(workload::all()?, &toolchains, print),
        names => names.to_vec(),
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
    let plan = SuitePlan {
        schema: SuitePlan::schema(),
        seed: options.seed.unwrap_or(now),
        runs: options.runs,
        workloads,
        toolchains: toolchains.iter().map(|toolchain| toolchain.name.to_owned()).collect(),
        rtscope: version(&runner.rtscope)?,
        commit: commit(&["crates", "workloads"]).unwrap_or_default(),
        drawn: !options.as_written,
        noise_max: options.noise_max,
        repeats: options.repeats,
        remedies_every: options.remedies_every,
        rules_off: options.rules_off,
    };
    let folder = target_folder().join("truth");
    let name = |number: usize| {
        if number == 0 { format!("{}.jsonl", plan.seed) } else { format!("{}-{number}.jsonl", plan.seed) }
    };
    // The same seed again starts another suite.
    let path = (0..).map(|number| folder.join(name(number))).find(|path| !path.exists()).context("no name is left")?;
    let journal = Journal::begin(&path, &plan)?;
    Ok((journal, Read { plan, runs: Vec::new(), cures: Vec::new(), cut: 0 }))
}

/// The names of judged workloads that one of `on` compiles; reports how many are left out.
fn compiled(all: Vec<Workload>, on: &[Toolchain], print: &mut dyn FnMut(&str)) -> Vec<String> {
    let judged = all.into_iter().filter(|workload| workload.judged);
    let (these, without): (Vec<_>, Vec<_>) =
        judged.partition(|workload| on.iter().any(|toolchain| workload.compiles_on(toolchain)));
    if !without.is_empty() {
        print(&format!("left out for want of a compiler: {} workloads", without.len()));
    }
    these.into_iter().map(|workload| workload.name).collect()
}

fn installed(name: &str) -> Result<Toolchain> {
    let missing = || format!("{name} is not installed: `cargo xtask toolchains --only {name}`");
    Spec::find(name)?.installed(&cache()).with_context(missing)
}

fn version(rtscope: &Path) -> Result<String> {
    let done = Command::new(rtscope).arg("--version").output()?;
    Ok(String::from_utf8_lossy(&done.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::journal::{Attempt, JournalLine};
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct TruthCommand {
        #[command(flatten)]
        options: TruthArgs,
    }

    fn options(words: &str) -> Result<TruthArgs, clap::Error> {
        TruthCommand::try_parse_from(words.split(' ')).map(|command| command.options)
    }

    #[test]
    fn a_suite_that_goes_on_has_its_plan_already() {
        let asked = options("truth --runs 20 --only a b --ghc ghc-9.6 --seed 7").unwrap();
        assert_eq!(
            (asked.only, asked.ghc, asked.seed, asked.runs),
            (vec!["a".into(), "b".into()], vec!["ghc-9.6".into()], Some(7), 20)
        );
        assert!(options("truth --resume file --runs 20").is_err());
        assert!(options("truth --resume file --table file").is_err());
        assert!(options("truth --resume file --markdown").is_ok());
    }

    #[test]
    fn a_table_takes_the_file_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("7.jsonl");
        let plan = SuitePlan {
            schema: SuitePlan::schema(),
            seed: 7,
            runs: 1,
            workloads: vec!["well".into()],
            toolchains: vec!["ghc-9.0".into()],
            rtscope: "rtscope 1".into(),
            noise_max: 0.05,
            repeats: 0,
            remedies_every: 1,
            ..SuitePlan::default()
        };
        let mut journal = Journal::begin(&path, &plan).unwrap();
        let table = || {
            let mut printed = String::new();
            let asked = options(&format!("truth --table {}", path.display())).unwrap();
            let good = run(Path::new("no-rtscope"), &asked, &mut |line| printed += line).unwrap();
            (good, printed)
        };
        assert!(!table().0, "nothing was run");
        let hit = Attempt {
            workload: "well".into(),
            on: "ghc-9.0".into(),
            expect: workload::NOTHING.into(),
            ..Attempt::default()
        };
        journal.add(&JournalLine::Run(hit)).unwrap();
        let (good, printed) = table();
        assert!(good && printed.contains("healthy runs without an alarm: 1 of 1 (100.0 %)"), "{printed}");
    }

    #[test]
    fn workloads_without_a_compiler_are_left_out_and_reported() {
        let of = |name, root: Option<&str>| Toolchain { name, version: String::new(), root: root.map(Into::into) };
        let some = || ["healthy", "idle-domain", "churner"].map(|name| workload::load(name).unwrap()).into();
        let mut printed = String::new();
        assert_eq!(compiled(some(), &[of("ghc-9.0", None)], &mut |line| printed += line), ["healthy"]);
        assert_eq!(printed, "left out for want of a compiler: 1 workloads");
        let both = [of("ghc-9.0", None), of("ghc-9.6", Some("/tree"))];
        assert_eq!(compiled(some(), &both, &mut |line| printed = line.into()), ["healthy", "idle-domain"]);
    }
}

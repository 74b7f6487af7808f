//! `rtscope bench stm`: how the scheduler and the number of cores affect transactions (the experiment of
//! article 003, with intervals). Owns the options and where results go; `benchmarks` says what is run,
//! `configurations` in which ways, `experiment` in which order, `program` runs one, `results` holds the
//! results, `text`, `svg` and the page show them.

mod benchmarks;
pub mod configurations;
mod experiment;
pub mod html;
mod program;
pub mod results;
pub(crate) mod svg;
pub(crate) mod text;

use crate::tune::live::{Live, TIMEOUT, Way as Trial};
use crate::tune::progress::Progress;
use benchmarks::{Benchmark, Operations};
use clap::Args;
use configurations::{Cores, Way};
use experiment::{Ask, End, StmPlan};
use results::{SCHEMA, StmResults};
use rtscope_host::signals::Signals;
use rtscope_terminal::style::clean;
use rtscope_terminal::user_error::{UserError, WRONG};
use rtscope_terminal::values::duration;
use std::cell::RefCell;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

const STATUS: &str = "\
Examples:
  rtscope bench stm --program ./stm-bench --output results
  rtscope bench stm --program ./stm-bench --scheduled ./stm-bench-linked --only si,ll
  rtscope bench stm --threads 1,8 -- ./mine --workers {threads}

The program is workloads/haskell/stm-bench of rtscope's repository, or any other: in a command
behind `--`, {threads} stands for the number of threads. It is linked with -threaded and
-rtsopts, and prints a line `stm ns=N` with what its work took; where it counts, also
`aborts=N`, or `attempts=N transactions=N waits=N`.

Exit status:
  0  done
  1  failed: a program did not run, did not end well or did not say what it took
  2  wrong usage
  3  ended before its time, interrupted or on a machine that is never quiet; what was measured
     by then is printed";

/// Options of `bench stm`.
#[derive(Args, Clone, Debug)]
#[command(after_help = STATUS)]
pub struct StmArgs {
    /// The benchmark program
    #[arg(long, value_name = "PATH", required_unless_present = "template", conflicts_with = "template")]
    pub program: Option<String>,
    /// The program linked with rtscope-stm: adds the transaction scheduler
    #[arg(long, value_name = "PATH")]
    pub scheduled: Option<PathBuf>,
    /// Only these benchmarks of the program: si, ll, ll-24, hash, rbtree, queue, bank, readers, retry, orelse
    #[arg(long, value_name = "NAME,NAME", value_delimiter = ',', conflicts_with = "template")]
    pub only: Vec<String>,
    /// Ways to run it, in addition to the default [default: those of the article, and the scheduler with --scheduled]
    #[arg(long, value_enum, value_name = "NAME,NAME", value_delimiter = ',')]
    pub configurations: Vec<Way>,
    /// Numbers of threads
    #[arg(long, value_name = "N,N", value_delimiter = ',', default_values_t = [1, 2, 4, 8, 16, 32], value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub threads: Vec<u32>,
    /// Capabilities, where they are not limited [default: the CPUs that rtscope may use]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256))]
    pub capabilities: Option<u32>,
    /// Capabilities, where they are limited [default: half as many]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256))]
    pub cores: Option<u32>,
    /// Runs of each, in as many blocks
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub runs: u32,
    /// In so many blocks each runs once more to count aborts, unless it says them in every run
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub counted: u32,
    /// Operations of a run in the place of the program's own: of all benchmarks, or NAME=N
    #[arg(long, value_name = "N,NAME=N", value_delimiter = ',', conflicts_with = "template")]
    pub operations: Vec<Operations>,
    /// The order's seed
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// A run that takes longer has failed [default: 10m]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub timeout: Option<Duration>,
    /// Wait at most so long for a quiet machine before a run
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = duration)]
    pub patience: Duration,
    /// Count runs whatever others do to the CPUs meanwhile: where it is never quiet
    #[arg(long, conflicts_with = "patience")]
    pub noisy: bool,
    /// Also write stm.txt, stm.html, stm.json and a drawing of each benchmark into this folder
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
    /// Say nothing while programs run
    #[arg(short, long)]
    pub quiet: bool,
    /// A command of your own, after `--`
    #[arg(last = true, value_name = "TEMPLATE")]
    pub template: Vec<String>,
}

pub(super) fn run(args: &StmArgs) -> Result<ExitCode, UserError> {
    let cpus = std::thread::available_parallelism().ok().map(usize::from);
    let all = args.capabilities.unwrap_or_else(|| cpus.and_then(|cpus| u32::try_from(cpus).ok()).unwrap_or(1));
    let cores = Cores { all, few: args.cores.unwrap_or((all / 2).max(1)) };
    let plan = plan(args, cores)?;
    let signals = Signals::install().map_err(|error| UserError::new("signals cannot be caught").because(error))?;
    let (found, end) = measured(args, plan, (cpus, cores), &signals);
    let failure = |what: &str, end: &End| UserError::new(what).because(end.why()).ends_with(end.status());
    if let Some(end) = end.as_ref().filter(|_| found.points().next().is_none()) {
        return Err(failure("nothing was measured", end));
    }
    show(args, &found)?;
    match &end {
        None => Ok(ExitCode::SUCCESS),
        Some(end) => Err(failure("the measurement is not whole", end)),
    }
}

/// What is asked for, where that makes sense.
fn plan(args: &StmArgs, cores: Cores) -> Result<StmPlan, UserError> {
    let wrong = |what: &str, next: &str| UserError::new(what).next(next).ends_with(WRONG);
    let linked = args.scheduled.is_some();
    let ways = if args.configurations.is_empty() { Way::usual(linked) } else { args.configurations.clone() };
    if let Some(way) = ways.iter().find(|way| way.is_linked() && !linked) {
        let what = format!("the configuration {} needs a program that is linked with rtscope-stm", way.name());
        return Err(wrong(&what, "give it with --scheduled"));
    }
    let benchmarks = match &args.program {
        Some(program) => {
            benchmarks::of(program, &args.only, &args.operations).map_err(|why| UserError::new(why).ends_with(WRONG))?
        }
        None => vec![Benchmark::own(&args.template)],
    };
    if benchmarks.iter().any(|one| !one.command.has(benchmarks::PLACE)) {
        return Err(wrong("the command has no place for the number of threads", "write {threads} where it goes"));
    }
    let (threads, configurations) = (super::print::rising(&args.threads), configurations::of(&ways, cores));
    Ok(StmPlan { benchmarks, configurations, threads, runs: args.runs, counted: args.counted, seed: args.seed })
}

/// What was measured, and why it ended early.
fn measured(
    args: &StmArgs,
    plan: StmPlan,
    (cpus, cores): (Option<usize>, Cores),
    signals: &Signals,
) -> (StmResults, Option<End>) {
    let progress = RefCell::new(Progress::new(args.quiet));
    let mut real = program::Real {
        live: live(args, signals),
        linked: args.scheduled.clone(),
        ghcrts: std::env::var_os("GHCRTS"),
        disturbed: 0,
        foreign: Vec::new(),
        say: &|text| progress.borrow_mut().say(text),
    };
    let (benchmarks, end) =
        experiment::measure(&plan, &mut real, &mut |now| begins(&mut progress.borrow_mut(), args.runs, &now));
    let found = StmResults {
        schema: SCHEMA,
        seed: args.seed,
        runs: args.runs,
        cpus,
        capabilities: cores.all,
        ended: end.as_ref().map(|end| end.why().to_owned()),
        noisy: args.noisy,
        disturbed: real.disturbed,
        foreign: (!real.foreign.is_empty()).then(|| real.foreign.iter().sum::<f64>() / real.foreign.len() as f64),
        configurations: plan.configurations,
        benchmarks,
    };
    (found, end)
}

/// Reports what runs now: on a terminal in one changing line, otherwise once per block, as it can take hours.
fn begins(progress: &mut Progress<Option<usize>>, blocks: u32, now: &experiment::Progress<'_>) {
    let Ask { benchmark, configuration, threads, .. } = now.ask;
    let what = format!("{} with {threads} as {}", clean(&benchmark.name), configuration.name);
    let first = match now.block {
        None => "each configuration is run once first, which does not count".to_owned(),
        Some(block) => format!("block {} of {blocks}", block + 1),
    };
    progress.goes_on(now.block, &format!("{} of {}: {what}", now.done, now.all), &first);
}

/// Trials of programs that report their own time.
fn live<'a>(args: &StmArgs, signals: &'a Signals) -> Live<'a> {
    let way = Trial::Batch { timeout: args.timeout.unwrap_or(TIMEOUT) };
    let live = Live::new(way, None, std::env::temp_dir(), Some(signals)).with_noise(args.noisy, args.patience);
    Live { says: Some(program::says), ..live }
}

/// Writes what is asked for, and prints.
fn show(args: &StmArgs, found: &StmResults) -> Result<(), UserError> {
    let drawn = || {
        let page = ("stm.html".to_owned(), html::stm_bench(found));
        let drawings = found.benchmarks.iter().map(|one| (drawing(&one.name), svg::document(found, one)));
        [page].into_iter().chain(drawings).collect()
    };
    super::print::show((args.output.as_deref(), args.json), "stm", found, |style| text::draw(found, style), drawn)
}

/// The file of a benchmark's drawing. The name of a user's program may contain anything.
fn drawing(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' };
    format!("stm-{}.svg", name.chars().take(60).map(plain).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct StmCommand {
        #[command(flatten)]
        args: StmArgs,
    }

    fn args(words: &[&str]) -> Result<StmArgs, clap::Error> {
        StmCommand::try_parse_from(["stm"].iter().chain(words)).map(|command| command.args)
    }

    fn planned(words: &[&str]) -> Result<StmPlan, String> {
        plan(&args(words).unwrap(), Cores { all: 2, few: 1 }).map_err(|error| error.to_string())
    }

    #[test]
    fn defaults_are_the_article_s_and_all_benchmarks() {
        let plan = planned(&["--program", "./b", "--threads", "8,1,8"]).unwrap();
        assert_eq!((plan.benchmarks.len(), plan.threads, plan.runs), (benchmarks::names().count(), vec![1, 8], 30));
        let names = |plan: &StmPlan| plan.configurations.iter().map(|one| one.name).collect::<Vec<_>>();
        let own = planned(&["--scheduled", "./l", "--configurations", "scheduler,again", "--", "./x", "{threads}"]);
        assert_eq!(names(&own.unwrap()), ["default", "scheduler", "again"]);
        let usual = planned(&["--program", "./b", "--scheduled", "./l"]).unwrap();
        assert_eq!(names(&usual).last(), Some(&"scheduler"));
    }

    #[test]
    fn what_makes_no_sense_is_wrong_usage() {
        for words in [
            &[][..],
            &["--program", "b", "--", "x"],
            &["--program", "b", "--runs", "0"],
            &["--program", "b", "--threads", "0"],
            &["--program", "b", "--operations", "0"],
            &["--program", "b", "--configurations", "off"],
            &["--only", "si", "--", "x", "{threads}"],
        ] {
            assert!(args(words).is_err(), "{words:?}");
        }
        for (words, expected) in [
            (&["--program", "b", "--only", "sl"][..], "no benchmark is called sl"),
            (&["--program", "b", "--configurations", "scheduler"], "--scheduled"),
            (&["--", "x", "4"], "no place for the number of threads"),
        ] {
            let said = planned(words).err().unwrap_or_default();
            assert!(said.contains(expected), "{words:?}: {said}");
        }
    }

    #[test]
    fn all_benchmarks_are_in_the_help_and_in_the_guide() {
        use clap::CommandFactory;
        let help = StmCommand::command().render_long_help().to_string();
        let guide = include_str!("../../../../../docs/guide/transactions-bench.md");
        for name in benchmarks::names() {
            assert!(help.contains(name) && guide.contains(&format!("| `{name}` |")), "{name}");
        }
        for way in <Way as clap::ValueEnum>::value_variants() {
            assert!(guide.contains(&format!("| `{}` |", way.name())), "{}", way.name());
        }
    }

    #[test]
    fn a_drawing_is_called_as_its_benchmark_where_that_is_a_name_for_a_file() {
        assert_eq!((drawing("ll-24"), drawing("../a b")), ("stm-ll-24.svg".into(), "stm-.._a_b.svg".into()));
    }
}

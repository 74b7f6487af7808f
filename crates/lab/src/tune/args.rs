//! The options of `rtscope tune`.

use crate::plan::goals;
use clap::{Args, ValueEnum};
use rtscope_terminal::values::duration;
use rtscope_tune::plan::Goal;
use rtscope_tune::study::propose::{Believed, Proposer, Shuffled, Sobol, Tpe};
use rtscope_tune::study::replay::Draw;
use serde::Serialize;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

const STATUS: &str = "\
Examples:
  rtscope tune -- ./mill 100
  rtscope tune --minimize cpu --limit rss=512M -- ./mill 100
  rtscope tune --load 'http://localhost:8080/ --rate 500 --for 20s --warm-up 5s' -- ./server
  rtscope tune --try '-N2 -A64m' --try '-N1' --blocks 10 -- ./mill 100

A study is kept in its folder; the same command goes on with one that was ended or killed.
A TABLE of --replay has one JSON document a line, for each configuration once in each repeat:
  {\"cfg\": \"-N2 -A4m\", \"rep\": 0, \"x\": {\"total_wall_seconds\": 0.08}}

Exit status:
  0  done: something is recommended, or there is no difference
  1  failed: the program does not run, or files cannot be read or written
  2  wrong usage, or a budget too small for one comparison
  3  no answer: the study was ended before, the machine is too noisy or never quiet, or
     nothing keeps to the limits";

/// Headings of groups of options in the help.
const SOUGHT: &str = "What is sought";
const LIST: &str = "A fixed list, and many machines";
const TABLE: &str = "Studies of a table";

/// Options of `tune`.
#[derive(Args, Clone, Debug)]
#[command(after_help = STATUS)]
pub struct TuneArgs {
    /// What is to be small: time, cpu, rss, p99... [default: time, with --load p99]
    #[arg(long, value_name = "FIGURE", help_heading = SOUGHT)]
    pub minimize: Option<String>,
    /// What a configuration must not break: rss=512M, p99=20ms, errors=0, errors=1%
    #[arg(long, value_name = "FIGURE=MOST", help_heading = SOUGHT)]
    pub limit: Vec<String>,
    /// The program is a server: what it is sent, in the words of `rtscope load`
    #[arg(long, value_name = "'URL OPTIONS'", help_heading = SOUGHT)]
    pub load: Option<String>,
    /// What the plan is made for [default: throughput, with --load latency]
    #[arg(long, value_parser = goals(), help_heading = SOUGHT)]
    pub goal: Option<Goal>,
    /// Vary what the environment and the link give too
    #[arg(long, help_heading = SOUGHT)]
    pub vary_given: bool,
    /// Only show what would be tried and what not, and why
    #[arg(long, requires = "command", help_heading = SOUGHT)]
    pub dry_run: bool,
    /// Trials that a study may take, all stages counted
    #[arg(long, value_name = "N", default_value_t = 75, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub trials: u32,
    /// As many trials as fit into this time, and not more than --trials
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub within: Option<Duration>,
    /// Seed of every random choice
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// What chooses the configurations that are tried
    #[arg(long, value_enum, default_value_t = ProposerArg::Believed)]
    pub proposer: ProposerArg,
    /// Let every configuration be what runs today under another name: no study should find a difference
    #[arg(long)]
    pub same: bool,
    /// A trial of a batch program that takes longer has failed [default: 10m]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub timeout: Option<Duration>,
    /// A server that takes no connections for so long has failed [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub ready: Option<Duration>,
    /// Wait at most so long for a quiet machine before a trial
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = duration)]
    pub patience: Duration,
    /// Count trials whatever others do to the CPUs meanwhile: where the machine is never quiet
    #[arg(long, conflicts_with = "patience")]
    pub noisy: bool,
    /// Folder that the study is kept in [default: PROG.tune here]
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Make no captures of what runs today and of what is recommended
    #[arg(long)]
    pub no_captures: bool,
    /// Compare exactly these, each in every block, in the place of a search; '' is what runs today
    #[arg(long = "try", value_name = "FLAGS", allow_hyphen_values = true, help_heading = LIST)]
    pub tries: Vec<String>,
    /// Blocks of a fixed list
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=10_000), help_heading = LIST)]
    pub blocks: u32,
    /// Run only this block of them, from 0
    #[arg(long, value_name = "INDEX", requires = "store", requires = "tries", help_heading = LIST)]
    pub block: Option<u32>,
    /// Print a job that runs a block on each machine; without --try of a list spread over the space
    #[arg(long, value_enum, value_name = "KIND", requires = "command", help_heading = LIST)]
    pub export_job: Option<JobArg>,
    /// Configurations of a job's list, with what runs today
    #[arg(long, value_name = "N", default_value_t = 12, value_parser = clap::value_parser!(u32).range(2..=500), help_heading = LIST)]
    pub configurations: u32,
    /// Take the blocks in DIR together and print what follows; with the program, lines to paste too
    #[arg(long, value_name = "DIR", help_heading = LIST)]
    pub merge: Option<PathBuf>,
    /// Keep it in FILE; with --block and --replay
    #[arg(long, value_name = "FILE")]
    pub store: Option<PathBuf>,
    /// Do studies of a recorded table instead of a program, and say how good their answers are
    #[arg(long, value_name = "TABLE", conflicts_with_all = ["command", "merge"], help_heading = TABLE)]
    pub replay: Option<PathBuf>,
    /// Which figure of the table is to be small
    #[arg(long, value_name = "NAME", default_value = "total_wall_seconds", help_heading = TABLE)]
    pub metric: String,
    /// Studies; one of them can be kept with --store
    #[arg(long, value_name = "N", default_value_t = 400, value_parser = clap::value_parser!(u64).range(1..=1_000_000), help_heading = TABLE)]
    pub studies: u64,
    /// The configuration to beat (default: the one with the shortest name, of several the first in the alphabet)
    #[arg(long, value_name = "CFG", allow_hyphen_values = true, help_heading = TABLE)]
    pub default: Option<String>,
    /// How a trial is drawn from the table
    #[arg(long, value_enum, default_value_t = DrawArg::Rows, help_heading = TABLE)]
    pub draw: DrawArg,
    /// Wait so many milliseconds in each trial: for tests that end a study in the middle
    #[arg(long, value_name = "MS", default_value_t = 0, hide = true)]
    pub pace: u64,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
    /// Say nothing while trials run
    #[arg(short, long)]
    pub quiet: bool,
    /// The program and its arguments, after the options of `tune`; {domains} in an argument is the
    /// number of an OCaml program's domains
    #[arg(trailing_var_arg = true, value_name = "PROGRAM", required_unless_present_any = ["replay", "merge"])]
    pub command: Vec<OsString>,
}

/// Kinds of jobs.
#[derive(Copy, Clone, Eq, PartialEq, Debug, ValueEnum)]
pub enum JobArg {
    /// An Indexed Job for Kubernetes
    K8s,
    /// An array script for Slurm
    Slurm,
}

/// How configurations are chosen.
#[derive(Copy, Clone, Eq, PartialEq, Debug, ValueEnum, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ProposerArg {
    /// First evenly over the flags, then where earlier trials say that the best may be
    Believed,
    /// Evenly over the flags
    Sobol,
    /// First evenly, then by what the best trials have in common
    Tpe,
    /// By chance
    Shuffled,
}

impl ProposerArg {
    pub(super) fn make(self) -> Box<dyn Proposer> {
        match self {
            ProposerArg::Believed => Box::new(Believed),
            ProposerArg::Sobol => Box::new(Sobol),
            ProposerArg::Tpe => Box::new(Tpe),
            ProposerArg::Shuffled => Box::new(Shuffled),
        }
    }
}

/// How a trial is drawn from a table.
#[derive(Copy, Clone, Eq, PartialEq, Debug, ValueEnum)]
pub enum DrawArg {
    /// A block is a repeat, its trials are the rows of it
    Rows,
    /// A trial has what its block's repeat shares, and the rest of any row
    Rests,
}

/// The name of an option's value.
pub(super) fn word(value: impl ValueEnum) -> String {
    value.to_possible_value().map_or(String::new(), |value| value.get_name().to_owned())
}

impl From<DrawArg> for Draw {
    fn from(arg: DrawArg) -> Draw {
        match arg {
            DrawArg::Rows => Draw::Rows,
            DrawArg::Rests => Draw::Rests,
        }
    }
}

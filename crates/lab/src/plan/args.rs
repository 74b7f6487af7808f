//! The options of `rtscope plan`.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use rtscope_tune::plan::Goal;
use rtscope_tune::runtime::TunableRuntime;
use rtscope_tune::runtimes;
use std::ffi::OsString;
use std::path::PathBuf;

const STATUS: &str = "\
Exit status:
  0  done
  1  failed: PROG cannot be found, or PID is gone
  2  wrong usage
  3  done, but what PROG accepts is not known (a script, stripped): no flags for it";

/// Options of `plan`.
#[derive(Args, Clone, Debug)]
#[command(after_help = STATUS)]
pub struct PlanArgs {
    /// The program, by path or by name through PATH; it is read, never run
    pub program: Option<OsString>,
    /// What it is to be good at
    #[arg(long, value_parser = goals(), default_value = Goal::Latency.name())]
    pub goal: Goal,
    /// Say the whole of each reason, and where it comes from
    #[arg(long)]
    pub explain: bool,
    /// How the plan is written
    #[arg(long, value_enum, default_value_t = PlanFormat::Text)]
    pub format: PlanFormat,
    /// Short for --format json
    #[arg(long, conflicts_with = "format")]
    pub json: bool,
    /// Plan for any program of this runtime, where PROG is not given
    #[arg(long, value_parser = known_runtimes(), conflicts_with = "program")]
    pub runtime: Option<&'static TunableRuntime>,
    /// Read the machine from a tree of /proc and /sys below DIR; PROG stays a file of this machine
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// For what this process may use; without PROG for the program that it runs
    #[arg(long, value_name = "PID")]
    pub pid: Option<u32>,
}

/// Parses a goal.
pub fn goals() -> impl TypedValueParser<Value = Goal> {
    let values = Goal::ALL.map(|goal| PossibleValue::new(goal.name()).help(goal.about()));
    let known = |name: String| Goal::ALL.into_iter().find(|goal| goal.name() == name).ok_or("no such goal");
    PossibleValuesParser::new(values).try_map(known)
}

/// Parses a runtime by its id.
fn known_runtimes() -> impl TypedValueParser<Value = &'static TunableRuntime> {
    let values = runtimes::ALL.map(|runtime| PossibleValue::new(runtime.dialect.info.id).help(runtime.about));
    PossibleValuesParser::new(values).try_map(|id| runtimes::find(&id).ok_or("no such runtime"))
}

/// How a plan is written.
#[derive(Copy, Clone, Eq, PartialEq, Debug, ValueEnum)]
pub enum PlanFormat {
    /// For people
    Text,
    /// NAME=VALUE lines for a shell or an env-file
    Env,
    /// One JSON document
    Json,
    /// A Pod
    K8s,
    /// A drop-in for a service
    Systemd,
    /// A compose file, with the `docker run` line
    Docker,
}

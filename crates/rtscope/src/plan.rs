//! `rtscope plan`: its options, what it looks at, its exit status. What follows from
//! what is `rtscope_tune::plan`'s matter, each format's look is its own module's.

pub mod docker;
pub mod env;
pub mod json;
pub mod k8s;
pub mod program;
pub mod systemd;
pub mod text;
pub(crate) mod yaml;

use crate::style::Style;
use crate::trouble::Trouble;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use rtscope_host::procfs::Host;
use rtscope_host::resources;
use rtscope_model::resources::Resources;
use rtscope_tune::plan::{Goal, Plan};
use rtscope_tune::runtime::Runtime;
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
    /// How the plan is written
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// The same as --format json
    #[arg(long, conflicts_with = "format")]
    pub json: bool,
    /// Plan for any program of this runtime, where PROG is not given
    #[arg(long, value_parser = known_runtimes(), conflicts_with = "program")]
    pub runtime: Option<&'static Runtime>,
    /// Read the machine from a tree of /proc and /sys below DIR; PROG stays a file of this machine
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// For what this process may use; without PROG for the program that it runs
    #[arg(long, value_name = "PID")]
    pub pid: Option<u32>,
}

/// Reads a goal.
pub fn goals() -> impl TypedValueParser<Value = Goal> {
    let values = Goal::ALL.map(|goal| PossibleValue::new(goal.name()).help(goal.about()));
    let known = |name: String| Goal::ALL.into_iter().find(|goal| goal.name() == name).ok_or("no such goal");
    PossibleValuesParser::new(values).try_map(known)
}

/// Reads a runtime by its id.
fn known_runtimes() -> impl TypedValueParser<Value = &'static Runtime> {
    let values = runtimes::ALL.map(|runtime| PossibleValue::new(runtime.dialect.info.id).help(runtime.about));
    PossibleValuesParser::new(values).try_map(|id| runtimes::find(&id).ok_or("no such runtime"))
}

/// How a plan is written.
#[derive(Copy, Clone, Eq, PartialEq, Debug, ValueEnum)]
pub enum Format {
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

/// A plan with what it was made for.
#[derive(Clone, Debug)]
pub struct Planned {
    /// The plan.
    pub plan: Plan,
    /// What the process may use.
    pub resources: Resources,
    /// The program in a few words: `GHC 9.0.2, threaded, -rtsopts=all`.
    pub about: String,
}

impl Planned {
    /// A short name for the program: `mill`.
    pub fn name(&self) -> String {
        let path = self.plan.program.as_deref().map(std::path::Path::new);
        path.and_then(|path| path.file_name()).map_or("prog".into(), |name| name.to_string_lossy().into_owned())
    }
}

/// Makes the plan that `args` ask for.
pub fn make(args: &PlanArgs) -> Result<Planned, Trouble> {
    let host = args.root.as_ref().map_or_else(Host::default, Host::at);
    if let Some(pid) = args.pid.filter(|pid| host.process_text(*pid, "status").is_none()) {
        return Err(Trouble::new(format!("no process {pid}"))
            .because(format!("/proc/{pid}/status cannot be read"))
            .next("look for it with `ps -e`"));
    }
    if let Some(root) = args.root.as_ref().filter(|root| !root.is_dir()) {
        return Err(Trouble::new(format!("{} is no folder", root.display()))
            .next("give the folder that holds the proc and sys to read with --root"));
    }
    let found = program::find(args, &host)?;
    let resources = resources::without_caches(&host, args.pid);
    let plan = rtscope_tune::plan::plan(&resources, &found.program, args.goal);
    Ok(Planned { plan, resources, about: found.about })
}

/// The plan as `args` want it written.
pub fn written(planned: &Planned, args: &PlanArgs, style: &Style) -> String {
    match if args.json { Format::Json } else { args.format } {
        Format::Text => text::render(planned, style),
        Format::Env => env::render(planned),
        Format::Json => json::render(planned),
        Format::K8s => k8s::render(planned),
        Format::Systemd => systemd::render(planned),
        Format::Docker => docker::render(planned),
    }
}

/// What a plan that is not for people has to tell them all the same.
pub fn aside(planned: &Planned, args: &PlanArgs) -> Option<String> {
    let quiet = args.json || matches!(args.format, Format::Text | Format::Json);
    if quiet || !planned.plan.env.is_empty() {
        return None;
    }
    let why =
        planned.plan.unknown.as_deref().unwrap_or("nothing is left to set; `rtscope plan` without --format says why");
    Some(format!("no flags: {why}"))
}

/// Exit code of `plan`.
pub fn exit_code(planned: &Planned) -> u8 {
    if planned.plan.unknown.is_none() { 0 } else { 3 }
}

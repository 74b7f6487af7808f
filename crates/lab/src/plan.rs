//! `rtscope plan`: its options, its inputs, its exit status. `rtscope_tune::plan` decides what follows from
//! what; each format has a module of its own.

mod args;
pub mod docker;
pub mod env;
pub mod json;
pub mod k8s;
mod planned;
pub mod program;
pub mod systemd;
pub(crate) mod text;
pub(crate) mod yaml;

pub use args::{PlanArgs, PlanFormat, goals};
pub use planned::Planned;

use rtscope_host::procfs::Host;
use rtscope_terminal::style::Style;
use rtscope_terminal::user_error::{UserError, print_results, say};
use std::process::ExitCode;

/// Makes a plan and prints it.
pub fn run(args: &PlanArgs) -> Result<ExitCode, UserError> {
    let planned = make(args)?;
    print_results(&written(&planned, args, &Style::of_stdout()))?;
    if let Some(note) = note(&planned, args) {
        say(&note);
    }
    Ok(ExitCode::from(exit_code(&planned)))
}

/// Makes the plan that `args` ask for.
pub fn make(args: &PlanArgs) -> Result<Planned, UserError> {
    let host = args.root.as_ref().map_or_else(Host::default, Host::at);
    if let Some(pid) = args.pid.filter(|pid| host.process_text(*pid, "status").is_none()) {
        return Err(UserError::new(format!("no process {pid}"))
            .because(format!("/proc/{pid}/status cannot be read"))
            .next("look for it with `ps -e`"));
    }
    if let Some(root) = args.root.as_ref().filter(|root| !root.is_dir()) {
        return Err(UserError::new(format!("{} is no folder", root.display()))
            .next("give the folder that holds the proc and sys to read with --root"));
    }
    Ok(Planned::of(&program::find(args, &host)?, &host, args.pid, args.goal))
}

/// The plan in the form that `args` ask for.
pub fn written(planned: &Planned, args: &PlanArgs, style: &Style) -> String {
    match if args.json { PlanFormat::Json } else { args.format } {
        PlanFormat::Text => text::render(planned, args.explain, style),
        PlanFormat::Env => env::render(planned),
        PlanFormat::Json => json::render(planned),
        PlanFormat::K8s => k8s::render(planned),
        PlanFormat::Systemd => systemd::render(planned),
        PlanFormat::Docker => docker::render(planned),
    }
}

/// The message to people that accompanies a plan in a format for programs.
pub fn note(planned: &Planned, args: &PlanArgs) -> Option<String> {
    let quiet = args.json || matches!(args.format, PlanFormat::Text | PlanFormat::Json);
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

//! `rtscope run`: becomes the program under its plan. Owns the messages, the exit status of its own failures,
//! and that the program starts even if no plan can be made.

use crate::plan::program::{self, as_text};
use crate::plan::{Planned, env, goals};
use clap::Args;
use rtscope_host::procfs::Host;
use rtscope_host::spawn::{SpawnError, find_program};
use rtscope_host::{cpu_list, launch};
use rtscope_model::text::quoted;
use rtscope_terminal::style::clean;
use rtscope_terminal::user_error::{printed, say};
use rtscope_tune::plan::Goal;
use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// Options of `run`.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "The exit status is the program's own: rtscope becomes the program. Where that fails: 127 it was not found, 126 it cannot be executed, 125 anything else."
)]
pub struct RunArgs {
    /// What it is to be good at
    #[arg(long, value_parser = goals(), default_value = Goal::Latency.name())]
    pub goal: Goal,
    /// Show the environment, the CPUs and the command, and run nothing
    #[arg(long)]
    pub print: bool,
    /// Read the machine from a tree of /proc and /sys below DIR
    #[arg(long, value_name = "DIR", requires = "print")]
    pub root: Option<PathBuf>,
    /// The program and its arguments; options of `run` go before it
    #[arg(trailing_var_arg = true, value_name = "PROGRAM", required = true)]
    pub command: Vec<OsString>,
}

/// Plans and becomes the program; returns only where it cannot, or with `--print`.
pub fn run(args: &RunArgs) -> ExitCode {
    let planned = plan(args);
    if args.print {
        return print(args, planned.as_ref());
    }
    let mut set = Vec::new();
    if let Some(planned) = &planned {
        // The program gets less than the plan, but starts anyway.
        planned.plan.unknown.iter().for_each(|why| say(why));
        if let Some(cpus) = &planned.plan.cpus
            && let Err(error) = launch::confine(cpus)
        {
            say(&format!("the program keeps all its CPUs: {} cannot be chosen ({error})", cpu_list::show(cpus)));
        }
        set.extend(planned.plan.env.iter().map(|(name, value)| (*name, value.clone())));
    }
    let error = launch::become_program(&args.command, &set);
    say(&error.to_string());
    ExitCode::from(match error {
        SpawnError::Exec { status, .. } => status,
        SpawnError::Own(_) => 125,
    })
}

/// `None`: there is no such program; exec reports that.
fn plan(args: &RunArgs) -> Option<Planned> {
    let path = find_program(args.command.first()?).filter(|path| path.is_file())?;
    let words = as_text(&args.command);
    let host = args.root.as_ref().map_or_else(Host::default, Host::at);
    let found = program::of_file(&path, words.first()?, &words, host.is_live());
    Some(Planned::of(&found, &host, None, args.goal))
}

fn print(args: &RunArgs, planned: Option<&Planned>) -> ExitCode {
    let Some(planned) = planned else {
        say(&format!("{} cannot be found; give its path, or look in PATH", args.command[0].to_string_lossy()));
        return ExitCode::from(127);
    };
    let mut out = env::render(planned);
    let cpus = planned.plan.cpus.as_ref().unwrap_or(&planned.resources.cpus_allowed);
    let narrowed = if planned.plan.cpus.is_some() { "one of each core" } else { "as they are" };
    out += &format!("# CPUs {} ({narrowed})\n", cpu_list::show(cpus));
    let words: Vec<String> = as_text(&args.command).iter().map(|word| quoted(word)).collect();
    out += &format!("exec {}\n", words.join(" "));
    planned.plan.unknown.iter().for_each(|why| say(why));
    if let Err(error) = printed(std::io::stdout().write_all(clean_lines(&out).as_bytes())) {
        say(&format!("cannot print the plan; {error}; free the disk or print elsewhere"));
        return ExitCode::from(125);
    }
    ExitCode::SUCCESS
}

fn clean_lines(text: &str) -> String {
    text.lines().map(|line| clean(line).into_owned() + "\n").collect()
}

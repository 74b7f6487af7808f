//! The commands of the laboratory, as the program's command line has them.

use crate::bench::{self, BenchArgs};
use crate::load::{self, LoadArgs};
use crate::plan::{self, PlanArgs};
use crate::run::{self, RunArgs};
use crate::tune::{self, TuneArgs};
use clap::Subcommand;
use rtscope_terminal::user_error::UserError;
use std::process::ExitCode;

/// A command of the laboratory.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Say which flags a program should have on this machine, each with its reason
    Plan(PlanArgs),
    /// Start a program with the flags and CPUs of its plan
    Run(RunArgs),
    /// Find the flags that make a program faster, by trials
    Tune(TuneArgs),
    /// Send requests to a server on a schedule, and say how late its answers come
    Load(LoadArgs),
    /// Do an experiment with programs of yours
    Bench(BenchArgs),
}

impl Command {
    /// Runs the command; its exit status.
    pub fn run(self) -> Result<ExitCode, UserError> {
        match self {
            Command::Plan(args) => plan::run(&args),
            Command::Run(args) => Ok(run::run(&args)),
            Command::Tune(args) => tune::run(&args),
            Command::Load(args) => load::run(&args),
            Command::Bench(args) => bench::run(&args),
        }
    }
}

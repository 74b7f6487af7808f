//! `rtscope bench`: runs the articles' experiments on a user's own programs. Owns their names; each experiment
//! is a module of its own.

mod print;
mod scaling;
pub mod stm;
mod template;

use clap::{Args, Subcommand};
use rtscope_terminal::user_error::UserError;
use std::process::ExitCode;

/// Options of `bench`.
#[derive(Args, Clone, Debug)]
pub struct BenchArgs {
    /// The experiment to run.
    #[command(subcommand)]
    pub experiment: Experiment,
}

/// The experiments.
#[derive(Subcommand, Clone, Debug)]
pub enum Experiment {
    /// Measure how much a program does in a second with more and more workers
    Scaling(scaling::ScalingArgs),
    /// Measure what the scheduler and the number of cores do to transactions of a Haskell program
    Stm(stm::StmArgs),
}

/// Runs the benchmark that was asked for.
pub fn run(args: &BenchArgs) -> Result<ExitCode, UserError> {
    match &args.experiment {
        Experiment::Scaling(args) => scaling::run(args),
        Experiment::Stm(args) => stm::run(args),
    }
}

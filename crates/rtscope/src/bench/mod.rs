//! `rtscope bench`: experiments of the articles, with a user's own programs. Owns what
//! they are called; each is a module of its own.

pub mod scaling;

use crate::trouble::Trouble;
use clap::{Args, Subcommand};
use std::process::ExitCode;

/// Options of `bench`.
#[derive(Args, Clone, Debug)]
pub struct BenchArgs {
    /// Which experiment.
    #[command(subcommand)]
    pub experiment: Experiment,
}

/// The experiments.
#[derive(Subcommand, Clone, Debug)]
pub enum Experiment {
    /// Measure how much a program does in a second with more and more workers
    Scaling(scaling::ScalingArgs),
}

/// Does it; gives the exit code.
pub fn run(args: &BenchArgs) -> Result<ExitCode, Trouble> {
    match &args.experiment {
        Experiment::Scaling(args) => scaling::run(args),
    }
}

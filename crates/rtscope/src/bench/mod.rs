//! `rtscope bench`: experiments of the articles, with a user's own programs. Owns what
//! they are called and what they have in common: command lines with places, plots, and where
//! results go; each experiment is a module of its own.

pub(crate) mod plot;
pub mod scaling;
pub mod stm;
mod template;

use crate::trouble::Trouble;
use clap::{Args, Subcommand};
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::{fs, io};

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
    /// Measure what the scheduler and the number of cores do to transactions of a Haskell program
    Stm(stm::StmArgs),
}

/// Does it; gives the exit code.
///
/// # Errors
/// A program does not do what it should, or results cannot be written.
pub fn run(args: &BenchArgs) -> Result<ExitCode, Trouble> {
    match &args.experiment {
        Experiment::Scaling(args) => scaling::run(args),
        Experiment::Stm(args) => stm::run(args),
    }
}

/// Writes files, each a name and what is in it, into a folder that is made.
fn write(folder: &Path, files: &[(String, &str)]) -> Result<(), Trouble> {
    for (name, content) in files {
        let path = folder.join(name);
        fs::create_dir_all(folder).and_then(|()| fs::write(&path, content)).map_err(|error| {
            Trouble::new(format!("cannot write {}", path.display()))
                .because(error)
                .next("give another folder with --output")
        })?;
    }
    Ok(())
}

/// Prints it. A reader that goes away is no failure.
fn print(text: &str) -> Result<(), Trouble> {
    match io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Trouble::new("cannot print the results").because(error).next("free the disk or print elsewhere"))
        }
        _ => Ok(()),
    }
}

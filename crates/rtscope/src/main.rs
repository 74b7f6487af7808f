//! The program: command line and wiring.

mod record;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// See, explain and tune the runtime system under a parallel Haskell or OCaml 5 program.
#[derive(Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Make a capture of a program's run.
    Record(record::RecordArgs),
}

fn main() -> ExitCode {
    match Cli::parse().command {
        Command::Record(args) => record::run(args),
    }
}

//! `rtscope tune`: finds the flags that make a program faster, by trials. Owns the options and which study they
//! ask for: `program` does one of a program, `blocks` some blocks of a fixed list, `replaying` those of a
//! recorded table. `rtscope_tune::study` decides what is tried next and what follows.

mod answer;
mod args;
mod blocks;
mod captures;
mod conduct;
mod description;
pub mod job;
mod keeping;
pub mod live;
pub mod measure;
pub mod objective;
mod paste;
mod program;
pub(crate) mod progress;
mod replayed;
mod replaying;
mod result;
pub mod runtimes;
pub mod space;
mod subject;
mod table;

pub use args::{DrawArg, JobArg, ProposerArg, TuneArgs};

use rtscope_terminal::user_error::UserError;
use std::process::ExitCode;

/// Runs a study.
pub fn run(args: &TuneArgs) -> Result<ExitCode, UserError> {
    if let Some(table) = &args.replay {
        return replaying::run(args, table);
    }
    if let Some(folder) = &args.merge {
        return blocks::merge(args, folder);
    }
    match args.export_job {
        Some(kind) => blocks::export(args, kind),
        None if !args.tries.is_empty() => blocks::run(args),
        None => program::run(args),
    }
}

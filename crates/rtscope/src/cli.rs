//! The command line: what can be asked for. Owns names, help texts and exit
//! codes of the program as a whole; refuses to do any of it.

use clap::{Args, Parser, Subcommand};
use rtscope::record::RecordArgs;
use std::path::PathBuf;

/// See, explain and tune the runtime system under a parallel Haskell program.
#[derive(Parser, Debug)]
#[command(name = "rtscope", version, arg_required_else_help = true, disable_help_subcommand = true)]
#[command(
    after_help = "Start with:  rtscope record -- ./your-program\n             rtscope report your-program-*.rtscope"
)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand, Debug)]
pub enum Command {
    /// Run a program (or follow a running one) and make a capture of it
    Record(RecordArgs),
    /// Say in words why a recorded program stops and waits
    Report(ReportArgs),
    /// Say what this machine permits, what is missing, and the command that mends it
    Doctor(DoctorArgs),
}

#[derive(Args, Debug)]
pub struct ReportArgs {
    /// A capture (NAME.rtscope) or an eventlog; told apart by content. `-` reads an eventlog from standard input
    pub file: PathBuf,
    /// Print one JSON document instead (keys: docs/report-json.md)
    #[arg(long, conflicts_with = "pauses")]
    pub json: bool,
    /// Print one JSON line per pause instead
    #[arg(long)]
    pub pauses: bool,
    /// Also write a page that opens in any browser, without network
    #[arg(long, value_name = "OUT.html")]
    pub html: Option<PathBuf>,
    /// Which of several logs of a capture: the number in eventlog/N.eventlog
    #[arg(long, value_name = "N")]
    pub log: Option<usize>,
    /// Threads that decode (default: all processors, at most 8)
    #[arg(long, value_name = "N")]
    pub threads: Option<usize>,
}

#[derive(Args, Debug)]
pub struct DoctorArgs {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

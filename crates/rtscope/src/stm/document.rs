//! The interface of `rtscope stm`: its options, its document, and the host's refusals in words.

use clap::Args;
use rtscope_analyze::results::stm::Transactions;
use rtscope_host::stm::Refusal;
use rtscope_report::stm as words;
use rtscope_terminal::user_error::UserError;
use serde::Serialize;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

const STATUS: &str = "\
Exit status:
  0  done; with a program: the program's own, 128 + N after signal N
  1  failed: no such process, no permission, no GHC program, no counts in the capture
  2  wrong usage
  125 to 127  the program could not be started

Examples:
  rtscope stm -- ./your-program its arguments
  rtscope stm 4242 --for 10s
  rtscope stm run.rtscope --json

Commits and conflicts are seen where the package rtscope-stm is linked in; of every other threaded
program that was not stripped, attempts alone.";

pub const SCHEMA: &str = "rtscope/stm/1";

/// Options of `rtscope stm`.
#[derive(Args, Clone, Debug)]
#[command(after_help = STATUS)]
pub struct StmArgs {
    /// A process, or a capture (NAME.rtscope)
    #[arg(value_name = "PID|CAPTURE", required_unless_present = "command", conflicts_with = "command")]
    pub of: Option<PathBuf>,
    /// Look for so long; a program that was started runs on
    #[arg(long = "for", value_name = "TIME", value_parser = rtscope_terminal::values::duration)]
    pub limit: Option<Duration>,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
    /// Write it into a file, not between what the program prints
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Show nothing while it runs
    #[arg(short, long)]
    pub quiet: bool,
    /// The program and its arguments, after `--`
    #[arg(last = true)]
    pub command: Vec<OsString>,
}

/// What `--json` prints.
#[derive(Clone, Debug, Serialize)]
pub struct Document {
    pub schema: &'static str,
    /// What was watched: `process 12`, or the path of a capture.
    pub of: String,
    pub transactions: Transactions,
}

/// A refusal in words, with what to do about it.
pub(super) fn refusal_error(refusal: &Refusal) -> UserError {
    let error = UserError::new(refusal.to_string());
    match refusal {
        Refusal::Gone(_) => error.next("`pgrep -a NAME` shows what runs"),
        Refusal::NotPermitted(_) => {
            error.next("run it as root, or as its own user with `sysctl kernel.yama.ptrace_scope=0`")
        }
        Refusal::NoCounts(..) => {
            error.next(format!("link the program threaded and do not strip it; or {}", words::LINK))
        }
        Refusal::NotGhc(..) => error.next("give the program itself or its process id, not what starts it"),
        _ => error,
    }
}

//! `rtscope stm`: the transactions of a Haskell program that is started, that runs, or that was
//! recorded. Owns the options, the document and the exit status; finding and reading counts is
//! the host's, what they come to the fold's.

pub(crate) mod kept;
mod live;
mod text;

use crate::report::stm as words;
use crate::sources;
use crate::style::Style;
use crate::trouble::Trouble;
use clap::Args;
use rtscope_analyze::results::stm::Transactions;
use rtscope_decode::capture::Capture;
use rtscope_host::privileges;
use rtscope_host::stm::Refusal;
use serde::Serialize;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
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

/// Schema of what `--json` prints.
pub const SCHEMA: &str = "rtscope/stm/1";

/// Options of `rtscope stm`.
#[derive(Args, Clone, Debug)]
#[command(after_help = STATUS)]
pub struct StmArgs {
    /// A process, or a capture (NAME.rtscope)
    #[arg(value_name = "PID|CAPTURE", required_unless_present = "command", conflicts_with = "command")]
    pub of: Option<PathBuf>,
    /// Look for so long; a program that was started runs on
    #[arg(long = "for", value_name = "TIME", value_parser = crate::record::duration)]
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
    /// The program and its arguments, behind `--`
    #[arg(last = true)]
    pub command: Vec<OsString>,
}

/// What `--json` prints.
#[derive(Clone, Debug, Serialize)]
pub struct Document {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// Of what: `process 12`, the path of a capture.
    pub of: String,
    /// Its transactions, as in `report --json`.
    pub transactions: Transactions,
}

/// Does it.
///
/// # Errors
/// There is nothing to read counts from, or the output cannot be written.
pub fn run(args: &StmArgs) -> Result<ExitCode, Trouble> {
    let (document, status) = match &args.of {
        None => {
            let (document, status) = live::started(&privileges::host()?, args)?;
            // The program has run, whatever could be seen of it.
            let Some(document) = document else { return Ok(ExitCode::from(status)) };
            (document, status)
        }
        Some(of) => match crate::heap::process(of)? {
            Some(pid) => (live::attached(&privileges::host()?, pid, args)?, 0),
            None if args.limit.is_some() => {
                return Err(Trouble::new("--for says how long a process is looked at, and a capture is over")
                    .next("leave it out")
                    .ends_with(crate::trouble::WRONG));
            }
            None => (of_capture(of)?, 0),
        },
    };
    print(&document, args)?;
    Ok(ExitCode::from(status))
}

fn of_capture(of: &Path) -> Result<Document, Trouble> {
    let cannot = |why: &dyn std::fmt::Display| Trouble::new(format!("cannot read {}", of.display())).because(why);
    std::fs::metadata(of).map_err(|error| {
        cannot(&error).next("give a process id (`pgrep -a NAME`), a capture, or a program behind `--`")
    })?;
    let capture = Capture::open(of).map_err(|error| cannot(&error))?;
    let context = sources::of_manifest(capture.manifest());
    let found = kept::load(&capture, None, context.started).stm.and_then(|stm| stm.values(context.ended));
    let transactions = found.ok_or_else(|| {
        Trouble::new(format!("{} holds no counts of transactions", of.display()))
            .because("nothing that counts them was found in the program (a threaded one of GHC, not stripped, or one with rtscope-stm)")
    })?;
    Ok(Document { schema: SCHEMA, of: of.display().to_string(), transactions })
}

fn print(document: &Document, args: &StmArgs) -> Result<(), Trouble> {
    let text = if args.json {
        let document = crate::style::json_pretty(document);
        document.map_err(|error| Trouble::new("cannot write the document").because(error))? + "\n"
    } else {
        let style = if args.output.is_some() { Style::plain(100) } else { Style::of_stdout() };
        text::text(document, &style)
    };
    let Some(output) = &args.output else {
        return match io::stdout().lock().write_all(text.as_bytes()) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                Err(Trouble::new("cannot print the result").because(error))
            }
            _ => Ok(()),
        };
    };
    std::fs::write(output, text).map_err(|error| {
        Trouble::new(format!("cannot write {}", output.display())).because(error).next("give another path with -o")
    })
}

/// A refusal in words, with what to do.
fn trouble(refusal: &Refusal) -> Trouble {
    let trouble = Trouble::new(refusal.to_string());
    match refusal {
        Refusal::Gone(_) => trouble.next("`pgrep -a NAME` shows what runs"),
        Refusal::NotPermitted(_) => {
            trouble.next("run it as root, or as its own user with `sysctl kernel.yama.ptrace_scope=0`")
        }
        Refusal::Nothing { .. } => {
            trouble.next(format!("link the program threaded and do not strip it; or {}", words::LINK))
        }
        Refusal::NotGhc { .. } => trouble.next("give the program itself or its process id, not what starts it"),
        Refusal::Io { .. } => trouble,
    }
}

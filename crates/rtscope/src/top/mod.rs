//! `rtscope top`: a program while it runs, in a few lines that change once a second. Owns
//! the options and which way something is looked at; bytes come from [`source`], figures from
//! `analyze::window`, lines from [`view`].

mod capture;
mod growing;
mod live;
mod process;
mod source;
mod transactions;
mod view;

pub use view::{Shown, View, frame, line};

use crate::record::{duration, tier};
use crate::trouble::{Trouble, WRONG};
use clap::Args;
use rtscope_host::{clock, privileges};
use rtscope_model::manifest::Tier;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

const STATUS: &str = "\
Keys: q or Ctrl-C ends it; the program runs on.

Exit status:
  0  done; also when the program has ended
  1  failed: no such process, no such capture
  2  wrong usage

Examples:
  rtscope top 4242
  rtscope top 4242 --json --for 1min > figures.jsonl
  rtscope top run.rtscope

Pauses are shown of a GHC program that writes an eventlog (+RTS -l) and was not stripped, and of an
OCaml 5 program whose runtime events are on (OCAML_RUNTIME_EVENTS_START=1). Of every other program
what the kernel and /proc say is shown.";

/// Schema of what `--json` prints, a line for each second.
pub const SCHEMA: &str = "rtscope/top/1";

/// Options of `rtscope top`.
#[derive(Args, Clone, Debug)]
#[command(after_help = STATUS)]
pub struct TopArgs {
    /// A process, or a capture: one that is being written is followed, of another its end is shown
    #[arg(value_name = "PID|CAPTURE")]
    pub of: PathBuf,
    /// Figures are of the last so many seconds
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration)]
    pub over: Duration,
    /// End after so long
    #[arg(long = "for", value_name = "TIME", value_parser = duration)]
    pub limit: Option<Duration>,
    /// Print one JSON document a second, a line each
    #[arg(long)]
    pub json: bool,
    /// Print one line of text a second, as without a terminal
    #[arg(long, conflicts_with = "json")]
    pub plain: bool,
    /// Do not look at the kernel's scheduling
    #[arg(long)]
    pub no_kernel: bool,
    /// The richest way to look at it: tracepoints, cpu-wide-switches, own-switches, polling
    #[arg(long, value_name = "TIER", default_value = "tracepoints", value_parser = tier, conflicts_with = "no_kernel")]
    pub tier: Tier,
}

impl TopArgs {
    /// Seconds of the window.
    fn seconds(&self) -> Result<usize, Trouble> {
        let seconds = self.over.as_secs_f64().round() as usize;
        if (1..=rtscope_analyze::window::SECONDS_MAX).contains(&seconds) {
            return Ok(seconds);
        }
        Err(Trouble::new(format!("--over takes 1s to {}s", rtscope_analyze::window::SECONDS_MAX)).ends_with(WRONG))
    }
}

/// Does it.
///
/// # Errors
/// There is no such process or capture.
pub fn run(args: &TopArgs) -> Result<ExitCode, Trouble> {
    let seconds = args.seconds()?;
    let now = clock::monotonic();
    match crate::heap::process(&args.of)? {
        Some(pid) => {
            rtscope_host::open_files::raise();
            let tier = (!args.no_kernel).then_some(args.tier);
            let host = privileges::host()?;
            let mut running = process::Running::open(&host, pid, tier, now)?;
            if let Err(kept) = privileges::leave_to_opener(&host, pid) {
                running.note(format!("{kept}."));
            }
            live::follow(Box::new(running), format!("process {pid}"), seconds, args)
        }
        None => capture::show(&args.of, seconds, args),
    }
}

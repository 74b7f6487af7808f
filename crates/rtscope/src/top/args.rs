//! The options of `rtscope top`. Owns their words; refuses to act on them.

use crate::record::tier;
use clap::Args;
use rtscope_model::manifest::Tier;
use rtscope_model::runtimes;
use rtscope_terminal::user_error::{UserError, WRONG};
use rtscope_terminal::values::duration;
use std::path::PathBuf;
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

Pauses are shown of ";

fn help() -> String {
    let followed: Vec<&str> = runtimes::ALL.iter().map(|runtime| runtime.followed).collect();
    format!("{STATUS}{}. Of every other program\nwhat the kernel and /proc say is shown.", followed.join(", and of "))
}

/// Options of `rtscope top`.
#[derive(Args, Clone, Debug)]
#[command(after_help = help())]
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
    /// Length of the window in seconds.
    pub(super) fn seconds(&self) -> Result<usize, UserError> {
        let seconds = self.over.as_secs_f64().round() as usize;
        if (1..=rtscope_analyze::window::SECONDS_MAX).contains(&seconds) {
            return Ok(seconds);
        }
        Err(UserError::new(format!("--over takes 1s to {}s", rtscope_analyze::window::SECONDS_MAX)).ends_with(WRONG))
    }
}

//! The options of `rtscope view`.

use clap::Args;
use rtscope_read::input::Recording;
use rtscope_read::log_version::LogVersion;
use std::path::PathBuf;

const STATUS: &str = "\
Exit status:
  0  ended by Ctrl-C
  1  failed: FILE cannot be read, or the port is in use
  2  wrong usage";

/// What is shown, and where.
#[derive(Args, Debug)]
#[command(after_help = STATUS)]
pub struct ViewArgs {
    #[command(flatten)]
    #[allow(missing_docs, reason = "its own comment is the help")]
    pub recording: Recording,
    /// Port on this machine's loopback address (default: any that is free)
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub port: u16,
    /// Print the address and open no browser
    #[arg(long)]
    pub no_open: bool,
    /// Which log, where a capture holds several: the number in eventlog/N.eventlog or rings/N.ring
    #[arg(long, value_name = "N")]
    pub log: Option<usize>,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its own comment is the help")]
    pub version: LogVersion,
    /// Requests of a load that ran meanwhile (`rtscope load --requests FILE`)
    #[arg(long, value_name = "FILE")]
    pub requests: Option<PathBuf>,
}

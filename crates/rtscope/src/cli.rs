//! The command line: what can be asked for. Owns names, help texts and exit
//! codes of the program as a whole; refuses to do any of it.

use crate::explain::ExplainArgs;
use crate::export::ExportArgs;
use crate::heap::HeapArgs;
use crate::pack::PackArgs;
use crate::record::RecordArgs;
use crate::stm::StmArgs;
use crate::top::TopArgs;
use clap::{Args, ColorChoice, Parser, Subcommand};
use clap_complete::Shell;
use rtscope_read::input::Recording;
use rtscope_read::log_version::LogVersion;
use rtscope_view::ViewArgs;
use std::path::PathBuf;

/// See, explain and tune the runtime system under a parallel program of Haskell (GHC) or OCaml 5.
#[derive(Parser, Debug)]
#[command(name = "rtscope", version, arg_required_else_help = true)]
#[command(
    after_help = "Start with:\n  rtscope doctor\n  rtscope record ./your-program its arguments\n  rtscope report\n  \
                  rtscope plan ./your-program\n  rtscope run ./your-program its arguments"
)]
pub struct Cli {
    /// Colours: auto (on a terminal, unless NO_COLOR is set), always, never
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        hide_default_value = true,
        hide_possible_values = true
    )]
    pub color: ColorChoice,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand, Debug)]
pub enum Command {
    /// Run a program (or follow a running one) and make a capture of it
    Record(RecordArgs),
    /// Say in words why a recorded program stops and waits
    Report(ReportArgs),
    /// Say what a finding means, how its cost is computed, and what helps
    Explain(ExplainArgs),
    /// Show a recording as a timeline in a browser
    View(ViewArgs),
    /// Hand a recording over to other tools
    Export(ExportArgs),
    /// Put a capture into one file, to be kept or sent
    Pack(PackArgs),
    /// Say where the memory of a Haskell program is, or was when it was recorded
    Heap(HeapArgs),
    /// Count the transactions (STM) of a Haskell program: how many, what became of them, by name
    Stm(StmArgs),
    /// Show a program while it runs: pauses, time to stop, productivity, memory, throttling
    Top(TopArgs),
    /// Say what this machine permits, what is missing, and the command that gets it
    Doctor(DoctorArgs),
    /// Say what this process may use: CPUs, cores, caches, quotas, memory, each with its file
    Machine(MachineArgs),
    #[cfg(feature = "lab")]
    #[command(flatten)]
    Lab(rtscope_lab::Command),
    /// Print completions for a shell, to be loaded by it
    Completions(CompletionsArgs),
    /// Write man pages
    Man(ManArgs),
}

const REPORT_STATUS: &str = "\
Exit status:
  0  done
  1  failed: FILE cannot be read, or the output not be written
  2  wrong usage
  3  done, but what was lost changes the answer, or FILE holds no log of a runtime;
     with --fail-if: a figure that a condition asks for is not known
  4  done, and a condition of --fail-if holds";

const DOCTOR_STATUS: &str = "\
Exit status:
  0  recording works; some things may show less than they could
  1  failed
  2  wrong usage
  3  something is missing that reports would need";

const MACHINE_STATUS: &str = "\
Exit status:
  0  done; what could not be read is among the notes
  1  failed: no such process, no machine below DIR, or the output cannot be written
  2  wrong usage";

#[derive(Args, Debug)]
#[command(after_help = REPORT_STATUS)]
pub struct ReportArgs {
    #[command(flatten)]
    pub recording: Recording,
    /// Print one JSON document instead of text
    #[arg(long, conflicts_with = "pauses")]
    pub json: bool,
    /// Print one JSON line per pause instead
    #[arg(long)]
    pub pauses: bool,
    /// Print every figure, not the first screen alone
    #[arg(short, long)]
    pub verbose: bool,
    /// Compare: FILE is before, this is after; says which differences are real
    #[arg(long, value_name = "AFTER", conflicts_with = "pauses")]
    pub compare: Option<PathBuf>,
    /// With --compare: exit with 4 when this holds: 'pauses.time_to_stop_ns.p99 > +20%', 'finding cpu-throttled'
    #[arg(long, value_name = "CONDITION", requires = "compare")]
    pub fail_if: Vec<String>,
    /// Also write a page for a browser; it needs no network
    #[arg(long, value_name = "OUT.html")]
    pub html: Option<PathBuf>,
    /// Also put this drawing on the page: one that rtscope tune, bench, load, heap or machine wrote; may be
    /// given again
    #[arg(long, value_name = "FILE.svg", requires = "html", conflicts_with = "compare")]
    pub plot: Vec<PathBuf>,
    /// Requests of a load that ran during this recording (`rtscope load --requests FILE`): says what
    /// the slowest of them waited for
    #[arg(long, value_name = "FILE", conflicts_with = "compare")]
    pub requests: Option<PathBuf>,
    /// With --requests: also write a drawing of latency, requests per second and pauses over time
    #[arg(long, value_name = "OUT.svg", requires = "requests")]
    pub svg: Option<PathBuf>,
    /// Leave this rule out: what is found without it; may be given again
    #[arg(long, value_name = "RULE")]
    pub without: Vec<String>,
    /// Which log, where a capture holds several: the number in eventlog/N.eventlog or rings/N.ring
    #[arg(long, value_name = "N")]
    pub log: Option<usize>,
    #[command(flatten)]
    pub version: LogVersion,
    /// Threads that decode (default: all processors, at most 8)
    #[arg(long, value_name = "N")]
    pub threads: Option<usize>,
}

#[derive(Args, Debug)]
#[command(
    after_help = "Bash: `eval \"$(rtscope completions bash)\"` in ~/.bashrc; zsh and fish: write it into a folder that \
                        they read at their start."
)]
pub struct CompletionsArgs {
    /// The shell
    pub shell: Shell,
}

#[derive(Args, Debug)]
pub struct ManArgs {
    /// Folder for rtscope.1, rtscope-record.1 and the others
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
}

#[derive(Args, Debug)]
#[command(after_help = DOCTOR_STATUS)]
pub struct DoctorArgs {
    /// Show what is fine, too
    #[arg(short, long)]
    pub all: bool,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
}

#[derive(Args, Debug)]
#[command(after_help = MACHINE_STATUS)]
pub struct MachineArgs {
    /// Read proc and sys below this folder, and nothing else
    #[arg(long, value_name = "DIR", default_value = "/", hide_default_value = true)]
    pub root: PathBuf,
    /// Inspect this process instead of rtscope's own
    #[arg(short, long, value_name = "PID")]
    pub pid: Option<u32>,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
    /// Also write a drawing of the topology
    #[arg(long, value_name = "OUT.svg")]
    pub svg: Option<PathBuf>,
}

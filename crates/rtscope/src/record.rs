//! The command `record`: its options, its messages, its exit status. `rtscope_host::recording` does the recording.

use crate::pack::pack;
use clap::{Args, ValueEnum};
use rtscope_decode::capture::pack::ENDING;
use rtscope_host::kernel;
use rtscope_host::options::Detail;
use rtscope_host::recording::{self, Bounds, RecordOptions, RecordTarget, When};
use rtscope_model::manifest::Tier;
use rtscope_model::units;
use rtscope_terminal::user_error::{UserError, say};
use rtscope_terminal::values::{binary_size, duration};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// The exit status of a failure to record.
const FAILED: u8 = 125;
/// Shortest period of heap snapshots.
const HEAP_EVERY_MIN: Duration = Duration::from_millis(10);

/// Options of `record`.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Processes that the program leaves running when it ends are recorded until they end or Ctrl-C.\n\nThe exit status is the program's own, 128 + N after signal N; 125 to 127 are failures to record or to start it."
)]
pub struct RecordArgs {
    /// Folder for the capture (default: PROGRAM.rtscope here, PROGRAM.1.rtscope where that exists); a name that
    /// ends with .rtscope.zst packs it into one file at the end.
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Take a folder for the capture that other users can write to, and make it private; it must be empty
    /// and one's own.
    #[arg(long)]
    pub force: bool,
    /// How much the runtime logs: `cheap` is collections, heap figures and counts of sparks, `full` also
    /// every thread switch.
    #[arg(long, value_enum, default_value_t = DetailArg::Cheap)]
    pub detail: DetailArg,
    /// Do not switch the program's log on: GHC's eventlog, OCaml's runtime events.
    #[arg(long)]
    pub no_eventlog: bool,
    /// Rings of an OCaml program hold 2^N words (default: the largest up to 20 that there is room for).
    #[arg(long, value_name = "N")]
    pub ring_size: Option<u32>,
    /// Do not record the kernel's scheduling.
    #[arg(long)]
    pub no_kernel: bool,
    /// The richest way to record it that is tried.
    #[arg(long, hide = true, value_parser = tier, default_value = "tracepoints")]
    pub tier: Tier,
    /// Code samples for each second of a thread's CPU time; 0 turns sampling off.
    #[arg(long, value_name = "RATE", default_value_t = 97, value_parser = clap::value_parser!(u32).range(0..=10_000))]
    pub sample_code: u32,
    /// Do not look at what the program's threads wait for.
    #[arg(long)]
    pub no_waits: bool,
    /// Period of memory and throttle samples.
    #[arg(long, value_name = "TIME", default_value = "10ms", value_parser = duration)]
    pub sample_every: Duration,
    /// Take a snapshot of a GHC program's heap this often; after each, rtscope rests for ten times the
    /// CPU time that it cost.
    #[arg(long, value_name = "TIME", value_parser = every)]
    pub heap_every: Option<Duration>,
    /// Keep one when the resident memory first goes over a size ('RSS>1G'), over twice, four times... as much, and
    /// again after it has been a tenth below; can be given several times, and with --heap-every.
    #[arg(long, value_name = "CONDITION", value_parser = rss_over)]
    pub heap_at: Vec<u64>,
    /// Period of copying what the program has not written yet.
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = duration)]
    pub flush_every: Duration,
    /// End the recording after this time; a program that was started runs on.
    #[arg(short = 'd', long = "for", value_name = "TIME", value_parser = duration)]
    pub limit: Option<Duration>,
    /// Leave host, arguments, paths and names out of what rtscope itself writes. The eventlog keeps the program's
    /// arguments, the kernel's records keep the names of processes (--no-kernel leaves those out).
    #[arg(long)]
    pub redact: bool,
    /// Largest size of the capture: then the recording ends, and the program runs on.
    #[arg(long, value_name = "SIZE", value_parser = binary_size)]
    pub max_size: Option<u64>,
    /// Share of the disk that stays free: with no more left, the recording ends [default: 5, or half of what is free]
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u8).range(0..=90))]
    pub keep_free: Option<u8>,
    /// Run the program as this user, who then owns the capture; takes root.
    #[arg(long, value_name = "NAME", conflicts_with = "pid")]
    pub user: Option<String>,
    /// Record a process that runs already.
    #[arg(short, long, value_name = "PID", conflicts_with = "command")]
    pub pid: Option<u32>,
    /// Print only errors.
    #[arg(short, long)]
    pub quiet: bool,
    /// The program and its arguments; options of `record` go before it.
    #[arg(trailing_var_arg = true, value_name = "PROGRAM", required_unless_present = "pid")]
    pub command: Vec<OsString>,
}

/// How much the runtime logs.
#[derive(Copy, Clone, Eq, PartialEq, Debug, ValueEnum)]
pub enum DetailArg {
    /// Collections and heap figures.
    Cheap,
    /// Every class.
    Full,
}

/// Records as `args` say and returns the program's own status.
pub fn run(mut args: RecordArgs) -> ExitCode {
    let packed = args.output.take_if(|name| name.as_os_str().as_encoded_bytes().ends_with(ENDING.as_bytes()));
    if let Some(file) = &packed {
        if file.symlink_metadata().is_ok() {
            say(&format!("{} exists already; name another file with -o", file.display()));
            return ExitCode::from(FAILED);
        }
        args.output = Some(file.with_extension(""));
    }
    let quiet = args.quiet;
    let mut note = |text: &str| {
        if !quiet {
            say(text);
        }
    };
    if let Some(user) = asks_for_root(&args) {
        note(&format!("the program runs as root; --user {user} runs it as {user}, who then owns the capture"));
    }
    match recording::record(options(args), &mut note) {
        Ok(outcome) => {
            let (bytes, capture) = match packed.map(|file| pack_up(&outcome.capture, file)) {
                None => (outcome.bytes, outcome.capture.clone()),
                Some(Ok(packed)) => packed,
                Some(Err(error)) => {
                    say(&format!("the capture stays in {}", outcome.capture.display()));
                    eprintln!("{error}");
                    return ExitCode::from(FAILED);
                }
            };
            note(&format!(
                "recorded {} into {1}; explain it with `rtscope report {1}`",
                units::bytes(bytes),
                shown(&capture).display()
            ));
            ExitCode::from(outcome.status())
        }
        Err(error) => {
            say(&error.to_string());
            ExitCode::from(error.status())
        }
    }
}

/// The user that started sudo for a program that may not need root.
fn asks_for_root(args: &RecordArgs) -> Option<String> {
    let user = std::env::var("SUDO_USER").ok().filter(|user| user != "root")?;
    (args.user.is_none() && args.pid.is_none()).then_some(user)
}

/// Packs a capture into `file`, and removes the folder.
fn pack_up(capture: &Path, file: PathBuf) -> Result<(u64, PathBuf), UserError> {
    let bytes = pack(capture, &file)?;
    std::fs::remove_dir_all(capture).map_err(|error| {
        UserError::new(format!("{} was packed, and cannot be removed", capture.display())).because(error)
    })?;
    Ok((bytes, file))
}

/// The path relative to the working directory, if that is shorter.
fn shown(path: &Path) -> &Path {
    let here = std::env::current_dir().ok();
    here.and_then(|here| path.strip_prefix(here).ok()).unwrap_or(path)
}

/// Parses a tier by its name in manifests.
pub(crate) fn tier(name: &str) -> Result<Tier, String> {
    let tiers = [Tier::Tracepoints, Tier::CpuWideSwitches, Tier::OwnSwitches, Tier::Polling];
    let names = tiers.map(kernel::tier_name);
    let at = names.iter().position(|known| *known == name);
    at.and_then(|at| tiers.get(at).copied()).ok_or_else(|| format!("known: {}", names.join(", ")))
}

fn options(args: RecordArgs) -> RecordOptions {
    RecordOptions {
        target: args.pid.map_or(RecordTarget::Command(args.command), RecordTarget::Attach),
        user: args.user,
        output: args.output,
        force: args.force,
        detail: match args.detail {
            DetailArg::Cheap => Detail::Cheap,
            DetailArg::Full => Detail::Full,
        },
        eventlog: !args.no_eventlog,
        ring_size: args.ring_size,
        kernel: (!args.no_kernel).then_some(args.tier),
        code_period: (args.sample_code > 0).then(|| Duration::from_secs(1) / args.sample_code),
        sample_period: args.sample_every,
        waits: !args.no_waits,
        heap: When { every: args.heap_every, rss_over: args.heap_at },
        flush_period: args.flush_every,
        limit: args.limit,
        bounds: Bounds { max_bytes: args.max_size, keep_percent: args.keep_free },
        redact: args.redact,
        version: env!("CARGO_PKG_VERSION").to_owned(),
    }
}

/// Parses a period of snapshots.
fn every(text: &str) -> Result<Duration, String> {
    let period = duration(text)?;
    if period < HEAP_EVERY_MIN {
        return Err("a snapshot takes longer than that: give 10ms or more".to_owned());
    }
    Ok(period)
}

/// `RSS>1G`, `rss > 1.5 GiB`: bytes.
fn rss_over(text: &str) -> Result<u64, String> {
    let form = || "write RSS>SIZE, quoted for the shell: 'RSS>1G', 'RSS>512MiB'".to_owned();
    let (what, size) = text.split_once('>').ok_or_else(form)?;
    if !what.trim().eq_ignore_ascii_case("rss") {
        return Err(format!("only RSS can be looked at, not {:?}; {}", what.trim(), form()));
    }
    binary_size(size.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_binary_and_say_so() {
        let good = [("RSS>1G", 1 << 30), ("rss > 1.5 MiB", 3 << 19), ("RSS>2048K", 2 << 20), ("RSS>512MiB", 512 << 20)];
        for (text, bytes) in good {
            assert_eq!(rss_over(text), Ok(bytes), "{text}");
        }
        for (text, says) in [
            ("1G", "RSS>SIZE"),
            ("heap>1G", "only RSS"),
            ("RSS>1GB", "1000s"),
            ("RSS>1", "unit"),
            ("RSS>G", "no number"),
            ("RSS>-1G", "between"),
            ("RSS>NaNG", "unit"),
            ("RSS>1K", "between"),
            ("RSS>99999999999G", "between"),
        ] {
            let why = rss_over(text).unwrap_err();
            assert!(why.contains(says), "{text}: {why}");
        }
        assert_eq!(every("200ms"), Ok(Duration::from_millis(200)));
        assert!(every("9ms").unwrap_err().contains("10ms"));
    }
}

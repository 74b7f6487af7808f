//! `rtscope heap PID`: where the memory of a running Haskell program is. Owns the options,
//! what is put together for showing, and the words of refusals; the blocks are `heap`'s, the
//! process is `host`'s.

mod json;
mod map;
mod text;

use crate::style::Style;
use crate::trouble::Trouble;
use clap::Args;
use rtscope_heap::ledger::{self, Line};
use rtscope_heap::{Runtime, Scan, Survey, descriptor::MEGABLOCK};
use rtscope_host::heap::{Refusal, Target};
use rtscope_host::mappings::Mapping;
use rtscope_host::procfs::Host;
use rtscope_host::stop::{Held, Stop};
use rtscope_model::Version;
use rtscope_model::units::counted;
use std::collections::HashMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Tries to scan without a collection in between.
const SCANS_MAX: u32 = 3;

const STATUS: &str = "\
Exit status:
  0  done
  1  failed: no such process, no permission, no GHC program, a version that is not known
  2  wrong usage
  3  done, but the heap changed while it was read";

/// Options of `rtscope heap`.
#[derive(Args, Debug)]
#[command(after_help = STATUS)]
pub struct HeapArgs {
    /// The process
    #[arg(value_name = "PID", required_unless_present = "core")]
    pub pid: Option<u32>,
    /// A core file instead of a process
    #[arg(long, value_name = "FILE", conflicts_with_all = ["pid", "stop"])]
    pub core: Option<PathBuf>,
    /// With --core: the program that it is of, where that is not where it was
    #[arg(long, value_name = "FILE", requires = "core")]
    pub program: Option<PathBuf>,
    /// Stop the process while its blocks and objects are read: nothing changes under them.
    /// A system call that does not restart (`epoll_wait`) then returns early with EINTR
    #[arg(long)]
    pub stop: bool,
    /// With --stop: let it go after so long, whatever was read
    #[arg(long, value_name = "TIME", default_value = "250ms", value_parser = crate::record::duration, requires = "stop")]
    pub max_stop: Duration,
    /// Draw its blocks, megablock by megablock
    #[arg(long, conflicts_with = "json")]
    pub map: bool,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
}

/// Everything that is shown.
struct Shown {
    of: String,
    version: Option<Version>,
    survey: Survey,
    ledger: Vec<Line>,
    scan: Scan,
    /// Collections of the oldest generation while it was scanned.
    moved: u64,
    names: HashMap<u64, String>,
    /// `None`: a core file does not tell.
    rss_bytes: Option<u64>,
    /// How long reading the blocks took.
    took: Duration,
    /// How it was stopped, if it was.
    held: Option<Held>,
}

impl Shown {
    /// Megablocks that the process has, by the descriptors.
    fn heap_bytes(&self) -> u64 {
        let held = |megablock: &&rtscope_heap::Megablock| !megablock.is_returned();
        self.survey.megablocks.iter().filter(held).count() as u64 * MEGABLOCK
    }

    /// What the ledger does not explain of the memory that the system reports.
    fn unexplained_bytes(&self) -> Option<i64> {
        let explained: u64 = self.ledger.iter().map(|line| line.bytes).sum();
        Some(self.rss_bytes? as i64 - explained as i64)
    }

    /// The name of an info table.
    fn name(&self, info_address: u64) -> String {
        self.names.get(&info_address).cloned().unwrap_or_else(|| format!("{info_address:#x}"))
    }

    /// What is not sure, in words.
    fn doubts(&self) -> Vec<String> {
        let mut doubts = Vec::new();
        match self.survey.collections() {
            Some(0) => {}
            Some(count) => doubts.push(format!(
                "{count} collections came while the blocks were read: figures of generation 0 may be from before and after."
            )),
            None => doubts.push(
                "The program has no symbols, so whether a collection came while its blocks were read is not known.".into(),
            ),
        }
        if self.survey.unsettled > 0 {
            doubts.push(format!(
                "{} of {} megablocks changed each time they were looked at ({} times).",
                self.survey.unsettled,
                self.survey.megablocks.len(),
                self.survey.looks
            ));
        }
        if self.held.is_some_and(|held| held.cut) {
            doubts.push(
                "The process was let go before everything was read: give --max-stop more, or read it without --stop."
                    .into(),
            );
        }
        if self.moved > 0 {
            doubts.push(format!(
                "The oldest generation was collected {} while its objects were read: what is said of objects mixes before and \
                 after.",
                counted(self.moved, "time", "times")
            ));
        }
        if self.survey.contradictions() > 0 {
            doubts.push(format!(
                "{} block descriptors contradict others and are counted as the runtime's own.",
                self.survey.contradictions()
            ));
        }
        doubts
    }

    fn is_sure(&self) -> bool {
        self.survey.unsettled == 0
            && self.survey.collections().unwrap_or(0) == 0
            && self.moved == 0
            && self.held.is_none_or(|held| !held.cut)
    }
}

/// Does it.
///
/// # Errors
/// The process cannot be read, or the output not be written.
pub fn run(args: &HeapArgs) -> Result<ExitCode, Trouble> {
    let shown = look(&Host::default(), args)?;
    let style = Style::of_stdout();
    let text = match () {
        () if args.json => json::document(&shown),
        () if args.map => map::text(&shown.survey, &style),
        () => text::text(&shown, &style),
    };
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(|error| Trouble::new("cannot write").because(error))?;
    Ok(ExitCode::from(if shown.is_sure() { 0 } else { 3 }))
}

fn look(host: &Host, args: &HeapArgs) -> Result<Shown, Trouble> {
    let target = match (args.pid, &args.core) {
        (Some(pid), _) => Target::find(host, pid),
        (None, core) => Target::in_core(core.as_deref().unwrap_or(Path::new("core")), args.program.as_deref()),
    };
    let target = target.map_err(|refusal| trouble(&refusal))?;
    let gone = |source| trouble(&Refusal::Io { of: target.of.clone(), source });
    let stopped = args.pid.filter(|_| args.stop);
    let begin = |pid| Stop::begin(host, pid, args.max_stop).map_err(|source| not_stopped(pid, source));
    let stop = stopped.map(begin).transpose()?;
    let started = Instant::now();
    let still = stop.is_some() || args.core.is_some();
    let survey = Survey::take(&target.memory, &target.space, &target.statics, still).map_err(gone)?;
    let took = started.elapsed();
    let (scan, moved) = scan(&target, &survey).map_err(gone)?;
    let held = stop.map(Stop::end);
    let residency = target.residency(host).map_err(gone)?;
    let mut lines = ledger::lines(&survey, &residency);
    let rss_bytes = target.rss_bytes();
    if rss_bytes.is_some() {
        lines.extend(outside(&target));
    }
    let addresses = scan.census.iter().map(|entry| entry.info_address);
    let names = target.names(&addresses.collect());
    let (of, version) = (target.of, target.version);
    Ok(Shown { of, version, survey, ledger: lines, scan, moved, names, rss_bytes, took, held })
}

/// Scans what collections move beside the program: again where one came meanwhile.
fn scan(target: &Target, survey: &Survey) -> io::Result<(Scan, u64)> {
    let oldest = |runtime: &Runtime| runtime.generations.last().map_or(0, |oldest| u64::from(oldest.collections));
    let mut survey = survey.clone();
    let mut tries = 0;
    loop {
        tries += 1;
        let before = oldest(&survey.before);
        let scan = Scan::of(&target.memory, &survey, target.code())?;
        let moved = oldest(&Runtime::read(&target.memory, &target.statics)?).saturating_sub(before);
        if moved == 0 || tries == SCANS_MAX {
            return Ok((scan, moved));
        }
        survey = Survey::take(&target.memory, &target.space, &target.statics, false)?;
    }
}

/// The ledger's lines that are not the heap.
fn outside(target: &Target) -> Vec<Line> {
    let sum = |wanted: &dyn Fn(&Mapping) -> bool| {
        target.outside().filter(|mapping| wanted(mapping)).filter_map(|mapping| mapping.rss_bytes).sum::<u64>()
    };
    let file = |mapping: &Mapping| mapping.name.starts_with('/');
    let stack = |mapping: &Mapping| mapping.name.starts_with("[stack");
    let how = "smaps";
    let line = |line: &str, bytes| Line { line: line.into(), bytes, how };
    vec![
        line("program, libraries and other mapped files", sum(&file)),
        line("stack of the first thread", sum(&stack)),
        line(
            "outside the heap: malloc, other stacks, the runtime's own",
            sum(&|mapping| !file(mapping) && !stack(mapping)),
        ),
    ]
}

fn not_stopped(pid: u32, source: io::Error) -> Trouble {
    match source.kind() {
        io::ErrorKind::PermissionDenied => Trouble::new(format!("process {pid} may not be stopped"))
            .because("it is another user's, or somebody traces it already"),
        _ => Trouble::new(format!("process {pid} cannot be stopped")).because(source),
    }
    .next(format!("`rtscope heap {pid}` reads it without stopping it"))
}

fn trouble(refusal: &Refusal) -> Trouble {
    let trouble = Trouble::new(refusal.to_string());
    match refusal {
        Refusal::Gone(_) => trouble.next("`pgrep -a NAME` shows what runs"),
        Refusal::NotPermitted(pid) => trouble.next(format!(
            "run `sudo rtscope heap {pid}`, or as the program's own user with `sysctl kernel.yama.ptrace_scope=0`"
        )),
        Refusal::NotGhc { .. } => trouble.next("give the process id of a program that GHC built"),
        Refusal::UnknownVersion { .. } => trouble.next("use an rtscope that is newer than the compiler"),
        Refusal::Profiled(_) => trouble.next("use the profiler's own heap profile: +RTS -hT"),
        Refusal::NoHeap(_) => trouble
            .because("it has not started yet, or its runtime was built or started without the large address space")
            .next("try again when it runs"),
        Refusal::Io { .. } => trouble.next("look whether the process still runs"),
    }
}

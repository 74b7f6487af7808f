//! One snapshot of the heap of a process or a core file, from its blocks to the document. Owns
//! the order of reads, that they are repeated if a collection happened in between, and
//! how long the process is stopped, if it is. Refuses to interpret a block.

use super::found::{HeapTarget, Refusal, refusal};
use crate::privileges::opener::{self, StopOutcome};
use crate::privileges::server;
use crate::sandbox::{self, Died, Done, Limits};
use crate::system::clock;
use crate::system::procfs::Host;
use crate::target::Process;
use crate::target::mappings::Mapping;
use rtscope_heap::document::Read;
use rtscope_heap::ledger::Residency;
use rtscope_heap::{Runtime, Scan, Survey};
use rtscope_model::heap::{Heap, HeapLine, Part};
use serde::{Deserialize, Serialize};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

/// Attempts to read objects without a collection in between.
const TRIES_MAX: u32 = 4;
/// Longest wait for a running collection of the old generation to end, and how often to
/// check for that.
const COLLECTION_MAX: Duration = Duration::from_secs(2);
const COLLECTION_EVERY: Duration = Duration::from_millis(10);

/// What to read.
#[derive(Copy, Clone, Debug)]
pub struct Ask {
    /// Stop the process while its blocks are read, and while its objects are read if there is
    /// time for that; for at most this long.
    pub stop: Option<Duration>,
    /// Also read the objects: what is live, and what holds it. The value is the number of threads; `None`: skip.
    pub objects: Option<usize>,
}

/// Why there is no document.
#[derive(Debug, thiserror::Error, Serialize, Deserialize)]
pub enum Failed {
    /// The heap cannot be read.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The process cannot be stopped.
    #[error("process {0} cannot be stopped: {1}")]
    NotStopped(
        u32,
        #[source]
        #[serde(with = "sandbox::error")]
        io::Error,
    ),
}

/// Least time and memory for a snapshot, and what a heap adds in proportion to its bytes.
const LOOK_MIN: Duration = Duration::from_millis(2500);
const LOOK_BYTES_PER_S: u64 = 16 << 20;
const LOOK_MEMORY_MIN: u64 = 192 << 20;
const LOOK_MEMORY_SHARE: u64 = 4;

/// The heap of process `pid` now, and the CPU time that the snapshot took in nanoseconds. It is
/// read in a sandbox: a hostile program controls what is in its memory.
pub fn take(host: &Host, pid: u32, ask: &Ask) -> Result<(Heap, u64), Failed> {
    let process = Process::open(host, pid).map_err(|source| refusal(pid, source))?;
    let statm = process.text("statm").unwrap_or_default();
    let pages = statm.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0);
    let limits = limits(pages.saturating_mul(rustix::param::page_size() as u64), ask.stop);
    let done = server::in_sandbox(&limits, Some(&process), || take_here(&process, ask));
    // An exiting process has no memory any more, and the kernel refuses every access to it: then that is the reason.
    let is_exiting = || host.stat(pid).is_none_or(|stat| stat.exiting);
    let gone = |failed| if is_exiting() { Refusal::Gone(pid).into() } else { failed };
    sent(done, || format!("process {pid}")).map_err(gone)
}

/// Reads the heap in a core file; see [`HeapTarget::in_core`].
pub fn of_core(path: &Path, executable: Option<&Path>, objects: Option<usize>) -> Result<Heap, Failed> {
    let bytes = std::fs::metadata(path).map_or(0, |file| file.len());
    let done = server::in_sandbox(&limits(bytes, None), None, || {
        let mut target = HeapTarget::in_core(path, executable)?;
        let looked = Looked::at(&mut target, objects, &mut Hold::Core).map_err(|source| target.failed(source))?;
        Ok(looked.document(&target, &Hold::Core))
    });
    sent(done, || path.display().to_string()).map(|(heap, _)| heap)
}

fn limits(bytes: u64, stop: Option<Duration>) -> Limits {
    let deadline = LOOK_MIN + Duration::from_secs(bytes / LOOK_BYTES_PER_S) + stop.unwrap_or_default();
    let memory_bytes = LOOK_MEMORY_MIN.saturating_add(bytes / LOOK_MEMORY_SHARE);
    Limits { memory_bytes, cpu_seconds: deadline.as_secs() + 1, deadline }
}

/// Unpacks the result of the sandbox.
fn sent(done: Result<Done<Result<Heap, Failed>>, Died>, of: impl FnOnce() -> String) -> Result<(Heap, u64), Failed> {
    match done {
        Ok(Done { value, cpu_ns }) => value.map(|heap| (heap, cpu_ns)),
        Err(died) => Err(Refusal::Io(of(), io::Error::other(died)).into()),
    }
}

fn take_here(process: &Process, ask: &Ask) -> Result<Heap, Failed> {
    let mut target = HeapTarget::find(process)?;
    target.bound().map_err(|source| target.failed(source))?;
    let begin = |most| {
        let held = Hold::begin(process, most);
        held.map_err(|source| Failed::NotStopped(process.pid(), source))
    };
    let mut tries = 0;
    loop {
        tries += 1;
        let mut hold = ask.stop.map(begin).transpose()?.unwrap_or(Hold::Runs);
        let looked = Looked::at(&mut target, ask.objects, &mut hold);
        hold.end();
        let looked = looked.map_err(|source| target.failed(source))?;
        // It was stopped during a collection: that has to end first.
        if ask.stop.is_none() || tries == TRIES_MAX || !looked.survey.is_off() {
            return Ok(looked.document(&target, &hold));
        }
        std::thread::sleep(COLLECTION_EVERY + Duration::from_nanos(looked.survey.used_bytes() / 20));
    }
}

/// Whether what is read stands still.
enum Hold<'a> {
    Core,
    Runs,
    /// It is stopped, until then at most.
    Stopped(&'a Process, Instant),
    Ended(StopOutcome),
}

impl Hold<'_> {
    /// The recorder stops it: the reader may not.
    fn begin(process: &Process, most: Duration) -> io::Result<Hold<'_>> {
        let until = Instant::now() + most;
        let opener = process.opener().ok_or(io::ErrorKind::PermissionDenied)?;
        opener.get::<()>(process.identity(), opener::Ask::Stop(most))?;
        Ok(Hold::Stopped(process, until))
    }

    fn is_still(&self) -> bool {
        match self {
            Hold::Core => true,
            Hold::Runs | Hold::Ended(_) => false,
            Hold::Stopped(_, until) => Instant::now() < *until,
        }
    }

    /// Resumes the process if there is no time to read this many bytes of objects: reading only some
    /// of them while it stood still would be worth nothing.
    fn go_on_for(&mut self, bytes: u64) {
        if let Hold::Stopped(_, until) = self
            && until.saturating_duration_since(Instant::now()) < Duration::from_nanos(bytes)
        {
            self.end();
        }
    }

    fn end(&mut self) {
        let Hold::Stopped(process, _) = self else { return };
        let held = process.opener().map(|opener| opener.get(process.identity(), opener::Ask::LetGo));
        *self = match held {
            Some(Ok(held)) => Hold::Ended(held),
            _ => Hold::Runs,
        };
    }
}

struct Looked {
    survey: Survey,
    residency: Residency,
    scan: Option<(Scan, Option<u64>)>,
    /// Whether the process stood still, if it was stopped: while blocks were read, and while objects were.
    still: (bool, bool),
    read: Duration,
    scanned: Duration,
}

impl Looked {
    /// Reads blocks, then objects: both again if a collection of the oldest generation happened meanwhile.
    fn at(target: &mut HeapTarget, objects: Option<usize>, hold: &mut Hold<'_>) -> io::Result<Looked> {
        let mut tries = 0;
        loop {
            tries += 1;
            // The mappings take a while to read, and a growing heap gets more megablocks meanwhile.
            target.look_again()?;
            let (survey, read) = blocks(target, hold)?;
            // Residency belongs to the blocks as they are now, not when objects are read.
            let (residency, resident_bytes) = target.residency()?;
            let mut looked = Looked {
                survey,
                residency,
                scan: None,
                still: (hold.is_still(), false),
                read,
                scanned: Duration::ZERO,
            };
            hold.go_on_for(if objects.is_some() { looked.survey.used_bytes() } else { u64::MAX });
            target.measure(resident_bytes)?;
            let now = Runtime::read(&target.memory, &target.statics)?;
            if !looked.still.0 && tries < TRIES_MAX && !now.is_as_whole_as(&looked.survey.after) {
                continue;
            }
            let Some(threads) = objects.filter(|_| !looked.still.0 || !looked.survey.is_off()) else {
                return Ok(looked);
            };
            let started = Instant::now();
            let scan = Scan::of(&target.view(), &looked.survey, &target.statics, &target.scan_input(threads)?);
            looked.scanned = started.elapsed();
            looked.still.1 = hold.is_still();
            target.is_there()?;
            let after = Runtime::read(&target.memory, &target.statics)?.collections_of_oldest();
            let before = looked.survey.before.collections_of_oldest();
            let moved = before.zip(after).map(|(before, after)| after.saturating_sub(before));
            looked.scan = Some((scan, moved));
            if looked.still.1 || moved.is_none_or(|moved| moved == 0) || tries == TRIES_MAX {
                return Ok(looked);
            }
        }
    }

    fn document(self, target: &HeapTarget, hold: &Hold<'_>) -> Heap {
        let scan = self.scan.iter().map(|(scan, _)| scan);
        let entries = scan.clone().flat_map(|scan| scan.census.iter().map(|entry| entry.info_address));
        let holders = scan.flat_map(|scan| scan.pinned.holders.iter().map(|holder| holder.info_address));
        let names = target.names(&entries.chain(holders).collect());
        let rss_bytes = target.rss_bytes();
        let outside = if rss_bytes.is_some() { outside(target) } else { Vec::new() };
        let scan = self.scan.as_ref().map(|(scan, moved)| (scan, *moved));
        let (survey, residency, names) = (&self.survey, &self.residency, &names);
        let heap = Read { survey, residency, scan, names, outside, rss_bytes }.document();
        let stopped = if let Hold::Ended(held) = hold { held.stopped } else { Duration::ZERO };
        let mut heap = Heap {
            of: target.of.clone(),
            compiler: target.version.map(|(major, minor, patch)| format!("{major}.{minor}.{patch}")),
            time: target.is_live().then(clock::monotonic),
            stop_ns: clock::ns_of(stopped),
            read_ns: clock::ns_of(self.read),
            scan_ns: clock::ns_of(self.scanned),
            ..heap
        };
        if let Some(scan) = &mut heap.scan {
            scan.during_stop = self.still.1 && target.is_live();
        }
        if matches!(hold, Hold::Ended(_)) && !self.still.0 {
            heap.doubts.push("The process was let go before all blocks were read: give it more time.".into());
        }
        heap.doubts.extend(target.missing());
        heap
    }
}

/// The blocks, and how long reading them took. During a collection of the old generation their
/// contents are uncertain: they are read again until it is over and they add up, unless they
/// stand still.
fn blocks(target: &mut HeapTarget, hold: &Hold<'_>) -> io::Result<(Survey, Duration)> {
    let first = Instant::now();
    loop {
        let started = Instant::now();
        let survey = Survey::take(&target.view(), &target.space, &target.statics, hold.is_still())?;
        let read = started.elapsed();
        if hold.is_still() || !survey.is_off() || first.elapsed() >= COLLECTION_MAX {
            return Ok((survey, read));
        }
        std::thread::sleep(COLLECTION_EVERY);
        target.look_again()?;
    }
}

/// The ledger's lines for memory outside the heap.
fn outside(target: &HeapTarget) -> Vec<HeapLine> {
    let sum = |wanted: &dyn Fn(&Mapping) -> bool| {
        target.outside().filter(|mapping| wanted(mapping)).filter_map(|mapping| mapping.rss_bytes).sum::<u64>()
    };
    let file = |mapping: &Mapping| mapping.name.starts_with('/');
    let stack = |mapping: &Mapping| mapping.name.starts_with("[stack");
    let line = |part, line: &str, bytes| HeapLine { line: line.into(), part, bytes, how: "smaps".into() };
    vec![
        line(Part::MappedFiles, "program, libraries and other mapped files", sum(&file)),
        line(Part::NotHeap, "stack of the first thread", sum(&stack)),
        line(
            Part::NotHeap,
            "outside the heap: malloc, other stacks, the runtime's own",
            sum(&|mapping| !file(mapping) && !stack(mapping)),
        ),
    ]
}

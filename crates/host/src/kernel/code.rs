//! Where the program's code is: a timer on the CPU time of its threads, and the
//! kernel's call chain where a thread goes to sleep, as perf records.
//!
//! Owns what is opened, the rings and the streams `code/cpuN.perf.zst` (records as the rings held
//! them, with callers in place of copies of stacks; for a process that is already running, its
//! mappings come first as if they had just been made). Refuses to decode them: that is
//! `rtscope_decode::code`. Nothing here can make a recording fail; what is unavailable is reported
//! in [`rtscope_model::manifest::Code::missing`], or is the reason why there are no samples at all.

use super::callers::{Callers, SharedFiles};
use super::drain::Reading;
use super::perf::{self, PerfEvent};
use super::streams::{StreamKind, Streams};
use super::tiers::{self, CpuRing};
use super::{KernelTarget, mapped, tracefs, words};
use crate::capture::folder::Folder;
use rtscope_model::manifest::{Code, CodeEvent, CodeSource, Tier};
use std::ffi::CStr;
use std::io;
use std::path::Path;

/// Ring size with privilege: room for half a second of the busiest waits that were measured.
const RING_BYTES_WIDE: usize = 1 << 20;
/// Ring size without: what the scheduling rings leave of the kernel's default allowance.
const RING_BYTES_OWN: usize = 64 << 10;

/// Bytes of the stack's top copied with each sample. Frames of a runtime's C code are some hundred bytes; those of
/// its markers hold a buffer of 2 KiB and more. Small rings have room for fewer.
const STACK_BYTES_WIDE: u32 = 4096;
const STACK_BYTES_OWN: u32 = 1024;

/// Filter for `sched_switch` events in which the thread goes to sleep: not preempted (256),
/// not running (0). Two events, since a filter cannot be changed and one of them is
/// given up when there are too many.
const UNINTERRUPTIBLE: &CStr = c"prev_state & 2";
const INTERRUPTIBLE: &CStr = c"prev_state & 253";

/// A recording of where the code is. Ends when dropped.
#[derive(Debug)]
pub struct CodeRecorder {
    code: Code,
    pub streams: Streams,
}

const STREAMS: StreamKind = StreamKind { folder: "code", source: "code", thread: "rtscope-code" };

impl CodeRecorder {
    /// Starts sampling into the capture's `code/`, with as much of the kernel as is permitted, one sample every
    /// `period_ns` of a thread's CPU time. The error is a sentence with the command that fixes it. `files` are the
    /// program's files that are held open.
    pub fn start(
        folder: &Folder,
        target: KernelTarget,
        period_ns: u64,
        files: SharedFiles,
    ) -> Result<CodeRecorder, String> {
        let root = Path::new("/");
        let opened = open(root, target, period_ns).map_err(|error| refused(&error))?;
        let code = opened.describe(period_ns);
        let callers = opened.has_stacks().then(|| Callers::new(files));
        let streams = begin(root, opened, folder, target, callers).map_err(|error| {
            format!("where the program's code was is not recorded ({error}); record to another folder")
        })?;
        Ok(CodeRecorder { code, streams })
    }

    /// The manifest's part, with the counters so far.
    pub fn status(&self) -> Code {
        let missing = [self.code.missing.clone(), self.streams.missing()].concat();
        Code { lost: self.streams.lost(), missing, ..self.code.clone() }
    }

    /// Takes what is left in the rings and syncs the files.
    pub fn stop(&mut self) {
        if !self.streams.stop() {
            self.code.missing.push("The thread that writes samples of code ended early or was held up.".to_owned());
        }
    }
}

fn begin(
    root: &Path,
    opened: Opened,
    folder: &Folder,
    target: KernelTarget,
    mut callers: Option<Callers>,
) -> io::Result<Streams> {
    let before = crate::system::clock::monotonic();
    let cpu = opened.rings.first().map(|ring| ring.cpu);
    let records = match (target, cpu) {
        (KernelTarget::Attached(pid), Some(cpu)) => mapped::records(root, pid, before, cpu),
        _ => Vec::new(),
    };
    if let Some(callers) = &mut callers {
        callers.learn(&records);
    }
    let reading = callers.map_or(Reading::Plain, Reading::Callers);
    Streams::start(STREAMS, opened.rings, folder, reading, |lanes| match lanes.first_mut() {
        Some(first) if !records.is_empty() => first.append(&records),
        _ => Ok(()),
    })
}

struct Opened {
    rings: Vec<CpuRing>,
    sample_type: u64,
    kernel: bool,
    missing: Vec<String>,
}

impl Opened {
    /// Whether samples come with a copy of the stack.
    fn has_stacks(&self) -> bool {
        let whats = self.rings.iter().flat_map(|ring| &ring.whats);
        whats.into_iter().any(|what| matches!(what, PerfEvent::Clock { stack_bytes: 1.., .. }))
    }

    fn describe(&self, period_ns: u64) -> Code {
        let ids = |what: CodeSource| {
            let events = self.rings.iter().flat_map(|ring| ring.events.iter().zip(&ring.whats));
            let of_it = events.filter(|(_, of)| matches!(of, PerfEvent::Asleep { .. }) == (what == CodeSource::Waits));
            // An event that has already ended has no records either.
            CodeEvent { ids: of_it.filter_map(|(event, _)| event.id().ok()).collect(), what }
        };
        let events = [CodeSource::Timer, CodeSource::Waits].map(ids);
        Code {
            period_ns,
            streams: self.rings.iter().map(|ring| STREAMS.path(ring.cpu)).collect(),
            sample_type: self.sample_type,
            events: events.into_iter().filter(|event| !event.ids.is_empty()).collect(),
            kernel: self.kernel,
            symbols: None,
            lost: 0,
            missing: self.missing.clone(),
        }
    }
}

/// Like [`open_with`], with copies of the stack if available.
fn open(root: &Path, target: KernelTarget, period_ns: u64) -> io::Result<Opened> {
    if perf::DUMPED_REGISTERS.is_empty() {
        let mut opened = open_with(root, target, period_ns, false)?;
        opened.missing.push("Callers are not found on this architecture.".to_owned());
        return Ok(opened);
    }
    open_with(root, target, period_ns, true).or_else(|error| {
        let mut opened = open_with(root, target, period_ns, false)?;
        let why = words::errno(&error);
        opened.missing.push(format!("Callers are not found: the kernel gives no copies of stacks ({why})."));
        Ok(opened)
    })
}

/// Opens timer and waits, else the timer with the kernel's code, else the timer alone.
fn open_with(root: &Path, target: KernelTarget, period_ns: u64, stacks: bool) -> io::Result<Opened> {
    let cpus = tiers::online_cpus(root)?;
    let mut missing = Vec::new();
    let waits = tracefs::describe(root, &["sched_switch"]);
    let waits = waits.map(|found| found.first().map(|point| point.id));
    let timer =
        |kernel, stack_bytes| PerfEvent::Clock { period_ns, kernel, stack_bytes: if stacks { stack_bytes } else { 0 } };
    match waits {
        Ok(Some(tracepoint)) => {
            let [deep, light] = [false, true].map(|interruptible| PerfEvent::Asleep { tracepoint, interruptible });
            match open_rings(root, &cpus, target, &[timer(true, STACK_BYTES_WIDE), deep, light]) {
                Ok(opened) => return Ok(Opened { kernel: true, ..opened }),
                Err(error) => missing.push(no_waits(&error)),
            }
        }
        Ok(None) => missing.push("Waits are not named: this kernel has no tracepoint sched_switch.".to_owned()),
        Err(error) => missing.push(no_waits(&error)),
    }
    let opened = match open_rings(root, &cpus, target, &[timer(true, STACK_BYTES_OWN)]) {
        Ok(opened) => Opened { kernel: true, ..opened },
        Err(error) => {
            missing.push(format!(
                "The kernel's own code is not seen ({}). To change that: {}.",
                words::errno(&error),
                words::remedy(Tier::CpuWideSwitches, &error)
            ));
            open_rings(root, &cpus, target, &[timer(false, STACK_BYTES_OWN)])?
        }
    };
    missing.extend(opened.missing);
    Ok(Opened { missing, ..opened })
}

fn open_rings(root: &Path, cpus: &[u16], target: KernelTarget, whats: &[PerfEvent]) -> io::Result<Opened> {
    let registers = perf::INSTRUCTION_POINTER.map_or(0, |_| perf::SAMPLE_REGS_USER);
    let sample_type = perf::SAMPLE_IDENTIFIER
        | perf::SAMPLE_IP
        | perf::SAMPLE_TID
        | perf::SAMPLE_TIME
        | perf::SAMPLE_CPU
        | perf::SAMPLE_CALLCHAIN
        | registers;
    let size = match whats {
        [_] => RING_BYTES_OWN,
        _ => RING_BYTES_WIDE.min(tiers::share(cpus.len())),
    };
    let (rings, missing) = tiers::open_threads(root, cpus, target, whats, sample_type, size)?;
    for (event, what) in rings.iter().flat_map(|ring| ring.events.iter().zip(&ring.whats)) {
        if let PerfEvent::Asleep { interruptible, .. } = what {
            event.filter(if *interruptible { INTERRUPTIBLE } else { UNINTERRUPTIBLE })?;
        }
    }
    Ok(Opened { rings, sample_type, kernel: false, missing })
}

/// Tries sampling on one CPU without recording: whether the kernel's code would
/// be visible too, and what else would be missing.
pub fn probe(root: &Path) -> io::Result<(bool, Vec<String>)> {
    let own = KernelTarget::Spawned(rtscope_model::Pid(std::process::id()));
    open(root, own, 10_000_000).map(|opened| (opened.kernel, opened.missing))
}

fn no_waits(error: &io::Error) -> String {
    let remedy = words::remedy(Tier::Tracepoints, error);
    format!("Waits are not named ({}). To change that: {remedy}.", words::errno(error))
}

fn refused(error: &io::Error) -> String {
    format!(
        "where the program's code was is not recorded ({}); to change that: {}",
        words::errno(error),
        words::remedy(Tier::OwnSwitches, error)
    )
}

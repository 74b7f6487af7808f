//! Where the program's code is: a timer on the CPU time of its threads, and the
//! kernel's call chain where a thread goes to sleep, as perf records.
//!
//! Owns what is opened, the rings and the streams `code/cpuN.perf` (records exactly
//! as the rings held them; for a process that runs already, its mappings stand at
//! the start as if they had just been made). Refuses to decode them: that is
//! `rtscope_decode::code`. Nothing here can make a recording fail; what cannot be
//! had is said in [`rtscope_model::manifest::Code::missing`], or is the reason why
//! there are no samples at all.

use super::perf::{self, What};
use super::streams::{Kind, Streams};
use super::tiers::{self, CpuRing};
use super::{Target, mapped, tracefs, words};
use crate::capture::folder::Folder;
use rtscope_model::manifest::{Code, CodeEvent, CodeSource, Tier};
use std::ffi::CStr;
use std::io;
use std::path::Path;

/// With privilege: room for half a second of the busiest waits that were measured.
const RING_BYTES_WIDE: usize = 1 << 20;
/// Without: what the scheduling's rings leave of the kernel's default allowance.
const RING_BYTES_OWN: usize = 64 << 10;

/// Hits of `sched_switch` in which the thread goes to sleep: not preempted (256),
/// not running (0). Two events, since a filter cannot be changed and one of them is
/// given up where there are too many.
const UNINTERRUPTIBLE: &CStr = c"prev_state & 2";
const INTERRUPTIBLE: &CStr = c"prev_state & 253";

/// A recording of where the code is. Ends with the value.
#[derive(Debug)]
pub struct CodeRecorder {
    code: Code,
    /// The streams and their counters.
    pub streams: Streams,
}

const STREAMS: Kind = Kind { folder: "code", source: "code", thread: "rtscope-code" };

impl CodeRecorder {
    /// Starts sampling into the capture's `code/`, with as much of the kernel as is
    /// permitted, a sample for so many nanoseconds of a thread's CPU time. The error is a sentence with the command that
    /// mends it.
    pub fn start(folder: &Folder, target: Target, period_ns: u64) -> Result<CodeRecorder, String> {
        let root = Path::new("/");
        let opened = open(root, target, period_ns).map_err(|error| refused(&error))?;
        let code = opened.describe(period_ns);
        let streams = begin(root, opened, folder, target).map_err(|error| {
            format!("where the program's code was is not recorded ({error}); record to another folder")
        })?;
        Ok(CodeRecorder { code, streams })
    }

    /// The manifest's part, with the counters so far.
    pub fn status(&self) -> Code {
        Code { lost: self.streams.lost(), ..self.code.clone() }
    }

    /// Takes what is left in the rings and syncs the files.
    pub fn stop(&mut self) {
        if !self.streams.stop() {
            self.code.missing.push("The thread that writes samples of code ended early or was held up.".to_owned());
        }
    }
}

fn begin(root: &Path, opened: Opened, folder: &Folder, target: Target) -> io::Result<Streams> {
    let before = crate::system::clock::monotonic();
    Streams::start(STREAMS, opened.rings, folder, |lanes| {
        let (Target::Attached(pid), Some(first)) = (target, lanes.first_mut()) else { return Ok(()) };
        let records = mapped::records(root, pid, before, first.ring.cpu);
        first.append(&records)
    })
}

/// Open events.
struct Opened {
    rings: Vec<CpuRing>,
    sample_type: u64,
    kernel: bool,
    missing: Vec<String>,
}

impl Opened {
    fn describe(&self, period_ns: u64) -> Code {
        let ids = |what: CodeSource| {
            let events = self.rings.iter().flat_map(|ring| ring.events.iter().zip(&ring.whats));
            let of_it = events.filter(|(_, of)| matches!(of, What::Asleep { .. }) == (what == CodeSource::Waits));
            // An event that has ended already has no records either.
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

/// Opens timer and waits, else the timer with the kernel's code, else the timer.
fn open(root: &Path, target: Target, period_ns: u64) -> io::Result<Opened> {
    let cpus = tiers::online_cpus(root)?;
    let mut missing = Vec::new();
    let waits = tracefs::describe(root, &["sched_switch"]);
    let waits = waits.map(|found| found.first().map(|point| point.id));
    let timer = |kernel| What::Clock { period_ns, kernel };
    match waits {
        Ok(Some(tracepoint)) => {
            let [deep, light] = [false, true].map(|interruptible| What::Asleep { tracepoint, interruptible });
            match open_rings(root, &cpus, target, &[timer(true), deep, light]) {
                Ok(opened) => return Ok(Opened { kernel: true, ..opened }),
                Err(error) => missing.push(no_waits(&error)),
            }
        }
        Ok(None) => missing.push("Waits are not named: this kernel has no tracepoint sched_switch.".to_owned()),
        Err(error) => missing.push(no_waits(&error)),
    }
    let opened = match open_rings(root, &cpus, target, &[timer(true)]) {
        Ok(opened) => Opened { kernel: true, ..opened },
        Err(error) => {
            missing.push(format!(
                "The kernel's own code is not seen ({}). To change that: {}.",
                words::errno(&error),
                words::remedy(Tier::CpuWideSwitches, &error)
            ));
            open_rings(root, &cpus, target, &[timer(false)])?
        }
    };
    missing.extend(opened.missing);
    Ok(Opened { missing, ..opened })
}

fn open_rings(root: &Path, cpus: &[u16], target: Target, whats: &[What]) -> io::Result<Opened> {
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
        if let What::Asleep { interruptible, .. } = what {
            event.filter(if *interruptible { INTERRUPTIBLE } else { UNINTERRUPTIBLE })?;
        }
    }
    Ok(Opened { rings, sample_type, kernel: false, missing })
}

/// Tries it on one CPU without recording anything: whether the kernel's code would
/// be seen too, and what else would be missing.
pub fn probe(root: &Path) -> io::Result<(bool, Vec<String>)> {
    let own = Target::Spawned(rtscope_model::Pid(std::process::id()));
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

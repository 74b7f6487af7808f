//! A capture while its recorder writes it: each of its streams is read on from where it ended
//! when the look began, or from its start where that was just before. Owns how far each was
//! read, and waiting for a log that its program has not begun yet.

use super::capture::is_written;
use super::source::{CLASSES, Common, Log, Looked, MOST, OcamlLog, RING_HEAD, Sched, Source, samples};
use super::transactions::Transactions;
use crate::pipeline;
use crate::runtime_log;
use crate::trouble::Trouble;
use rtscope_analyze::Context;
use rtscope_decode::capture::Capture;
use rtscope_decode::ghc_eventlog::Growing;
use rtscope_decode::ocaml_ring::Version;
use rtscope_decode::ocaml_ring::captured::{kind, whole_frames};
use rtscope_decode::whole_perf_records;
use rtscope_decode::{ReadAt, Written};
use rtscope_host::procfs::Host;
use rtscope_host::{clock, own_cost};
use rtscope_model::{Event, LossKind, Time};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Between two looks, nanoseconds.
const LOOK_NS: u64 = 500_000_000;
/// A recorder has written everything that is older: it copies buffers each second and empties
/// the kernel's rings twice a second.
const LAG_NS: u64 = 3_000_000_000;
/// Between two looks at the manifest, which is written as often.
const MANIFEST_NS: u64 = 2_000_000_000;
/// How long a recording that has just begun is waited for to have a log.
const LOG_WAIT: Duration = Duration::from_secs(3);
/// A recording that began so short a time ago is read from its start.
const YOUNG_NS: u64 = 10_000_000_000;
const LOG_STEP: Duration = Duration::from_millis(100);

/// A file that is appended to.
struct Tail {
    file: Written,
    at: u64,
    /// More came than is read here.
    left_out: bool,
}

impl Tail {
    /// From its start or from its end on.
    fn open(capture: &Capture, name: &str, from_start: bool) -> Option<Tail> {
        let file = capture.folder().written(name).ok()?;
        let at = if from_start { 0 } else { file.size().ok()? };
        Some(Tail { file, at, left_out: false })
    }

    /// What is new; of what is there `whole` says how much can be taken.
    fn read(&mut self, whole: impl Fn(&[u8]) -> usize) -> Vec<u8> {
        let size = self.file.size().unwrap_or(self.at);
        let count = size.saturating_sub(self.at);
        if count > MOST as u64 {
            (self.at, self.left_out) = (size, true);
            return Vec::new();
        }
        let mut bytes = vec![0; count as usize];
        let got = self.file.read_at(&mut bytes, self.at).unwrap_or(0);
        bytes.truncate(got);
        bytes.truncate(whole(&bytes));
        self.at += bytes.len() as u64;
        bytes
    }
}

/// Up to the end of the last whole line.
fn whole_lines(bytes: &[u8]) -> usize {
    bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1)
}

/// The bytes of a log.
enum Bytes {
    None,
    Ghc { file: Arc<Written>, pid: u32 },
    Ocaml { file: Arc<Written>, at: u64, head: Vec<u8> },
}

/// See the module.
pub(super) struct Recording {
    path: PathBuf,
    capture: Capture,
    manifest_read: Time,
    bytes: Bytes,
    common: Common,
    /// Why there is no log so far.
    awaited: Option<String>,
    /// A log was found, or has said what wrote it, and nobody has asked yet.
    renewed: bool,
    /// The log has said what wrote it.
    told: bool,
    cpus: Vec<Option<Tail>>,
    samples: Option<Tail>,
    transactions: Option<Tail>,
    over: Option<String>,
}

impl Recording {
    /// The capture at `path`, from now on; one that has just begun, from its start.
    pub(super) fn open(path: &Path, now: Time) -> Result<Recording, Trouble> {
        let (capture, log) = with_log(path, now)?;
        let young = is_young(&capture, now);
        let mut notes = capture.manifest().kernel.missing.clone();
        let threads = pipeline::threads(&capture);
        let kernel = &capture.manifest().kernel;
        let (sched, failed) = Sched::open(kernel, &pipeline::formats(&capture), threads.as_deref());
        notes.extend(failed);
        let cpus = kernel.streams.iter().map(|name| Tail::open(&capture, name, young)).collect();
        let samples = Tail::open(&capture, "samples.jsonl", young);
        let (found, awaited) = match log {
            Ok(found) => (found, None),
            Err(why) => ((Bytes::None, Log::None), Some(why)),
        };
        let begun = capture.manifest().started;
        let started = if young && begun != Time(0) { begun } else { now };
        Ok(Recording {
            path: path.to_owned(),
            manifest_read: now,
            bytes: found.0,
            common: Common {
                log: found.1,
                sched,
                notes,
                transactions: Transactions::new(Some(begun).filter(|begun| *begun != Time(0))),
                losses: Vec::new(),
                started,
                looked: now,
            },
            awaited,
            renewed: false,
            told: false,
            cpus,
            samples,
            // From its start also of a recording that is not: counts are cumulative, and the file is small.
            transactions: None,
            capture,
            over: None,
        })
    }

    /// Looks again for a log that was not there, or had nothing in it.
    fn find_log(&mut self) {
        if self.awaited.is_some() {
            match open_log(&self.capture, true) {
                Ok(found) => {
                    (self.bytes, self.common.log) = found;
                    (self.awaited, self.renewed) = (None, true);
                }
                Err(why) => self.awaited = Some(why),
            }
        }
    }

    fn look_at_log(&mut self, now: Time, into: &mut Vec<Event>) {
        let mut copies = Vec::new();
        if let Bytes::Ghc { file, pid } = &self.bytes {
            // In this order: a copy whose block is written out meanwhile is not made again.
            copies = self.capture.unflushed_files(*pid);
            let _ = self.common.read_file(file.as_ref(), now);
        }
        match (&mut self.bytes, &mut self.common.log) {
            (Bytes::Ghc { .. }, Log::Ghc { growing, clock }) => {
                for (cap, name) in copies {
                    // One that is gone is being made anew.
                    let _ = self.capture.folder().written(&name).map(|copy| growing.read_copy(cap, &copy));
                }
                into.extend(growing.events(CLASSES, *clock));
            }
            (Bytes::Ocaml { file, at, head }, Log::Ocaml(log)) => {
                let end = whole_frames(file.as_ref(), *at, MOST as u64, &mut |_, _, _| {}).unwrap_or(*at);
                let mut bytes = std::mem::take(head);
                let kept = bytes.len();
                bytes.resize(kept + usize::try_from(end - *at).unwrap_or(0), 0);
                let rest = bytes.get_mut(kept..).unwrap_or_default();
                let read = read_exact(file, rest, *at);
                *head = bytes.get(..RING_HEAD).unwrap_or_default().to_vec();
                if read.is_ok() {
                    *at = end;
                    log.add(bytes, into);
                }
            }
            _ => {}
        }
    }

    fn read_manifest(&mut self, now: Time) {
        if now.since(self.manifest_read) < MANIFEST_NS && self.awaited.is_none() {
            return;
        }
        self.manifest_read = now;
        // One that is just being replaced is read the next time.
        let Ok(capture) = Capture::open(&self.path) else { return };
        if !is_written(&capture) {
            let ended = capture.manifest().exit.is_some();
            let over =
                if ended { "the program has ended, and its recording with it" } else { "the recording has ended" };
            self.over = Some(over.to_owned());
        }
        self.capture = capture;
        self.find_log();
    }
}

impl Source for Recording {
    fn common(&self) -> &Common {
        &self.common
    }

    fn own_cpu_ns(&self) -> u64 {
        own_cost::cpu_ns(&Host::default())
    }

    fn common_mut(&mut self) -> &mut Common {
        &mut self.common
    }

    fn look(&mut self, now: Time, into: &mut Vec<Event>) -> Looked {
        self.read_manifest(now);
        self.look_at_log(now, into);
        if !self.told && self.common.log.tells() {
            (self.told, self.renewed) = (true, true);
        }
        let records =
            self.cpus.iter_mut().map(|tail| tail.as_mut().map_or(Vec::new(), |tail| tail.read(whole_perf_records)));
        self.common.sched.add(records.collect(), into);
        let lines = |tail: &mut Option<Tail>| tail.as_mut().map_or(Vec::new(), |tail| tail.read(whole_lines));
        samples(&lines(&mut self.samples), into);
        // Made when there is something to write.
        if self.transactions.is_none() {
            self.transactions = Tail::open(&self.capture, "stm.jsonl", true);
        }
        self.common.transactions.add(&lines(&mut self.transactions));
        let late = self.cpus.iter_mut().flatten().any(|tail| std::mem::take(&mut tail.left_out));
        if late {
            self.common.left_out("sched/cpu", LossKind::KernelRecords, now);
        }
        self.common.looked = now;
        Looked { until: now.minus(LAG_NS), due_ns: LOOK_NS }
    }

    fn context(&self) -> Context {
        let mut context = pipeline::of_manifest(self.capture.manifest());
        (context.started, context.ended) = (Some(self.common.started), None);
        self.common.log.describe(&mut context);
        // Who has not filled a buffer yet has not written who he is.
        let binary = &self.capture.manifest().binary;
        if context.runtime.version.is_none() && context.runtime.family == binary.family {
            context.runtime.version.clone_from(&binary.version);
        }
        context
    }

    fn renewed(&mut self) -> bool {
        std::mem::take(&mut self.renewed)
    }

    fn more_notes(&self) -> Vec<String> {
        let awaited = self.awaited.as_ref().map(|why| format!("No pauses so far: {why}."));
        let behind = clock::monotonic() < self.common.started.plus(LAG_NS);
        let behind = behind.then(|| "A recording is shown 3 seconds behind: figures come in a moment.".to_owned());
        awaited.into_iter().chain(behind).collect()
    }

    fn over(&mut self) -> Option<String> {
        self.over.clone()
    }
}

/// Whether it began so short a time ago that it is read from its start.
fn is_young(capture: &Capture, now: Time) -> bool {
    now.since(capture.manifest().started) < YOUNG_NS
}

type Found = (Bytes, Log);

/// The capture, as soon as it has a log that can be read; after a while without one, and why.
fn with_log(path: &Path, now: Time) -> Result<(Capture, Result<Found, String>), Trouble> {
    let begun = std::time::Instant::now();
    loop {
        let waits = begun.elapsed() < LOG_WAIT;
        match Capture::open(path) {
            Ok(capture) => {
                let young = is_young(&capture, now);
                let log = open_log(&capture, young);
                if log.is_ok() || !waits || !young {
                    return Ok((capture, log));
                }
            }
            Err(error) if !waits => {
                return Err(Trouble::new(format!("cannot read {}", path.display())).because(error));
            }
            Err(_) => {}
        }
        std::thread::sleep(LOG_STEP);
    }
}

/// The log that the recording has, from its start or from its end on; why it cannot be read as
/// yet.
fn open_log(capture: &Capture, from_start: bool) -> Result<Found, String> {
    let entry = pipeline::choose_log(capture, None).ok().flatten();
    let entry = entry.ok_or("it holds no log of a runtime")?;
    let cannot = |why: &dyn std::fmt::Display| format!("its log {} cannot be read: {why}", entry.path);
    let file = Arc::new(capture.folder().written(&entry.path).map_err(|error| cannot(&error))?);
    if file.size().is_ok_and(|bytes| bytes == 0) {
        return Err(format!("its log {} is empty", entry.path));
    }
    if runtime_log::is_rings(file.as_ref()) {
        let (head, at) = ring_start(file.as_ref(), from_start).map_err(|error| cannot(&error))?;
        let version = entry.version.as_deref().and_then(|text| Version::parse(text).ok());
        let log = if from_start { OcamlLog::new(version) } else { OcamlLog::joined(version) };
        return Ok((Bytes::Ocaml { file, at, head }, Log::Ocaml(log)));
    }
    let open = if from_start { Growing::from_start } else { Growing::open };
    let growing = open(Arc::clone(&file) as Arc<dyn ReadAt>, entry.path.clone()).map_err(|error| cannot(&error))?;
    // Both are said a moment after the log itself, once its process was looked at.
    let clock = runtime_log::clock_of(growing.info(), capture.manifest(), entry);
    if entry.pid == 0 || !clock.is_monotonic() {
        return Err(format!("its recorder has not said yet on which clock its log {} is", entry.path));
    }
    Ok((Bytes::Ghc { file, pid: entry.pid }, Log::Ghc { growing: Box::new(growing), clock }))
}

fn read_exact(file: &Written, buffer: &mut [u8], at: u64) -> io::Result<()> {
    let count = file.read_full(buffer, at)?;
    if count == buffer.len() { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

/// The head of a stream of rings with the names that it has, and where its last frame ends.
fn ring_start(file: &Written, from_start: bool) -> io::Result<(Vec<u8>, u64)> {
    if from_start {
        let mut head = vec![0; RING_HEAD];
        read_exact(file, &mut head, 0)?;
        return Ok((head, RING_HEAD as u64));
    }
    let mut names = Vec::new();
    let end = whole_frames(file, RING_HEAD as u64, u64::MAX, &mut |what, from, to| {
        if what == kind::NAME {
            names.push((from, to));
        }
    })?;
    let mut head = vec![0; RING_HEAD];
    read_exact(file, &mut head, 0)?;
    for (from, to) in names {
        let at = head.len();
        head.resize(at + (to - from) as usize, 0);
        read_exact(file, head.get_mut(at..).unwrap_or_default(), from)?;
    }
    Ok((head, end))
}

//! A capture while its recorder writes it: each stream is read on from its end at the time of opening, or from its
//! start if the recording had just begun. Owns how far each was read, and the wait for a log that its program has not
//! begun yet.

use super::source::{Live, Looked, MOST, Source};
use super::transactions::Transactions;
use rtscope_analyze::Context;
use rtscope_decode::ReadAt;
use rtscope_decode::capture::Capture;
use rtscope_decode::formats::GrowingLog;
use rtscope_decode::whole_perf_records;
use rtscope_host::clock;
use rtscope_model::{ClockMap, LossKind, Pid, Time};
use rtscope_read::sources;
use rtscope_terminal::user_error::UserError;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Interval between two looks, nanoseconds.
const LOOK_NS: u64 = 500_000_000;
/// A recorder has written everything that is older than this: it copies buffers each second and empties the kernel's
/// rings twice a second.
const LAG_NS: u64 = 3_000_000_000;
/// Interval between two looks at the manifest, which is written as often.
const MANIFEST_NS: u64 = 2_000_000_000;
/// How long to wait for the log of a recording that has just begun.
const LOG_WAIT: Duration = Duration::from_secs(3);
/// A recording younger than this is read from its start.
const YOUNG_NS: u64 = 10_000_000_000;
const LOG_STEP: Duration = Duration::from_millis(100);

/// A file that is appended to.
struct Tail {
    file: Arc<dyn ReadAt>,
    at: u64,
    /// Whether more was appended than is read at a look.
    left_out: bool,
}

impl Tail {
    /// Opens it, to be read from its start or from its end on.
    fn open(capture: &Capture, name: &str, from_start: bool) -> Option<Tail> {
        let file = capture.folder().written(name).ok()?;
        let at = if from_start { 0 } else { file.size().ok()? };
        Some(Tail { file, at, left_out: false })
    }

    /// Reads what is new; `whole` says how much of it can be taken.
    fn read(&mut self, whole: impl Fn(&[u8]) -> usize) -> Vec<u8> {
        let size = self.file.size().unwrap_or(self.at);
        let count = size.saturating_sub(self.at);
        if count > MOST as u64 {
            (self.at, self.left_out) = (size, true);
            return Vec::new();
        }
        let mut bytes = vec![0; count as usize];
        let got = self.file.read_full(&mut bytes, self.at).unwrap_or(0);
        bytes.truncate(got);
        bytes.truncate(whole(&bytes));
        self.at += bytes.len() as u64;
        bytes
    }
}

/// Length up to the end of the last whole line.
fn whole_lines(bytes: &[u8]) -> usize {
    bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1)
}

/// A log that was found: its file, its process, and its decoder with the clock.
type FoundLog = (Arc<dyn ReadAt>, u32, (Box<dyn GrowingLog>, ClockMap));

pub(super) struct Recording {
    path: PathBuf,
    capture: Capture,
    manifest_read: Time,
    /// The file of its log, and the process that writes it.
    file: Option<(Arc<dyn ReadAt>, u32)>,
    /// Why there is no log yet.
    awaited: Option<String>,
    cpus: Vec<Option<Tail>>,
    samples: Option<Tail>,
    transactions: Option<Tail>,
    over: Option<String>,
}

impl Recording {
    /// The capture at `path`, from now on; one that has just begun, from its start. Waits for its log, but no longer
    /// than `limit`.
    pub(super) fn open(path: &Path, now: Time, limit: Option<Duration>) -> Result<(Recording, Live), UserError> {
        let (capture, log) = with_log(path, now, limit.map_or(LOG_WAIT, |limit| limit.min(LOG_WAIT)))?;
        let young = is_young(&capture, now);
        let (kernel, threads) = (&capture.manifest().kernel, sources::threads(&capture));
        let begun = Some(capture.manifest().started).filter(|begun| *begun != Time(0));
        let started = begun.filter(|_| young).unwrap_or(now);
        let kernel_side = (kernel, &sources::formats(&capture), threads.as_deref());
        let mut live = Live::new(started, kernel_side, Transactions::new(begun));
        live.looked = now;
        let mut recording = Recording {
            path: path.to_owned(),
            manifest_read: now,
            file: None,
            awaited: None,
            cpus: kernel.streams.iter().map(|name| Tail::open(&capture, name, young)).collect(),
            samples: Tail::open(&capture, "samples.jsonl", young),
            transactions: None,
            capture,
            over: None,
        };
        recording.take_log(log, &mut live);
        Ok((recording, live))
    }

    fn take_log(&mut self, log: Result<FoundLog, String>, live: &mut Live) {
        match log {
            Ok((file, pid, log)) => (self.file, live.log, self.awaited) = (Some((file, pid)), Some(log), None),
            Err(why) => self.awaited = Some(why),
        }
    }

    fn look_at_log(&mut self, now: Time, live: &mut Live) {
        let (Some((file, pid)), Some((log, _))) = (&self.file, &mut live.log) else { return };
        // Copies are listed first: a copy whose block is written out meanwhile is not made again.
        let copies = self.capture.unflushed_files(*pid);
        let left_out = log.read_or_skip(file.as_ref(), MOST);
        for (lane, name) in copies {
            // A copy that is gone is being rewritten.
            let _ = self.capture.folder().written(&name).map(|copy| log.read_copy(lane, &*copy));
        }
        if left_out {
            live.log_left_out(now);
        }
    }

    fn read_manifest(&mut self, now: Time, live: &mut Live) {
        if now.since(self.manifest_read) < MANIFEST_NS && self.awaited.is_none() {
            return;
        }
        self.manifest_read = now;
        // A manifest that is just being replaced is read the next time.
        let Ok(capture) = Capture::open(&self.path) else { return };
        if !capture.is_written() {
            let ended = capture.manifest().exit.is_some();
            let over =
                if ended { "the program has ended, and its recording with it" } else { "the recording has ended" };
            self.over = Some(over.to_owned());
        }
        self.capture = capture;
        // Tries again to open a log that was missing or empty.
        if self.awaited.is_some() {
            self.take_log(open_log(&self.capture, true), live);
        }
    }
}

impl Source for Recording {
    fn look(&mut self, now: Time, live: &mut Live) -> Looked {
        self.read_manifest(now, live);
        self.look_at_log(now, live);
        let read = |tail: &mut Option<Tail>, whole: fn(&[u8]) -> usize| {
            tail.as_mut().map_or(Vec::new(), |tail| tail.read(whole))
        };
        let records = self.cpus.iter_mut().map(|tail| read(tail, whole_perf_records)).collect();
        // The file is created when there is something to write. It is always read from its start: counts are
        // cumulative, and the file is small.
        if self.transactions.is_none() {
            self.transactions = Tail::open(&self.capture, "stm.jsonl", true);
        }
        live.add(records, &read(&mut self.samples, whole_lines), &read(&mut self.transactions, whole_lines));
        if self.cpus.iter_mut().flatten().any(|tail| std::mem::take(&mut tail.left_out)) {
            live.left_out("sched/cpu", LossKind::KernelRecords, now);
        }
        Looked { until: now.minus(LAG_NS), due_ns: LOOK_NS }
    }

    fn context(&self, live: &Live) -> Context {
        let mut context = sources::of_manifest(self.capture.manifest());
        (context.started, context.ended) = (Some(live.started), None);
        live.describe(&mut context);
        // Not the process that was started, if that is a wrapper.
        context.program_pid =
            self.file.as_ref().map(|(_, pid)| Pid(*pid)).filter(|pid| pid.0 != 0).or(context.program_pid);
        // A program that has not filled a buffer yet has not written its version.
        let binary = &self.capture.manifest().binary;
        if context.runtime.version.is_none() && context.runtime.family == binary.family {
            context.runtime.version.clone_from(&binary.version);
        }
        context
    }

    fn notes(&self, live: &Live) -> Vec<String> {
        let awaited = self.awaited.as_ref().map(|why| format!("No pauses so far: {why}."));
        let late = clock::monotonic() < live.started.plus(LAG_NS);
        let late = late.then(|| "A recording is shown 3 seconds late: figures come in a moment.".to_owned());
        awaited.into_iter().chain(late).collect()
    }

    fn over(&mut self) -> Option<String> {
        self.over.clone()
    }
}

/// Whether it is young enough to be read from its start.
fn is_young(capture: &Capture, now: Time) -> bool {
    now.since(capture.manifest().started) < YOUNG_NS
}

/// The capture, as soon as it has a log that can be read; after `patience` without one, and why.
fn with_log(path: &Path, now: Time, patience: Duration) -> Result<(Capture, Result<FoundLog, String>), UserError> {
    let begun = std::time::Instant::now();
    loop {
        let waits = begun.elapsed() < patience;
        match Capture::open(path) {
            Ok(capture) => {
                let young = is_young(&capture, now);
                let log = open_log(&capture, young);
                if log.is_ok() || !waits || !young {
                    return Ok((capture, log));
                }
            }
            Err(error) if !waits => return Err(UserError::unreadable(path, error)),
            Err(_) => {}
        }
        std::thread::sleep(LOG_STEP);
    }
}

/// The log of the recording, from its start or from its end on, or the reason why it cannot be read yet.
fn open_log(capture: &Capture, from_start: bool) -> Result<FoundLog, String> {
    let entry = sources::choose_log(capture, None).ok().flatten();
    let entry = entry.ok_or("it holds no log of a runtime")?;
    let cannot = |why: &dyn std::fmt::Display| format!("its log {} cannot be read: {why}", entry.path);
    let (format, opening) = sources::opening(capture, entry, None).map_err(|error| cannot(&error))?;
    let file = Arc::clone(&opening.source);
    if file.size().is_ok_and(|bytes| bytes == 0) {
        return Err(format!("its log {} is empty", entry.path));
    }
    let log = format.follow(opening, from_start).map_err(|error| cannot(&error))?;
    // The manifest names process and clock a moment after the log itself, once the process has been inspected.
    let own = log.facts().clock;
    let clock = sources::clock_of(own, log.realtime(), capture.manifest(), entry);
    if !own.is_monotonic() && (entry.pid == 0 || !clock.is_monotonic()) {
        return Err(format!("its recorder has not said yet on which clock its log {} is", entry.path));
    }
    Ok((file, entry.pid, (log, clock)))
}

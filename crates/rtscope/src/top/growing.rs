//! A capture while its recorder writes it: each of its streams is read on from where it ended
//! when the look began. Owns how far each was read; refuses to read what was there before.

use super::capture::is_written;
use super::source::{CLASSES, Log, Looked, OcamlLog, Sched, Source, samples};
use crate::pipeline;
use crate::runtime_log;
use crate::trouble::Trouble;
use rtscope_analyze::Context;
use rtscope_decode::ReadAt;
use rtscope_decode::capture::Capture;
use rtscope_decode::ghc_eventlog::Growing;
use rtscope_decode::ocaml_ring::Version;
use rtscope_decode::ocaml_ring::captured::{HEAD_WORDS, kind, whole_frames};
use rtscope_decode::whole_perf_records;
use rtscope_host::clock;
use rtscope_model::{Event, Loss, LossKind, Names, Time};
use std::fs::File;
use std::os::unix::fs::FileExt;
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
/// Bytes of one stream that are taken at a look.
const MOST: u64 = 64 << 20;
const RING_HEAD: u64 = 8 * HEAD_WORDS as u64;
/// How long a recording that has just begun is waited for to have a log.
const LOG_WAIT: Duration = Duration::from_secs(3);
const LOG_STEP: Duration = Duration::from_millis(100);

/// A file that is appended to.
struct Tail {
    file: File,
    at: u64,
    /// More came than is read here.
    left_out: bool,
}

impl Tail {
    /// From its end on.
    fn open(path: &Path) -> Option<Tail> {
        let file = File::open(path).ok()?;
        let at = file.metadata().ok()?.len();
        Some(Tail { file, at, left_out: false })
    }

    /// What is new; of what is there `whole` says how much can be taken.
    fn read(&mut self, whole: impl Fn(&[u8]) -> usize) -> Vec<u8> {
        let size = self.file.metadata().map_or(self.at, |file| file.len());
        let count = size.saturating_sub(self.at);
        if count > MOST {
            (self.at, self.left_out) = (size, true);
            return Vec::new();
        }
        let mut bytes = vec![0; count as usize];
        let got = FileExt::read_at(&self.file, &mut bytes, self.at).unwrap_or(0);
        bytes.truncate(got);
        bytes.truncate(whole(&bytes));
        self.at += bytes.len() as u64;
        bytes
    }
}

/// The bytes of a log.
enum Bytes {
    None,
    Ghc { file: Arc<File>, pid: u32 },
    Ocaml { file: Arc<File>, at: u64, head: Vec<u8> },
}

/// See the module.
pub(super) struct Recording {
    path: PathBuf,
    capture: Capture,
    manifest_read: Time,
    bytes: Bytes,
    log: Log,
    sched: Sched,
    cpus: Vec<Option<Tail>>,
    samples: Option<Tail>,
    notes: Vec<String>,
    losses: Vec<Loss>,
    looked: Time,
    started: Time,
    over: Option<String>,
}

impl Recording {
    /// The capture at `path`, from now on.
    pub(super) fn open(path: &Path, now: Time) -> Result<Recording, Trouble> {
        let capture = with_log(path)?;
        let mut notes = capture.manifest().kernel.missing.clone();
        let (bytes, log) = open_log(&capture, &mut notes)?;
        let threads = std::fs::read(capture.below("sched/threads.json")).ok();
        let kernel = &capture.manifest().kernel;
        let (sched, failed) = Sched::open(kernel, &pipeline::formats(&capture), threads.as_deref());
        notes.extend(failed);
        let cpus = kernel.streams.iter().map(|name| Tail::open(&capture.below(name))).collect();
        let samples = Tail::open(&capture.below("samples.jsonl"));
        Ok(Recording {
            path: path.to_owned(),
            manifest_read: now,
            bytes,
            log,
            sched,
            cpus,
            samples,
            notes,
            losses: Vec::new(),
            looked: now,
            started: now.minus(LAG_NS),
            capture,
            over: None,
        })
    }

    fn look_at_log(&mut self, into: &mut Vec<Event>) {
        match (&mut self.bytes, &mut self.log) {
            (Bytes::Ghc { file, pid }, Log::Ghc { growing, clock }) => {
                let copies = self.capture.unflushed_files(*pid);
                let most = usize::try_from(MOST).unwrap_or(usize::MAX);
                if let Ok(true) = growing.read(file.as_ref(), most) {
                    self.losses.push(left_out("eventlog", self.looked));
                    let _ = growing.skip_to_end(file.as_ref());
                }
                for (cap, path) in copies {
                    // One that is gone is being made anew.
                    let _ = File::open(path).map(|copy| growing.read_copy(cap, &copy));
                }
                into.extend(growing.events(CLASSES, *clock));
            }
            (Bytes::Ocaml { file, at, head }, Log::Ocaml(log)) => {
                let end = whole_frames(file.as_ref(), *at, MOST, &mut |_, _, _| {}).unwrap_or(*at);
                let mut bytes = std::mem::take(head);
                let kept = bytes.len();
                bytes.resize(kept + usize::try_from(end - *at).unwrap_or(0), 0);
                let read = file.read_exact_at(bytes.get_mut(kept..).unwrap_or_default(), *at);
                *head = bytes.get(..RING_HEAD as usize).unwrap_or_default().to_vec();
                if read.is_ok() {
                    *at = end;
                    log.add(bytes, into);
                }
            }
            _ => {}
        }
    }

    fn read_manifest(&mut self, now: Time) {
        if now.since(self.manifest_read) < MANIFEST_NS {
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
        if let Log::Ghc { growing, clock } = &mut self.log
            && !clock.is_monotonic()
            && let Ok(Some(entry)) = pipeline::choose_log(&capture, None)
        {
            *clock = runtime_log::clock_of(growing.info(), capture.manifest(), entry);
        }
        self.capture = capture;
    }
}

impl Source for Recording {
    fn look(&mut self, now: Time, into: &mut Vec<Event>) -> Looked {
        self.read_manifest(now);
        self.look_at_log(into);
        let records =
            self.cpus.iter_mut().map(|tail| tail.as_mut().map_or(Vec::new(), |tail| tail.read(whole_perf_records)));
        self.sched.add(records.collect(), into);
        if let Some(tail) = &mut self.samples {
            let lines = tail.read(|bytes| bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1));
            samples(&lines, into);
        }
        let late = self.cpus.iter_mut().flatten().any(|tail| std::mem::take(&mut tail.left_out));
        self.losses.extend(late.then(|| Loss { kind: LossKind::KernelRecords, ..left_out("sched/cpu", self.looked) }));
        self.looked = now;
        Looked { until: now.minus(LAG_NS), due_ns: LOOK_NS }
    }

    fn context(&self) -> Context {
        let mut context = pipeline::of_manifest(self.capture.manifest());
        (context.started, context.ended) = (Some(self.started), None);
        self.log.describe(&mut context);
        context
    }

    fn names(&self) -> &Names {
        self.sched.names()
    }

    fn take_losses(&mut self) -> Vec<Loss> {
        let mut losses = std::mem::take(&mut self.losses);
        losses.extend(self.log.take_losses());
        losses.extend(self.sched.take_losses());
        losses
    }

    fn notes(&self) -> Vec<String> {
        let failed = self.log.failed().map(|why| format!("Its rings cannot be read: {why}."));
        self.notes.iter().cloned().chain(failed).collect()
    }

    fn over(&mut self) -> Option<String> {
        self.over.clone()
    }

    fn has_log(&self) -> bool {
        !matches!(self.log, Log::None)
    }

    fn since(&self) -> Time {
        self.started
    }
}

/// The capture, as soon as its manifest names a log; without one after a while.
fn with_log(path: &Path) -> Result<Capture, Trouble> {
    let begun = std::time::Instant::now();
    loop {
        let capture = Capture::open(path);
        match capture {
            Ok(capture) if !capture.manifest().logs.is_empty() => return Ok(capture),
            Ok(capture) if begun.elapsed() >= LOG_WAIT => return Ok(capture),
            Err(error) if begun.elapsed() >= LOG_WAIT => {
                return Err(Trouble::new(format!("cannot read {}", path.display())).because(error));
            }
            _ => std::thread::sleep(LOG_STEP),
        }
    }
}

fn open_log(capture: &Capture, notes: &mut Vec<String>) -> Result<(Bytes, Log), Trouble> {
    let Some(entry) = pipeline::choose_log(capture, None)? else {
        notes.push("No pauses: it holds no log of a runtime so far; if it gets one, start `rtscope top` again.".into());
        return Ok((Bytes::None, Log::None));
    };
    let mut cannot = |why: &dyn std::fmt::Display| {
        notes.push(format!("No pauses: its log {} cannot be read: {why}.", entry.path));
        Ok((Bytes::None, Log::None))
    };
    let file = match File::open(capture.log_path(entry)) {
        Ok(file) => Arc::new(file),
        Err(error) => return cannot(&error),
    };
    if runtime_log::is_rings(&file) {
        return match ring_start(file.as_ref()) {
            Ok((head, at)) => {
                let version = entry.version.as_deref().and_then(|text| Version::parse(text).ok());
                Ok((Bytes::Ocaml { file, at, head }, Log::Ocaml(OcamlLog::new(version))))
            }
            Err(error) => cannot(&error),
        };
    }
    match Growing::open(Arc::clone(&file) as Arc<dyn ReadAt>, entry.path.clone()) {
        Ok(growing) => {
            let clock = runtime_log::clock_of(growing.info(), capture.manifest(), entry);
            Ok((Bytes::Ghc { file, pid: entry.pid }, Log::Ghc { growing: Box::new(growing), clock }))
        }
        Err(error) => cannot(&error),
    }
}

/// The head of a stream of rings with the names that it has, and where its last frame ends.
fn ring_start(file: &File) -> std::io::Result<(Vec<u8>, u64)> {
    let mut names = Vec::new();
    let end = whole_frames(file, RING_HEAD, u64::MAX, &mut |what, from, to| {
        if what == kind::NAME {
            names.push((from, to));
        }
    })?;
    let mut head = vec![0; RING_HEAD as usize];
    file.read_exact_at(&mut head, 0)?;
    for (from, to) in names {
        let at = head.len();
        head.resize(at + (to - from) as usize, 0);
        file.read_exact_at(head.get_mut(at..).unwrap_or_default(), from)?;
    }
    Ok((head, end))
}

fn left_out(source: &str, from: Time) -> Loss {
    let note = "it grew faster than it is read here: a part of it was left out".to_owned();
    let now = clock::monotonic();
    let (source, count) = (source.to_owned(), now.since(from));
    Loss { source, kind: LossKind::Unwritten, count, from: Some(from), to: Some(now), note }
}

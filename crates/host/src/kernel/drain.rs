//! Moves records from the rings to the streams. Owns the thread that does it,
//! the files and the counters; refuses to interpret a record beyond its size and
//! its count of losses: the contents of a stack copy are for `callers`.

use super::callers::Callers;
use super::concern::Concern;
use super::forks::{self, Forks, Task};
use super::perf::{Event, PerfEvent};
use super::records::{SAMPLE, header, long, split};
use super::tiers::CpuRing;
use crate::capture::folder::Folder;
use crate::capture::loss;
use crate::capture::store::is_disk_full;
use crate::system::clock;
use crate::system::ready;
use crate::system::worker::{Shared, Worker, use_batch_priority};
use rtscope_decode::frames::Packer;
use rtscope_decode::sched::ThreadName;
use rtscope_model::{Loss, LossKind, Time};
use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, PoisonError};

/// Longest time that a record waits in a ring, in nanoseconds: what a killed
/// recorder loses. Before that, a ring that is an eighth full wakes us.
const PERIOD_NS: u64 = 500_000_000;

/// Stacks of sleeping threads taken per second and CPU: at 3 us each, a third of a
/// per cent. A program that sleeps more often pays only for uninterruptible sleeps,
/// such as page faults.
const SLEEPS_PER_S: u64 = 1000;
const SLEEPS_WINDOW_NS: u64 = 1_000_000_000;

const RECORD_LOST: u32 = 2;
const RECORD_LOST_SAMPLES: u32 = 13;

/// What the thread has done so far, except the bytes written; readable at any time.
#[derive(Debug, Default)]
pub struct DrainCounts {
    pub records: u64,
    /// Records that the kernel dropped.
    pub lost: u64,
    /// Times that all rings were read.
    pub rounds: u64,
    /// Descendants of the program.
    pub forks: Forks,
    /// Existing threads that the drain has not taken in yet.
    pub threads: Vec<ThreadName>,
    /// Losses on the way to the streams (not: in the kernel's rings).
    pub losses: Vec<Loss>,
    /// What records do not contain, and why.
    pub missing: Vec<String>,
}

/// One CPU: its ring and its stream.
#[derive(Debug)]
pub struct CpuLane {
    pub ring: CpuRing,
    stream: StreamFile,
    /// Whether the kernel can still wake us for it.
    wakes: bool,
    /// Sample ids of interruptible sleeps.
    sleeps: Vec<u64>,
    /// Ids of samples with a copy of the stack.
    dumped: Vec<u64>,
}

impl CpuLane {
    /// Creates the stream `name` (`sched/cpu0.perf.zst`) as a file in `folder`, the capture's folder
    /// of that name. All lanes of a recording share one `packer`.
    pub fn create(ring: CpuRing, folder: &Folder, name: &str, packer: Arc<Mutex<Packer>>) -> io::Result<CpuLane> {
        let file = folder.create_to_append(name.rsplit('/').next().unwrap_or(name))?;
        let stream = StreamFile { name: name.to_owned(), file, whole: 0, packer };
        let mut lane = CpuLane { ring, stream, wakes: true, sleeps: Vec::new(), dumped: Vec::new() };
        lane.sleeps = lane.interruptible().filter_map(|event| event.id().ok()).collect();
        let dumped = |what: &PerfEvent| matches!(what, PerfEvent::Clock { stack_bytes: 1.., .. });
        lane.dumped = lane.events(dumped).filter_map(|event| event.id().ok()).collect();
        Ok(lane)
    }

    fn events(&self, is: impl Fn(&PerfEvent) -> bool) -> impl Iterator<Item = &Event> {
        self.ring.events.iter().zip(&self.ring.whats).filter(move |(_, what)| is(what)).map(|(event, _)| event)
    }

    fn interruptible(&self) -> impl Iterator<Item = &Event> {
        self.events(|what| matches!(what, PerfEvent::Asleep { interruptible: true, .. }))
    }

    /// Appends records that were not in the ring.
    pub fn append(&mut self, records: &[u8]) -> io::Result<()> {
        self.stream.append(records).map(drop)
    }

    pub fn enable(&self) -> io::Result<()> {
        self.ring.events.iter().try_for_each(super::perf::Event::enable)
    }
}

#[derive(Debug)]
struct StreamFile {
    name: String,
    file: File,
    /// Size up to the last whole frame.
    whole: u64,
    packer: Arc<Mutex<Packer>>,
}

impl StreamFile {
    /// Appends whole records in frames, or nothing; returns the bytes written.
    fn append(&mut self, records: &[u8]) -> io::Result<u64> {
        let mut packer = self.packer.lock().unwrap_or_else(PoisonError::into_inner);
        let frames = packer.pack(records)?;
        // Best effort: the decoder expects a truncated frame anyway.
        self.file.write_all(frames).inspect_err(|_| _ = self.file.set_len(self.whole))?;
        self.whole += frames.len() as u64;
        Ok(frames.len() as u64)
    }
}

/// What is done with records before they are stored.
#[derive(Debug)]
pub enum Reading {
    /// Finds callers in copies of stacks.
    Callers(Callers),
    /// Drops what concerns only other programs.
    Concern(Concern),
    /// Stores records unchanged.
    Plain,
}

#[derive(Debug)]
pub struct Drain {
    lanes: Vec<CpuLane>,
    /// Wakes the drain when the rings are to be read now.
    shared: Arc<Shared<DrainCounts>>,
    /// The source that losses are attributed to.
    source: &'static str,
    buffer: Vec<u8>,
    reading: Reading,
    /// The part of the buffer that is stored.
    kept: Vec<u8>,
    /// Processes that began or ended in this round.
    tasks: Vec<Task>,
    /// Index of the loss that reports a failed disk, and what it cost so far.
    failed: Option<u64>,
    /// Sleeps counted since that moment; `None` once there were too many.
    sleeps: Option<(u64, Time)>,
}

impl Drain {
    /// Drains `lanes` in a thread of the given name until the worker ends. `source` names losses that the kernel
    /// reports without a time.
    pub fn start(
        lanes: Vec<CpuLane>,
        reading: Reading,
        source: &'static str,
        thread: &str,
    ) -> io::Result<Worker<DrainCounts>> {
        let shared = Shared::new(DrainCounts::default())?;
        let sleeps = Some((0, clock::monotonic()));
        let drain = Drain {
            lanes,
            shared: Arc::clone(&shared),
            source,
            buffer: Vec::new(),
            reading,
            kept: Vec::new(),
            tasks: Vec::new(),
            failed: None,
            sleeps,
        };
        Worker::run(shared, thread, use_batch_priority, move |_| drain.run())
    }

    /// Drains until asked to stop, then takes what is left and syncs the files.
    fn run(mut self) {
        while self.wait() {
            self.drain_all();
            self.bound_sleeps();
        }
        for event in self.lanes.iter().flat_map(|lane| &lane.ring.events) {
            // Fails only for an event that has ended: nothing to stop then.
            let _ = event.disable();
        }
        self.drain_all();
        self.count_kernel_losses();
        self.finish_files();
    }

    /// Sleeps until a ring is an eighth full or the period is over. False: stop.
    fn wait(&mut self) -> bool {
        let polled: Vec<usize> = (0..self.lanes.len()).filter(|index| self.lanes[*index].wakes).collect();
        let events = polled.iter().filter_map(|index| self.lanes[*index].ring.events.first());
        let seen = ready::wait([self.shared.wake.as_fd()].into_iter().chain(events.map(Event::as_fd)), Some(PERIOD_NS));
        self.shared.wake.clear();
        // The event of an ended thread stays ready for ever: polling it again would
        // spin. Its ring may still fill through redirected events; the period
        // covers that.
        for (index, _) in polled.iter().zip(seen.iter().skip(1)).filter(|(_, seen)| ready::hung_up(**seen)) {
            self.lanes[*index].wakes = false;
        }
        !self.shared.is_stopped()
    }

    fn drain_all(&mut self) {
        let family = self.begin_round();
        for index in 0..self.lanes.len() {
            self.drain_one(index, &family);
        }
        let missing = self.end_round();
        let mut counts = self.shared.lock();
        counts.missing.extend(missing);
        counts.forks.take_round(&self.tasks);
        counts.rounds += 1;
        self.tasks.clear();
    }

    /// The program's processes as they were known before this round, if the reading needs them.
    fn begin_round(&mut self) -> HashSet<u32> {
        match &mut self.reading {
            Reading::Callers(callers) => callers.begin_round(),
            Reading::Concern(concern) => {
                let mut counts = self.shared.lock();
                concern.know(&std::mem::take(&mut counts.threads));
                return counts.forks.family();
            }
            Reading::Plain => {}
        }
        HashSet::new()
    }

    /// Files whose callers were not found, and why.
    fn end_round(&mut self) -> Vec<String> {
        match &mut self.reading {
            Reading::Callers(callers) => return callers.take_missing(),
            Reading::Concern(concern) => concern.end_round(),
            Reading::Plain => {}
        }
        Vec::new()
    }

    fn drain_one(&mut self, index: usize, family: &HashSet<u32>) {
        let Some(lane) = self.lanes.get_mut(index) else { return };
        self.buffer.clear();
        if lane.ring.ring.drain(&mut self.buffer) == 0 {
            return;
        }
        self.kept.clear();
        match &mut self.reading {
            Reading::Callers(callers) => {
                let mut rest = &self.buffer[..];
                while let Some((record, after)) = split(rest) {
                    callers.keep(record, &lane.dumped, &mut self.kept);
                    rest = after;
                }
            }
            Reading::Concern(concern) => concern.keep(&self.buffer, family, &mut self.kept),
            Reading::Plain => std::mem::swap(&mut self.buffer, &mut self.kept),
        }
        std::mem::swap(&mut self.buffer, &mut self.kept);
        let tally = tally(&self.buffer, &lane.sleeps, &mut self.tasks);
        if let Some((sleeps, _)) = &mut self.sleeps {
            *sleeps += tally.sleeps;
        }
        let appended = match &mut self.failed {
            Some(dropped) => {
                *dropped += tally.records;
                None
            }
            // Outside the lock: a reader of the counts does not wait for the disk.
            None => Some(lane.stream.append(&self.buffer)),
        };
        let mut counts = self.shared.lock();
        counts.lost += tally.lost;
        match appended {
            Some(Ok(written)) => {
                counts.records += tally.records;
                self.shared.add_written(written);
            }
            Some(Err(error)) => {
                self.failed = Some(tally.records);
                counts.losses.push(write_failed(&lane.stream.name, &error));
            }
            None => {}
        }
    }

    /// Stops sampling every sleep when there are so many that the cost would show.
    fn bound_sleeps(&mut self) {
        let Some((sleeps, since)) = self.sleeps else { return };
        let now = clock::monotonic();
        let elapsed = now.since(since);
        if elapsed < SLEEPS_WINDOW_NS {
            return;
        }
        self.sleeps = Some((0, now));
        if !too_many(sleeps, elapsed, self.lanes.len()) {
            return;
        }
        self.sleeps = None;
        for event in self.lanes.iter().flat_map(CpuLane::interruptible) {
            // Fails only for an event that has ended: nothing to stop then.
            let _ = event.disable();
        }
        let note =
            "The program's threads sleep so often that from here on only waits that cannot be interrupted are named.";
        let unnamed = loss(self.source, LossKind::SourceMissing, 1, note);
        self.shared.lock().losses.push(Loss { from: Some(now), ..unnamed });
    }

    /// Counts losses that no record reported, because the ring stayed full to the end.
    fn count_kernel_losses(&self) {
        let events = self.lanes.iter().flat_map(|lane| &lane.ring.events);
        let lost: u64 = events.filter_map(super::perf::Event::lost).sum();
        let mut counts = self.shared.lock();
        let reported = counts.lost;
        counts.lost = reported.max(lost);
        if lost > reported {
            let note = "the kernel dropped records and had no room left to say when";
            counts.losses.push(loss(self.source, LossKind::KernelRecords, lost - reported, note));
        }
    }

    fn finish_files(&mut self) {
        let mut counts = self.shared.lock();
        let first = counts.losses.iter_mut().find(|loss| loss.to.is_none() && loss.from.is_some());
        if let (Some(dropped), Some(loss)) = (self.failed, first) {
            (loss.count, loss.to) = (dropped, Some(clock::monotonic()));
        }
        drop(counts);
        for lane in &self.lanes {
            // The capture is readable without it; there is no caller to report this to.
            let _ = lane.stream.file.sync_data();
        }
    }
}

fn write_failed(source: &str, error: &io::Error) -> Loss {
    let kind = if is_disk_full(error) { LossKind::DiskFull } else { LossKind::SourceMissing };
    let note =
        format!("Kernel records were not written from here on ({error}). Free some space or record to another disk.");
    Loss { from: Some(clock::monotonic()), ..loss(source, kind, 0, note) }
}

#[derive(Copy, Clone, Eq, PartialEq, Debug, Default)]
struct RecordTally {
    records: u64,
    lost: u64,
    sleeps: u64,
}

/// Whether there are more sleeps than their stacks may cost.
fn too_many(sleeps: u64, elapsed_ns: u64, cpus: usize) -> bool {
    let seconds = elapsed_ns as f64 / 1e9;
    sleeps as f64 > SLEEPS_PER_S as f64 * cpus as f64 * seconds
}

/// Counts the records in `bytes`, the losses that they report, and samples whose
/// first word is one of `sleeps`; appends processes that began or ended.
fn tally(mut bytes: &[u8], sleeps: &[u64], tasks: &mut Vec<Task>) -> RecordTally {
    let mut tally = RecordTally::default();
    while let Some((record, rest)) = split(bytes) {
        let kind = header(record).map_or(0, |(kind, _)| kind);
        tally.records += 1;
        tasks.extend(forks::task(kind, record));
        tally.lost += match kind {
            RECORD_LOST => long(record, 16).unwrap_or(0),
            RECORD_LOST_SAMPLES => long(record, 8).unwrap_or(0),
            _ => 0,
        };
        let is_sleep = || long(record, 8).is_some_and(|id| sleeps.contains(&id));
        tally.sleeps += u64::from(kind == SAMPLE && !sleeps.is_empty() && is_sleep());
        bytes = rest;
    }
    tally
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: u32, body: &[u64]) -> Vec<u8> {
        let size = 8 + 8 * body.len() as u16;
        let mut bytes = [kind.to_ne_bytes().as_slice(), &[0, 0], &size.to_ne_bytes()].concat();
        bytes.extend(body.iter().flat_map(|word| word.to_ne_bytes()));
        bytes
    }

    #[test]
    fn records_and_losses_are_counted() {
        let bytes = [record(9, &[1, 2, 3]), record(RECORD_LOST, &[77, 5]), record(RECORD_LOST_SAMPLES, &[2])].concat();
        assert_eq!(tally(&bytes, &[], &mut Vec::new()), RecordTally { records: 3, lost: 7, sleeps: 0 });
        assert_eq!(tally(&bytes, &[1], &mut Vec::new()), RecordTally { records: 3, lost: 7, sleeps: 1 });
        assert_eq!(tally(&bytes, &[77], &mut Vec::new()).sleeps, 0);
    }

    #[test]
    fn sleeps_are_bounded_by_time_and_cpus() {
        assert!(!too_many(1_999, 1_000_000_000, 2));
        assert!(too_many(2_001, 1_000_000_000, 2));
        assert!(!too_many(2_001, 2_000_000_000, 2));
    }

    #[test]
    fn a_size_of_zero_or_past_the_end_stops_the_count() {
        assert_eq!(tally(&[0; 64], &[], &mut Vec::new()), RecordTally::default());
        let mut bytes = record(9, &[1]);
        bytes.truncate(12);
        assert_eq!(tally(&bytes, &[], &mut Vec::new()), RecordTally::default());
    }

    #[test]
    fn a_full_disk_keeps_whole_frames_only() {
        let Ok(file) = std::fs::OpenOptions::new().write(true).open("/dev/full") else {
            eprintln!("not run: this machine has no /dev/full");
            return;
        };
        let packer = Arc::new(Mutex::new(Packer::new(1).unwrap()));
        let mut stream = StreamFile { name: "sched/cpu0.perf.zst".into(), file, whole: 0, packer };
        let error = stream.append(&record(9, &[1])).unwrap_err();
        let loss = write_failed(&stream.name, &error);
        assert_eq!((loss.kind, stream.whole), (LossKind::DiskFull, 0));
    }
}

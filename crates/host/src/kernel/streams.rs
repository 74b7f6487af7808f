//! The files of a recording of the kernel's records: a stream for each ring, the
//! thread that fills them, and its counters. The recorders differ in what they
//! open and in what they report about it.

use super::drain::{CpuLane, Drain, DrainCounts, Reading};
use super::tiers::CpuRing;
use crate::capture::folder::Folder;
use crate::system::worker::Worker;
use rtscope_decode::capture::IN_FRAMES;
use rtscope_decode::frames::Packer;
use rtscope_decode::sched::ThreadName;
use rtscope_model::Loss;
use std::collections::HashSet;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Compression level, the fastest of zstd's ordinary ones: it runs while the program does.
const LEVEL: i32 = 1;
/// Longest wait for one full read of the rings.
const CATCH_UP: Duration = Duration::from_millis(500);

/// Which recorder's streams these are.
#[derive(Copy, Clone, Debug)]
pub struct StreamKind {
    pub folder: &'static str,
    /// The source that losses are attributed to.
    pub source: &'static str,
    pub thread: &'static str,
}

impl StreamKind {
    /// Path of a CPU's stream, as in the manifest.
    pub fn path(self, cpu: u16) -> String {
        format!("{}/cpu{cpu}.perf{IN_FRAMES}", self.folder)
    }
}

/// Streams that are being written; by default none. Ends when dropped.
#[derive(Debug, Default)]
pub struct Streams {
    drain: Option<Worker<DrainCounts>>,
    stopped: bool,
}

impl Streams {
    /// Makes the files in `folder` (the capture's folder of that kind), enables
    /// the events, lets `begin` write what comes first, and starts the
    /// thread. `reading` is what is done with records.
    pub fn start(
        kind: StreamKind,
        rings: Vec<CpuRing>,
        folder: &Folder,
        reading: Reading,
        begin: impl FnOnce(&mut [CpuLane]) -> io::Result<()>,
    ) -> io::Result<Streams> {
        let packer = Arc::new(Mutex::new(Packer::new(LEVEL)?));
        let create = |ring: CpuRing| {
            let path = kind.path(ring.cpu);
            CpuLane::create(ring, folder, &path, Arc::clone(&packer))
        };
        let mut lanes = rings.into_iter().map(create).collect::<io::Result<Vec<_>>>()?;
        let mut streams = Streams::default();
        if !lanes.is_empty() {
            lanes.iter().try_for_each(CpuLane::enable)?;
            begin(&mut lanes)?;
            streams.drain = Some(Drain::start(lanes, reading, kind.source, kind.thread)?);
        }
        Ok(streams)
    }

    /// Passes existing threads, of the program or not, to the drain.
    pub fn know(&self, threads: Vec<ThreadName>) {
        self.drain.iter().for_each(|drain| drain.lock().threads.clone_from(&threads));
    }

    /// Sets the processes whose descendants [`Streams::family`] returns.
    pub fn follow(&self, pids: &[u32]) {
        self.drain.iter().for_each(|drain| drain.lock().forks.follow(pids));
    }

    /// The followed processes and their descendants, without those whose end was seen; `None`: nothing that is
    /// recorded shows them. `now`: including records up to this moment.
    pub fn family(&self, now: bool) -> Option<HashSet<u32>> {
        let drain = self.drain.as_ref().filter(|_| !self.stopped)?;
        if now {
            let before = drain.lock().rounds;
            let deadline = Instant::now() + CATCH_UP;
            // One round may already be half done.
            while drain.lock().rounds < before + 2 && Instant::now() < deadline {
                drain.wake.ring();
                std::thread::sleep(Duration::from_micros(200));
            }
        }
        Some(drain.lock().forks.family())
    }

    pub fn gone(&self, pids: &[u32]) {
        self.drain.iter().for_each(|drain| drain.lock().forks.gone(pids.iter().copied()));
    }

    pub fn records(&self) -> u64 {
        self.drain.as_ref().map_or(0, |drain| drain.lock().records)
    }

    pub fn lost(&self) -> u64 {
        self.drain.as_ref().map_or(0, |drain| drain.lock().lost)
    }

    pub fn written_bytes(&self) -> u64 {
        self.drain.as_ref().map_or(0, |drain| drain.written_bytes())
    }

    /// Losses on the way to the disk so far. Records that the kernel dropped are
    /// reported in the streams themselves and come from the decoder, except for those
    /// that no later record could report: they are added at the end.
    pub fn losses(&self) -> Vec<Loss> {
        self.drain.as_ref().map_or(Vec::new(), |drain| drain.lock().losses.clone())
    }

    /// What records do not contain so far, and why.
    pub fn missing(&self) -> Vec<String> {
        self.drain.as_ref().map_or(Vec::new(), |drain| drain.lock().missing.clone())
    }

    /// Takes what is left in the rings and syncs the files. False: the thread had
    /// ended early.
    pub fn stop(&mut self) -> bool {
        self.stopped = true;
        self.drain.as_mut().is_none_or(Worker::end)
    }
}

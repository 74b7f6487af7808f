//! Samples what a program's threads wait for, during a recording: one thread of the recorder samples
//! a few times a second and writes `waits.jsonl`. Owns when that happens and what it may cost. Refuses to stop
//! the program, and to know what a runtime is.

mod groups;
mod places;
mod watched;

use crate::capture::folder::Folder;
use crate::capture::store::is_disk_full;
use crate::system::clock;
use crate::system::procfs::Host;
use crate::system::worker::{Shared, Worker, use_batch_priority};
use rtscope_decode::capture::waits::write_line;
use rtscope_model::chance::Chance;
use rtscope_model::{Time, WaitLine, WaitSeen};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;
use watched::WatchedProcess;

const WAITS: &str = "waits.jsonl";
/// Sampling period; each sample comes a little earlier or later, so that periodic work of the program is met at all of
/// its moments.
const PERIOD_NS: u64 = 250_000_000;
/// Samples use one part in this many of a CPU.
const SHARE: u64 = 400;
/// Extra CPU time for finding the threads, once.
const START_NS: u64 = 30_000_000;
/// Longest time between two samples.
const REST_MAX_NS: u64 = 20_000_000_000;
/// Processes that are sampled.
const PROCESSES_MAX: usize = 8;
/// Most bytes written: 4 samples a second of some groups take a day to fill it.
const BYTES_MAX: u64 = 256 << 20;

/// Messages between the thread and its owner.
#[derive(Debug, Default)]
pub(super) struct Mailbox {
    targets: Vec<u32>,
    notes: Vec<String>,
    /// CPU time of all samples.
    cpu_ns: u64,
}

pub(super) type WaitSampler = Worker<Mailbox>;

impl WaitSampler {
    /// Starts it for the process `pid`, writing into `capture`. Errors: the thread cannot be made.
    pub(super) fn start(host: Host, pid: u32, capture: Folder, redact: bool) -> io::Result<WaitSampler> {
        let shared = Shared::new(Mailbox { targets: vec![pid], ..Mailbox::default() })?;
        let mut looker = Looker::new(host, capture, redact, Arc::clone(&shared));
        Worker::run(shared, "waits", use_batch_priority, move |_| looker.run())
    }

    pub(super) fn set_targets(&self, pids: Vec<u32>) {
        self.lock().targets = pids;
    }

    /// CPU time of all samples, nanoseconds.
    pub(super) fn cpu_ns(&self) -> u64 {
        self.lock().cpu_ns
    }

    /// Ends it. Returns the notes for the user and the manifest, the bytes written, and its CPU time in nanoseconds.
    pub(super) fn finish(mut self) -> (Vec<String>, u64, u64) {
        let ended = self.end();
        let mut mailbox = self.lock();
        let mut notes = std::mem::take(&mut mailbox.notes);
        if !ended {
            notes.push("the thread that looks at what threads wait for did not end in time".to_owned());
        }
        (notes, self.written_bytes(), mailbox.cpu_ns)
    }
}

#[derive(Debug)]
struct Looker {
    host: Host,
    capture: Folder,
    redact: bool,
    shared: Arc<Shared<Mailbox>>,
    processes: BTreeMap<u32, WatchedProcess>,
    output: Option<File>,
    lines: Vec<u8>,
    /// Makes samples come earlier and later.
    chance: Chance,
}

impl Looker {
    fn new(host: Host, capture: Folder, redact: bool, shared: Arc<Shared<Mailbox>>) -> Looker {
        let (processes, lines) = (BTreeMap::new(), Vec::new());
        Looker { host, capture, redact, shared, processes, output: None, lines, chance: Chance::new(1) }
    }

    fn run(&mut self) {
        let shared = Arc::clone(&self.shared);
        let (mut pause_ns, mut owed_ns, mut last) = (PERIOD_NS, 0_u64, clock::monotonic());
        while shared.wait(&[], Some(self.around(pause_ns))) && !shared.disk_full() {
            let before_ns = clock::thread_cpu_ns();
            let sandboxes_ns = self.look();
            let spent_ns = clock::thread_cpu_ns().saturating_sub(before_ns);
            shared.lock().cpu_ns += spent_ns.saturating_add(sandboxes_ns);
            // Naming places has a rest period of its own.
            owed_ns = owed_ns.saturating_add(spent_ns).saturating_sub(clock::monotonic().since(last) / SHARE);
            last = clock::monotonic();
            let rest_ns = owed_ns.saturating_sub(START_NS).saturating_mul(SHARE);
            pause_ns = PERIOD_NS.max(rest_ns.min(REST_MAX_NS));
            self.write();
        }
        let now = clock::monotonic();
        for (pid, mut process) in std::mem::take(&mut self.processes) {
            process.finish();
            self.take(now, pid, &mut process);
        }
        self.write();
    }

    /// A random time near this one: from three to five quarters of it.
    fn around(&mut self, ns: u64) -> u64 {
        ns / 4 * 3 + self.chance.below(ns / 2)
    }

    /// Samples each process once; returns the CPU time of children that named places.
    fn look(&mut self) -> u64 {
        let targets = self.shared.lock().targets.clone();
        let gone: Vec<u32> = self.processes.keys().copied().filter(|pid| !targets.contains(pid)).collect();
        let mut sandboxes_ns = 0;
        for pid in gone {
            if let Some(mut process) = self.processes.remove(&pid) {
                sandboxes_ns += process.finish();
                self.take(clock::monotonic(), pid, &mut process);
            }
        }
        for pid in targets.into_iter().take(PROCESSES_MAX) {
            let now = clock::monotonic();
            let mut process = self.processes.remove(&pid).unwrap_or_else(|| WatchedProcess::new(pid, self.redact));
            sandboxes_ns += process.look(&self.host, now);
            self.take(now, pid, &mut process);
            self.processes.insert(pid, process);
        }
        sandboxes_ns
    }

    /// Takes over what is now known about a process.
    fn take(&mut self, now: Time, pid: u32, process: &mut WatchedProcess) {
        process.take_notes().into_iter().for_each(|note| self.note(note));
        for (time, seen) in process.take() {
            if let WaitSeen::Not(why) = &seen {
                self.note(format!("what threads wait for is not looked at: {why}"));
            }
            write_line(&mut self.lines, &WaitLine { time: time.unwrap_or(now), pid, seen });
        }
    }

    fn note(&self, note: String) {
        let mut mailbox = self.shared.lock();
        if !mailbox.notes.contains(&note) {
            mailbox.notes.push(note);
        }
    }

    fn write(&mut self) {
        let lines = std::mem::take(&mut self.lines);
        if lines.is_empty() || self.shared.written_bytes() + lines.len() as u64 > BYTES_MAX {
            return;
        }
        let made = self.output.take().map_or_else(|| self.capture.create(WAITS), Ok);
        let written = made.and_then(|mut output| {
            output.write_all(&lines)?;
            self.output = Some(output);
            Ok(())
        });
        match written {
            Ok(()) => self.shared.add_written(lines.len() as u64),
            Err(error) if is_disk_full(&error) => _ = self.shared.fill_disk(),
            Err(error) => self.note(format!("what threads wait for could not be written: {error}")),
        }
    }
}

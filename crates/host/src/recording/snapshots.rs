//! Snapshots of heaps during a recording: a thread that runs in parallel with the loop,
//! reads the heap of each process periodically, or when it has grown, and writes it whole as
//! `heap/N.json`. Owns when that happens, what it may cost and what is reported if it cannot
//! be done. Refuses to stop the program: it reads what can be read of a running process.

use crate::capture::folder::Folder;
use crate::capture::store::is_disk_full;
use crate::runtimes::recorded::{NoHeap, ReadHeap, Then};
use crate::system::clock;
use crate::system::procfs::Host;
use crate::system::worker::{Shared, Worker, use_batch_priority};
use rtscope_model::heap::Heap;
use rtscope_model::{Time, units};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// The next snapshot waits this many times the CPU time of the last one.
const REST: u64 = 10;
/// Period of checking the resident memory.
const LOOK_NS: u64 = 20_000_000;
/// Longest wait between checks for new processes.
const PAUSE_MAX_NS: u64 = 500_000_000;
/// Attempts at a snapshot that growing memory asks for.
const TRIES_MAX: u32 = 3;
/// Processes whose resident memory is checked.
const PROCESSES_MAX: usize = 64;
/// Entries of census and holders in a snapshot.
const ENTRIES_MAX: usize = 200;
/// A level is armed again when the memory falls to this many hundredths of it.
const BELOW: u64 = 90;

/// When snapshots are taken.
#[derive(Clone, Eq, PartialEq, Debug, Default)]
pub struct When {
    /// Period of snapshots.
    pub every: Option<Duration>,
    /// When the resident memory of a process exceeds this many bytes, or twice, four
    /// times… as many; each again after it has been a tenth below.
    pub rss_over: Vec<u64>,
}

impl When {
    /// Whether any snapshots are requested.
    pub fn any(&self) -> bool {
        self.every.is_some() || !self.rss_over.is_empty()
    }
}

/// Messages between the thread and its owner.
#[derive(Debug, Default)]
pub(super) struct Mailbox {
    targets: Vec<u32>,
    cost: Cost,
    notes: Vec<String>,
}

/// Totals so far.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Default)]
pub(super) struct Cost {
    /// Snapshots written.
    pub taken: u64,
    pub written_bytes: u64,
    /// CPU time of all attempts.
    pub cpu_ns: u64,
}

/// The running thread. It ends when the disk is full; once it is stopped, no further snapshot begins.
pub(super) type Snapshots = Worker<Mailbox>;

impl Snapshots {
    /// Starts it for the process `pid`, writing into `folder`. Errors: the thread cannot be made.
    pub(super) fn start(host: Host, pid: u32, when: When, folder: Folder, read: ReadHeap) -> io::Result<Snapshots> {
        let shared = Shared::new(Mailbox { targets: vec![pid], ..Mailbox::default() })?;
        let mut taker = Taker::new(host, when, folder, read, Arc::clone(&shared));
        Worker::run(shared, "snapshots", use_batch_priority, move |_| taker.run())
    }

    pub(super) fn set_targets(&self, pids: Vec<u32>) {
        self.lock().targets = pids;
    }

    /// New notes since the last call, for the user and the manifest.
    pub(super) fn notes(&self) -> Vec<String> {
        std::mem::take(&mut self.lock().notes)
    }

    pub(super) fn cost(&self) -> Cost {
        self.lock().cost
    }

    /// Ends it, after a snapshot that is being taken. Returns its cost and the remaining notes.
    pub(super) fn finish(mut self) -> (Cost, Vec<String>) {
        if self.end() {
            return (self.cost(), self.notes());
        }
        let note = "the thread that takes heap snapshots did not end in time: the last one is missing";
        (self.cost(), vec![note.to_owned()])
    }
}

#[derive(Debug)]
struct HeapWatch {
    /// When the clock asks for its next snapshot.
    next: Option<Time>,
    /// How many levels of each limit its memory exceeds.
    over: Vec<u32>,
    /// Attempts left for the snapshot that is due because the memory exceeded a level.
    tries: u32,
}

impl HeapWatch {
    fn due(&self, now: Time) -> bool {
        self.tries > 0 || self.next.is_some_and(|next| next <= now)
    }
}

/// How many levels of `limit` (once, twice, four times… as much) `rss` exceeds, if it
/// exceeded `before` of them.
fn levels(limit: u64, before: u32, rss: u64) -> u32 {
    let level = |number: u32| limit.saturating_mul(1_u64.checked_shl(number).unwrap_or(u64::MAX));
    let mut over = before;
    while over > 0 && u128::from(rss) * 100 < u128::from(level(over - 1)) * u128::from(BELOW) {
        over -= 1;
    }
    while over < u64::BITS && rss > level(over) {
        over += 1;
    }
    over
}

#[derive(Debug)]
struct Taker {
    host: Host,
    when: When,
    folder: Folder,
    read: ReadHeap,
    shared: Arc<Shared<Mailbox>>,
    page_bytes: u64,
    processes: BTreeMap<u32, HeapWatch>,
    /// No snapshot begins before this.
    rests_until: Time,
    /// Processes that are not tried again.
    refused: BTreeSet<u32>,
    /// Reasons already noted.
    noted: BTreeSet<String>,
    /// Why the last attempt failed.
    last: Option<String>,
}

impl Taker {
    fn new(host: Host, when: When, folder: Folder, read: ReadHeap, shared: Arc<Shared<Mailbox>>) -> Taker {
        Taker {
            host,
            when,
            folder,
            read,
            shared,
            page_bytes: rustix::param::page_size() as u64,
            processes: BTreeMap::new(),
            rests_until: Time(0),
            refused: BTreeSet::new(),
            noted: BTreeSet::new(),
            last: None,
        }
    }

    fn run(&mut self) {
        while !self.shared.is_stopped() && !self.shared.disk_full() {
            let now = clock::monotonic();
            self.follow_targets(now);
            self.look_at_memory();
            match self.next_due(now) {
                Some(pid) if now >= self.rests_until => self.look_at(pid),
                _ => _ = self.shared.wait(&[], Some(self.pause_ns(now))),
            }
        }
        if self.shared.lock().cost.taken == 0 {
            let why = self.last.take().unwrap_or_else(|| self.never_due());
            self.note(format!("no snapshot of a heap was taken: {why}"));
        }
    }

    fn never_due(&self) -> String {
        match self.when.rss_over.iter().min() {
            Some(least) if self.when.every.is_none() => {
                format!("the resident memory was never seen over {}", units::bytes(*least))
            }
            _ => "the program ended before the first one was due".into(),
        }
    }

    fn note(&mut self, note: String) {
        if self.noted.insert(note.clone()) {
            self.shared.lock().notes.push(note);
        }
    }

    fn follow_targets(&mut self, now: Time) {
        let targets = self.shared.lock().targets.clone();
        self.processes.retain(|pid, _| targets.contains(pid));
        let next = self.when.every.map(|every| now.plus(clock::ns_of(every)));
        let limits = self.when.rss_over.len();
        for pid in targets.into_iter().take(PROCESSES_MAX).filter(|pid| !self.refused.contains(pid)) {
            self.processes.entry(pid).or_insert_with(|| HeapWatch { next, over: vec![0; limits], tries: 0 });
        }
    }

    fn look_at_memory(&mut self) {
        if self.when.rss_over.is_empty() {
            return;
        }
        for (pid, process) in &mut self.processes {
            let statm = self.host.process_text(*pid, "statm").unwrap_or_default();
            let pages = statm.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok());
            let Some(pages) = pages else { continue };
            let rss = pages.saturating_mul(self.page_bytes);
            for (limit, over) in self.when.rss_over.iter().zip(&mut process.over) {
                let now_over = levels(*limit, *over, rss);
                if now_over > *over {
                    process.tries = TRIES_MAX;
                }
                *over = now_over;
            }
        }
    }

    /// The due process that has waited longest.
    fn next_due(&self, now: Time) -> Option<u32> {
        let due = self.processes.iter().filter(|(_, process)| process.due(now));
        due.min_by_key(|(_, process)| process.next).map(|(pid, _)| *pid)
    }

    fn pause_ns(&self, now: Time) -> u64 {
        let clock = self.processes.values().filter_map(|process| process.next).min();
        let until = clock.map_or(u64::MAX, |next| next.max(self.rests_until).since(now));
        let until = if self.when.rss_over.is_empty() { until } else { until.min(LOOK_NS) };
        until.clamp(1_000_000, PAUSE_MAX_NS)
    }

    /// Takes a snapshot of `pid`, then rests. By CPU time: on a busy machine reading takes long
    /// because it waits, which costs the program nothing. Only this thread reads: it gives way when
    /// the program wants the CPU, child threads of its own would not.
    fn look_at(&mut self, pid: u32) {
        let before = clock::thread_cpu_ns();
        let mut child_ns = 0;
        let taken = (self.read)(&self.host, pid).map(|(heap, cpu_ns)| {
            child_ns = cpu_ns;
            self.keep(heap)
        });
        let cpu_ns = clock::thread_cpu_ns().saturating_sub(before).saturating_add(child_ns);
        self.shared.lock().cost.cpu_ns += cpu_ns;
        let now = clock::monotonic();
        self.rests_until = now.plus(cpu_ns.saturating_mul(REST));
        let every = self.when.every.map(clock::ns_of);
        if let Some(process) = self.processes.get_mut(&pid) {
            process.next = process.next.zip(every).map(|(next, every)| next.plus(every).max(now));
            process.tries = if taken.is_ok() { 0 } else { process.tries.saturating_sub(1) };
        }
        match taken {
            Ok(Ok(())) => {}
            Ok(Err(error)) if is_disk_full(&error) => _ = self.shared.fill_disk(),
            Ok(Err(error)) => self.note(format!("a snapshot of the heap could not be written: {error}")),
            Err(failed) => self.failed(pid, failed),
        }
    }

    /// A process without such a heap may get one later, by an exec, or may just have ended: its failure is
    /// reported at the end of the recording, unless a snapshot succeeded.
    fn failed(&mut self, pid: u32, NoHeap { why, then }: NoHeap) {
        match then {
            Then::Gone | Then::TryAgain => {}
            Then::Failed => self.note(format!("a snapshot of the heap failed: {why}")),
            Then::Never(next) => {
                self.refused.insert(pid);
                self.processes.remove(&pid);
                self.note(format!("heap snapshots are not taken: {why}{next}"));
            }
        }
        // Its end does not replace an earlier reason.
        if self.last.is_none() || then != Then::Gone {
            self.last = Some(why);
        }
    }

    /// Writes it under its number: whole or not at all.
    fn keep(&self, mut heap: Heap) -> io::Result<()> {
        heap.shorten(ENTRIES_MAX);
        let text = serde_json::to_vec(&heap)?;
        let number = self.shared.lock().cost.taken;
        self.folder.replace(&format!("{number}.json"), &text, false)?;
        let cost = &mut self.shared.lock().cost;
        cost.taken += 1;
        cost.written_bytes += text.len() as u64;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtimes;

    use rtscope_model::heap::{Entry, OTHERS};
    use std::fs;
    use std::path::Path;

    fn read() -> ReadHeap {
        runtimes::all().find_map(|runtime| runtime.heap().ok()).unwrap()
    }

    const MIB: u64 = 1 << 20;

    /// The sizes in `sizes` at which a snapshot is requested.
    fn asked(limit: u64, sizes: &[u64]) -> Vec<u64> {
        let mut over = 0;
        let mut asked = |rss: u64| {
            let now = levels(limit, over, rss);
            std::mem::replace(&mut over, now) < now
        };
        sizes.iter().copied().filter(|rss| asked(*rss)).collect()
    }

    #[test]
    fn a_level_is_met_once_until_the_memory_was_a_tenth_below_it() {
        assert_eq!(asked(100, &[50, 100, 101, 95, 102, 91, 103, 89, 104]), [101, 104]);
        assert_eq!(asked(100, &[101, 150, 201, 300, 401, 370, 402]), [101, 201, 401]);
        assert_eq!(asked(100, &[10, 500, 10, 150, 450]), [500, 150, 450]);
        assert_eq!(asked(1, &[u64::MAX, 0, u64::MAX]), [u64::MAX, u64::MAX]);
        assert_eq!(asked(u64::MAX, &[u64::MAX]), [0; 0]);
    }

    fn taker(when: When, folder: &Path) -> Taker {
        let shared = Shared::new(Mailbox { targets: vec![std::process::id()], ..Mailbox::default() }).unwrap();
        Taker::new(Host::default(), when, Folder::open(folder).unwrap(), read(), shared)
    }

    #[test]
    fn what_is_kept_is_whole_numbered_and_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let taker = taker(When::default(), folder.path());
        let census: Vec<Entry> = (0..1000).map(|bytes| Entry { bytes, ..Entry::default() }).collect();
        taker.keep(Heap { census, ..Heap::default() }).unwrap();
        taker.keep(Heap::default()).unwrap();
        let mut names: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["0.json", "1.json"]);
        let bytes = fs::read(folder.path().join("0.json")).unwrap();
        let heap: Heap = serde_json::from_slice(&bytes).unwrap();
        assert_eq!((heap.census.len(), heap.census.last().unwrap().name.as_str()), (ENTRIES_MAX + 1, OTHERS));
        let cost = taker.shared.lock().cost;
        assert_eq!((cost.taken, cost.written_bytes > bytes.len() as u64), (2, true));
    }

    #[test]
    fn a_process_that_is_no_ghc_program_is_reported_once_at_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let when = When { every: Some(Duration::from_millis(1)), rss_over: vec![MIB] };
        let snapshots =
            Snapshots::start(Host::default(), std::process::id(), when, Folder::open(folder.path()).unwrap(), read())
                .unwrap();
        while snapshots.cost().cpu_ns == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(snapshots.notes(), [""; 0]);
        let (cost, notes) = snapshots.finish();
        assert_eq!((cost.taken, notes.len()), (0, 1));
        assert!(notes[0].contains("is not a Haskell program"), "{notes:?}");
    }

    #[test]
    fn a_limit_that_was_never_met_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let when = When { rss_over: vec![u64::MAX, 1 << 60], ..When::default() };
        let snapshots =
            Snapshots::start(Host::default(), std::process::id(), when, Folder::open(folder.path()).unwrap(), read())
                .unwrap();
        let (_, notes) = snapshots.finish();
        assert!(notes[0].contains("never seen over 1024 PiB"), "{notes:?}");
    }
}

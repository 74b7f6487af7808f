//! Samples counters that neither the runtime nor the kernel's trace records: resident memory, throttle
//! counters of every covering group, threads' context switches and faults, steal, pressure; and counts of
//! transactions, which `stm` reads. One thread, absolute deadlines, files kept open and read with pread;
//! a late wake-up is recorded, not made up for. The format of its lines is `decode::capture::samples`.
//! Threads are sampled every 100 ms, or less often if there are so many that it would cost more than its
//! share. At 10 ms a wake-up alone is most of the cost, so everything shares one, and there are fewer of them
//! while no group has a quota, and neither memory nor transactions changed.

use crate::capture::folder::Folder;
use crate::capture::store::is_disk_full;
use crate::machine::cgroup::GroupLevel;
use crate::runtimes::stm::{self, Watcher};
use crate::system::clock;
use crate::system::procfs::{self, Host, Stat};
use crate::system::worker::{Shared, Worker, use_batch_priority};
use crate::target;
use rtscope_decode::capture::samples::write_line;
use rtscope_model::{Cpu, GroupId, Pid, Sample, Tid, Time};
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::{Arc, MutexGuard};

const SAMPLES: &str = "samples.jsonl";
/// Period of threads, of limited memory, and of steal while there is some.
const SLOW_PERIOD_NS: u64 = 100_000_000;
/// Period of the background to a pause, not its cause (pressure, groups without
/// limits), of the search for new threads, of the check for steal, and of
/// writing: a write costs as much as two wake-ups.
const RARE_PERIOD_NS: u64 = 500_000_000;
/// For this long after the start, rare samples come at the slow period.
const STARTING_NS: u64 = 300_000_000;
/// Sampling the threads may cost one part in this many.
const THREAD_SCAN_SHARE: u64 = 2_000;
/// While nothing moved for this long, and no group has a quota, one wake-up in `CALM` is enough.
const MOVED_NS: u64 = 1_000_000_000;
const CALM: u64 = 10;
/// Resident memory has moved if it changed by one part in this many.
const RSS_MOVED_SHARE: u64 = 64;
/// A gap this long is a loss, not jitter.
const GAP_NS: u64 = 100_000_000;
/// Gaps that are listed individually; the last entry absorbs the rest.
const GAPS_MAX: usize = 64;
/// Threads whose file is kept open.
const THREAD_FILES_MAX: usize = 256;

/// What to sample.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// The host whose `/proc` is read.
    pub host: Host,
    /// The program.
    pub pid: u32,
    /// Groups that cover it, in the manifest's order.
    pub levels: Vec<GroupLevel>,
    /// Period of RSS and throttle counters, nanoseconds.
    pub period_ns: u64,
    /// How counts of transactions are stored (a caller that takes the lines by hand needs no folder); `None`:
    /// they are not sampled.
    pub transactions: Option<stm::StmOutput>,
}

/// Requests to the sampler, and its answers.
#[derive(Debug, Default)]
pub(crate) struct Mailbox {
    targets: Vec<u32>,
    fresh_targets: bool,
    more_levels: Vec<(GroupId, GroupLevel)>,
    gaps: Vec<(Time, Time)>,
}

/// A running sampler. It stops writing when the disk is full.
pub(crate) type Sampler = Worker<Mailbox>;

impl Sampler {
    /// Starts it; `samples.jsonl` goes into `capture`. Errors: the file or the thread cannot be made.
    pub fn start(capture: &Folder, config: Config) -> io::Result<Sampler> {
        let shared = Shared::new(Mailbox { targets: vec![config.pid], ..Mailbox::default() })?;
        let output = capture.create(SAMPLES)?;
        let mut state = SamplerState::new(config, Some(Output { file: output, shared: Arc::clone(&shared) }));
        Worker::run(shared, "sampler", use_batch_priority, move |_| state.run())
    }

    /// Sets the processes whose memory and threads are the program's.
    pub fn set_targets(&self, pids: Vec<u32>) {
        let mut mailbox = self.lock();
        if mailbox.targets != pids {
            (mailbox.targets, mailbox.fresh_targets) = (pids, true);
        }
    }

    /// Adds a group that was found later (the program moved itself into it).
    pub fn add_level(&self, group: GroupId, level: GroupLevel) {
        self.lock().more_levels.push((group, level));
    }

    /// Stops it; everything sampled is in the file when this returns. Returns the bytes written, the gaps of 100
    /// ms or more in which it did not run, and whether its thread has ended: one that is held up is abandoned.
    pub fn finish(mut self) -> (u64, Vec<(Time, Time)>, bool) {
        let ended = self.end();
        let gaps = std::mem::take(&mut self.lock().gaps);
        (self.written_bytes(), gaps, ended)
    }
}

/// A sampler without a thread and a file: its owner decides when to sample, and takes the
/// lines. Threads and background figures are sampled at most as often as otherwise.
#[derive(Debug)]
pub struct Manual {
    state: SamplerState,
}

impl Manual {
    /// One that has not sampled yet.
    pub fn new(config: Config) -> Manual {
        Manual { state: SamplerState::new(config, None) }
    }

    /// Samples what is due.
    pub fn look(&mut self) {
        self.state.sample(clock::monotonic());
    }

    /// The lines since the last call, in the format of `samples.jsonl`.
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.state.lines)
    }

    /// The lines with counts of transactions since the last call, in the format of `stm.jsonl`.
    pub fn take_transactions(&mut self) -> Vec<u8> {
        self.state.transactions.as_mut().map_or(Vec::new(), Watcher::take)
    }
}

/// A small file that is read repeatedly.
#[derive(Debug)]
struct Reread(File);

impl Reread {
    fn open(path: PathBuf) -> Option<Reread> {
        File::open(path).ok().map(Reread)
    }

    fn read<'a>(&self, buffer: &'a mut [u8]) -> Option<&'a str> {
        let count = self.0.read_at(buffer, 0).ok()?;
        std::str::from_utf8(buffer.get(..count)?).ok()
    }
}

#[derive(Debug)]
struct SampledThread {
    schedstat: Option<Reread>,
    last: [u64; 3],
    seen: bool,
}

#[derive(Debug, Default)]
struct SampledProcess {
    statm: Option<Reread>,
    /// The process, for its counts of calls; `None`: it has ended.
    held: Option<target::Process>,
    /// Calls that read, their bytes, calls that write, their bytes.
    last_calls: [u64; 4],
    threads: HashMap<u32, SampledThread>,
}

/// The file for a running sampler's lines, and the state that it shares with the recorder.
#[derive(Debug)]
struct Output {
    file: File,
    shared: Arc<Shared<Mailbox>>,
}

#[derive(Debug, Default)]
struct SamplerState {
    config: Config,
    /// The destination of lines; without it the owner takes them.
    output: Option<Output>,
    lines: Vec<u8>,
    buffer: Vec<u8>,
    page_bytes: u64,
    tick_ns: u64,
    processes: HashMap<u32, SampledProcess>,
    /// First those of groups without a quota (it may be set later), read rarely; then with one, read at every wake-up.
    quota_files: [Vec<(GroupId, Reread)>; 2],
    /// Likewise for memory limits; those with one are read at the slow period.
    memory_files: [Vec<(GroupId, Reread)>; 2],
    pressure_files: Vec<(u8, Reread)>,
    machine_stat: Option<Reread>,
    transactions: Option<Watcher>,
    last_quota: HashMap<u16, [u64; 3]>,
    last_memory: HashMap<u16, u64>,
    last_stolen: HashMap<u16, (u64, u64)>,
    /// The hypervisor took time of a CPU between the last two samples.
    stealing: bool,
    last_pressure: HashMap<u8, u64>,
    last_rss: u64,
    rss_written: Time,
    /// When resident memory or a count of transactions last moved.
    moved: Time,
    started: Time,
    next_slow: Time,
    next_rare: Time,
    next_threads: Time,
}

impl SamplerState {
    fn new(config: Config, output: Option<Output>) -> SamplerState {
        let pressure = [(0, "cpu"), (1, "memory"), (2, "io")];
        let pressure_files = pressure
            .into_iter()
            .filter_map(|(id, name)| Some((id, Reread::open(config.host.path(format!("/proc/pressure/{name}")))?)))
            .collect();
        let mut state = SamplerState {
            output,
            lines: Vec::with_capacity(1 << 14),
            buffer: vec![0; 1 << 16],
            page_bytes: rustix::param::page_size() as u64,
            tick_ns: clock::tick_ns(),
            pressure_files,
            machine_stat: Reread::open(config.host.path("/proc/stat")),
            transactions: config.transactions.clone().map(|kept| Watcher::new(config.host.clone(), kept)),
            last_rss: u64::MAX,
            started: clock::monotonic(),
            moved: clock::monotonic(),
            config,
            ..SamplerState::default()
        };
        for (index, level) in state.config.levels.clone().into_iter().enumerate() {
            state.open_level(GroupId(index as u16), level);
        }
        state
    }

    fn open_level(&mut self, group: GroupId, level: GroupLevel) {
        let file = |path: Option<PathBuf>| path.and_then(Reread::open).map(|file| (group, file));
        self.quota_files[usize::from(level.group.quota_cpus.is_some())].extend(file(level.cpu_stat));
        self.memory_files[usize::from(level.group.memory_limit_bytes.is_some())].extend(file(level.memory));
    }

    fn run(&mut self) {
        let Some(shared) = self.output.as_ref().map(|output| Arc::clone(&output.shared)) else { return };
        let mut deadline = clock::monotonic();
        while shared.wait(&[], Some(deadline.since(clock::monotonic()))) && !shared.disk_full() {
            let now = clock::monotonic();
            let late_ns = now.since(deadline);
            if late_ns > self.config.period_ns {
                write_line(&mut self.lines, now, &Sample::Late { ns: late_ns });
            }
            if late_ns >= GAP_NS {
                self.note_gap(deadline, now);
            }
            self.sample(now);
            deadline = deadline.plus(self.period_ns(now)).max(now);
        }
        let now = clock::monotonic();
        self.sample_rare(now);
        self.sample_slow(now);
        if let Some(transactions) = &mut self.transactions {
            transactions.look(now);
            transactions.finish();
        }
        self.write();
    }

    fn period_ns(&self, now: Time) -> u64 {
        let calm = self.quota_files[usize::from(true)].is_empty() && now.since(self.moved) >= MOVED_NS;
        self.config.period_ns.saturating_mul(if calm { CALM } else { 1 })
    }

    fn mailbox(&self) -> Option<MutexGuard<'_, Mailbox>> {
        self.output.as_ref().map(|output| output.shared.lock())
    }

    fn note_gap(&self, from: Time, to: Time) {
        let Some(mut mailbox) = self.mailbox() else { return };
        let gaps = &mut mailbox.gaps;
        if gaps.len() < GAPS_MAX {
            gaps.push((from, to));
        } else if let Some(last) = gaps.last_mut() {
            last.1 = to;
        }
    }

    fn sample(&mut self, now: Time) {
        self.sample_rss(now);
        self.sample_quota(now, true);
        // They are read from memory that disappears with the program: the last values seen are stored.
        if self.transactions.as_mut().is_some_and(|transactions| transactions.look(now)) {
            self.moved = now;
        }
        if now >= self.next_slow {
            self.next_slow = now.plus(SLOW_PERIOD_NS);
            if now >= self.next_rare
                || self.mailbox().is_some_and(|mut mailbox| std::mem::take(&mut mailbox.fresh_targets))
            {
                // A program makes its threads at its start.
                let starts = now.since(self.started) < STARTING_NS;
                self.next_rare = now.plus(if starts { SLOW_PERIOD_NS } else { RARE_PERIOD_NS });
                self.sample_rare(now);
                self.write();
            }
            self.sample_slow(now);
        }
    }

    fn sample_rare(&mut self, now: Time) {
        self.refresh_targets();
        self.find_threads();
        self.sample_calls(now);
        self.sample_quota(now, false);
        self.sample_group_memory(now, false);
        self.sample_pressure(now);
        self.sample_stolen(now);
        if let Some(transactions) = &mut self.transactions {
            transactions.follow(self.processes.keys().copied());
        }
    }

    fn sample_slow(&mut self, now: Time) {
        self.sample_group_memory(now, true);
        if let Some(transactions) = &mut self.transactions {
            transactions.settle(now);
            transactions.note();
        }
        if self.stealing {
            self.sample_stolen(now);
        }
        if now >= self.next_threads {
            // By CPU time: on a busy machine sampling takes long because it waits, which costs the program nothing.
            let before = clock::thread_cpu_ns();
            self.sample_threads(now);
            let cost = clock::thread_cpu_ns().saturating_sub(before);
            self.next_threads = now.plus(SLOW_PERIOD_NS.max(cost.saturating_mul(THREAD_SCAN_SHARE)));
        }
    }

    /// Writes what was collected; on a full disk sampling ends, the rest of the recording continues.
    fn write(&mut self) {
        let Some(Output { file, shared }) = &mut self.output else { return };
        let counts = self.transactions.as_mut().map_or(Ok(0), Watcher::write);
        for written in [file.write_all(&self.lines).map(|()| self.lines.len() as u64), counts] {
            match written {
                Ok(bytes) => shared.add_written(bytes),
                Err(error) if is_disk_full(&error) => _ = shared.fill_disk(),
                Err(_) => {}
            }
        }
        self.lines.clear();
    }

    fn refresh_targets(&mut self) {
        let mailbox =
            self.mailbox().map(|mut mailbox| (std::mem::take(&mut mailbox.more_levels), mailbox.targets.clone()));
        let (more, targets) = mailbox.unwrap_or_else(|| (Vec::new(), vec![self.config.pid]));
        for (group, level) in more {
            self.open_level(group, level);
        }
        self.processes.retain(|pid, _| targets.contains(pid));
        for pid in targets {
            let process = self.processes.entry(pid).or_default();
            if process.statm.is_none() {
                process.statm = Reread::open(self.config.host.process(pid, "statm"));
                process.held = target::Process::open(&self.config.host, pid).ok();
            }
        }
    }

    fn sample_rss(&mut self, now: Time) {
        let mut pages = 0;
        for process in self.processes.values() {
            let text = process.statm.as_ref().and_then(|statm| statm.read(&mut self.buffer));
            let resident = text.and_then(|text| text.split(' ').nth(1)?.parse::<u64>().ok());
            pages += resident.unwrap_or(0);
        }
        let bytes = pages.saturating_mul(self.page_bytes);
        if bytes.abs_diff(self.last_rss) > self.last_rss / RSS_MOVED_SHARE {
            self.moved = now;
        }
        let due = now.since(self.rss_written) >= SLOW_PERIOD_NS;
        if bytes == 0 || (bytes == self.last_rss && !due) {
            return;
        }
        (self.last_rss, self.rss_written) = (bytes, now);
        write_line(&mut self.lines, now, &Sample::Rss { bytes });
    }

    fn sample_quota(&mut self, now: Time, limited: bool) {
        for (group, file) in &self.quota_files[usize::from(limited)] {
            let Some(text) = file.read(&mut self.buffer) else { continue };
            let figure = |key| procfs::number(text, key);
            let throttled_ns =
                figure("throttled_time").or_else(|| Some(figure("throttled_usec")?.saturating_mul(1000)));
            let figures = [figure("nr_periods"), figure("nr_throttled"), throttled_ns].map(|value| value.unwrap_or(0));
            if self.last_quota.insert(group.0, figures) != Some(figures) {
                let [periods, throttled, throttled_ns] = figures;
                write_line(&mut self.lines, now, &Sample::Quota { group: *group, periods, throttled, throttled_ns });
            }
        }
    }

    fn sample_group_memory(&mut self, now: Time, limited: bool) {
        for (group, file) in &self.memory_files[usize::from(limited)] {
            let bytes = file.read(&mut self.buffer).and_then(|text| text.trim().parse::<u64>().ok());
            let Some(bytes) = bytes else { continue };
            if self.last_memory.insert(group.0, bytes) != Some(bytes) {
                write_line(&mut self.lines, now, &Sample::GroupMemory { group: *group, bytes });
            }
        }
    }

    fn sample_calls(&mut self, now: Time) {
        for (pid, process) in &mut self.processes {
            let Some(text) = process.held.as_ref().and_then(|held| held.io_counts().ok()) else { continue };
            let calls = ["syscr", "rchar", "syscw", "wchar"].map(|key| procfs::number(&text, key).unwrap_or(0));
            if std::mem::replace(&mut process.last_calls, calls) != calls {
                let [reads, read_bytes, writes, written_bytes] = calls;
                let sample = Sample::Calls { pid: Pid(*pid), reads, read_bytes, writes, written_bytes };
                write_line(&mut self.lines, now, &sample);
            }
        }
    }

    fn sample_stolen(&mut self, now: Time) {
        let Some(text) = self.machine_stat.as_ref().and_then(|stat| stat.read(&mut self.buffer)) else { return };
        self.stealing = false;
        for line in text.lines().skip(1) {
            let Some((cpu, ticks)) = cpu_line(line) else { break };
            let stolen = (ticks.0.saturating_mul(self.tick_ns), ticks.1.saturating_mul(self.tick_ns));
            let before = self.last_stolen.insert(cpu, stolen);
            if before != Some(stolen) {
                let (steal_ns, irq_ns) = stolen;
                self.stealing |= before.is_some_and(|before| before.0 != steal_ns);
                write_line(&mut self.lines, now, &Sample::CpuStolen { cpu: Cpu(cpu), steal_ns, irq_ns });
            }
        }
    }

    fn sample_pressure(&mut self, now: Time) {
        for (resource, file) in &self.pressure_files {
            let text = file.read(&mut self.buffer);
            let total = text.and_then(|text| text.lines().next()?.split("total=").nth(1)?.trim().parse::<u64>().ok());
            let Some(total_us) = total else { continue };
            if self.last_pressure.insert(*resource, total_us) != Some(total_us) {
                write_line(&mut self.lines, now, &Sample::Pressure { resource: *resource, total_us });
            }
        }
    }

    fn find_threads(&mut self) {
        for (pid, process) in &mut self.processes {
            let tids = self.config.host.tids(*pid);
            process.threads.retain(|tid, _| tids.contains(tid));
            for tid in tids {
                let keep_open = process.threads.len() < THREAD_FILES_MAX;
                process.threads.entry(tid).or_insert_with(|| {
                    let path = || self.config.host.process(*pid, &format!("task/{tid}/schedstat"));
                    let schedstat = if keep_open { Reread::open(path()) } else { None };
                    SampledThread { schedstat, last: [0; 3], seen: false }
                });
            }
        }
    }

    fn sample_threads(&mut self, now: Time) {
        let mut processes = std::mem::take(&mut self.processes);
        for (pid, process) in &mut processes {
            for (tid, thread) in &mut process.threads {
                self.sample_thread(now, *pid, *tid, thread);
            }
        }
        self.processes = processes;
    }

    /// Most threads sleep: only one whose scheduler figures changed is examined further.
    fn sample_thread(&mut self, now: Time, pid: u32, tid: u32, thread: &mut SampledThread) {
        let path = |name: &str| self.config.host.process(pid, &format!("task/{tid}/{name}"));
        let text = thread.schedstat.as_ref().and_then(|file| file.read(&mut self.buffer));
        let mut figures = [0; 3];
        for (figure, word) in figures.iter_mut().zip(text.unwrap_or("").split_ascii_whitespace()) {
            *figure = word.parse().unwrap_or(0);
        }
        if text.is_some() && thread.seen && thread.last == figures {
            return;
        }
        (thread.last, thread.seen) = (figures, true);
        let counted = text.is_some();
        // One read each: such a file has no size, and would be read piece by piece.
        let stat = Reread::open(path("stat")).and_then(|file| Stat::parse(file.read(&mut self.buffer)?));
        let Some(stat) = stat else { return };
        let status = Reread::open(path("status"));
        let status = status.as_ref().and_then(|file| file.read(&mut self.buffer)).unwrap_or_default();
        let [cpu_ns, wait_ns, _] = figures;
        let sample = Sample::Thread {
            tid: Tid(tid),
            voluntary: procfs::number(status, "voluntary_ctxt_switches").unwrap_or(0),
            involuntary: procfs::number(status, "nonvoluntary_ctxt_switches").unwrap_or(0),
            minor_faults: stat.minor_faults,
            major_faults: stat.major_faults,
            cpu_ns: if counted { cpu_ns } else { stat.cpu_ticks.saturating_mul(self.tick_ns) },
            wait_ns,
        };
        write_line(&mut self.lines, now, &sample);
    }
}

/// `cpu3 user nice system idle iowait irq softirq steal …`: CPU, (steal, irq) ticks.
fn cpu_line(line: &str) -> Option<(u16, (u64, u64))> {
    let mut words = line.strip_prefix("cpu")?.split_ascii_whitespace();
    let cpu = words.next()?.parse().ok()?;
    let figures: Vec<u64> = words.filter_map(|word| word.parse().ok()).collect();
    let irq = figures.get(5)?.saturating_add(*figures.get(6)?);
    Some((cpu, (*figures.get(7)?, irq)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rtscope_decode::capture::SampleStream;
    use rtscope_model::Body;

    #[test]
    fn steal_and_interrupts_are_columns_of_a_cpu() {
        assert_eq!(cpu_line("cpu12 1 2 3 4 5 6 7 8 9 10"), Some((12, (8, 13))));
        assert_eq!(cpu_line("cpu12 1 2 3"), None);
        assert_eq!(cpu_line("intr 5"), None);
    }

    #[test]
    fn its_own_process_is_sampled_and_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let host = Host::default();
        let pid = std::process::id();
        let levels = crate::machine::cgroup::of_process(&host, pid).levels;
        let path = folder.path().join("samples.jsonl");
        let config = Config { host, pid, levels, period_ns: 2_000_000, transactions: None };
        let capture = Folder::open(folder.path()).unwrap();
        let sampler = Sampler::start(&capture, config).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(150));
        let (written, ..) = sampler.finish();
        let bytes = std::fs::read(path).unwrap();
        assert_eq!(bytes.len() as u64, written);
        assert!(bytes.ends_with(b"\n"), "the last line is whole");
        let mut stream = SampleStream::new(&bytes[..]);
        let events: Vec<_> = stream.by_ref().collect();
        assert!(stream.losses().is_empty());
        assert!(events.windows(2).all(|pair| pair[0].time <= pair[1].time));
        assert!(resident(&events).any(|bytes| bytes > 100_000));
        let own = |event: &&rtscope_model::Event| matches!(event.body, Body::Sample(Sample::Thread { tid, .. }) if tid.0 == pid);
        assert!(events.iter().any(|event| own(&event)));
        let calls = |event: &rtscope_model::Event| match event.body {
            Body::Sample(Sample::Calls { pid: Pid(own), reads, read_bytes, .. }) if own == pid => {
                reads > 0 && read_bytes > 0
            }
            _ => false,
        };
        assert!(events.iter().any(calls));
    }

    fn resident(events: &[rtscope_model::Event]) -> impl Iterator<Item = u64> {
        events.iter().filter_map(|event| match event.body {
            Body::Sample(Sample::Rss { bytes }) => Some(bytes),
            _ => None,
        })
    }

    /// `/proc` writes kB and means KiB: taking them for 1,000 bytes gives 2.4 % too little.
    #[test]
    fn resident_memory_is_what_the_kernel_reports_in_units_of_1024_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("samples.jsonl");
        let pid = std::process::id();
        // Large compared with what other tests allocate and free meanwhile.
        let held = vec![1u8; 256 << 20];
        let config =
            Config { host: Host::default(), pid, levels: Vec::new(), period_ns: 2_000_000, transactions: None };
        let sampler = Sampler::start(&Folder::open(folder.path()).unwrap(), config).unwrap();
        let mut reported = Vec::new();
        for _ in 0..15 {
            std::thread::sleep(std::time::Duration::from_millis(10));
            let status = std::fs::read_to_string("/proc/self/status").unwrap();
            reported.push(procfs::number(&status, "VmRSS").unwrap() * 1024);
        }
        sampler.finish();
        assert_eq!(std::hint::black_box(&held).len(), 256 << 20);
        let bytes = std::fs::read(path).unwrap();
        let events: Vec<_> = SampleStream::new(&bytes[..]).collect();
        let near = |sampled: u64| reported.iter().any(|reported| reported.abs_diff(sampled) < reported / 200);
        assert!(resident(&events).any(near), "{reported:?}");
        assert!(reported.iter().all(|reported| *reported > held.len() as u64));
    }
}

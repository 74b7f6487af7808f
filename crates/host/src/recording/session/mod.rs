//! The sequence of a recording: set up, hold, attach, release, loop, end.

mod after;
mod left;

use super::cut::Cut;
use super::family;
use super::journal::{self, Journal};
use super::room::{self, Full, Room};
use super::snapshots::{self, Snapshots};
use super::waits::WaitSampler;
use super::{RecordOptions, RecordOutcome, empty_manifest};
use crate::binary::Inspected;
use crate::capture::loss;
use crate::capture::redact::Redactor;
use crate::capture::store::{Store, is_disk_full};
use crate::kernel::{self, CodeRecorder, KernelRecorder, SharedFiles};
use crate::machine;
use crate::machine::cgroup::{self, Groups};
use crate::privileges::{self, PrivilegesKept};
use crate::programs::signals::{self, Signals};
use crate::recording::own_cost;
use crate::recording::sampler::{self, Sampler};
use crate::runtimes::recorded::{Around, Notices, RuntimeLogs};
use crate::runtimes::{self, stm};
use crate::symbols::{self, Files};
use crate::system::clock;
use crate::system::procfs::{self, Host};
use crate::system::ready::{self, is_ready};
use crate::target::Process;
use rtscope_model::manifest::{Exit, Kernel, Log, Manifest, OwnCost, Status};
use rtscope_model::runtime::{self, RuntimeInfo};
use rtscope_model::{GroupId, Loss, LossKind, Time};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::Child;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Period of searching the program's descendants: with perf's records of forks, and without.
const FAMILY_PERIOD_NS: u64 = 2_000_000_000;
const FAMILY_PERIOD_BLIND_NS: u64 = 50_000_000;
/// The next search for logs' writers waits this many times the CPU time of the last one.
const IDENTIFY_REST: u64 = 4;
const IDENTIFY_REST_MAX_NS: u64 = 1_000_000_000;
const USER_LOG_PERIOD_NS: u64 = 10_000_000;
const USER_LOG_WAIT_NS: u64 = 3_000_000_000;
/// Interval of polling for the program's end, without pidfd.
const POLL_FALLBACK: Duration = Duration::from_millis(10);
/// Below this much free space a recording starts with a warning.
const FREE_BYTES_LOW: u64 = 1 << 30;
/// Reserved so that the last manifest fits on a full disk.
const RESERVE_BYTES: usize = 256 << 10;
const RESERVE: &str = ".reserve";
/// How long after a program's start its files are opened.
const LOOK_AFTER_NS: u64 = 5_000_000;
const CODE: &str = "code";
const SYMBOLS: &str = "symbols.json";

pub(super) struct Session<'a> {
    options: RecordOptions,
    pub(super) host: Host,
    store: Store,
    pid: u32,
    pub(super) manifest: Manifest,
    groups: Groups,
    oom_kills_before: u64,
    sources: Vec<Box<dyn RuntimeLogs>>,
    /// Why programs may have failed to start, shown if the command fails.
    hints: Vec<String>,
    kernel: Option<KernelRecorder>,
    code: Option<CodeRecorder>,
    files: SharedFiles,
    /// A program has started whose files are not held yet.
    look_at: bool,
    sampler: Option<Sampler>,
    snapshots: Option<Snapshots>,
    waits: Option<WaitSampler>,
    process_tree: Vec<u32>,
    /// Running processes that write logs.
    writing: BTreeSet<u32>,
    /// A log was opened whose writer is not known yet; `next_identify` is when the search is due.
    identify: bool,
    next_identify: Time,
    journal: Journal,
    manifest_bytes: u64,
    room: Room,
    /// Logs that are cut because there is no more room.
    cut: Option<Cut>,
    /// Set when the program has ended before its descendants.
    left: Option<left::Left>,
    /// Contents of `/proc/PID/cgroup` whose groups were looked up.
    memberships: HashSet<String>,
    disk_full: bool,
    written_bytes: u64,
    /// Cost of snapshots, once they have ended.
    heap_cost: snapshots::Cost,
    /// CPU time of sampling waits, once that has ended.
    waits_cpu_ns: u64,
    redactor: Option<Redactor>,
    /// The process that was attached to, from its first inspection on.
    pub(super) held: Option<Process>,
    notify: &'a mut dyn FnMut(&str),
}

impl<'a> Session<'a> {
    pub(super) fn begin(
        options: RecordOptions,
        host: Host,
        store: Store,
        pid: u32,
        inspected: Inspected,
        (room, note): (Room, Option<String>),
        notify: &'a mut dyn FnMut(&str),
    ) -> Session<'a> {
        let groups = cgroup::of_process(&host, pid);
        let pair = clock::realtime_offset();
        let directory = fs::read_link(host.process(pid, "cwd")).unwrap_or_default();
        let mut manifest = Manifest {
            recorder: options.version.clone(),
            pid,
            directory: directory.display().to_string(),
            started: clock::monotonic(),
            ended: clock::monotonic(),
            realtime_offset_ns: pair.offset_ns,
            realtime_error_ns: Some(pair.error_ns),
            binary: inspected.binary,
            groups: groups.manifest(),
            machine: machine::snapshot(&host, pid),
            sample_period_ns: clock::ns_of(options.sample_period),
            notes: groups.notes.clone(),
            ..empty_manifest()
        };
        manifest.machine.quota_cpus = groups.quota_cpus();
        let mut session = Session {
            redactor: options.redact.then(Redactor::default),
            oom_kills_before: oom_kills(&host, &groups),
            files: Arc::new(Mutex::new(Files::new(host.clone()))),
            journal: Journal::create(&store),
            options,
            host,
            store,
            pid,
            manifest,
            groups,
            sources: Vec::new(),
            hints: Vec::new(),
            kernel: None,
            code: None,
            look_at: false,
            sampler: None,
            snapshots: None,
            waits: None,
            process_tree: vec![pid],
            writing: BTreeSet::new(),
            identify: false,
            next_identify: Time(0),
            manifest_bytes: 0,
            room,
            cut: None,
            left: None,
            memberships: HashSet::new(),
            disk_full: false,
            written_bytes: 0,
            heap_cost: snapshots::Cost::default(),
            waits_cpu_ns: 0,
            held: None,
            notify,
        };
        session.check_space();
        note.into_iter().for_each(|note| session.note(note));
        session
    }

    /// Called once everything that needs privileges is open.
    pub(super) fn give_up_privileges(&mut self) {
        let capture = self.store.folder();
        let kept = self.host.opener().map_or(Ok(()), |opener| opener.keep(capture.descriptor(), capture.path()));
        let given_up = kept.map_err(PrivilegesKept).and_then(|()| privileges::leave_to_opener(&self.host, self.pid));
        if let Err(kept) = given_up {
            self.note(kept.to_string());
        }
    }

    fn note(&mut self, text: String) {
        (self.notify)(&text);
        self.manifest.notes.push(text);
    }

    fn check_space(&mut self) {
        let _ = self.store.folder().write(RESERVE, &vec![0; RESERVE_BYTES]);
        if let Some(free) = self.store.folder().free_bytes().filter(|free| *free < FREE_BYTES_LOW) {
            self.note(format!(
                "only {} MiB are free where the capture is written: a full disk ends the recording and the program's own \
                 log; choose another place with -o",
                free >> 20
            ));
        }
    }

    /// Takes over what the program was prepared with; it waits before exec.
    pub(super) fn take_sources(&mut self, sources: Vec<Box<dyn RuntimeLogs>>, notes: Vec<String>, hints: Vec<String>) {
        notes.into_iter().for_each(|note| self.note(note));
        self.hints = hints;
        self.sources = sources;
        self.each_source(|source, around, notices| source.before_exec(around, notices));
    }

    /// Finds logs that an attached process writes by itself.
    pub(super) fn find_attached_logs(&mut self, process: &Process) {
        let mut notices = Notices::default();
        let found =
            runtimes::all().filter_map(|runtime| runtime.attach(process, &self.around(), &mut notices)).collect();
        self.sources = found;
        self.take_notices(notices);
        if self.sources.is_empty() {
            let own = self.runtime();
            let what = runtimes::possible(own).find(|_| own.is_known()).map_or(own.log, |known| known.writes());
            self.note(format!(
                "the process writes no {what}, and it cannot be switched on from outside: only the kernel's side is \
                 recorded; start it with `rtscope record -- PROGRAM` to see its collections"
            ));
        }
        self.identify_logs(true);
    }

    /// The program's runtime, as far as its file shows.
    fn runtime(&self) -> &'static RuntimeInfo {
        runtime::find(self.manifest.binary.family.as_deref())
    }

    fn around(&self) -> Around<'_> {
        Around {
            host: &self.host,
            capture: self.store.folder(),
            pid: self.pid,
            family: &self.process_tree,
            room: self.room.left(),
        }
    }

    fn take_notices(&mut self, notices: Notices) {
        self.manifest.losses.extend(notices.losses);
        notices.notes.into_iter().for_each(|note| self.note(note));
    }

    /// Calls `what` for each source, with the rest of the session.
    fn each_source(&mut self, mut what: impl FnMut(&mut dyn RuntimeLogs, &Around<'_>, &mut Notices)) {
        let (mut sources, mut notices) = (std::mem::take(&mut self.sources), Notices::default());
        for source in &mut sources {
            what(source.as_mut(), &self.around(), &mut notices);
        }
        self.sources = sources;
        self.take_notices(notices);
    }

    fn log_list(&self) -> Vec<Log> {
        self.sources.iter().flat_map(|source| source.logs()).collect()
    }

    /// Journals what has become known about logs.
    fn take_changes(&mut self) {
        let mut changed = Vec::new();
        self.each_source(|source, _, _| changed.extend(source.changed()));
        self.writing.extend(changed.iter().map(|log| log.pid).filter(|pid| *pid != 0));
        let host = &self.host;
        self.writing.retain(|pid| host.runs(*pid));
        match self.journal.write(&changed, &self.manifest.losses) {
            Ok(bytes) => self.written_bytes += bytes,
            Err(error) => self.stop_if_full(is_disk_full(&error), clock::monotonic()),
        }
    }

    pub(super) fn start_sources(&mut self, target: kernel::KernelTarget) {
        self.start_kernel(target);
        self.start_code(target);
        let config = sampler::Config {
            host: self.host.clone(),
            pid: self.pid,
            levels: self.groups.levels.clone(),
            period_ns: self.manifest.sample_period_ns.max(1_000_000),
            transactions: Some(stm::StmOutput {
                capture: Some(self.store.folder().clone()),
                redact: self.options.redact,
            }),
        };
        let sampler = Sampler::start(self.store.folder(), config);
        self.sampler = sampler.map_err(|error| self.note(format!("memory and counters are not sampled: {error}"))).ok();
        self.start_snapshots();
        self.start_waits();
        self.follow_family();
        self.write_manifest(true);
    }

    fn start_snapshots(&mut self) {
        let when = self.options.heap.clone();
        if !when.any() {
            return;
        }
        let mut none = None;
        let read =
            runtimes::possible(self.runtime()).find_map(|known| known.heap().map_err(|why| none = Some(why)).ok());
        let Some(read) = read else { return none.into_iter().for_each(|why| self.note(why.to_owned())) };
        let started = self.store.folder().folder("heap");
        let started = started.and_then(|heap| Snapshots::start(self.host.clone(), self.pid, when, heap, read));
        self.snapshots = started.map_err(|error| self.note(format!("heap snapshots are not taken: {error}"))).ok();
    }

    fn end_snapshots(&mut self) {
        let Some(snapshots) = self.snapshots.take() else { return };
        let full = snapshots.disk_full();
        let (cost, notes) = snapshots.finish();
        self.heap_cost = cost;
        self.written_bytes += cost.written_bytes;
        notes.into_iter().for_each(|note| self.note(note));
        self.stop_if_full(full, clock::monotonic());
    }

    fn start_waits(&mut self) {
        if !self.options.waits {
            let none = "what threads wait for was not looked at (--no-waits)";
            return self.manifest.notes.push(none.to_owned());
        }
        let started = WaitSampler::start(self.host.clone(), self.pid, self.store.folder().clone(), self.options.redact);
        self.waits =
            started.map_err(|error| self.note(format!("what threads wait for is not looked at: {error}"))).ok();
    }

    fn end_waits(&mut self) {
        let Some(waits) = self.waits.take() else { return };
        let full = waits.disk_full();
        let (notes, written, cpu_ns) = waits.finish();
        self.written_bytes += written;
        self.waits_cpu_ns = cpu_ns;
        notes.into_iter().for_each(|note| self.note(note));
        self.stop_if_full(full, clock::monotonic());
    }

    fn start_kernel(&mut self, target: kernel::KernelTarget) {
        let Some(tier) = self.options.kernel else {
            let missing = vec!["kernel scheduling was not recorded (--no-kernel)".to_owned()];
            self.manifest.kernel = Kernel { missing, ..Kernel::default() };
            return;
        };
        let redactor = self.redactor.clone();
        let options = kernel::KernelOptions { target, force_tier: Some(tier), redactor };
        match self.store.folder().folder("sched") {
            Ok(folder) => {
                let kernel = KernelRecorder::start(&folder, options);
                self.manifest.kernel = kernel.status();
                self.kernel = Some(kernel);
            }
            Err(error) => self.note(format!("kernel scheduling is not recorded: {error}")),
        }
    }

    fn start_code(&mut self, target: kernel::KernelTarget) {
        let Some(period_ns) = self.options.code_period.map(clock::ns_of) else {
            self.manifest.notes.push("where the program's code was is not recorded (--sample-code 0)".to_owned());
            return;
        };
        let folder = self.store.folder().folder(CODE).map_err(|error| error.to_string());
        match folder.and_then(|folder| CodeRecorder::start(&folder, target, period_ns, Arc::clone(&self.files))) {
            Ok(code) => {
                self.manifest.code = Some(code.status());
                self.code = Some(code);
            }
            Err(why) => self.note(why),
        }
        if let kernel::KernelTarget::Attached(pid) = target {
            self.look_at_files_of([pid.0].iter());
        }
    }

    /// Opens the executable mappings of these processes.
    fn look_at_files_of<'p>(&self, pids: impl Iterator<Item = &'p u32>) {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        pids.for_each(|pid| files.look_at(*pid));
    }

    /// Ends the code samples and names them while the files are there.
    fn end_code(&mut self) {
        let Some(mut recorder) = self.code.take() else { return };
        recorder.stop();
        self.written_bytes += recorder.streams.written_bytes();
        self.manifest.losses.extend(recorder.streams.losses());
        let mut status = recorder.status();
        let offset = self.manifest.realtime_offset_ns;
        let files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let named = symbols::names(self.store.folder(), &status, &files, offset).and_then(|names| {
            let text = serde_json::to_vec(&names).map_err(|error| error.to_string())?;
            let kept = self.store.folder().folder(CODE).and_then(|code| code.replace(SYMBOLS, &text, false));
            kept.map_err(|error| error.to_string())?;
            Ok((names.missing, text.len() as u64))
        });
        match named {
            Ok((missing, bytes)) => {
                status.symbols = Some(format!("{CODE}/{SYMBOLS}"));
                status.missing.extend(missing);
                self.written_bytes += bytes;
            }
            Err(why) => {
                status.missing.push(format!("Names of the program's code could not be written ({why})."));
            }
        }
        self.manifest.code = Some(status);
    }

    /// The program did not start: nothing in the capture is worth keeping.
    pub(super) fn abandon(mut self) {
        if let Some(sampler) = self.sampler.take() {
            sampler.finish();
        }
        self.snapshots.take().map(Snapshots::finish);
        (self.kernel, self.code) = (None, None);
        self.end_sources_of_logs();
        self.store.remove();
    }

    pub(super) fn follow(mut self, mut child: Option<Child>, signals: &Signals) -> RecordOutcome {
        let pidfd = match &self.held {
            Some(held) => held.descriptor().and_then(|held| held.try_clone_to_owned().ok()),
            None => Pid::from_raw(self.pid as i32).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok()),
        };
        let limit = self.options.limit.map(|limit| self.manifest.started.plus(clock::ns_of(limit)));
        let flush_ns = clock::ns_of(self.options.flush_period).max(10_000_000);
        let mut next_flush = clock::monotonic().plus(flush_ns);
        let mut next_manifest = clock::monotonic().plus(journal::period_ns(self.manifest_bytes));
        let mut next_family = clock::monotonic().plus(self.family_period_ns());
        loop {
            let now = clock::monotonic();
            let ended = self.left.is_some() || self.program_ended(&mut child, pidfd.as_ref());
            if ended && !self.goes_on(child.is_some(), now) || limit.is_some_and(|limit| now >= limit) {
                break;
            }
            if now >= self.room.next
                && let Err(full) = self.room.look(now)
            {
                self.stop_for_want_of_room(&full, now);
                break;
            }
            if now >= next_flush {
                self.look_after_logs();
                next_flush = next_flush.plus(flush_ns).max(now);
            }
            if now >= next_family {
                self.look_at_family(false);
                if self.code.is_some() {
                    self.look_at_files_of(self.process_tree.iter());
                }
                next_family = next_family.plus(self.family_period_ns()).max(now);
            }
            if now >= next_manifest {
                self.write_manifest(false);
                next_manifest = next_manifest.plus(journal::period_ns(self.manifest_bytes)).max(now);
            }
            let mut until = next_flush.min(next_manifest).min(next_family).min(self.room.next);
            until = until.min(limit.unwrap_or(until)).min(self.left.as_ref().map_or(until, |left| left.next));
            let awaits = self.awaits_user_log(now);
            if self.identify || awaits {
                if now >= self.next_identify {
                    self.identify_family(self.identify);
                }
                let next = if self.identify { now } else { now.plus(USER_LOG_PERIOD_NS) };
                until = until.min(next.max(self.next_identify));
            }
            if self.look_at {
                until = until.min(now.plus(LOOK_AFTER_NS));
            }
            self.wait(pidfd.as_ref().filter(|_| self.left.is_none()), signals, until.since(now));
            let opened = self.take_opened();
            // Not between two programs that open their logs: the second one must not wait.
            if self.look_at && !opened {
                self.look_at = false;
                self.look_at_files_of(self.writing.iter());
            }
            if self.handle_signals(signals, child.is_some() && self.left.is_none()) {
                break;
            }
        }
        self.end(child, signals)
    }

    /// Whether to search often: a log of the user's own choice is opened without
    /// notice, at the start.
    fn awaits_user_log(&self, now: Time) -> bool {
        now.since(self.manifest.started) < USER_LOG_WAIT_NS && self.sources.iter().any(|source| source.awaits())
    }

    fn program_ended(&self, child: &mut Option<Child>, pidfd: Option<&OwnedFd>) -> bool {
        if let Some(pidfd) = pidfd {
            return is_ready(pidfd);
        }
        match child {
            Some(child) => !matches!(child.try_wait(), Ok(None)),
            None if self.held.as_ref().is_some_and(|held| held.check().is_err()) => true,
            None => !self.host.runs(self.pid),
        }
    }

    fn wait(&self, pidfd: Option<&OwnedFd>, signals: &Signals, timeout_ns: u64) {
        let notified = pidfd.is_some() || self.left.is_some();
        let timeout_ns = if notified { timeout_ns } else { timeout_ns.min(clock::ns_of(POLL_FALLBACK)) };
        let news = self.sources.iter().filter_map(|source| source.descriptor());
        let program = pidfd.map(AsFd::as_fd);
        ready::wait([signals.descriptor()].into_iter().chain(program).chain(news), Some(timeout_ns));
    }

    /// Passes signals on to the program; true when the recording is to end.
    fn handle_signals(&mut self, signals: &Signals, started_by_us: bool) -> bool {
        for signal in signals.take() {
            if !started_by_us {
                return true;
            }
            if matches!(signal, libc::SIGTERM | libc::SIGHUP) {
                // What the signal would make it lose is still in its memory now.
                self.look_after_logs();
                signals::pass_on(&self.host, self.pid, signal);
            }
        }
        false
    }

    fn take_opened(&mut self) -> bool {
        let mut opened = false;
        self.each_source(|source, around, notices| opened |= source.take_opened(around, notices));
        self.identify |= opened;
        opened
    }

    /// Finds out which process writes which log, as often as its cost permits.
    fn identify_family(&mut self, everywhere: bool) {
        let before_ns = clock::thread_cpu_ns();
        self.look_at_family(false);
        self.identify_logs(everywhere);
        let cost_ns = clock::thread_cpu_ns().saturating_sub(before_ns);
        let rest_ns = cost_ns.saturating_mul(IDENTIFY_REST).min(IDENTIFY_REST_MAX_NS);
        self.next_identify = clock::monotonic().plus(rest_ns);
        self.identify = false;
    }

    fn identify_logs(&mut self, everywhere: bool) {
        self.each_source(|source, around, _| source.identify(around, everywhere));
        self.take_changes();
        self.name_the_real_binary();
        self.follow_groups();
        let writers: Vec<u32> = self.writing.iter().copied().collect();
        if writers.is_empty() {
            return;
        }
        self.look_at |= self.code.is_some();
        self.sampler.iter().for_each(|sampler| sampler.set_targets(writers.clone()));
        self.waits.iter().for_each(|waits| waits.set_targets(writers.clone()));
        self.snapshots.iter().for_each(|snapshots| snapshots.set_targets(writers.clone()));
    }

    /// A wrapper may have moved the program into other groups than it was started in.
    fn follow_groups(&mut self) {
        for pid in self.writing.iter().copied() {
            let membership = self.host.process_text(pid, "cgroup").unwrap_or_default();
            if membership.is_empty() || !self.memberships.insert(membership) {
                continue;
            }
            for level in cgroup::of_process(&self.host, pid).levels {
                let group = &level.group;
                let known = |known: &cgroup::GroupLevel| {
                    (&known.group.path, known.group.version) == (&group.path, group.version)
                };
                if self.groups.levels.iter().any(known) {
                    continue;
                }
                let id = GroupId(u16::try_from(self.groups.levels.len()).unwrap_or(u16::MAX));
                self.sampler.iter().for_each(|sampler| sampler.add_level(id, level.clone()));
                self.groups.levels.push(level);
            }
        }
        self.manifest.groups = self.groups.manifest();
        self.manifest.machine.quota_cpus = self.groups.quota_cpus();
    }

    /// Under a wrapper the binary that matters is the one that logs.
    fn name_the_real_binary(&mut self) {
        if self.manifest.binary.family.is_some() {
            return;
        }
        if let Some(binary) = self.sources.iter().find_map(|source| source.program(&self.host)) {
            self.manifest.binary = binary;
        }
    }

    fn look_after_logs(&mut self) {
        self.identify_logs(true);
        if self.disk_full {
            return;
        }
        let notes = self.snapshots.as_ref().map_or(Vec::new(), Snapshots::notes);
        notes.into_iter().for_each(|note| self.note(note));
        let now = clock::monotonic();
        let mut full = self.sampler.as_ref().is_some_and(|sampler| sampler.disk_full())
            || self.snapshots.as_ref().is_some_and(|snapshots| snapshots.disk_full());
        for source in &mut self.sources {
            full |= source.disk_full() || source.copy(now).is_err_and(|error| is_disk_full(&error));
        }
        self.stop_if_full(full, now);
    }

    fn stop_if_full(&mut self, full: bool, now: Time) {
        if !full || std::mem::replace(&mut self.disk_full, true) {
            return;
        }
        self.sources.iter_mut().for_each(|source| source.stop_copying());
        self.snapshots.iter().for_each(|snapshots| snapshots.stop());
        let note =
            "the disk was full: samples and unwritten buffers were not recorded from then on; the program ran on";
        self.manifest.losses.push(Loss { from: Some(now), ..loss("samples", LossKind::DiskFull, 0, note) });
        (self.notify)("the disk is full: recording stopped, what was recorded is kept, the program runs on");
    }

    fn write_manifest(&mut self, durable: bool) {
        if self.manifest.status == Status::Recording {
            self.manifest.ended = clock::monotonic();
        }
        self.manifest.logs = self.log_list();
        if let Some(kernel) = &self.kernel {
            self.manifest.kernel = kernel.status();
        }
        if let Some(code) = &self.code {
            self.manifest.code = Some(code.status());
        }
        let streams = self.kernel.as_ref().map_or(0, |kernel| kernel.streams.written_bytes())
            + self.code.as_ref().map_or(0, |code| code.streams.written_bytes());
        let copied: u64 = self.sources.iter().map(|source| source.written_bytes()).sum();
        let sampled = self.sampler.as_ref().map_or(0, |sampler| sampler.written_bytes());
        let heaps = self.snapshots.as_ref().map_or(self.heap_cost, Snapshots::cost);
        let kept = if self.snapshots.is_some() { heaps.written_bytes } else { 0 };
        let waits = self.waits.as_ref().map_or(0, |waits| waits.written_bytes());
        self.manifest.own_cost = OwnCost {
            cpu_ns: own_cost::cpu_ns(&self.host),
            written_bytes: [self.written_bytes, sampled, streams, copied, kept, waits]
                .into_iter()
                .fold(0, u64::saturating_add),
            rss_max_bytes: own_cost::rss_max(&self.host),
            heap_snapshots: heaps.taken,
            heap_cpu_ns: heaps.cpu_ns,
            waits_cpu_ns: self.waits.as_ref().map_or(self.waits_cpu_ns, WaitSampler::cpu_ns),
        };
        let hidden = self.redactor.as_ref().map(|redactor| redactor.manifest(&self.manifest));
        match self.store.write_manifest(hidden.as_ref().unwrap_or(&self.manifest), durable) {
            Ok(bytes) => (self.manifest_bytes, self.written_bytes) = (bytes, self.written_bytes + bytes),
            Err(error) => self.stop_if_full(is_disk_full(&error), clock::monotonic()),
        }
    }

    fn end(mut self, child: Option<Child>, signals: &Signals) -> RecordOutcome {
        self.take_opened();
        self.look_at_family(false);
        self.look_after_logs();
        let ended = clock::monotonic();
        let over_before_the_program = self.host.runs(self.pid);
        let mut child = child;
        let exit = if over_before_the_program { None } else { child.take().and_then(|child| self.exit_of(child)) };
        self.manifest.exit = exit;
        self.end_sources();
        self.end_logs(ended);
        if over_before_the_program {
            self.note("the recording ended before the program".to_owned());
        }
        self.manifest.status = Status::Complete;
        let _ = self.store.folder().remove(RESERVE);
        self.write_manifest(true);
        self.journal.remove(&self.store);
        let exit = self.stay(exit, child, signals);
        self.store.remove_empty_folders();
        if exit.is_some() && self.process_tree.iter().all(|pid| !self.host.runs(*pid)) {
            self.end_sources_of_logs();
        }
        RecordOutcome { capture: self.store.path().to_owned(), exit, bytes: room::size(self.store.folder()) }
    }

    fn exit_of(&self, mut child: Child) -> Option<Exit> {
        let status = child.wait().ok()?;
        let killed = status.signal() == Some(libc::SIGKILL);
        let oom_killed = killed && oom_kills(&self.host, &self.groups) > self.oom_kills_before;
        Some(Exit { code: status.code(), signal: status.signal(), oom_killed })
    }

    fn end_sources(&mut self) {
        if let Some(sampler) = self.sampler.take() {
            let full = sampler.disk_full();
            let (written, gaps, ended) = sampler.finish();
            self.written_bytes += written;
            if !ended {
                let note = "the sampler did not end in time: its last samples are missing".to_owned();
                self.manifest.losses.push(loss("samples", LossKind::RecorderLate, 1, note));
            }
            self.manifest.losses.extend(gaps.into_iter().map(|(from, to)| late_loss(from, to)));
            self.stop_if_full(full, clock::monotonic());
        }
        if let Some(mut kernel) = self.kernel.take() {
            kernel.stop();
            self.manifest.kernel = kernel.status();
            self.manifest.losses.extend(kernel.streams.losses());
            self.written_bytes += kernel.streams.written_bytes();
        }
        self.end_snapshots();
        self.end_waits();
        // What follows processes the recorded data and takes a while.
        self.manifest.ended = clock::monotonic();
        self.end_code();
    }

    fn end_logs(&mut self, ended: Time) {
        let mut still: Vec<u32> = self.process_tree.iter().copied().filter(|pid| *pid != self.pid).collect();
        still.extend(self.writing.iter().filter(|pid| **pid != self.pid));
        still.sort_unstable();
        still.dedup();
        still.retain(|pid| self.host.runs(*pid));
        self.each_source(|source, around, notices| source.end(around, ended, notices));
        self.name_the_real_binary();
        if !still.is_empty() {
            let list: Vec<String> = still.iter().map(u32::to_string).collect();
            self.note(format!(
                "processes that the program started still run and are not recorded any more: {}",
                list.join(", ")
            ));
        }
        if !self.sources.is_empty() && self.log_list().is_empty() {
            let none: Vec<_> = self.sources.iter().map(|source| source.absence_message()).collect();
            self.note(format!("{}, so only the kernel's side was recorded", none.join(" and ")));
            let failed = self.manifest.exit.is_some_and(|exit| exit.code != Some(0));
            if failed && !self.hints.is_empty() {
                let hints = std::mem::take(&mut self.hints).join("; ");
                self.note(format!("did a program refuse to start? {hints}: record with --no-eventlog"));
            }
        }
        // Processes that still run may start programs, which must find the path.
        if still.is_empty() && !self.host.runs(self.pid) {
            self.end_sources_of_logs();
        }
    }

    fn end_sources_of_logs(&mut self) {
        let host = self.host.clone();
        self.sources.iter_mut().for_each(|source| source.finish(&host));
    }
}

/// Kills by the out-of-memory killer: in the groups, and on the whole machine.
fn oom_kills(host: &Host, groups: &Groups) -> u64 {
    let machine = host.text("/proc/vmstat").and_then(|text| procfs::number(&text, "oom_kill")).unwrap_or(0);
    groups.oom_kills().saturating_add(machine)
}

fn late_loss(from: Time, to: Time) -> Loss {
    let note = format!("the sampler did not get to run for {} ms: no samples in between", to.since(from) / 1_000_000);
    Loss { from: Some(from), to: Some(to), ..loss("samples", LossKind::RecorderLate, 1, note) }
}

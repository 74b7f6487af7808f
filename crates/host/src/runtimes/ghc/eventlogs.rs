//! The eventlogs of GHC programs in a recording: the programs write them into
//! files that are handed to them; unwritten buffers are copied from memory.

use super::handover::Handover;
use super::handover_thread::HandoverThread;
use super::logs::LiveLog;
use super::options::{self, Request};
use super::writers::Sought;
use crate::binary::inspect_process;
use crate::capture::folder::Folder;
use crate::capture::loss;
use crate::runtimes::recorded::{Around, Command, Launch, Notices, RuntimeLogs};
use crate::system::clock;
use crate::system::procfs::Host;
use crate::target::Process;
use rtscope_model::manifest::{Binary, Log};
use rtscope_model::{Loss, LossKind, Time};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;

/// Logs listed in a manifest: some 30 MB of it.
const LOGS_MAX: usize = 100_000;

/// GHC's side of a recording.
#[derive(Debug, Default)]
pub(super) struct Eventlogs {
    handover_thread: Option<HandoverThread>,
    logs: Vec<LiveLog>,
    /// Those whose writers are not known yet.
    sought: Sought,
    /// The last log of each running process, whose buffers are copied.
    live: BTreeMap<u32, usize>,
    changed: BTreeSet<usize>,
    /// Number of logs above [`LOGS_MAX`].
    left_out: u64,
    classes: String,
    unflushed: Option<Folder>,
    written_bytes: u64,
    failure: Option<String>,
    /// The recording has ended; programs may still run.
    ended: bool,
}

impl Eventlogs {
    /// Adds to a command what makes it log into the capture; `None`: it cannot log. Errors: the folder for it.
    pub(super) fn prepare(command: &Command<'_>, launch: &mut Launch) -> io::Result<Option<Eventlogs>> {
        let mut handover = Handover::prepare(command.capture, command.route)?;
        let plan = options::plan(&Request {
            argv: &launch.argv,
            ghcrts: std::env::var("GHCRTS").ok().as_deref(),
            inspected: command.inspected,
            wrapper: command.wrapper,
            detail: command.detail,
            log_path: handover.log_path(),
        });
        launch.argv = plan.argv;
        launch.added.extend(plan.added);
        launch.notes.extend(plan.notes);
        launch.hints.extend(plan.hint.map(str::to_owned));
        if !plan.logging {
            handover.finish();
            return Ok(None);
        }
        launch.set.extend(plan.ghcrts.map(|value| ("GHCRTS", value.into())));
        launch.inherit.extend(handover.inherited());
        let user_log = plan.user_log.map(|path| command.directory.join(path));
        let handover_thread = Some(HandoverThread::start(handover)?);
        let mut eventlogs = Eventlogs { handover_thread, classes: plan.classes, ..Eventlogs::default() };
        if let Some(path) = user_log {
            let log = LiveLog::elsewhere(path, &eventlogs.classes);
            eventlogs.add(log, false);
        }
        Ok(Some(eventlogs))
    }

    /// Logs that a process has opened by itself, if there are any.
    pub(super) fn of_process(process: &Process, notices: &mut Notices) -> Option<Eventlogs> {
        let mut eventlogs = Eventlogs::default();
        let mut known = HashSet::new();
        for (fd, path) in process.descriptors() {
            let is_log = path.extension().is_some_and(|ending| ending == "eventlog") && process.writes(fd);
            // A file that it has open several times is one log.
            if !is_log || process.descriptor_identity(fd).is_none_or(|file| !known.insert(file)) {
                continue;
            }
            let named = path.display().to_string();
            match LiveLog::of_descriptor(process, fd, path) {
                Ok(log) => eventlogs.add(log, false),
                Err(why) => notices.notes.push(format!("the log {named} is not recorded: {why}")),
            }
        }
        (!eventlogs.logs.is_empty()).then_some(eventlogs)
    }

    fn add(&mut self, log: LiveLog, opened: bool) {
        let number = self.logs.len();
        self.sought.add(number, &log, opened);
        self.changed.insert(number);
        self.logs.push(log);
    }

    /// Records that process `pid` writes log `number`. If one process has two logs (it called exec, or restarted its
    /// log), the buffers belong to the later one.
    fn assign(&mut self, number: usize, pid: u32) {
        let before = self.live.get(&pid).copied();
        let (over, number) = match before {
            Some(other) if other > number => (Some(number), other),
            other => (other, number),
        };
        self.live.insert(pid, number);
        if let Some(over) = over.and_then(|over| self.logs.get_mut(over)) {
            over.end_at(clock::monotonic());
        }
    }

    fn bring_home(log: &mut LiveLog, capture: &Folder, room: u64, notices: &mut Notices) {
        if !log.outside || log.path.starts_with(capture.path()) {
            return;
        }
        let free = capture.free_bytes().unwrap_or(0).min(room.saturating_mul(2));
        if let Err(error) = log.bring_home(capture, free) {
            notices.notes.push(format!("the log {} was not copied into the capture: {error}", log.path.display()));
        }
    }
}

impl RuntimeLogs for Eventlogs {
    fn absence_message(&self) -> &'static str {
        "no GHC program opened the eventlog"
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.handover_thread.as_ref().map(|thread| thread.news.as_fd())
    }

    fn take_opened(&mut self, _around: &Around<'_>, notices: &mut Notices) -> bool {
        let Some(thread) = &self.handover_thread else { return false };
        let (opened, failed) = thread.take_opened();
        if let Some(error) = failed {
            let text = format!("a fresh log file could not be made ({error}): further programs would share one");
            if self.failure.as_ref() != Some(&text) {
                notices.notes.push(text.clone());
                self.failure = Some(text);
            }
        }
        for open in &opened {
            // The cutting of logs after the end closes them too.
            if open.again && self.ended {
                continue;
            }
            notices.losses.extend((open.processes > 1).then(|| mixed_loss(&open.name, open.processes)));
            if open.again {
                continue;
            }
            if self.logs.len() >= LOGS_MAX {
                self.left_out += 1;
                continue;
            }
            self.add(LiveLog::new(open.name.clone(), open.path.clone(), &self.classes), true);
        }
        opened.iter().any(|open| !open.again)
    }

    fn identify(&mut self, around: &Around<'_>, everywhere: bool) {
        if self.unflushed.is_none() {
            self.unflushed = around.capture.folder("unflushed").ok();
        }
        let now = clock::monotonic();
        for (number, process, fd) in self.sought.look(around.host, around.family, everywhere, now) {
            let pid = process.pid();
            if let Some(log) = self.logs.get_mut(number) {
                log.written_by(process, fd, self.unflushed.as_ref());
            }
            self.changed.insert(number);
            self.assign(number, pid);
        }
        let (logs, changed) = (&mut self.logs, &mut self.changed);
        self.live.retain(|_, number| {
            let Some(log) = logs.get_mut(*number) else { return false };
            if !log.runs() {
                log.end_at(now);
                return false;
            }
            changed.extend(log.look_for_clock().then_some(*number));
            true
        });
    }

    fn changed(&mut self) -> Vec<Log> {
        let changed = std::mem::take(&mut self.changed);
        changed.into_iter().filter_map(|number| Some(self.logs.get(number)?.log.clone())).collect()
    }

    fn awaits(&self) -> bool {
        !self.sought.is_empty()
    }

    fn open_logs(&mut self) -> Vec<PathBuf> {
        let numbers = self.live.values().copied().chain(self.sought.numbers());
        numbers.filter_map(|number| Some(self.logs.get(number)?.path.clone())).collect()
    }

    fn copy(&mut self, now: Time) -> io::Result<()> {
        self.logs.iter_mut().for_each(LiveLog::look);
        let mut failed = Ok(());
        for number in self.live.values() {
            match self.logs.get_mut(*number).map_or(Ok(0), |log| log.copy_unflushed(now)) {
                Ok(bytes) => self.written_bytes += bytes,
                Err(error) => failed = Err(error),
            }
        }
        failed
    }

    fn stop_copying(&mut self) {
        self.logs.iter_mut().for_each(LiveLog::stop_copying);
    }

    fn logs(&self) -> Vec<Log> {
        self.logs.iter().map(|log| log.log.clone()).collect()
    }

    fn program(&self, host: &Host) -> Option<Binary> {
        let pid = *self.live.iter().min_by_key(|(_, number)| **number)?.0;
        let found = inspect_process(&Process::open(host, pid).ok()?);
        found.is_ghc().then_some(found.binary)
    }

    fn written_bytes(&self) -> u64 {
        self.written_bytes
    }

    fn end(&mut self, around: &Around<'_>, ended: Time, notices: &mut Notices) {
        self.take_opened(around, notices);
        self.ended = true;
        for log in &mut self.logs {
            if !log.runs() {
                notices.losses.extend(log.loss_at_end(ended));
            }
            Eventlogs::bring_home(log, around.capture, around.room, notices);
        }
        notices.losses.extend((self.left_out > 0).then(|| left_out_loss(self.left_out)));
    }

    fn finish(&mut self, _host: &Host) {
        self.handover_thread.take().into_iter().for_each(HandoverThread::finish);
    }
}

fn left_out_loss(count: u64) -> Loss {
    let note = format!(
        "{count} more logs were opened after {LOGS_MAX}: they lie in the capture and are not listed; record fewer starts"
    );
    loss("eventlog", LossKind::SourceMissing, count, note)
}

fn mixed_loss(name: &str, processes: u32) -> Loss {
    let note = format!(
        "{processes} processes opened this log before it could be replaced: their events are mixed, use none of them"
    );
    loss(name, LossKind::MixedProcesses, processes.into(), note)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_that_is_open_many_times_is_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.eventlog");
        std::fs::write(&path, "hdrb").unwrap();
        let open = || std::fs::File::options().read(true).write(true).open(&path).unwrap();
        let _files = [open(), open(), open()];
        let own = Process::open(&Host::default(), std::process::id()).unwrap();
        let found = Eventlogs::of_process(&own, &mut Notices::default()).unwrap();
        // Tests that run in parallel also have logs open.
        assert_eq!(found.logs.iter().filter(|log| log.path == path).count(), 1);
    }
}

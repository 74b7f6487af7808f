//! The eventlogs of GHC programs in a recording: written by the programs themselves
//! into files that are handed to them, their buffers copied from memory.

use super::logs::LiveLog;
use super::source::{Around, Launch, RuntimeLogs, Told};
use crate::binary::Inspected;
use crate::clock;
use crate::folder::Folder;
use crate::handover::{Handover, Route};
use crate::minder::Minder;
use crate::options::{self, Request};
use crate::procfs::Host;
use crate::target::Process;
use rtscope_model::manifest::{Binary, Log};
use rtscope_model::{Loss, LossKind, Time};
use rustix::fs::OFlags;
use std::io;
use std::os::fd::BorrowedFd;
use std::path::Path;

/// GHC's side of a recording.
#[derive(Debug, Default)]
pub(super) struct Eventlogs {
    minder: Option<Minder>,
    logs: Vec<LiveLog>,
    classes: String,
    unflushed: Option<Folder>,
    written_bytes: u64,
    failure: Option<String>,
}

/// What the start of a GHC program is decided from.
pub(super) struct Command<'a> {
    pub inspected: &'a Inspected,
    /// The command starts something else, which may be a GHC program.
    pub wrapper: bool,
    pub detail: options::Detail,
    pub route: &'a Route,
    pub directory: &'a Path,
}

impl Eventlogs {
    /// Makes a command log into a capture; `None`: it cannot. Errors: the folder for it.
    pub(super) fn prepare(
        capture: &Folder,
        command: &Command<'_>,
        launch: &mut Launch,
    ) -> io::Result<Option<Eventlogs>> {
        let handover = Handover::prepare(capture, command.route)?;
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
        if !plan.logging {
            handover.finish();
            return Ok(None);
        }
        launch.set.extend(plan.ghcrts.map(|value| ("GHCRTS", value.into())));
        launch.inherit.extend(handover.inherited());
        let user_log = plan.user_log.map(|path| command.directory.join(path));
        let logs = user_log.map(|path| LiveLog::elsewhere(path, &plan.classes));
        let logs = logs.into_iter().collect();
        let minder = Some(Minder::start(handover)?);
        Ok(Some(Eventlogs { minder, logs, classes: plan.classes, ..Eventlogs::default() }))
    }

    /// Logs that a process has open by itself, if there are some.
    pub(super) fn of_process(process: &Process, told: &mut Told) -> Option<Eventlogs> {
        let writes = |fd| process.flags(fd).is_some_and(|flags| flags.intersects(OFlags::WRONLY | OFlags::RDWR));
        let mut logs = Vec::new();
        for (fd, path) in process.descriptors() {
            if path.extension().is_none_or(|ending| ending != "eventlog") || !writes(fd) {
                continue;
            }
            let named = path.display().to_string();
            match LiveLog::of_descriptor(process, fd, path) {
                Ok(log) => logs.push(log),
                Err(why) => told.notes.push(format!("the log {named} is not recorded: {why}")),
            }
        }
        (!logs.is_empty()).then(|| Eventlogs { logs, ..Eventlogs::default() })
    }

    fn bring_home(log: &mut LiveLog, capture: &Folder, told: &mut Told) {
        if !log.outside || log.path.starts_with(capture.path()) {
            return;
        }
        if let Err(error) = log.bring_home(capture, capture.free_bytes().unwrap_or(0)) {
            told.notes.push(format!("the log {} was not copied into the capture: {error}", log.path.display()));
        }
    }
}

impl RuntimeLogs for Eventlogs {
    fn nothing(&self) -> &'static str {
        "no GHC program opened the eventlog"
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.minder.as_ref().map(Minder::descriptor)
    }

    fn before_exec(&mut self, _around: &Around<'_>, _told: &mut Told) {}

    fn take_opened(&mut self, _around: &Around<'_>, told: &mut Told) -> bool {
        let Some(minder) = &self.minder else { return false };
        let (opened, failed) = minder.take_opened();
        if let Some(error) = failed {
            let text = format!("a fresh log file could not be made ({error}): further programs would share one");
            if self.failure.as_ref() != Some(&text) {
                told.notes.push(text.clone());
                self.failure = Some(text);
            }
        }
        for open in &opened {
            told.losses.extend(open.mixed.then(|| mixed_loss(&open.name)));
            self.logs.push(LiveLog::new(open.name.clone(), open.path.clone(), &self.classes));
        }
        !opened.is_empty()
    }

    fn identify(&mut self, around: &Around<'_>, everywhere: bool) {
        if self.unflushed.is_none() {
            self.unflushed = around.capture.folder("unflushed").ok();
        }
        for log in &mut self.logs {
            log.identify(around.host, around.family, everywhere, self.unflushed.as_ref());
        }
        // One process, two logs (it execed, or started its log again): the buffers
        // belong to the later one.
        let pids: Vec<u32> = self.logs.iter().map(|log| log.log.pid).collect();
        for (index, log) in self.logs.iter_mut().enumerate().filter(|(_, log)| log.log.pid != 0) {
            let replaced = pids.iter().skip(index + 1).any(|later| *later == log.log.pid);
            if replaced || !log.runs() {
                log.end_at(clock::monotonic());
            }
        }
    }

    fn awaits(&self) -> bool {
        self.logs.iter().any(|log| log.log.pid == 0)
    }

    fn copy(&mut self, now: Time) -> io::Result<()> {
        let mut failed = Ok(());
        for log in &mut self.logs {
            match log.copy_unflushed(now) {
                Ok(bytes) => self.written_bytes += bytes,
                Err(error) => failed = Err(error),
            }
        }
        failed
    }

    fn stop_copying(&mut self) {
        self.logs.iter_mut().for_each(LiveLog::stop_copying);
    }

    fn disk_full(&self) -> bool {
        false
    }

    fn logs(&self) -> Vec<Log> {
        self.logs.iter().map(|log| log.log.clone()).collect()
    }

    fn program(&self, host: &Host) -> Option<Binary> {
        let pid = self.logs.iter().map(|log| log.log.pid).find(|pid| *pid != 0)?;
        let found = Process::open(host, pid).ok()?.inspect();
        found.is_ghc().then_some(found.binary)
    }

    fn written_bytes(&self) -> u64 {
        self.written_bytes
    }

    fn end(&mut self, around: &Around<'_>, ended: Time, told: &mut Told) {
        for log in &mut self.logs {
            if !log.runs() {
                told.losses.extend(log.loss_at_end(ended));
            }
            Eventlogs::bring_home(log, around.capture, told);
        }
    }

    fn finish(&mut self, _host: &Host) {
        self.minder.take().into_iter().for_each(Minder::finish);
    }
}

fn mixed_loss(name: &str) -> Loss {
    let note =
        "two processes opened this log before it could be replaced: their events are mixed, use neither".to_owned();
    Loss { source: name.to_owned(), kind: LossKind::MixedProcesses, count: 2, from: None, to: None, note }
}

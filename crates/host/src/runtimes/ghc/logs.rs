//! The runtime logs of a recording: which process writes which, the offset of
//! its clock, and its unwritten buffers.

use super::unflushed::{self, Copier};
use crate::binary::RuntimeSymbols;
use crate::capture::folder::Folder;
use crate::capture::loss;
use crate::system::procfs::identity;
use crate::target::live::EVENTLOG;
use crate::target::memory::LiveProcess;
use crate::target::{Process, ProcessFile, open_own, open_target};
use rtscope_decode::{ReadAt as _, Written};
use rtscope_model::manifest::Log;
use rtscope_model::{Loss, LossKind, Time};
use rustix::fs::OFlags;
use std::fs::{File, Metadata};
use std::io::{self, Read, Seek};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::PathBuf;

/// One log while it is written.
#[derive(Debug, Default)]
pub struct LiveLog {
    /// For the manifest.
    pub log: Log,
    /// Its path, as its program names it.
    pub path: PathBuf,
    /// Its program writes it outside the capture.
    pub outside: bool,
    /// If outside: the file that its program has open, held since it was found; a later file of this
    /// name may be another one.
    file: Option<File>,
    /// Its program, until that has ended.
    process: Option<Process>,
    located: Option<RuntimeSymbols>,
    copier: Option<Copier<LiveProcess>>,
    /// When its buffers were last copied completely.
    copied: Option<Time>,
    /// When its program was first seen to be gone, or writing another log.
    over: Option<Time>,
    /// Its size at the last check, if it lies outside.
    size_at_look: Option<u64>,
}

impl LiveLog {
    /// A log that some process has just opened.
    pub fn new(name: String, path: PathBuf, classes: &str) -> LiveLog {
        let log = Log { path: name, classes: classes.to_owned(), ..Log::default() };
        LiveLog { log, path, ..LiveLog::default() }
    }

    /// A log that its program is to open outside the capture.
    pub fn elsewhere(path: PathBuf, classes: &str) -> LiveLog {
        LiveLog { outside: true, ..LiveLog::new(path.display().to_string(), path, classes) }
    }

    /// The log that a process has open under a descriptor. Errors: it is not a file that this process
    /// may read: a user that can only write to a file must not learn its contents from a capture.
    pub fn of_descriptor(process: &Process, fd: u32, path: PathBuf) -> io::Result<LiveLog> {
        let file = its_own(process, fd)?;
        Ok(LiveLog { file: Some(file), ..LiveLog::elsewhere(path, "") })
    }

    /// Whether its file is held, whatever its name leads to.
    pub fn is_held(&self) -> bool {
        self.file.is_some()
    }

    pub fn identity(&self) -> Option<(u64, u64)> {
        let found = self.file.as_ref().map_or_else(|| std::fs::metadata(&self.path), File::metadata);
        found.ok().map(|found| identity(&found))
    }

    /// Records that the process with it open under descriptor `fd` writes it.
    pub fn written_by(&mut self, process: Process, fd: u32, unflushed: Option<&Folder>) {
        self.log.pid = process.pid();
        if self.outside && self.file.is_none() {
            let wanted = self.identity();
            let same = |file: &File| file.metadata().ok().map(|found| identity(&found)) == wanted;
            self.file = its_own(&process, fd).ok().filter(same);
        }
        self.located = unflushed::locate(&process);
        let with_buffers = self.located.filter(|located| located.has_buffers());
        let memory = LiveProcess::from(process.clone());
        let with_buffers = with_buffers.zip(unflushed);
        self.copier = with_buffers.map(|(located, folder)| Copier::new(memory, located, folder, self.log.pid));
        self.process = Some(process);
        self.look_for_clock();
    }

    /// Finds the offset of its clock while its process runs, if not yet known; true if it was found.
    pub fn look_for_clock(&mut self) -> bool {
        if self.log.clock.is_monotonic() {
            return false;
        }
        let memory = self.process.clone().map(LiveProcess::from);
        let clock = self.located.zip(memory).and_then(|(located, memory)| unflushed::clock(&memory, &located));
        self.log.clock = clock.unwrap_or(self.log.clock);
        clock.is_some()
    }

    pub fn runs(&self) -> bool {
        self.process.as_ref().is_some_and(|process| process.check().is_ok())
    }

    /// Opens the file: the one that was found open, else the one with its name, if that is an ordinary file.
    fn open(&self) -> io::Result<File> {
        match &self.file {
            Some(file) => file.try_clone(),
            None => Ok(open_own(&self.path, false)?),
        }
    }

    /// Copies what its program has not written yet. Errors: the disk.
    pub fn copy_unflushed(&mut self, now: Time) -> io::Result<u64> {
        let Some(copier) = &mut self.copier else { return Ok(0) };
        let copied = copier.copy()?;
        if copied > 0 {
            self.copied = Some(now);
        }
        Ok(copied)
    }

    /// Notes the size of a log outside the capture: if its program runs on, no more than this is copied.
    pub fn look(&mut self) {
        if self.outside {
            self.size_at_look = self.open().and_then(|file| file.metadata()).ok().map(|file| file.len());
        }
    }

    pub fn stop_copying(&mut self) {
        self.copier = None;
    }

    /// Notes that its program no longer writes it.
    pub fn end_at(&mut self, now: Time) {
        self.over.get_or_insert(now);
        (self.copier, self.process) = (None, None);
    }

    /// The loss at its end, if its program had not closed it.
    pub fn loss_at_end(&self, ended: Time) -> Option<Loss> {
        let file = self.open().ok()?;
        if is_closed(&file) {
            return None;
        }
        let ended = self.over.unwrap_or(ended);
        let (from, note) = match (self.copied, &self.located) {
            (Some(copied), _) => (
                Some(copied),
                format!(
                    "the program ended (killed, or by exec) before it wrote its last buffers; they were copied from its \
                     memory up to {:.1} s before the end",
                    ended.since(copied) as f64 / 1e9
                ),
            ),
            (None, located) => {
                let silent_ns = file.metadata().ok().as_ref().and_then(since_last_write);
                let why = match located {
                    Some(_) => "before they could be copied once",
                    None => {
                        "and they could not be copied from its memory because its binary has no symbols; record an \
                         unstripped build to keep them"
                    }
                };
                let seconds = silent_ns.map_or_else(String::new, |ns| format!(" of its last {:.1} s", ns as f64 / 1e9));
                (
                    silent_ns.map(|ns| ended.minus(ns)),
                    format!("the program ended (killed, or by exec) before it wrote its buffers{seconds}, {why}"),
                )
            }
        };
        let count = from.map_or(0, |from| ended.since(from));
        Some(Loss { from, to: Some(ended), ..loss(&self.log.path, LossKind::Unwritten, count, note) })
    }

    /// Copies a log from outside into the capture; on failure it stays
    /// referenced where it is.
    pub fn bring_home(&mut self, capture: &Folder, free_bytes: u64) -> io::Result<()> {
        let mut file = self.open()?;
        if self.file.is_none() && file.metadata()?.uid() != rustix::process::geteuid().as_raw() {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "it belongs to another user"));
        }
        let mut head = [0; EVENTLOG.len()];
        if file.read_exact_at(&mut head, 0).is_err() || head != *EVENTLOG {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "it does not begin as an eventlog does"));
        }
        // It may grow meanwhile, faster than it is copied. Looking for its end moves its position.
        let mut size = Written::new(file.try_clone()?).size()?;
        if self.runs() {
            size = size.min(self.size_at_look.unwrap_or(size));
        }
        if size > free_bytes / 2 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let folder = capture.folder("eventlog")?;
        let mut number = 0;
        let (name, mut copy) = loop {
            let name = format!("{number}.eventlog");
            match folder.create(&name) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
                made => break (name, made?),
            }
        };
        let copied = file.rewind().and_then(|()| io::copy(&mut file.take(size), &mut copy));
        copied.inspect_err(|_| _ = folder.remove(&name))?;
        self.log.path = format!("eventlog/{name}");
        Ok(())
    }
}

/// Opens a file that a process has open and may read, as far as descriptor and owner show.
fn its_own(process: &Process, fd: u32) -> io::Result<File> {
    let file = open_target(process, ProcessFile::Descriptor(fd))?;
    let reads = process.access(fd).is_some_and(|access| access.contains(OFlags::RDWR));
    if reads || process.user() == Some(file.metadata()?.uid()) {
        return Ok(file);
    }
    Err(io::Error::new(io::ErrorKind::PermissionDenied, "its program can write to it and must not read it"))
}

fn since_last_write(file: &Metadata) -> Option<u64> {
    u64::try_from(file.modified().ok()?.elapsed().ok()?.as_nanos()).ok()
}

/// Whether a log ends as the runtime ends one.
fn is_closed(file: &File) -> bool {
    let end = || -> io::Result<bool> {
        let size = file.metadata()?.len();
        let mut mark = [0; 2];
        file.read_exact_at(&mut mark, size.saturating_sub(2))?;
        Ok(mark == [0xff, 0xff])
    };
    end().unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::procfs::Host;
    use std::path::Path;

    #[test]
    fn a_log_is_closed_by_its_last_two_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        for (bytes, closed) in [(&b""[..], false), (b"\xff", false), (b"abc\xff\xff", true), (b"abc", false)] {
            std::fs::write(&path, bytes).unwrap();
            assert_eq!(is_closed(&File::open(&path).unwrap()), closed);
            let log = LiveLog::new("eventlog/0.eventlog".into(), path.clone(), "-l-ag");
            assert_eq!(log.loss_at_end(Time(5)).is_none(), closed);
        }
    }

    #[test]
    fn what_is_copied_is_the_file_that_was_open_and_only_an_eventlog() {
        let (folder, capture) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::fs::create_dir(capture.path().join("eventlog")).unwrap();
        let home = Folder::open(capture.path()).unwrap();
        let path = folder.path().join("x.eventlog");
        let own = Process::open(&Host::default(), std::process::id()).unwrap();
        let find = |path: &Path| {
            let (fd, path) = own.descriptors().into_iter().find(|(_, at)| at == path).unwrap();
            LiveLog::of_descriptor(&own, fd, path).unwrap()
        };
        let file = File::create(&path).unwrap();
        let mut log = find(&path);
        file.write_all_at(b"hdrb and more", 0).unwrap();
        std::fs::rename(&path, folder.path().join("y")).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", &path).unwrap();
        log.bring_home(&home, 1 << 20).unwrap();
        assert_eq!(log.log.path, "eventlog/0.eventlog");
        assert_eq!(std::fs::read(capture.path().join(&log.log.path)).unwrap(), b"hdrb and more");
        file.write_all_at(b"root:x:0:0", 0).unwrap();
        let other = LiveLog::new("x".into(), path.clone(), "").bring_home(&home, 1 << 20);
        assert!(other.is_err(), "a link under the name leads nowhere");
        let refused = find(&folder.path().join("y")).bring_home(&home, 1 << 20).unwrap_err();
        assert!(refused.to_string().contains("begin"), "{refused}");
        assert_eq!(std::fs::read_dir(capture.path().join("eventlog")).unwrap().count(), 1);
    }
}

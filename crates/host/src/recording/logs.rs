//! The runtime logs of a recording: which process writes which, the offset of
//! its clock, and its unwritten buffers.

use crate::binary::Inspected;
use crate::memory::LiveProcess;
use crate::procfs::Host;
use crate::store::is_disk_full;
use crate::unflushed::{self, Copier, Located};
use rtscope_model::manifest::Log;
use rtscope_model::{ClockMap, ClockMethod, Loss, LossKind, Time};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// The origin is the runtime's own; what is left is its two clock reads.
const ORIGIN_ERROR_NS: u64 = 1_000;

/// One log while it is written.
#[derive(Debug)]
pub struct LiveLog {
    /// For the manifest.
    pub log: Log,
    /// Where it really lies.
    pub path: PathBuf,
    located: Option<Located>,
    copier: Option<Copier<LiveProcess>>,
    /// When its buffers were last copied whole.
    copied: Option<Time>,
    /// When its program was first seen to be gone, or writing another log.
    over: Option<Time>,
}

impl LiveLog {
    /// A log that was just opened by somebody.
    pub fn new(name: String, path: PathBuf, classes: &str) -> LiveLog {
        let log = Log { path: name, pid: 0, clock: ClockMap::LOG_OWN, classes: classes.to_owned(), version: None };
        LiveLog { log, path, located: None, copier: None, copied: None, over: None }
    }

    /// Process `pid` writes it. `inspect` reads what a file of the program's says.
    pub fn written_by(&mut self, host: &Host, pid: u32, unflushed: &Path, inspect: impl FnMut(&Path) -> Inspected) {
        self.log.pid = pid;
        self.located = unflushed::locate_by(host, pid, inspect);
        let with_buffers = self.located.filter(|located| located.symbols.has_buffers());
        self.copier = with_buffers.map(|located| Copier::new(LiveProcess { pid }, located, unflushed, pid));
        self.look_for_clock();
    }

    /// Finds the offset of its clock while its process runs, as far as not yet known; true where it was found.
    pub fn look_for_clock(&mut self) -> bool {
        if self.log.clock.is_monotonic() {
            return false;
        }
        let memory = LiveProcess { pid: self.log.pid };
        let origin = self.located.as_ref().and_then(|located| unflushed::clock_origin(&memory, located));
        if let Some(origin) = origin {
            self.log.clock = ClockMap {
                offset_ns: i64::try_from(origin).unwrap_or(i64::MAX),
                error_ns: Some(ORIGIN_ERROR_NS),
                method: ClockMethod::RuntimeStatic,
            };
        }
        origin.is_some()
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

    /// Stops copying (disk full).
    pub fn stop_copying(&mut self) {
        self.copier = None;
    }

    /// Notes that its program writes it no more.
    pub fn end_at(&mut self, now: Time) {
        self.over.get_or_insert(now);
        self.copier = None;
    }

    /// What was lost of it when its program had not closed it at the end.
    pub fn loss_at_end(&self, ended: Time) -> Option<Loss> {
        if is_closed(&self.path) {
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
                let silent_ns = since_last_write(&self.path);
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
        Some(Loss {
            source: self.log.path.clone(),
            kind: LossKind::Unwritten,
            count: from.map_or(0, |from| ended.since(from)),
            from,
            to: Some(ended),
            note,
        })
    }

    /// Brings a log that lies elsewhere into the capture; on failure it stays
    /// referenced where it is.
    pub fn bring_home(&mut self, capture: &Path, free_bytes: u64) -> io::Result<()> {
        let size = std::fs::metadata(&self.path)?.len();
        if size > free_bytes / 2 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let mut number = 0;
        let mut name = format!("eventlog/{number}.eventlog");
        while capture.join(&name).exists() {
            number += 1;
            name = format!("eventlog/{number}.eventlog");
        }
        let copy = capture.join(&name);
        if let Err(error) = std::fs::copy(&self.path, &copy) {
            let _ = std::fs::remove_file(&copy);
            return Err(error);
        }
        self.log.path = name;
        Ok(())
    }
}

/// Nanoseconds since the file was last written to.
fn since_last_write(path: &Path) -> Option<u64> {
    let written = std::fs::metadata(path).and_then(|file| file.modified()).ok()?;
    u64::try_from(written.elapsed().ok()?.as_nanos()).ok()
}

/// Whether a log ends as the runtime ends one.
fn is_closed(path: &Path) -> bool {
    let end = || -> io::Result<bool> {
        let file = File::open(path)?;
        let size = file.metadata()?.len();
        let mut mark = [0; 2];
        file.read_exact_at(&mut mark, size.saturating_sub(2))?;
        Ok(mark == [0xff, 0xff])
    };
    end().unwrap_or(false)
}

/// The loss for a full disk.
pub fn disk_full_loss(now: Time) -> Loss {
    Loss {
        source: "samples".to_owned(),
        kind: LossKind::DiskFull,
        count: 0,
        from: Some(now),
        to: None,
        note: "the disk was full: samples and unwritten buffers were not recorded from then on; the program ran on"
            .to_owned(),
    }
}

/// Whether an error of a copy means that copying has no sense any more.
pub fn ends_copying(error: &io::Error) -> bool {
    is_disk_full(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_closed_by_its_last_two_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        for (bytes, closed) in [(&b""[..], false), (b"\xff", false), (b"abc\xff\xff", true), (b"abc", false)] {
            std::fs::write(&path, bytes).unwrap();
            assert_eq!(is_closed(&path), closed);
            let log = LiveLog::new("eventlog/0.eventlog".into(), path.clone(), "-l-ag");
            assert_eq!(log.loss_at_end(Time(5)).is_none(), closed);
        }
    }
}

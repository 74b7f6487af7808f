//! Logs in a capture that programs continue to write after its room is used up. Owns their truncation: what
//! was written until then is kept, and what comes later is given back to the disk (a hole is punched), so that a
//! program finds its file as it left it, sees no error, and fills no disk. Refuses files outside the capture.

use crate::capture::folder::Folder;
use crate::system::worker::{Shared, Worker};
use rustix::fs::{FallocateFlags, fallocate};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// Growth of all logs allowed between two checks.
const GROWTH: u64 = 1 << 20;
/// At least a block of any file system.
const BLOCK: u64 = 1 << 16;
const PAUSE_MIN_NS: u64 = 5_000_000;
const PAUSE_MAX_NS: u64 = 200_000_000;

#[derive(Debug)]
struct Log {
    path: PathBuf,
    folder: Folder,
    name: String,
    file: File,
    /// Its size when it was cut.
    kept: u64,
    size: u64,
}

#[derive(Debug, Default)]
pub(super) struct Logs {
    logs: Vec<Log>,
    pause_ns: u64,
    failed: Option<io::Error>,
}

impl Logs {
    /// Gives back what was written since the last call, and returns the time until the next.
    fn punch(&mut self) -> u64 {
        let mut grown = 0;
        for log in &mut self.logs {
            let size = log.file.metadata().map_or(log.size, |file| file.len());
            if size <= log.size {
                continue;
            }
            grown += size - log.size;
            // From the start of a block: a block that is punched in two parts stays allocated.
            let from = (log.size / BLOCK * BLOCK).max(log.kept);
            let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            match fallocate(&log.file, flags, from, size - from) {
                Ok(()) => log.size = size,
                Err(error) => self.failed = Some(error.into()),
            }
        }
        self.pause_ns =
            if grown > GROWTH { self.pause_ns / 2 } else { self.pause_ns * 2 }.clamp(PAUSE_MIN_NS, PAUSE_MAX_NS);
        self.pause_ns
    }
}

/// Cuts logs on a thread of its own: the end of a recording takes a while.
pub(super) type Cut = Worker<Logs>;

impl Cut {
    /// Starts without logs. Errors: no thread could be made.
    pub(super) fn start() -> io::Result<Cut> {
        let shared = Shared::new(Logs::default())?;
        let work = |logs: &Shared<Logs>| {
            let mut pause_ns = PAUSE_MIN_NS;
            while logs.wait(&[], Some(pause_ns)) {
                pause_ns = logs.lock().punch();
            }
        };
        Worker::run(shared, "cut", || {}, work)
    }

    /// Cuts the log `path` of the capture `folder` at its present end, or (`whole`) at its start. False: it is not in
    /// the capture, or is already cut.
    pub(super) fn add(&self, folder: &Folder, path: &Path, whole: bool) -> bool {
        let mut cut = self.lock();
        if cut.logs.iter().any(|log| log.path == path) {
            return false;
        }
        let Some((folder, name, file)) = own_log(folder, path) else { return false };
        let size = file.metadata().map_or(0, |found| found.len());
        let kept = if whole { 0 } else { size };
        cut.logs.push(Log { path: path.to_owned(), folder, name, file, kept, size: kept });
        true
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lock().logs.is_empty()
    }

    /// Why nothing could be given back, if that failed.
    pub(super) fn failed(&self) -> Option<io::Error> {
        self.lock().failed.take()
    }

    /// Truncates the files to what was kept, after the programs have ended.
    pub(super) fn finish(mut self) {
        self.end();
        let mut cut = self.lock();
        cut.punch();
        for log in &cut.logs {
            let _ = log.file.set_len(log.kept);
            if log.kept == 0 {
                let _ = log.folder.remove(&log.name);
            }
        }
    }
}

/// A log of the capture, open for writing, and the folder that has its name.
fn own_log(capture: &Folder, path: &Path) -> Option<(Folder, String, File)> {
    let inside = path.strip_prefix(capture.path()).ok()?;
    let folder = match inside.parent()?.to_str()? {
        "" => capture.clone(),
        name => capture.folder(name).ok()?,
    };
    let name = inside.file_name()?.to_str()?.to_owned();
    let file = folder.open_to_write(&name).ok()?;
    Some((folder, name, file))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::Write;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn a_writer_goes_on_and_takes_no_more_room() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("0.eventlog");
        let mut writer = File::create(&path).unwrap();
        writer.write_all(&[7; 100_000]).unwrap();
        let cut = Cut::start().unwrap();
        assert!(cut.add(&Folder::open(folder.path()).unwrap(), &path, false));
        for _ in 0..32 {
            writer.write_all(&[8; 1 << 20]).unwrap();
            cut.lock().punch();
            if let Some(error) = cut.failed() {
                eprintln!("not run: no holes on the disk of {} ({error})", folder.path().display());
                return;
            }
            assert!(fs::metadata(&path).unwrap().blocks() * 512 < 1 << 20);
        }
        assert_eq!(fs::metadata(&path).unwrap().len(), (32 << 20) + 100_000);
        cut.finish();
        assert!(fs::read(&path).unwrap() == vec![7; 100_000]);
    }

    #[test]
    fn what_lies_elsewhere_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let (capture, other) = (folder.path().join("c"), folder.path().join("other"));
        fs::create_dir(&capture).unwrap();
        fs::write(&other, "mine").unwrap();
        std::os::unix::fs::symlink(&other, capture.join("0.eventlog")).unwrap();
        let (cut, held) = (Cut::start().unwrap(), Folder::open(&capture).unwrap());
        assert!(!cut.add(&held, &other, true));
        assert!(!cut.add(&held, &capture.join("0.eventlog"), true));
        assert!(cut.is_empty());
        cut.finish();
        assert_eq!(fs::read(other).unwrap(), b"mine");
    }
}

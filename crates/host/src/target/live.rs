//! A process examined while it runs, without a recording: whether it is still the original
//! one, what it is, where its log is. Owns no bytes of the log; refuses to stop anything.

use crate::binary::{Inspected, inspect_process};
use crate::system::clock;
use crate::system::procfs::{Host, Stat};
use crate::target::{self, ProcessFile, open_target};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// The first bytes of an eventlog.
pub(crate) const EVENTLOG: &[u8; 4] = b"hdrb";

/// One process, identified by its start time: a later one with its number is another.
#[derive(Debug)]
pub struct ObservedProcess {
    /// The handle for all reads of the process.
    pub held: target::Process,
    /// The file of its program; `None`: not permitted, or a kernel thread.
    pub program: Option<PathBuf>,
}

/// Whether a process continues.
#[derive(Clone, Eq, PartialEq, Debug)]
pub enum Life {
    /// It runs.
    Runs,
    /// It has ended; its number may belong to another process.
    Ended,
    /// It runs another program (exec).
    Other(PathBuf),
}

impl ObservedProcess {
    /// Opens process `pid`; `None` if there is none, or only a zombie.
    pub fn open(host: &Host, pid: u32) -> Option<ObservedProcess> {
        let held = target::Process::open(host, pid).ok()?;
        let program = held.link("exe").ok();
        Some(ObservedProcess { held, program })
    }

    /// Whether it has ended; cheaper than [`ObservedProcess::life`] if there is a descriptor.
    pub fn has_ended(&self) -> bool {
        self.held.check().is_err() || (self.held.descriptor().is_none() && self.life() == Life::Ended)
    }

    /// Whether it still runs, and which program.
    pub fn life(&self) -> Life {
        let stat = self.held.text("stat").ok().and_then(|text| Stat::parse(&text));
        if self.held.check().is_err() || stat.is_none_or(|stat| matches!(stat.state, 'Z' | 'X')) {
            return Life::Ended;
        }
        match (&self.program, self.held.link("exe")) {
            (Some(before), Ok(now)) if *before != now && !is_deleted(before, &now) => Life::Other(now),
            _ => Life::Runs,
        }
    }

    /// Time since its start, nanoseconds, accurate to a kernel tick (10 ms as a rule).
    pub fn age_ns(&self) -> u64 {
        clock::since_boot_ns().saturating_sub(self.held.start_ticks().saturating_mul(clock::tick_ns()))
    }

    /// Inspects its program's file.
    pub fn inspect(&self) -> Inspected {
        inspect_process(&self.held)
    }

    /// The eventlog that it has open for writing, recognised by its first bytes, and its path as the
    /// process sees it.
    pub fn eventlog(&self) -> Option<(File, PathBuf)> {
        let files = self.held.descriptors().into_iter();
        let files = files.filter(|(fd, path)| path.is_absolute() && self.held.writes(*fd));
        let mut logs = files.filter_map(|(fd, path)| {
            let file = open_target(&self.held, ProcessFile::Descriptor(fd)).ok()?;
            let mut head = [0; 4];
            file.read_exact_at(&mut head, 0).ok()?;
            (head == *EVENTLOG).then_some((file, path))
        });
        logs.next()
    }
}

/// Whether the program's file was removed or replaced on the disk, as by a build; the process runs on.
fn is_deleted(before: &std::path::Path, now: &std::path::Path) -> bool {
    now.to_string_lossy().strip_suffix(" (deleted)").is_some_and(|now| std::path::Path::new(now) == before)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_process_runs_and_ends() {
        let host = Host::default();
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        // Until it has called exec.
        let mut process = ObservedProcess::open(&host, child.id()).unwrap();
        while !process.program.as_ref().is_some_and(|program| program.display().to_string().contains("sleep")) {
            process = ObservedProcess::open(&host, child.id()).unwrap();
        }
        assert!(!process.has_ended() && process.life() == Life::Runs);
        assert!(process.age_ns() < 60_000_000_000);
        assert!(process.eventlog().is_none());
        let moved =
            ObservedProcess { program: Some("/bin/other".into()), ..ObservedProcess::open(&host, child.id()).unwrap() };
        assert!(matches!(moved.life(), Life::Other(_)));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(process.has_ended() && process.life() == Life::Ended);
        assert!(ObservedProcess::open(&host, child.id()).is_none());
    }

    #[test]
    fn a_log_is_known_by_how_it_begins() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let own = ObservedProcess::open(&Host::default(), std::process::id()).unwrap();
        let mut file = File::create(&path).unwrap();
        std::io::Write::write_all(&mut file, b"hdrb....").unwrap();
        let (found, at) = own.eventlog().unwrap();
        assert_eq!((found.metadata().unwrap().len(), at), (8, path));
    }
}

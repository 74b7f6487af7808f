//! A process that is looked at while it runs, without a recording: whether it is still the
//! one that it was, what it is, where its log is. Owns no bytes of the log; refuses to stop
//! anything.

use crate::binary::{self, Inspected};
use crate::clock;
use crate::procfs::Host;
use crate::ready::is_ready;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::fs::{self, File};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// What an eventlog begins with.
const EVENTLOG: &[u8; 4] = b"hdrb";

/// One process, known by when it started: another one that gets its number later is not it.
#[derive(Debug)]
pub struct Process {
    host: Host,
    pid: u32,
    start_ticks: u64,
    program: Option<PathBuf>,
    ended: Option<OwnedFd>,
}

/// Whether a process goes on.
#[derive(Clone, Eq, PartialEq, Debug)]
pub enum Life {
    /// It runs.
    Runs,
    /// It has ended; its number may be another process's.
    Ended,
    /// It runs another program (exec).
    Other(PathBuf),
}

impl Process {
    /// Process `pid`; `None` where there is none, or only what is left of one.
    pub fn open(host: &Host, pid: u32) -> Option<Process> {
        // In this order: a number that is used again in between is noticed.
        let ended = i32::try_from(pid).ok().and_then(Pid::from_raw);
        let ended = ended.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
        let stat = host.stat(pid).filter(|stat| !matches!(stat.state, 'Z' | 'X'))?;
        let program = fs::read_link(host.process(pid, "exe")).ok();
        Some(Process { host: host.clone(), pid, start_ticks: stat.start_ticks, program, ended })
    }

    /// Its number.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// The file of its program; `None`: not permitted to know, or a thread of the kernel's.
    pub fn program(&self) -> Option<&PathBuf> {
        self.program.as_ref()
    }

    /// Readable when it has ended; none on kernels before 5.3.
    pub fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.ended.as_ref().map(AsFd::as_fd)
    }

    /// Whether it has ended; cheaper than [`Process::life`] where there is a descriptor.
    pub fn has_ended(&self) -> bool {
        match &self.ended {
            Some(ended) => is_ready(ended),
            None => self.life() == Life::Ended,
        }
    }

    /// Whether it goes on.
    pub fn life(&self) -> Life {
        let same =
            |stat: &crate::procfs::Stat| stat.start_ticks == self.start_ticks && !matches!(stat.state, 'Z' | 'X');
        if !self.host.stat(self.pid).is_some_and(|stat| same(&stat)) {
            return Life::Ended;
        }
        match (&self.program, fs::read_link(self.host.process(self.pid, "exe"))) {
            (Some(before), Ok(now)) if *before != now && !is_deleted(before, &now) => Life::Other(now),
            _ => Life::Runs,
        }
    }

    /// How long ago it was started, nanoseconds, to a tick of the kernel's (10 ms as a rule).
    pub fn age_ns(&self) -> u64 {
        let tick_ns = 1_000_000_000 / rustix::param::clock_ticks_per_second().max(1);
        clock::since_boot_ns().saturating_sub(self.start_ticks.saturating_mul(tick_ns))
    }

    /// What its program's file says.
    pub fn inspect(&self) -> Inspected {
        let mut found = binary::inspect(&self.host.process(self.pid, "exe"));
        if let Some(program) = &self.program {
            found.binary.path = program.display().to_string();
        }
        found
    }

    /// The eventlog that it has open to write, known by how it begins, and its path as the
    /// process sees it.
    pub fn eventlog(&self) -> Option<(File, PathBuf)> {
        let files = self.host.open_files(self.pid).into_iter();
        let mut logs = files.filter(|(fd, path)| path.is_absolute() && self.host.fd_writes(self.pid, *fd)).filter_map(
            |(fd, path)| {
                let file = self.host.process(self.pid, &format!("fd/{fd}"));
                // Opening a pipe or a device could wait.
                fs::metadata(&file).ok().filter(fs::Metadata::is_file)?;
                let file = File::open(file).ok()?;
                let mut head = [0; 4];
                file.read_exact_at(&mut head, 0).ok()?;
                (head == *EVENTLOG).then_some((file, path))
            },
        );
        logs.next()
    }
}

/// The program's file was removed or replaced on the disk, as by a build; the process runs on.
fn is_deleted(before: &std::path::Path, now: &std::path::Path) -> bool {
    now.to_string_lossy().strip_suffix(" (deleted)").is_some_and(|now| std::path::Path::new(now) == before)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_process_runs_and_ends_and_a_number_alone_is_not_it() {
        let host = Host::default();
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        // Until it has called exec.
        let mut process = Process::open(&host, child.id()).unwrap();
        while !process.program().is_some_and(|program| program.display().to_string().contains("sleep")) {
            process = Process::open(&host, child.id()).unwrap();
        }
        assert!(!process.has_ended() && process.life() == Life::Runs);
        assert!(process.age_ns() < 60_000_000_000);
        assert!(process.eventlog().is_none());
        let other = Process { start_ticks: process.start_ticks + 1, ..Process::open(&host, child.id()).unwrap() };
        assert_eq!(other.life(), Life::Ended);
        let moved = Process { program: Some("/bin/other".into()), ..Process::open(&host, child.id()).unwrap() };
        assert!(matches!(moved.life(), Life::Other(_)));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(process.has_ended() && process.life() == Life::Ended);
        assert!(Process::open(&host, child.id()).is_none());
    }

    #[test]
    fn a_log_is_known_by_how_it_begins() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let own = Process::open(&Host::default(), std::process::id()).unwrap();
        let mut file = File::create(&path).unwrap();
        std::io::Write::write_all(&mut file, b"hdrb....").unwrap();
        let (found, at) = own.eventlog().unwrap();
        assert_eq!((found.metadata().unwrap().len(), at), (8, path));
    }
}

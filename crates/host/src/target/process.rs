//! A process, held from the first read to the last: everything is read through descriptors
//! of its own, so that a later process with its number is never mistaken for it. Owns
//! every opening of something below `/proc/PID`. Refuses a process that has ended.

use super::mappings::{self, Mapping};
use super::root::Root;
use crate::privileges::opener::{self, Ask, Identity, Opener, ProcessFile};
use crate::system::procfs::{self, Host, Stat, read_text};
use crate::system::ready::is_ready;
use rustix::fs::{Access, AtFlags, Dir, Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open};
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// Threads per query.
const CALLS_MAX: usize = 1000;

/// A process that is held. Cheap to clone. Methods that return an `io::Result` fail if it has ended, or
/// access is not permitted; the others then answer as if there were nothing.
#[derive(Clone, Debug)]
pub struct Process(Arc<HeldProcess>);

#[derive(Debug)]
struct HeldProcess {
    host: Host,
    pid: u32,
    /// `/proc/PID`: invalid as soon as the process is gone.
    folder: OwnedFd,
    /// Readable when it has ended; none before Linux 5.3, for a thread, and in a tree.
    pidfd: Option<OwnedFd>,
    start_ticks: u64,
    root: OnceLock<Root>,
}

impl Process {
    /// Holds process `pid`.
    ///
    /// # Errors
    /// There is none, it has already ended, or `/proc` hides it.
    pub fn open(host: &Host, pid: u32) -> io::Result<Process> {
        // In this order: a process that has not ended when its folder is open had the number all along.
        let number = i32::try_from(pid).ok().and_then(Pid::from_raw).filter(|_| host.is_live());
        let pidfd = number.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = rustix::fs::open(host.path(format!("/proc/{pid}")), flags, Mode::empty())?;
        let stat = read_text(open_in(&folder, "stat")?.into())?;
        let gone = || io::Error::from_raw_os_error(libc::ESRCH);
        let stat = Stat::parse(&stat).filter(|stat| !matches!(stat.state, 'Z' | 'X')).ok_or_else(gone)?;
        let held = HeldProcess {
            host: host.clone(),
            pid,
            folder,
            pidfd,
            start_ticks: stat.start_ticks,
            root: OnceLock::new(),
        };
        let process = Process(Arc::new(held));
        process.check().map(|()| process)
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.0.pid
    }

    /// Start time in clock ticks since boot.
    pub fn start_ticks(&self) -> u64 {
        self.0.start_ticks
    }

    /// Identifies it to the opener.
    pub(crate) fn identity(&self) -> Identity {
        (self.0.pid, self.0.start_ticks)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.host.process(self.0.pid, name)
    }

    /// Readable when it has ended; none on kernels before 5.3.
    pub fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.0.pidfd.as_ref().map(AsFd::as_fd)
    }

    /// Checks that its number still refers to this process: everything queried by number before this
    /// call came from it.
    ///
    /// # Errors
    /// `ESRCH`: it has ended.
    pub fn check(&self) -> io::Result<()> {
        let ended = match &self.0.pidfd {
            Some(pidfd) => is_ready(pidfd),
            None => rustix::fs::accessat(&self.0.folder, "stat", Access::EXISTS, AtFlags::empty()).is_err(),
        };
        if ended { Err(io::Error::from_raw_os_error(libc::ESRCH)) } else { Ok(()) }
    }

    /// Opens `/proc/PID/NAME`, a kernel file.
    ///
    /// # Errors
    /// Not permitted, or it has ended.
    pub fn open_file(&self, name: &str) -> io::Result<File> {
        let opened = open_in(&self.0.folder, name).map(File::from);
        self.or_ask(opened, |opener| Ok(opener.open(Some(self.identity()), Ask::File(name.to_owned()))?))
    }

    /// If access was refused here, asks the opener.
    fn or_ask<T>(&self, own: io::Result<T>, ask: impl FnOnce(&Opener) -> io::Result<T>) -> io::Result<T> {
        match (own, self.opener()) {
            (Err(error), Some(opener)) if error.kind() == io::ErrorKind::PermissionDenied => ask(opener),
            (own, _) => own,
        }
    }

    /// Text of `/proc/PID/NAME`, up to the limit.
    pub fn text(&self, name: &str) -> io::Result<String> {
        read_text(self.open_file(name)?)
    }

    /// Its mappings, from `maps`.
    pub fn mappings(&self) -> io::Result<Vec<Mapping>> {
        Ok(mappings::parse(&self.text("maps")?))
    }

    /// The target path of the link `/proc/PID/NAME`.
    ///
    /// # Errors
    /// Not permitted, or it has ended.
    pub fn link(&self, name: &str) -> io::Result<PathBuf> {
        let path = rustix::fs::readlinkat(&self.0.folder, name, Vec::new());
        let path = path.map(|path| OsString::from_vec(path.into_bytes()).into()).map_err(io::Error::from);
        self.or_ask(path, |opener| opener.get(self.identity(), Ask::Link(name.to_owned())))
    }

    /// The target of the link `/proc/PID/NAME`, found but not opened.
    pub(super) fn find(&self, name: &str) -> io::Result<OwnedFd> {
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        if self.0.host.is_live() {
            return Ok(rustix::fs::openat(&self.0.folder, name, flags, Mode::empty())?);
        }
        // In a tree it is an ordinary link, which may lead out of the tree.
        let path = self.0.host.inside(Path::new(&format!("/proc/{}/{name}", self.0.pid)))?;
        Ok(rustix::fs::open(path, flags, Mode::empty())?)
    }

    /// Its root folder.
    ///
    /// # Errors
    /// Not permitted, or it has ended.
    pub fn root(&self) -> io::Result<&Root> {
        if let Some(root) = self.0.root.get() {
            return Ok(root);
        }
        let found = self.find("root");
        let found =
            self.or_ask(found, |opener| Ok(opener.open(Some(self.identity()), Ask::Folder("/".into()))?.into()))?;
        let root = Root::new(found, self.link("ns/mnt").ok())?;
        Ok(self.0.root.get_or_init(|| root))
    }

    /// The folder `path` in its root, held but not opened.
    pub fn folder(&self, path: &Path) -> io::Result<OwnedFd> {
        let found = self.root()?.folder(path);
        self.or_ask(found, |opener| Ok(opener.open(Some(self.identity()), Ask::Folder(path.to_owned()))?.into()))
    }

    /// The opener, for what is refused here.
    pub(crate) fn opener(&self) -> Option<&Opener> {
        opener::inside().or(self.0.host.opener())
    }

    /// The descriptors that hold it, for a child that continues to use it.
    pub(crate) fn held_descriptors(&self) -> Vec<RawFd> {
        let pidfd = self.0.pidfd.as_ref().map(AsRawFd::as_raw_fd);
        [self.0.folder.as_raw_fd()].into_iter().chain(pidfd).collect()
    }

    /// Its open descriptors with the paths they lead to.
    pub fn descriptors(&self) -> Vec<(u32, PathBuf)> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let asked = || self.opener().and_then(|opener| opener.get(self.identity(), Ask::Descriptors).ok());
        let folder = match rustix::fs::openat(&self.0.folder, "fd", flags, Mode::empty()) {
            Err(Errno::ACCESS | Errno::PERM) => return asked().unwrap_or_default(),
            folder => folder.ok().and_then(|folder| Dir::new(folder).ok()),
        };
        let Some(folder) = folder else { return Vec::new() };
        let number = |entry: rustix::fs::DirEntry| entry.file_name().to_str().ok()?.parse::<u32>().ok();
        let mut found = Vec::new();
        for fd in folder.flatten().filter_map(number) {
            match rustix::fs::readlinkat(&self.0.folder, format!("fd/{fd}"), Vec::new()) {
                Ok(path) => found.push((fd, OsString::from_vec(path.into_bytes()).into())),
                // What may be listed may not be followed. One request for all: there may be thousands.
                Err(Errno::ACCESS | Errno::PERM) => return asked().unwrap_or_default(),
                Err(_) => {}
            }
        }
        found
    }

    /// The kernel's lines about the system calls in which its threads sleep: of the first thousand.
    ///
    /// # Errors
    /// Not permitted, or it has ended.
    pub fn calls(&self) -> io::Result<Vec<(u32, String)>> {
        let line = |tid: u32| {
            let file = open_in(&self.0.folder, &format!("task/{tid}/syscall"))?;
            read_text(file.into()).map(|text| (tid, text))
        };
        let mut lines = Vec::new();
        for tid in self.0.host.tids(self.0.pid).into_iter().take(CALLS_MAX) {
            match line(tid) {
                Ok(line) => lines.push(line),
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                    return self.or_ask(Err(error), |opener| opener.get(self.identity(), Ask::Calls));
                }
                // It has ended meanwhile.
                Err(_) => {}
            }
        }
        self.check().map(|()| lines)
    }

    /// The kernel's counters of its read and write calls: the lines of `io`.
    ///
    /// # Errors
    /// Not permitted, or it has ended.
    pub fn io_counts(&self) -> io::Result<String> {
        let own = open_in(&self.0.folder, "io").and_then(|file| read_text(file.into()));
        self.or_ask(own, |opener| opener.get(self.identity(), Ask::IoCounts))
    }

    /// Whether a descriptor was opened for reading, writing, or both.
    pub fn access(&self, fd: u32) -> Option<OFlags> {
        if self.0.host.is_live() {
            // The link's own mode shows it, to every user and without a request to the opener.
            let link = rustix::fs::statat(&self.0.folder, format!("fd/{fd}"), AtFlags::SYMLINK_NOFOLLOW).ok()?;
            let mode = Mode::from_raw_mode(link.st_mode);
            return Some(match (mode.contains(Mode::RUSR), mode.contains(Mode::WUSR)) {
                (true, true) => OFlags::RDWR,
                (false, true) => OFlags::WRONLY,
                _ => OFlags::RDONLY,
            });
        }
        let text = self.text(&format!("fdinfo/{fd}")).ok()?;
        Some(OFlags::from_bits_retain(u32::from_str_radix(procfs::field(&text, "flags")?, 8).ok()?))
    }

    /// Whether a descriptor was opened for writing.
    pub fn writes(&self, fd: u32) -> bool {
        self.access(fd).is_some_and(|access| access.intersects(OFlags::WRONLY | OFlags::RDWR))
    }

    /// Sends it a signal.
    ///
    /// # Errors
    /// Not permitted, or it has ended.
    pub fn signal(&self, number: i32) -> io::Result<()> {
        let pidfd = self.0.pidfd.as_ref().ok_or(io::ErrorKind::Unsupported)?;
        let signal = Signal::from_named_raw(number).ok_or(io::ErrorKind::InvalidInput)?;
        let sent = rustix::process::pidfd_send_signal(pidfd, signal).map_err(io::Error::from);
        self.or_ask(sent, |opener| opener.get(self.identity(), Ask::Signal(number)))
    }

    /// Makes the opener, if there is one, open files of this process and its descendants.
    pub fn follow(&self) -> io::Result<()> {
        self.opener().map_or(Ok(()), |opener| opener.get(self.identity(), Ask::Follow))
    }

    /// Its effective user.
    pub fn user(&self) -> Option<u32> {
        let status = self.text("status").ok()?;
        procfs::field(&status, "Uid")?.split_ascii_whitespace().nth(1)?.parse().ok()
    }

    /// Device and inode of the open file with this descriptor number.
    pub fn descriptor_identity(&self, fd: u32) -> Option<(u64, u64)> {
        let ask = Ask::Target(ProcessFile::Descriptor(fd));
        let asked = || Some(self.opener()?.open(Some(self.identity()), ask).ok()?.into());
        let found = rustix::fs::fstat(self.find(&format!("fd/{fd}")).ok().or_else(asked)?).ok()?;
        Some((found.st_dev, found.st_ino))
    }
}

/// Opens a kernel file in a folder of `/proc`.
fn open_in(folder: &OwnedFd, name: &str) -> io::Result<OwnedFd> {
    // A tree may contain anything under that name.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(folder, name, flags, Mode::empty())?)
}

//! The one part of a recording that keeps what opening takes: a small process that is forked
//! before anything hostile is looked at, and hands over descriptors that are checked as
//! [`open_target`] checks them, never contents. Owns whom it opens something of: the program
//! that is recorded, what that started, and what writes into the capture. Refuses everybody
//! else's files, every write, and to outlive the recorder.

use crate::procfs::Host;
use crate::target::{Process, Refused, What, open_target};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};
use rustix::thread::CapabilitySet;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// A question or an answer is no longer.
const MESSAGE_MAX: usize = 128 << 10;
/// A file on a server that does not answer may hold the opener up so long.
const ANSWER_MAX: Duration = Duration::from_secs(4);
/// Parents that are asked for on the way up to the program.
const GENERATIONS_MAX: usize = 64;
/// Links of a process that are given at once.
const LINKS_MAX: usize = 4096;

/// What it keeps: reading processes of other users, their `map_files`, their files; the
/// kernel's events; passing SIGTERM on to the program.
pub fn kept() -> CapabilitySet {
    CapabilitySet::SYS_PTRACE
        | CapabilitySet::CHECKPOINT_RESTORE
        | CapabilitySet::DAC_READ_SEARCH
        | CapabilitySet::PERFMON
        | CapabilitySet::KILL
}

/// What is asked for of a process.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Ask {
    /// From now on, this process is the program, or another of its family that is known.
    Follow,
    /// A file of the kernel's: `/proc/PID/NAME`.
    File(String),
    /// Where a link in `/proc/PID` leads.
    Link(String),
    /// Its descriptors, and where they lead.
    Descriptors,
    /// What it names.
    Executable,
    /// See [`What::Mapped`].
    Mapped { range: Range<u64>, device: (u32, u32), inode: u64, path: String },
    /// See [`What::Descriptor`].
    Descriptor(u32),
    /// See [`What::Named`].
    Named(PathBuf),
    /// A folder by its name in the root of the process.
    Folder(PathBuf),
    /// Send it a signal.
    Signal(i32),
}

#[derive(Debug, Serialize, Deserialize)]
struct Question {
    pid: u32,
    start_ticks: u64,
    ask: Ask,
}

#[derive(Debug, Serialize, Deserialize)]
enum Answer {
    /// A descriptor comes along.
    Opened,
    Link(PathBuf),
    Links(Vec<(u32, PathBuf)>),
    Done,
    /// The system's error.
    Errno(i32),
    /// See [`Refused`].
    NotOrdinary,
    MadeUp,
    Another,
}

/// The recorder's end.
#[derive(Debug)]
pub struct Opener {
    socket: Mutex<OwnedFd>,
    pid: libc::pid_t,
}

impl Opener {
    /// Forks it. Call this before there are other threads and before anything is looked at.
    ///
    /// # Errors
    /// No process or socket to be had.
    pub fn start() -> io::Result<Opener> {
        let (type_, flags) = (SocketType::SEQPACKET, SocketFlags::CLOEXEC);
        let (own, its) = socketpair(AddressFamily::UNIX, type_, flags, None)?;
        let timeout = Some(ANSWER_MAX);
        rustix::net::sockopt::set_socket_timeout(&own, rustix::net::sockopt::Timeout::Recv, timeout)?;
        // SAFETY: getpid(2) takes and touches nothing.
        let recorder = u32::try_from(unsafe { libc::getpid() }).unwrap_or(0);
        // SAFETY: the child serves in this very call and ends by _exit; it takes no lock of
        // another thread but the allocator's, which glibc makes usable in it.
        let pid = unsafe { libc::fork() };
        if pid == 0 {
            let status = i32::from(serve(&its, recorder).is_err());
            // SAFETY: ends the child without running anything of the recorder's.
            unsafe { libc::_exit(status) }
        }
        if pid < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Opener { socket: Mutex::new(own), pid })
    }

    fn ask(&self, process: &Process, ask: Ask) -> io::Result<(Answer, Option<OwnedFd>)> {
        let question = Question { pid: process.pid(), start_ticks: process.start_ticks(), ask };
        let bytes = serde_json::to_vec(&question)?;
        let mut buffer = vec![0; MESSAGE_MAX];
        let socket = self.socket.lock().unwrap_or_else(PoisonError::into_inner);
        rustix::net::send(&*socket, &bytes, SendFlags::NOSIGNAL)?;
        let (count, descriptor) = receive(socket.as_fd(), &mut buffer)?;
        drop(socket);
        let answer = serde_json::from_slice(buffer.get(..count).unwrap_or_default())?;
        Ok((answer, descriptor))
    }

    /// Opens what a process names.
    pub(crate) fn open(&self, process: &Process, ask: Ask) -> Result<File, Refused> {
        match self.ask(process, ask)? {
            (Answer::Opened, Some(descriptor)) => Ok(descriptor.into()),
            (Answer::NotOrdinary, _) => Err(Refused::NotOrdinary),
            (Answer::MadeUp, _) => Err(Refused::MadeUp),
            (Answer::Another, _) => Err(Refused::Another),
            (answer, _) => Err(Refused::System(unexpected(&answer))),
        }
    }

    /// Where a link in `/proc/PID` leads.
    pub(crate) fn link(&self, process: &Process, name: &str) -> io::Result<PathBuf> {
        match self.ask(process, Ask::Link(name.to_owned()))?.0 {
            Answer::Link(path) => Ok(path),
            answer => Err(unexpected(&answer)),
        }
    }

    /// Descriptors of a process, and where they lead.
    pub(crate) fn descriptors(&self, process: &Process) -> io::Result<Vec<(u32, PathBuf)>> {
        match self.ask(process, Ask::Descriptors)?.0 {
            Answer::Links(links) => Ok(links),
            answer => Err(unexpected(&answer)),
        }
    }

    /// Has it follow a process, or send it a signal.
    pub(crate) fn tell(&self, process: &Process, ask: Ask) -> io::Result<()> {
        match self.ask(process, ask)?.0 {
            Answer::Done => Ok(()),
            answer => Err(unexpected(&answer)),
        }
    }
}

impl Drop for Opener {
    fn drop(&mut self) {
        // It ends when its socket is closed, unless a file holds it up.
        // SAFETY: a child that has not been waited for keeps its number.
        unsafe {
            libc::kill(self.pid, libc::SIGKILL);
            libc::waitpid(self.pid, std::ptr::null_mut(), 0);
        }
    }
}

fn unexpected(answer: &Answer) -> io::Error {
    match answer {
        Answer::Errno(number) => io::Error::from_raw_os_error(*number),
        _ => io::ErrorKind::InvalidData.into(),
    }
}

fn receive(socket: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<(usize, Option<OwnedFd>)> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let received = recvmsg(socket, &mut [IoSliceMut::new(buffer)], &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
    let descriptor = ancillary.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    });
    if received.bytes == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok((received.bytes, descriptor))
}

/// The child: answers until the recorder is gone.
fn serve(socket: &OwnedFd, recorder: u32) -> io::Result<()> {
    // Signals that a terminal sends to all are the recorder's.
    for signal in [libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGHUP] {
        // SAFETY: sets how signals of this process are handled, to nothing.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
    crate::sandbox::close_others(&[socket.as_raw_fd()])?;
    super::give_up(kept())?;
    let mut server = Server { host: Host::default(), recorder, known: HashMap::new() };
    let mut buffer = vec![0; MESSAGE_MAX];
    loop {
        let count = match rustix::net::recv(socket, buffer.as_mut_slice(), RecvFlags::empty()) {
            Ok((_, 0)) => return Ok(()),
            Ok((_, count)) => count,
            Err(rustix::io::Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        };
        let (answer, descriptor) = match serde_json::from_slice(buffer.get(..count).unwrap_or_default()) {
            Ok(question) => server.answer(&question),
            Err(_) => (Answer::Errno(libc::EINVAL), None),
        };
        send(socket, &answer, descriptor.as_ref().map(AsFd::as_fd))?;
    }
}

fn send(socket: &OwnedFd, answer: &Answer, descriptor: Option<BorrowedFd<'_>>) -> io::Result<()> {
    let mut bytes = serde_json::to_vec(answer)?;
    if bytes.len() > MESSAGE_MAX {
        bytes = serde_json::to_vec(&Answer::Errno(libc::E2BIG))?;
    }
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let descriptors: Vec<BorrowedFd<'_>> = descriptor.into_iter().collect();
    if !descriptors.is_empty() {
        ancillary.push(SendAncillaryMessage::ScmRights(&descriptors));
    }
    sendmsg(socket, &[IoSlice::new(&bytes)], &mut ancillary, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Whom it opens something of.
struct Server {
    host: Host,
    recorder: u32,
    /// By number: the family as far as it was asked for.
    known: HashMap<u32, Process>,
}

impl Server {
    fn answer(&mut self, question: &Question) -> (Answer, Option<OwnedFd>) {
        let found = self.process(question).and_then(|process| self.open(&process, &question.ask));
        found.unwrap_or_else(|refused| {
            let answer = match refused {
                Refused::NotOrdinary => Answer::NotOrdinary,
                Refused::MadeUp => Answer::MadeUp,
                Refused::Another => Answer::Another,
                Refused::System(error) => Answer::Errno(error.raw_os_error().unwrap_or(libc::EIO)),
            };
            (answer, None)
        })
    }

    /// The process that is asked about, if it is the recorder's business.
    fn process(&mut self, question: &Question) -> Result<Process, Refused> {
        let refuse = |errno| Refused::System(io::Error::from_raw_os_error(errno));
        if let Some(known) = self.known.get(&question.pid).filter(|known| known.check().is_ok()) {
            let same = known.start_ticks() == question.start_ticks;
            return if same { Ok(known.clone()) } else { Err(refuse(libc::ESRCH)) };
        }
        self.known.retain(|_, process| process.check().is_ok());
        let process = Process::open(&self.host, question.pid)?;
        if process.start_ticks() != question.start_ticks {
            return Err(refuse(libc::ESRCH));
        }
        let follow = matches!(question.ask, Ask::Follow);
        if !follow && !self.is_family(question.pid) {
            return Err(refuse(libc::EPERM));
        }
        self.known.insert(question.pid, process.clone());
        Ok(process)
    }

    /// Whether a process descends from one that is followed, or from the recorder.
    fn is_family(&self, pid: u32) -> bool {
        let mut next = pid;
        for _ in 0..GENERATIONS_MAX {
            let Some(stat) = self.host.stat(next) else { return false };
            next = stat.parent;
            if next == self.recorder || self.known.get(&next).is_some_and(|process| process.check().is_ok()) {
                return true;
            }
            if next <= 1 {
                return false;
            }
        }
        false
    }

    fn open(&self, process: &Process, ask: &Ask) -> Result<(Answer, Option<OwnedFd>), Refused> {
        let opened = |file: File| (Answer::Opened, Some(file.into()));
        let target = |what| open_target(process, what).map(opened);
        Ok(match ask {
            Ask::Follow => (Answer::Done, None),
            Ask::File(name) if is_plain(name) => opened(process.open_file(name)?),
            Ask::Link(name) if is_plain(name) => (Answer::Link(process.link(name)?), None),
            Ask::File(_) | Ask::Link(_) => return Err(io::Error::from_raw_os_error(libc::EPERM).into()),
            Ask::Descriptors => {
                let mut links = process.descriptors();
                links.truncate(LINKS_MAX);
                (Answer::Links(links), None)
            }
            Ask::Executable => target(What::Executable)?,
            Ask::Mapped { range, device, inode, path } => {
                target(What::Mapped { range: range.clone(), device: *device, inode: *inode, path })?
            }
            Ask::Descriptor(number) => target(What::Descriptor(*number))?,
            Ask::Named(path) => target(What::Named(path))?,
            Ask::Folder(path) => (Answer::Opened, Some(process.folder(path)?)),
            Ask::Signal(signal) => {
                process.signal(*signal)?;
                (Answer::Done, None)
            }
        })
    }
}

/// Whether a name leads to a file of the kernel's in `/proc/PID` itself, for reading.
fn is_plain(name: &str) -> bool {
    let path = Path::new(name);
    let below = path.components().all(|part| matches!(part, std::path::Component::Normal(_)));
    let first = name.split('/').next().unwrap_or_default();
    const FILES: [&str; 16] = [
        "maps",
        "smaps",
        "smaps_rollup",
        "pagemap",
        "mem",
        "environ",
        "cmdline",
        "exe",
        "cwd",
        "root",
        "ns",
        "fd",
        "fdinfo",
        "task",
        "stat",
        "status",
    ];
    below && FILES.contains(&first)
}

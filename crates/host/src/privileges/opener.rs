//! The one part of a recording that keeps what opening takes is asked here: a small process that
//! is forked before anything hostile is looked at (see `server`). Owns what can be asked and
//! answered, and that an answer belongs to its question. Refuses to open anything itself.

use crate::sandbox::messages;
use crate::system::clock;
use crate::system::ready::is_ready;
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd, RawFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// A process by its number, and when it was started in clock ticks.
pub(crate) type Identity = (u32, u64);

/// What of a process.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum What {
    /// The file of the program that it runs.
    Executable,
    /// A file that it has mapped, as a line of `maps` says.
    Mapped {
        /// Where it is mapped.
        range: Range<u64>,
        /// Major and minor number; (0, 0): not known.
        device: (u32, u32),
        /// Of the file.
        inode: u64,
        /// The name that `maps` shows.
        path: String,
    },
    /// What it has open under that number.
    Descriptor(u32),
    /// A file by its name in the root of the process.
    Named(PathBuf),
}

/// Why something is not opened.
#[derive(Debug, thiserror::Error, Serialize, Deserialize)]
pub enum Refused {
    /// It is a pipe, a socket, a device or a folder.
    #[error("it is no ordinary file")]
    NotOrdinary,
    /// The kernel makes up its contents.
    #[error("it lies on a file system of the kernel's")]
    MadeUp,
    /// It has the name and is another one.
    #[error("it is another file than the one that the program had loaded")]
    Another,
    /// The system does.
    #[error(transparent)]
    System(
        #[from]
        #[serde(with = "crate::sandbox::error")]
        io::Error,
    ),
}

impl From<Refused> for io::Error {
    fn from(refused: Refused) -> io::Error {
        match refused {
            Refused::System(error) => error,
            other => io::Error::other(other),
        }
    }
}

/// How it went to hold a process still.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Serialize, Deserialize)]
pub struct Held {
    /// From the first thread that was asked to stop to the last that was let go.
    pub stopped: Duration,
    /// It was let go when its time was over, before anybody said so.
    pub cut: bool,
}

/// What is asked for of a process. The answer is that it was done, unless a variant names another one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Ask {
    /// From now on, this process is the program, or another of its family that is known.
    Follow,
    /// A file of the kernel's, opened: `/proc/PID/NAME`.
    File(String),
    /// Where a link in `/proc/PID` leads: a path.
    Link(String),
    /// Its descriptors that have a path, and where they lead: a list of numbers and paths.
    Descriptors,
    /// In which system call each of its threads sleeps: a list of numbers and of the kernel's lines about them. The
    /// kernel asks whoever reads such a line, not whoever opened it.
    Calls,
    /// Its calls that read and write: the kernel's lines about them, which it gives in the same way.
    IoCounts,
    /// What it names, opened.
    Target(What),
    /// A folder by its name in the root of the process, opened.
    Folder(PathBuf),
    Signal(i32),
    /// Stop all of its threads, for at most so long.
    Stop(Duration),
    /// Let it go: how that went ([`Held`]).
    LetGo,
    /// A file by a name of the recorder's own, as a core file has them, opened.
    Own(PathBuf),
    /// The capture, whose descriptor comes along: asked once.
    Capture(PathBuf),
    /// A file in the capture, opened.
    Captured(PathBuf),
    /// The file of names of the kernel's functions, opened.
    KernelNames,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Question {
    pub number: u64,
    /// None: no process is asked about.
    pub of: Option<Identity>,
    pub ask: Ask,
}

/// The value that was asked for, as [`Ask`] says; a descriptor comes along where something was opened.
pub(super) type Answer = Result<Value, Refused>;

/// The end at which questions are asked.
#[derive(Debug)]
pub struct Opener {
    line: Mutex<Line>,
    /// Who answers, where that is a child of this process.
    pid: Option<libc::pid_t>,
}

#[derive(Debug)]
struct Line {
    socket: Socket,
    /// Questions so far.
    number: u64,
    /// An answer has not come in time: nothing more is asked until it does.
    stuck: bool,
}

#[derive(Debug)]
pub(super) enum Socket {
    Own(OwnedFd),
    Inside(BorrowedFd<'static>),
}

impl Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Socket::Own(socket) => socket.as_fd(),
            Socket::Inside(socket) => *socket,
        }
    }
}

/// The end of a sandbox's questions in its child: none in the recorder itself.
static QUESTIONS: AtomicI32 = AtomicI32::new(-1);

/// In the child of a sandbox: where its questions go, or -1.
pub(crate) fn set_questions(socket: RawFd) {
    QUESTIONS.store(socket, Ordering::Relaxed);
}

/// In a child whose questions are answered: where they go.
pub(crate) fn questions() -> Option<BorrowedFd<'static>> {
    let socket = QUESTIONS.load(Ordering::Relaxed);
    // SAFETY: set once in the child, for a descriptor that stays open as long as the child lives.
    (socket >= 0).then(|| unsafe { BorrowedFd::borrow_raw(socket) })
}

/// In a sandbox whose questions are answered: who is asked.
pub(crate) fn inside() -> Option<&'static Opener> {
    static INSIDE: OnceLock<Opener> = OnceLock::new();
    let socket = questions()?;
    Some(INSIDE.get_or_init(|| Opener::new(Socket::Inside(socket), None)))
}

impl Opener {
    pub(super) fn new(socket: Socket, pid: Option<libc::pid_t>) -> Opener {
        Opener { line: Mutex::new(Line { socket, number: 0, stuck: false }), pid }
    }

    fn ask(
        &self,
        of: Option<Identity>,
        ask: Ask,
        along: Option<BorrowedFd<'_>>,
    ) -> io::Result<(Answer, Option<OwnedFd>)> {
        let mut line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
        if line.stuck && !is_ready(&line.socket.as_fd()) {
            return Err(io::ErrorKind::TimedOut.into());
        }
        line.number += 1;
        let bytes = serde_json::to_vec(&Question { number: line.number, of, ask })?;
        messages::send(line.socket.as_fd(), &bytes, along)?;
        loop {
            let received = messages::receive(line.socket.as_fd());
            line.stuck = matches!(&received, Err(error) if error.kind() == io::ErrorKind::WouldBlock);
            let (bytes, descriptor) = received?;
            let (number, answer): (u64, Answer) = serde_json::from_slice(&bytes)?;
            // What came too late for an earlier question is dropped.
            if number == line.number {
                return Ok((answer, descriptor));
            }
        }
    }

    pub(crate) fn cpu_ns(&self) -> u64 {
        self.pid.map_or(0, clock::cpu_ns_of)
    }

    /// Says which capture this recording makes: files in it that other users made are opened, and
    /// processes that write into it are its business. Errors: it is gone, or knows one already.
    pub fn keep(&self, capture: BorrowedFd<'_>, path: &Path) -> io::Result<()> {
        let (kept, _) = self.ask(None, Ask::Capture(path.to_owned()), Some(capture))?;
        kept?;
        Ok(())
    }

    /// Opens what a process names, or what is of no process.
    pub(crate) fn open(&self, of: Option<Identity>, ask: Ask) -> Result<File, Refused> {
        match self.ask(of, ask, None)? {
            (Ok(_), Some(descriptor)) => Ok(descriptor.into()),
            (Ok(_), None) => Err(Refused::System(io::ErrorKind::InvalidData.into())),
            (Err(refused), _) => Err(refused),
        }
    }

    /// Asks something of a process to which the answer is a value, not a descriptor.
    pub(crate) fn get<T: DeserializeOwned>(&self, of: Identity, ask: Ask) -> io::Result<T> {
        let (answer, _) = self.ask(Some(of), ask, None)?;
        Ok(serde_json::from_value(answer?)?)
    }
}

impl Drop for Opener {
    fn drop(&mut self) {
        let Some(pid) = self.pid.and_then(Pid::from_raw) else { return };
        // It ends when its socket is closed, unless a file holds it up. Until it is waited for it keeps its number.
        let _ = kill_process(pid, Signal::KILL);
        let _ = waitpid(Some(pid), WaitOptions::empty());
    }
}

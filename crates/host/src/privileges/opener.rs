//! The one part of a recording that keeps what opening takes is asked here: a small process that
//! is forked before anything hostile is looked at (see `server`). Owns what can be asked and
//! answered, and that an answer belongs to its question. Refuses to open anything itself.

use crate::sandbox::messages;
use crate::system::clock;
use crate::system::ready::is_ready;
use serde::{Deserialize, Serialize};
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

/// What is asked for of a process.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Ask {
    /// From now on, this process is the program, or another of its family that is known.
    Follow,
    /// A file of the kernel's: `/proc/PID/NAME`.
    File(String),
    /// Where a link in `/proc/PID` leads.
    Link(String),
    /// Its descriptors that have a path, and where they lead.
    Descriptors,
    /// What it names.
    Target(What),
    /// A folder by its name in the root of the process.
    Folder(PathBuf),
    /// Send it a signal.
    Signal(i32),
    /// Stop all of its threads, for at most so long.
    Stop(Duration),
    /// Let it go.
    LetGo,
    /// A file by a name of the recorder's own, as a core file has them.
    Own(PathBuf),
    /// The capture, whose descriptor comes along: asked once.
    Capture(PathBuf),
    /// A file in the capture.
    Captured(PathBuf),
    /// Names of the kernel's functions.
    KernelNames,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Question {
    pub number: u64,
    /// None: no process is asked about.
    pub of: Option<Identity>,
    pub ask: Ask,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Answer {
    /// A descriptor comes along.
    Opened,
    Link(PathBuf),
    Links(Vec<(u32, PathBuf)>),
    Held(Held),
    Done,
    Refused(Refused),
}

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

    /// CPU time that it has used, in nanoseconds.
    pub(crate) fn cpu_ns(&self) -> u64 {
        self.pid.map_or(0, clock::cpu_ns_of)
    }

    /// Says which capture this recording makes: files in it that other users made are opened, and
    /// processes that write into it are its business.
    ///
    /// # Errors
    /// It is gone, or knows one already.
    pub fn keep(&self, capture: BorrowedFd<'_>, path: &Path) -> io::Result<()> {
        done(self.ask(None, Ask::Capture(path.to_owned()), Some(capture))?.0)
    }

    /// Lets a process that was stopped go: how that went.
    pub(crate) fn let_go(&self, of: Identity) -> io::Result<Held> {
        match self.ask(Some(of), Ask::LetGo, None)?.0 {
            Answer::Held(held) => Ok(held),
            answer => Err(unexpected(answer)),
        }
    }

    /// Opens what a process names, or what is of no process.
    pub(crate) fn open(&self, of: Option<Identity>, ask: Ask) -> Result<File, Refused> {
        match self.ask(of, ask, None)? {
            (Answer::Opened, Some(descriptor)) => Ok(descriptor.into()),
            (Answer::Refused(refused), _) => Err(refused),
            _ => Err(Refused::System(io::ErrorKind::InvalidData.into())),
        }
    }

    /// Where a link in `/proc/PID` leads.
    pub(crate) fn link(&self, of: Identity, name: &str) -> io::Result<PathBuf> {
        match self.ask(Some(of), Ask::Link(name.to_owned()), None)?.0 {
            Answer::Link(path) => Ok(path),
            answer => Err(unexpected(answer)),
        }
    }

    /// Descriptors of a process, and where they lead.
    pub(crate) fn descriptors(&self, of: Identity) -> io::Result<Vec<(u32, PathBuf)>> {
        match self.ask(Some(of), Ask::Descriptors, None)?.0 {
            Answer::Links(links) => Ok(links),
            answer => Err(unexpected(answer)),
        }
    }

    /// Has it follow a process, or send it a signal.
    pub(crate) fn tell(&self, of: Identity, ask: Ask) -> io::Result<()> {
        done(self.ask(Some(of), ask, None)?.0)
    }
}

impl Drop for Opener {
    fn drop(&mut self) {
        let Some(pid) = self.pid else { return };
        // It ends when its socket is closed, unless a file holds it up.
        // SAFETY: a child that has not been waited for keeps its number.
        unsafe {
            libc::kill(pid, libc::SIGKILL);
            libc::waitpid(pid, std::ptr::null_mut(), 0);
        }
    }
}

fn done(answer: Answer) -> io::Result<()> {
    if let Answer::Done = answer { Ok(()) } else { Err(unexpected(answer)) }
}

fn unexpected(answer: Answer) -> io::Error {
    match answer {
        Answer::Refused(refused) => refused.into(),
        _ => io::ErrorKind::InvalidData.into(),
    }
}

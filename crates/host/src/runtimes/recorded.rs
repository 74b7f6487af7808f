//! What the sequence of a recording knows of a runtime: how its programs are made to log, that
//! logs are opened while it goes on, by processes that have to be found out, and that each ends in
//! the manifest. Each runtime is a folder that says the rest.

use super::files::RuntimeFiles;
use super::route::Route;
use super::waiting::{self, Frame, Looks};
use crate::binary::Inspected;
use crate::capture::folder::Folder;
use crate::system::procfs::Host;
use crate::target::Process;
use rtscope_model::heap::Heap;
use rtscope_model::manifest::{Binary, Log};
use rtscope_model::{Loss, Time, WaitKind};
use std::ffi::OsString;
use std::fmt;
use std::io;
use std::os::fd::{BorrowedFd, RawFd};
use std::path::{Path, PathBuf};

/// How much a runtime is asked to log.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Default)]
pub enum Detail {
    /// Collections, heap figures and counts of sparks only (plus what the user asked for).
    #[default]
    Cheap,
    /// Every class.
    Full,
}

/// What the start of a program is decided from.
#[derive(Clone, Debug)]
pub struct Command<'a> {
    pub capture: &'a Folder,
    /// What is known of the program (of the one inside, for a wrapper).
    pub inspected: &'a Inspected,
    /// It starts something else, which may be a program of any runtime.
    pub wrapper: bool,
    /// The program's file, where it was found.
    pub path: Option<&'a Path>,
    /// How its programs find out where their logs belong.
    pub route: &'a Route,
    pub directory: &'a Path,
    pub detail: Detail,
    /// Words in a ring as a power of two, whatever there is room for.
    pub ring_size: Option<u32>,
}

/// What a runtime's logs are made with, or that it cannot log; an error says what could not be made.
pub type Prepared = Result<Option<Box<dyn RuntimeLogs>>, (&'static str, io::Error)>;

/// Reads the heap of a process; with CPU time of children that did it, nanoseconds.
pub type ReadHeap = fn(&Host, u32) -> Result<(Heap, u64), NoHeap>;

/// Why a heap, or what threads wait for, was not read.
#[derive(Debug)]
pub struct NoHeap {
    pub why: String,
    pub then: Then,
}

/// What follows of a heap that was not read.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum Then {
    /// The process has ended.
    Gone,
    /// It may become such a program yet.
    TryAgain,
    /// Reading failed: the user sees it.
    Failed,
    /// It is not tried again; what to do about it.
    Never(&'static str),
}

/// A runtime whose programs are recorded.
pub trait HostRuntime: RuntimeFiles {
    /// What its programs write: "eventlog".
    fn writes(&self) -> &'static str;

    /// Variables of the environment that go into the manifest.
    fn environment(&self) -> &'static [&'static str];

    /// Makes a command log into a capture; where it cannot, `launch` says why.
    /// Errors: what could not be made of it in the capture.
    fn prepare(&self, command: &Command<'_>, launch: &mut Launch) -> Prepared;

    /// Logs that a process which runs already writes by itself, if there are some.
    fn attach(&self, process: &Process, around: &Around<'_>, notices: &mut Notices) -> Option<Box<dyn RuntimeLogs>>;

    /// Reads heaps of its programs, or says that nobody does.
    fn heap(&self) -> Result<ReadHeap, &'static str>;

    /// Finds out how the threads of one of its programs are looked at.
    fn threads(&self, process: &Process) -> Result<Box<dyn Looks>, NoHeap>;

    /// What names of places tell of a thread that waits for `found` as far as its runtime says.
    fn interpret(&self, found: WaitKind, frames: &[Option<Frame<'_>>]) -> waiting::Interpreted;
}

/// How the program is to be started so that its runtime logs.
#[derive(Clone, Debug, Default)]
pub struct Launch {
    /// Its arguments, the program first.
    pub argv: Vec<String>,
    /// Variables of the environment to set.
    pub set: Vec<(&'static str, OsString)>,
    /// Descriptors that it has to inherit.
    pub inherit: Vec<RawFd>,
    /// What was added, as text for the manifest.
    pub added: Vec<String>,
    /// One sentence each about what is not recorded.
    pub notes: Vec<String>,
    /// What may keep programs that the command starts from starting: for a command that fails, none of whose programs
    /// writes a log.
    pub hints: Vec<String>,
}

/// What is there while a recording goes on.
#[derive(Copy, Clone, Debug)]
pub struct Around<'a> {
    pub host: &'a Host,
    pub capture: &'a Folder,
    /// The program.
    pub pid: u32,
    /// The program and what it started.
    pub family: &'a [u32],
    /// Bytes that the capture may still grow by.
    pub room: u64,
}

/// Losses and notes, collected for the manifest and the user.
#[derive(Debug, Default)]
pub struct Notices {
    /// For the manifest.
    pub losses: Vec<Loss>,
    /// For the user and the manifest.
    pub notes: Vec<String>,
}

/// The logs that programs of one runtime write during a recording.
pub trait RuntimeLogs: fmt::Debug {
    /// For a recording without any: "no GHC program opened the eventlog".
    fn absence_message(&self) -> &'static str;

    /// Readable when a log was opened.
    fn descriptor(&self) -> Option<BorrowedFd<'_>>;

    /// The program is there and has not called exec yet.
    fn before_exec(&mut self, _around: &Around<'_>, _notices: &mut Notices) {}

    /// Takes in the logs that were opened since; true where there are some.
    fn take_opened(&mut self, around: &Around<'_>, notices: &mut Notices) -> bool;

    /// Finds out who writes which log as far as not yet known, among the family, or
    /// `everywhere`.
    fn identify(&mut self, _around: &Around<'_>, _everywhere: bool) {}

    /// Logs that were found, or of which more is known, since the last call.
    fn changed(&mut self) -> Vec<Log>;

    /// Whether a log is expected that is opened without notice, or its writer is still looked for.
    fn awaits(&self) -> bool {
        false
    }

    /// Files in the capture that programs write and may go on writing, whatever happens to the recording.
    fn open_logs(&mut self) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Copies what its programs keep in their memory. Errors: the disk.
    fn copy(&mut self, _now: Time) -> io::Result<()> {
        Ok(())
    }

    /// The disk is full: nothing is to be written any more.
    fn stop_copying(&mut self);

    /// Whether this source has met a full disk by itself.
    fn disk_full(&self) -> bool {
        false
    }

    /// For the manifest.
    fn logs(&self) -> Vec<Log>;

    /// The program that wrote the first of them.
    fn program(&self, host: &Host) -> Option<Binary>;

    /// Bytes that were written to the capture beside the logs of the programs.
    fn written_bytes(&self) -> u64;

    /// Takes what is left at the end; nothing is recorded afterwards.
    fn end(&mut self, around: &Around<'_>, ended: Time, notices: &mut Notices);

    /// Removes what only programs that still ran would have needed.
    fn finish(&mut self, host: &Host);
}

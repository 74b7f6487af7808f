//! What the recording sequence knows about a runtime: how its programs are made to log, that logs are
//! opened during the recording, by processes that have to be found, and that each log ends up in
//! the manifest. Each runtime's folder implements the rest.

use super::files::RuntimeFiles;
use super::route::Route;
use super::waiting::{self, Looks, NamedFrame};
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
    /// Only collections, heap figures and counts of sparks (plus what the user requested).
    #[default]
    Cheap,
    /// Every class.
    Full,
}

/// The inputs for starting a program.
#[derive(Clone, Debug)]
pub struct Command<'a> {
    pub capture: &'a Folder,
    /// What is known about the program (for a wrapper, about the one inside).
    pub inspected: &'a Inspected,
    /// It starts another program, which may use any runtime.
    pub wrapper: bool,
    /// The program's file, if it was found.
    pub path: Option<&'a Path>,
    /// How its programs find the place for their logs.
    pub route: &'a Route,
    pub directory: &'a Path,
    pub detail: Detail,
    /// Words in a ring as a power of two, whatever the room.
    pub ring_size: Option<u32>,
}

/// The source of a runtime's logs, or `None` if it cannot log; an error says what could not be made.
pub type Prepared = Result<Option<Box<dyn RuntimeLogs>>, (&'static str, io::Error)>;

/// Reads the heap of a process; also returns the CPU time of the children that did it, nanoseconds.
pub type ReadHeap = fn(&Host, u32) -> Result<(Heap, u64), NoHeap>;

/// Why a heap was not read, or threads' waits were not.
#[derive(Debug)]
pub struct NoHeap {
    pub why: String,
    pub then: Then,
}

/// What to do after a heap was not read.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum Then {
    /// The process has ended.
    Gone,
    /// It may become such a program later.
    TryAgain,
    /// Reading failed: this is shown to the user.
    Failed,
    /// It is not tried again; the text says what to do about it.
    Never(&'static str),
}

/// A runtime whose programs are recorded.
pub trait HostRuntime: RuntimeFiles {
    /// The name of what its programs write: "eventlog".
    fn writes(&self) -> &'static str;

    /// Environment variables that go into the manifest.
    fn environment(&self) -> &'static [&'static str];

    /// Adds to a command what makes it log into the capture; if it cannot log, `launch` says why.
    /// Errors: what could not be made in the capture.
    fn prepare(&self, command: &Command<'_>, launch: &mut Launch) -> Prepared;

    /// Logs that a running process already writes by itself, if there are any.
    fn attach(&self, process: &Process, around: &Around<'_>, notices: &mut Notices) -> Option<Box<dyn RuntimeLogs>>;

    /// The reader of its programs' heaps; the error says that there is none.
    fn heap(&self) -> Result<ReadHeap, &'static str>;

    /// Prepares sampling the threads of one of its programs.
    fn threads(&self, process: &Process) -> Result<Box<dyn Looks>, NoHeap>;

    /// What names of places say about a thread that waits for `found` according to its runtime.
    fn interpret(&self, found: WaitKind, frames: &[Option<NamedFrame<'_>>]) -> waiting::Interpreted;
}

/// How to start the program so that its runtime logs.
#[derive(Clone, Debug, Default)]
pub struct Launch {
    /// Its arguments, the program first.
    pub argv: Vec<String>,
    /// Environment variables to set.
    pub set: Vec<(&'static str, OsString)>,
    /// Descriptors that it has to inherit.
    pub inherit: Vec<RawFd>,
    /// Options that were added, as text for the manifest.
    pub added: Vec<String>,
    /// One sentence for each thing that is not recorded.
    pub notes: Vec<String>,
    /// What may keep the command's programs from starting: shown if the command fails and none of its programs
    /// writes a log.
    pub hints: Vec<String>,
}

/// The surroundings of a recording in progress.
#[derive(Copy, Clone, Debug)]
pub struct Around<'a> {
    pub host: &'a Host,
    pub capture: &'a Folder,
    /// The program.
    pub pid: u32,
    /// The program and its descendants.
    pub family: &'a [u32],
    /// Bytes by which the capture may still grow.
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
    /// Message for a recording without any: "no GHC program opened the eventlog".
    fn absence_message(&self) -> &'static str;

    /// Becomes readable when a log was opened.
    fn descriptor(&self) -> Option<BorrowedFd<'_>>;

    /// Called when the program exists and has not called exec yet.
    fn before_exec(&mut self, _around: &Around<'_>, _notices: &mut Notices) {}

    /// Takes in newly opened logs; true if there are any.
    fn take_opened(&mut self, around: &Around<'_>, notices: &mut Notices) -> bool;

    /// Finds out which processes write which logs, if not yet known, in the family, or `everywhere`.
    fn identify(&mut self, _around: &Around<'_>, _everywhere: bool) {}

    /// Logs that were found, or about which more is known, since the last call.
    fn changed(&mut self) -> Vec<Log>;

    /// Whether a log is expected that is opened without notice, or its writer is still searched.
    fn awaits(&self) -> bool {
        false
    }

    /// Files in the capture that programs write and may continue to write, whatever happens to the recording.
    fn open_logs(&mut self) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Copies what its programs keep in memory. Errors: the disk.
    fn copy(&mut self, _now: Time) -> io::Result<()> {
        Ok(())
    }

    /// The disk is full: nothing more may be written.
    fn stop_copying(&mut self);

    /// Whether this source found the disk full by itself.
    fn disk_full(&self) -> bool {
        false
    }

    /// The logs for the manifest.
    fn logs(&self) -> Vec<Log>;

    /// The program that wrote the first of them.
    fn program(&self, host: &Host) -> Option<Binary>;

    /// Bytes written to the capture in addition to the programs' logs.
    fn written_bytes(&self) -> u64;

    /// Takes what is left at the end; nothing is recorded afterwards.
    fn end(&mut self, around: &Around<'_>, ended: Time, notices: &mut Notices);

    /// Removes what only programs that still run would have needed.
    fn finish(&mut self, host: &Host);
}

//! What the sequence of a recording knows of a runtime's logs: that some are opened
//! while it goes on, by processes that have to be found out, and that each ends in the
//! manifest. Each runtime is a module that says the rest.

use crate::folder::Folder;
use crate::procfs::Host;
use rtscope_model::manifest::{Binary, Log};
use rtscope_model::{Loss, Time};
use std::ffi::OsString;
use std::fmt;
use std::io;
use std::os::fd::{BorrowedFd, RawFd};
use std::path::PathBuf;

/// How the program is to be started so that its runtime logs.
#[derive(Clone, Debug, Default)]
pub(super) struct Launch {
    /// Its arguments, the program first.
    pub argv: Vec<String>,
    /// Variables of the environment to set.
    pub set: Vec<(&'static str, OsString)>,
    /// Descriptors that it has to inherit.
    pub inherit: Vec<RawFd>,
    /// What was added, as text for the manifest.
    pub added: Vec<String>,
    /// One sentence each about what is not recorded or could surprise.
    pub notes: Vec<String>,
}

/// What is there while a recording goes on.
#[derive(Copy, Clone, Debug)]
pub(super) struct Around<'a> {
    pub host: &'a Host,
    /// The capture.
    pub capture: &'a Folder,
    /// The program.
    pub pid: u32,
    /// The program and what it started.
    pub family: &'a [u32],
    /// Bytes that the capture may still grow by.
    pub room: u64,
}

/// What has to be told.
#[derive(Debug, Default)]
pub(super) struct Told {
    pub losses: Vec<Loss>,
    /// For the user and the manifest.
    pub notes: Vec<String>,
}

/// The logs that programs of one runtime write during a recording.
pub(super) trait RuntimeLogs: fmt::Debug {
    /// Who writes none where there is none: "no GHC program opened the eventlog".
    fn nothing(&self) -> &'static str;

    /// Readable when a log was opened.
    fn descriptor(&self) -> Option<BorrowedFd<'_>>;

    /// The program is there and has not called exec yet.
    fn before_exec(&mut self, around: &Around<'_>, told: &mut Told);

    /// Takes in the logs that were opened since; true where there are some.
    fn take_opened(&mut self, around: &Around<'_>, told: &mut Told) -> bool;

    /// Finds out who writes which log as far as not yet known, among the family, or
    /// `everywhere`.
    fn identify(&mut self, around: &Around<'_>, everywhere: bool);

    /// Logs that were found, or of which more is known, since the last call.
    fn changed(&mut self) -> Vec<Log>;

    /// Whether a log is expected that is opened without notice, or its writer is still looked for.
    fn awaits(&self) -> bool;

    /// Files in the capture that programs write and may go on writing, whatever happens to the recording.
    fn open_logs(&mut self) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Copies what its programs keep in their memory. Errors: the disk.
    fn copy(&mut self, now: Time) -> io::Result<()>;

    /// The disk is full: nothing is to be written any more.
    fn stop_copying(&mut self);

    /// Whether this source has met a full disk by itself.
    fn disk_full(&self) -> bool;

    /// For the manifest.
    fn logs(&self) -> Vec<Log>;

    /// The program that wrote the first of them.
    fn program(&self, host: &Host) -> Option<Binary>;

    /// Bytes that were written to the capture beside the logs of the programs.
    fn written_bytes(&self) -> u64;

    /// Takes what is left at the end; nothing is recorded afterwards.
    fn end(&mut self, around: &Around<'_>, ended: Time, told: &mut Told);

    /// Removes what only programs that still ran would have needed.
    fn finish(&mut self, host: &Host);
}

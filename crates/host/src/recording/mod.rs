//! One recording from start to end: what happens in which order, and what goes
//! into the manifest. Owns the sequence; each step is a module of its own.
//!
//! Rules: the program comes first (whatever fails here, it runs on and its
//! status is passed on); what is on disk is readable at every moment; every
//! loss is recorded.

mod cut;
mod family;
mod journal;
pub mod own_cost;
mod room;
pub mod sampler;
mod session;
mod snapshots;
mod start;
mod waits;

use crate::capture::store::StoreError;
use crate::programs::spawn::SpawnError;
use crate::runtimes::recorded::Detail;
use rtscope_model::manifest::{Exit, Tier};
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

pub use room::Bounds;
pub use rtscope_decode::capture::empty_manifest;
pub use snapshots::When;
pub use start::record;

/// What to record.
#[derive(Clone, Eq, PartialEq, Debug)]
pub enum RecordTarget {
    /// Start this command.
    Command(Vec<OsString>),
    /// A process that is already running.
    Attach(u32),
}

/// How to record.
#[derive(Clone, Debug)]
pub struct RecordOptions {
    /// The program to start or attach to.
    pub target: RecordTarget,
    /// The user that the program runs as, and that the capture belongs to; `None`: this one. Takes root.
    pub user: Option<String>,
    /// Capture folder; `None`: `PROGRAM.rtscope` in the working directory, or `PROGRAM.1.rtscope` if that exists.
    pub output: Option<PathBuf>,
    /// Accept a folder that others may write to, if it is empty and this user's.
    pub force: bool,
    /// How much the runtime logs.
    pub detail: Detail,
    /// Whether to switch the runtime's log on.
    pub eventlog: bool,
    /// Words in a ring of an OCaml program as a power of two; `None`: as many as there
    /// is room for.
    pub ring_size: Option<u32>,
    /// The richest tier for the kernel's scheduling; `None`: do not record it.
    pub kernel: Option<Tier>,
    /// CPU time of a thread between two samples of its code; `None`: no samples.
    pub code_period: Option<Duration>,
    /// Period of sampling RSS and throttle counters.
    pub sample_period: Duration,
    /// Whether to sample what the program's threads wait for.
    pub waits: bool,
    /// When to take a snapshot of the heap.
    pub heap: When,
    /// Period of copying unwritten buffers.
    pub flush_period: Duration,
    /// End the recording after this; a started program runs on and is waited for.
    pub limit: Option<Duration>,
    /// How much room the capture may take.
    pub bounds: Bounds,
    /// Remove names of places from the manifest.
    pub redact: bool,
    /// Version of rtscope for the manifest.
    pub version: String,
}

/// The result of a recording.
#[derive(Clone, PartialEq, Debug)]
pub struct RecordOutcome {
    /// The capture folder.
    pub capture: PathBuf,
    /// How the program ended; `None` if it still runs.
    pub exit: Option<Exit>,
    /// Size of the capture on the disk, bytes.
    pub bytes: u64,
}

impl RecordOutcome {
    /// The status that `record` exits with: the program's own, 128 + signal.
    pub fn status(&self) -> u8 {
        let Some(exit) = self.exit else { return 0 };
        let status = exit.code.or(exit.signal.map(|signal| 128 + signal)).unwrap_or(0);
        u8::try_from(status & 0xff).unwrap_or(0)
    }
}

/// Why nothing was recorded.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The capture folder could not be made.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The program did not start.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    /// There is no such process to attach to.
    #[error("there is no process {0}; look for it with `pgrep -a NAME`")]
    NoProcess(u32),
    /// There is no such user.
    #[error("there is no user {0}; `getent passwd` lists them")]
    NoUser(String),
    /// Another user was asked for without root.
    #[error("only root can run a program as another user: put sudo first")]
    NotRoot,
    /// There is no room for a capture.
    #[error("{0}")]
    NoRoom(String),
    /// The recorder itself failed, at this step.
    #[error("the recording could not be set up ({0}): {1}")]
    Own(&'static str, io::Error),
}

impl RecordError {
    /// Its exit status: 127 not found, 126 not runnable, 125 own failure.
    pub fn status(&self) -> u8 {
        match self {
            RecordError::Spawn(SpawnError::Exec { status, .. }) => *status,
            _ => 125,
        }
    }
}

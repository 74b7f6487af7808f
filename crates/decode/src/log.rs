//! The interface of a log format: how a log is recognised, opened, read, and followed while it is written. Refuses to
//! know a format: [`crate::formats`] has the list.

use crate::capture::UnflushedBlock;
use crate::code::Ipe;
use crate::source::ReadAt;
pub use rtscope_model::Exported as LogFacts;
use rtscope_model::{Classes, ClockMap, Event, LogTime, Loss, Names, Symbols, TypeCount};
use std::io;
use std::sync::Arc;

/// Why a log cannot be opened.
pub type LogError = Box<dyn std::error::Error + Send + Sync>;

/// Number of bytes by which a format is recognised.
pub const HEAD: usize = 64;

/// Events decoded at once: a dynamic call for each would cost more than decoding it.
pub const BATCH: usize = 256;

/// A log that is to be opened.
pub struct Opening<'a> {
    /// The bytes of the log.
    pub source: Arc<dyn ReadAt>,
    /// Name of the log in its losses.
    pub name: &'a str,
    /// The runtime version that wrote it, as far as the user or the recorder knows.
    pub version: Option<&'a str>,
    /// Blocks that its program had not written yet, copied by a recorder.
    pub unflushed: Vec<UnflushedBlock>,
}

impl<'a> Opening<'a> {
    /// A log on its own.
    pub fn new(source: Arc<dyn ReadAt>, name: &'a str) -> Opening<'a> {
        Opening { source, name, version: None, unflushed: Vec::new() }
    }
}

/// A format of logs.
pub trait LogFormat: Sync {
    /// Whether a file that begins with `head`, [`HEAD`] bytes or the whole file, is such a log.
    fn recognises(&self, head: &[u8]) -> bool;

    /// Whether such a file may have holes; any other ends at its first long one.
    fn has_holes(&self, _head: &[u8]) -> bool {
        false
    }

    /// Whether a recorder adds such a log to a capture.
    fn is_recorded(&self) -> bool {
        true
    }

    /// Checks that `version` is a known version of its runtime, where the format depends on it.
    ///
    /// # Errors
    /// It is not.
    fn check_version(&self, _version: &str) -> Result<(), LogError> {
        Ok(())
    }

    /// Opens a log, as far as it can be read.
    ///
    /// # Errors
    /// No part of it can be read.
    fn open(&self, log: Opening<'_>) -> Result<Box<dyn Log>, LogError>;

    /// Opens a log that is still being written, at its first event or at its end.
    ///
    /// # Errors
    /// It cannot be read, or logs of this format can only be read when they are complete.
    fn follow(&self, _log: Opening<'_>, _from_start: bool) -> Result<Box<dyn GrowingLog>, LogError> {
        Err("logs of its format are read once they are whole".into())
    }
}

/// An opened log.
pub trait Log {
    /// The word for it in a report: "eventlog".
    fn kind(&self) -> &'static str;

    /// What it says about its program, including the clock of a log on its own.
    fn facts(&self) -> LogFacts;

    /// Its own pairing of its clock with `CLOCK_REALTIME`, in nanoseconds since 1970.
    fn realtime(&self) -> Option<(LogTime, u64)> {
        None
    }

    /// Names of the code that samples in its events point to.
    fn symbols(&self) -> Symbols {
        Symbols::default()
    }

    /// Its names for the program's code in these sorted ranges of addresses.
    fn code_names(&self, _ranges: &[(u64, u64)]) -> Vec<Ipe> {
        Vec::new()
    }

    /// The events of `classes` in time order, with stamps converted by `clock`; decoded by `threads` threads,
    /// including the caller's.
    fn events(&self, classes: Classes, clock: ClockMap, threads: usize) -> Box<dyn Events>;
}

/// Events of a log in time order.
pub trait Events {
    /// Appends the next events to `batch`, about [`BATCH`] of them; none at the end.
    fn fill(&mut self, batch: &mut Vec<Event>);

    /// Names that the program itself posted, and of labels of heap profiles.
    fn names(&self) -> &Names;

    /// Names of kernel threads, where the log has any.
    fn kernel_names(&self) -> Option<&Names> {
        None
    }

    /// Counts of the pass, complete once there are no more events.
    fn counted(&self) -> Counted;
}

/// The result of a pass over a log: covers every event, whatever classes were requested.
#[derive(Clone, Debug, Default)]
pub struct Counted {
    /// Number of bytes read.
    pub bytes: u64,
    /// Events by type.
    pub by_type: Vec<TypeCount>,
    /// Losses of the pass.
    pub losses: Vec<Loss>,
}

/// A piece of a log in its program's memory.
#[derive(Copy, Clone, Debug)]
pub struct Piece<'a> {
    /// The lane that it belongs to; 65535: a buffer of no lane.
    pub lane: u16,
    /// The lane's buffer, identified by the stamp that it begins with.
    pub opened: u64,
    /// Offset of the bytes from the buffer's start.
    pub from: u64,
    /// The content.
    pub bytes: &'a [u8],
}

/// A log that is read while it is written: from its file, from its program's memory, or both.
pub trait GrowingLog {
    /// Reads what was added to its file, up to about `most` bytes. Returns whether there is more, which may be skipped.
    ///
    /// # Errors
    /// The file cannot be read.
    fn read(&mut self, file: &dyn ReadAt, most: usize) -> io::Result<bool>;

    /// Skips the unread part of the file.
    ///
    /// # Errors
    /// The file cannot be read.
    fn skip_to_end(&mut self, _file: &dyn ReadAt) -> io::Result<()> {
        Ok(())
    }

    /// Reads up to `most` bytes and skips the rest: what is in memory is newer. Returns whether anything was skipped.
    fn read_or_skip(&mut self, file: &dyn ReadAt, most: usize) -> bool {
        matches!(self.read(file, most), Ok(true)) && self.skip_to_end(file).is_ok()
    }

    /// Adds a recorder's copy of a lane's buffer.
    ///
    /// # Errors
    /// The copy cannot be read.
    fn read_copy(&mut self, _lane: u16, _copy: &dyn ReadAt) -> io::Result<()> {
        Ok(())
    }

    /// Adds a piece of its program's memory; a part that was added before is replaced.
    fn add(&mut self, piece: Piece<'_>);

    /// How many bytes of a buffer have already been added.
    fn had(&self, _lane: u16, _opened: u64) -> u64 {
        0
    }

    /// Returns the events of `classes` in what is complete, each once and roughly in time order.
    fn events(&mut self, classes: Classes, clock: ClockMap) -> Vec<Event>;

    /// Losses since the last call.
    fn take_losses(&mut self, clock: ClockMap) -> Vec<Loss>;

    /// What it has said about its program so far.
    fn facts(&self) -> LogFacts;

    /// See [`Log::realtime`].
    fn realtime(&self) -> Option<(LogTime, u64)> {
        None
    }

    /// Whether it has identified the runtime that wrote it.
    fn identifies_runtime(&self) -> bool;

    /// Why it cannot be read, if that has become apparent.
    fn failed(&self) -> Option<&str> {
        None
    }
}

//! What a format of runtimes' logs is: how a log is known, opened, read, and followed while it is
//! written. Owns that contract. Refuses to know a format: [`crate::formats`] has the list.

use crate::capture::UnflushedBlock;
use crate::code::Ipe;
use crate::source::ReadAt;
pub use rtscope_model::Exported as LogFacts;
use rtscope_model::{Classes, ClockMap, Event, LogTime, Loss, Names, Symbols, TypeCount};
use std::io;
use std::sync::Arc;

/// Why a log cannot be opened.
pub type LogError = Box<dyn std::error::Error + Send + Sync>;

/// Bytes by which a format is known.
pub const HEAD: usize = 64;

/// Events that are decoded at once: a dynamic call for each would cost more than decoding it.
pub const BATCH: usize = 256;

/// A log that is to be opened.
pub struct Opening<'a> {
    /// Its bytes.
    pub source: Arc<dyn ReadAt>,
    /// What its losses call it.
    pub name: &'a str,
    /// Which version wrote it, as far as the user or the recorder knows.
    pub version: Option<&'a str>,
    /// What its program had not written yet, copied by a recorder.
    pub unflushed: Vec<UnflushedBlock>,
}

impl<'a> Opening<'a> {
    /// Of a log on its own.
    pub fn new(source: Arc<dyn ReadAt>, name: &'a str) -> Opening<'a> {
        Opening { source, name, version: None, unflushed: Vec::new() }
    }
}

/// A format of logs.
pub trait LogFormat: Sync {
    /// Whether a file that begins with `head`, [`HEAD`] bytes or all there are, is such a log.
    fn recognises(&self, head: &[u8]) -> bool;

    /// Whether such a file has holes by right; any other ends at its first long one.
    fn has_holes(&self, _head: &[u8]) -> bool {
        false
    }

    /// Whether a recorder takes such a log into a capture.
    fn is_recorded(&self) -> bool {
        true
    }

    /// Whether `version` names a version of its runtime, where the format depends on that.
    ///
    /// # Errors
    /// It is none.
    fn check_version(&self, _version: &str) -> Result<(), LogError> {
        Ok(())
    }

    /// Opens a log, as far as it can be read.
    ///
    /// # Errors
    /// Nothing of it can be read.
    fn open(&self, log: Opening<'_>) -> Result<Box<dyn Log>, LogError>;

    /// Opens a log that is still written, from its first event on, or from its end.
    ///
    /// # Errors
    /// It cannot be read, or logs of this format are only read when they are whole.
    fn follow(&self, _log: Opening<'_>, _from_start: bool) -> Result<Box<dyn GrowingLog>, LogError> {
        Err("logs of its format are read once they are whole".into())
    }
}

/// An opened log.
pub trait Log {
    /// What it is, in the word of a report: "eventlog".
    fn kind(&self) -> &'static str;

    /// What it says of its program. `clock` is that of a log on its own.
    fn facts(&self) -> LogFacts;

    /// Its own pairing of its clock with `CLOCK_REALTIME`, nanoseconds since 1970.
    fn realtime(&self) -> Option<(LogTime, u64)> {
        None
    }

    /// Names of the code that samples among its events point to.
    fn symbols(&self) -> Symbols {
        Symbols::default()
    }

    /// What it calls the program's code in these sorted ranges of addresses.
    fn code_names(&self, _ranges: &[(u64, u64)]) -> Vec<Ipe> {
        Vec::new()
    }

    /// The events of `classes` in time order, stamps converted by `clock`; decoded by `threads`
    /// threads, the caller's among them.
    fn events(&self, classes: Classes, clock: ClockMap, threads: usize) -> Box<dyn Events>;
}

/// Events of a log in time order.
pub trait Events {
    /// Appends the next events to `batch`, about [`BATCH`] of them; none where there are no more.
    fn fill(&mut self, batch: &mut Vec<Event>);

    /// Names of what the program itself posted, and of labels of heap profiles.
    fn names(&self) -> &Names;

    /// Names of kernel threads, where the log has those too.
    fn kernel_names(&self) -> Option<&Names> {
        None
    }

    /// What was counted, once there are no more events.
    fn counted(&self) -> Counted;
}

/// What a pass over a log came to: every event of it, whatever classes were asked for.
#[derive(Clone, Debug, Default)]
pub struct Counted {
    /// Bytes read.
    pub bytes: u64,
    /// Events by type.
    pub by_type: Vec<TypeCount>,
    /// What was not seen.
    pub losses: Vec<Loss>,
}

/// A piece of a log that is in its program's memory.
#[derive(Copy, Clone, Debug)]
pub struct Piece<'a> {
    /// Whose; 65535 for a buffer of no lane.
    pub lane: u16,
    /// Which buffer of that lane: the stamp with which it begins.
    pub opened: u64,
    /// Where the bytes belong, from the buffer's start.
    pub from: u64,
    /// The bytes.
    pub bytes: &'a [u8],
}

/// A log that is read while it is written: its file, what its program has in memory only, or both.
pub trait GrowingLog {
    /// Takes in what its file has got, up to about `most` bytes. Gives whether there is more
    /// that may as well be left out.
    ///
    /// # Errors
    /// The file cannot be read.
    fn read(&mut self, file: &dyn ReadAt, most: usize) -> io::Result<bool>;

    /// Leaves out what the file has and was not read.
    ///
    /// # Errors
    /// The file cannot be read.
    fn skip_to_end(&mut self, _file: &dyn ReadAt) -> io::Result<()> {
        Ok(())
    }

    /// Reads up to `most` bytes, and leaves out the rest: what is in memory is newer. Gives
    /// whether anything was left out.
    fn read_or_skip(&mut self, file: &dyn ReadAt, most: usize) -> bool {
        matches!(self.read(file, most), Ok(true)) && self.skip_to_end(file).is_ok()
    }

    /// Takes in what a recorder has copied of a lane's buffer.
    ///
    /// # Errors
    /// It cannot be read.
    fn read_copy(&mut self, _lane: u16, _copy: &dyn ReadAt) -> io::Result<()> {
        Ok(())
    }

    /// Takes in a piece of its program's memory; what it repeats replaces what was there.
    fn add(&mut self, piece: Piece<'_>);

    /// How many bytes of a buffer are there already.
    fn had(&self, _lane: u16, _opened: u64) -> u64 {
        0
    }

    /// Gives the events of `classes` in what is complete, each once and about in time order.
    fn events(&mut self, classes: Classes, clock: ClockMap) -> Vec<Event>;

    /// What was lost since the last call.
    fn take_losses(&mut self, clock: ClockMap) -> Vec<Loss>;

    /// What it says of its program so far.
    fn facts(&self) -> LogFacts;

    /// See [`Log::realtime`].
    fn realtime(&self) -> Option<(LogTime, u64)> {
        None
    }

    /// Whether it has said what wrote it.
    fn tells(&self) -> bool;

    /// Why it cannot be read, where that turned out.
    fn failed(&self) -> Option<&str> {
        None
    }
}

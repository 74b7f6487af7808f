//! The rings of one process without a thread and without files: the caller decides when
//! they are copied, and takes the frames. Owns the time of the next copy; refuses to
//! wait, and to search for other processes' rings.

use super::copy::{Ring, Round};
use super::found::mapped_by;
use super::layout::Judged;
use super::reader::{period_for, ready};
use super::stream::StreamWriter;
use crate::system::procfs::Host;
use rtscope_model::Time;
use std::io;

/// Interval of searching for names, nanoseconds.
const NAMES_NS: u64 = 500_000_000;

/// The rings of a running process.
#[derive(Debug)]
pub struct Manual {
    ring: Ring,
    stream: StreamWriter,
    last: Option<Time>,
    names: Time,
    /// How long after the last copy the next one should come, so that nothing is overwritten, nanoseconds.
    pub due_ns: u64,
}

#[derive(Debug, thiserror::Error)]
pub enum NoRings {
    /// No ring is mapped: its runtime events are off.
    #[error("it writes no runtime events")]
    Off,
    #[error("its runtime events, in {0}, cannot be opened")]
    NotPermitted(String),
    #[error("its runtime events, in {0}, are laid out like those of no release that is known")]
    Foreign(String),
}

impl Manual {
    /// Opens the rings that process `pid` writes.
    pub fn of(host: &Host, pid: u32, now: Time) -> Result<Manual, NoRings> {
        let mapped = mapped_by(host, pid).into_iter().next().ok_or(NoRings::Off)?;
        let path = mapped.path.display().to_string();
        let Some(file) = mapped.open() else { return Err(NoRings::NotPermitted(path)) };
        let Some(Judged::Ready(layout)) = ready(&file) else { return Err(NoRings::Foreign(path)) };
        let stream = StreamWriter::in_memory(&layout, pid, now);
        Ok(Manual { ring: Ring::new(file, layout), stream, last: None, names: Time(0), due_ns: 0 })
    }

    /// Copies what is new. False: the rings now belong to another program. Errors: they can no longer be read.
    pub fn look(&mut self, now: Time) -> io::Result<bool> {
        if now >= self.names {
            self.names = now.plus(NAMES_NS);
            self.ring.copy_names(&mut self.stream, now, false)?;
        }
        let Round::Copied(words) = self.ring.copy(&mut self.stream, now)? else { return Ok(false) };
        let elapsed = self.last.replace(now).map_or(u64::MAX, |last| now.since(last).max(1));
        self.due_ns = period_for(self.ring.layout.words, words, elapsed);
        Ok(true)
    }

    /// The frames since the last call: a stream as in a recording, header included.
    pub fn take(&mut self) -> Vec<u8> {
        self.stream.take()
    }
}

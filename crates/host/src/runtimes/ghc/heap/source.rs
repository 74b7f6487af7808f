//! The bytes of a heap, and what the system says of its pages. Owns no bound: see `touched`.

use crate::target::Process;
use crate::target::core_file::CoreFile;
use crate::target::memory::{LiveProcess, Memory};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

/// Where the bytes come from.
#[derive(Debug)]
pub enum Source {
    /// A process that runs.
    Live(LiveProcess),
    /// What is left of one.
    Core(CoreFile),
}

impl Memory for Source {
    fn read(&self, address: u64, buffer: &mut [u8]) -> io::Result<()> {
        match self {
            Source::Live(process) => process.read(address, buffer),
            Source::Core(core) => core.read(address, buffer),
        }
    }

    fn read_words(&self, ranges: &[Range<u64>], words: &mut [u64]) -> io::Result<()> {
        match self {
            Source::Live(process) => process.read_words(ranges, words),
            Source::Core(core) => core.read_words(ranges, words),
        }
    }
}

/// What the system says of each page of a process (`/proc/PID/pagemap`).
pub(super) struct Pages {
    file: File,
    page_bytes: u64,
}

impl Pages {
    pub const PRESENT: u64 = 1 << 63;
    pub const OF_FILE: u64 = 1 << 61;
    /// Mapped here and nowhere else.
    pub const ITS_OWN: u64 = 1 << 56;
    /// Pages that are asked for at once.
    const AT_ONCE: usize = 1 << 13;

    pub fn open(process: &Process) -> io::Result<Pages> {
        Ok(Pages { file: process.open_file("pagemap")?, page_bytes: rustix::param::page_size() as u64 })
    }

    /// Gives `each` the pages of `range` and what is said of them.
    pub fn each(&self, range: &Range<u64>, mut each: impl FnMut(Range<u64>, u64)) -> io::Result<()> {
        let all = range.start / self.page_bytes..range.end / self.page_bytes;
        let mut entries = vec![0; 8 * Pages::AT_ONCE.min((all.end - all.start) as usize)];
        for first in all.clone().step_by(Pages::AT_ONCE) {
            let count = (all.end - first).min(Pages::AT_ONCE as u64);
            let entries = entries.get_mut(..8 * count as usize).unwrap_or_default();
            self.file.read_exact_at(entries, first * 8)?;
            for (entry, page) in entries.chunks_exact(8).zip(first..) {
                let page = page * self.page_bytes..(page + 1) * self.page_bytes;
                each(page, entry.try_into().map_or(0, u64::from_ne_bytes));
            }
        }
        Ok(())
    }
}

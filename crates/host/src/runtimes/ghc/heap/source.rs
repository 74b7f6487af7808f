//! The bytes of a heap, and the system's view of its pages. Owns no bound: see `touched`.

use crate::sandbox::PAGEMAP_SCAN;
use crate::target::Process;
use crate::target::core_file::CoreFile;
use crate::target::memory::{LiveProcess, Memory};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

/// The source of the bytes.
#[derive(Debug)]
pub enum Source {
    Live(LiveProcess),
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

/// The system's flags for each page of a process (`/proc/PID/pagemap`).
pub(super) struct Pages {
    file: File,
    page_bytes: u64,
}

impl Pages {
    pub const PRESENT: u64 = 1 << 63;
    pub const OF_FILE: u64 = 1 << 61;
    /// Mapped here and nowhere else.
    pub const ITS_OWN: u64 = 1 << 56;
    const SWAPPED: u64 = 1 << 62;
    /// Pages requested at once.
    const AT_ONCE: usize = 1 << 13;
    const REGIONS_AT_ONCE: usize = 512;

    pub fn open(process: &Process) -> io::Result<Pages> {
        Ok(Pages { file: process.open_file("pagemap")?, page_bytes: rustix::param::page_size() as u64 })
    }

    /// Calls `each` with the pages of `range` and their flags.
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

    /// Calls `found` with the parts of `range`, in order, that are in memory or swapped out. A kernel before 6.7
    /// reports only single pages, which takes a second for each 100 GiB or so that are mapped.
    pub fn in_use(&self, range: &Range<u64>, mut found: impl FnMut(Range<u64>)) -> io::Result<()> {
        match self.scan(range, &mut found) {
            // The request is not known, or a filter of the container forbids it.
            Err(error) if matches!(error.raw_os_error(), Some(libc::ENOTTY | libc::EPERM)) => {
                self.one_by_one(range, &mut found)
            }
            other => other,
        }
    }

    fn one_by_one(&self, range: &Range<u64>, found: &mut impl FnMut(Range<u64>)) -> io::Result<()> {
        self.each(range, |page, entry| {
            if entry & (Pages::PRESENT | Pages::SWAPPED) != 0 {
                found(page);
            }
        })
    }

    /// Skips page tables that do not exist: memory that is only mapped costs nothing.
    fn scan(&self, range: &Range<u64>, found: &mut impl FnMut(Range<u64>)) -> io::Result<()> {
        let mut regions = [Region::default(); Pages::REGIONS_AT_ONCE];
        let mut from = range.start;
        while from < range.end {
            let mut asked = Scan {
                size: size_of::<Scan>() as u64,
                start: from,
                end: range.end,
                regions: regions.as_mut_ptr() as u64,
                regions_max: regions.len() as u64,
                any_of: Scan::PRESENT | Scan::SWAPPED,
                returned: Scan::PRESENT | Scan::SWAPPED,
                ..Scan::default()
            };
            // SAFETY: the request reads and writes one `Scan` and writes at most `regions_max` regions; both live
            // across the call, which keeps no reference.
            let count = unsafe { libc::ioctl(self.file.as_raw_fd(), PAGEMAP_SCAN as _, &raw mut asked) };
            let count = usize::try_from(count).map_err(|_| io::Error::last_os_error())?;
            regions.iter().take(count).for_each(|region| found(region.start..region.end));
            if asked.walk_end <= from {
                return Err(io::Error::other("the kernel's scan of pages stands still"));
            }
            from = asked.walk_end;
        }
        Ok(())
    }
}

/// `struct pm_scan_arg` of Linux's `linux/fs.h`.
#[repr(C)]
#[derive(Default)]
struct Scan {
    size: u64,
    flags: u64,
    start: u64,
    end: u64,
    walk_end: u64,
    regions: u64,
    regions_max: u64,
    pages_max: u64,
    inverted: u64,
    all_of: u64,
    any_of: u64,
    returned: u64,
}

impl Scan {
    const PRESENT: u64 = 1 << 3;
    const SWAPPED: u64 = 1 << 4;
}

/// `struct page_region` of Linux's `linux/fs.h`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Region {
    start: u64,
    end: u64,
    categories: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtimes::ghc::heap::touched::add;
    use crate::runtimes::ghc::heap::touched::tests::Mapped;
    use crate::system::procfs::Host;

    #[test]
    fn a_scan_finds_what_the_pages_show_one_by_one() {
        let mapped = Mapped::new(64 << 20);
        let (first, page) = (mapped.0 as u64, rustix::param::page_size() as u64);
        let count = (64 << 20) / page;
        // More ranges than one call returns, some longer than a page; includes the first page and the last one.
        let touched = (0..count).filter(|number| number % 5 == 0 || number % 7 == 0 || number + 1 == count);
        for number in touched {
            // SAFETY: the address lies in the mapping, which nothing else uses.
            unsafe { *((first + number * page) as *mut u8) = 1 };
        }
        let pages = Pages::open(&Process::open(&Host::default(), std::process::id()).unwrap()).unwrap();
        let range = first..first + (64 << 20);
        let (mut scanned, mut read) = (Vec::new(), Vec::new());
        if let Err(error) = pages.scan(&range, &mut |found| add(&mut scanned, found)) {
            assert_eq!(error.raw_os_error(), Some(libc::ENOTTY), "{error}");
            return println!("could not scan: {error}");
        }
        pages.one_by_one(&range, &mut |found| add(&mut read, found)).unwrap();
        assert_eq!(scanned, read);
        assert!(read.len() > Pages::REGIONS_AT_ONCE && read.first().unwrap().start == first, "{}", read.len());
        assert_eq!(read.last().unwrap().end, range.end);
    }
}

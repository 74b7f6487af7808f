//! Which megablocks of a heap have anything in memory. Owns the bound on how many others are
//! read: a program can map far more than it ever uses, at no cost to itself, while each of its
//! megablocks costs the reader some room, and reading its pages would create page tables for
//! them. Memory that was never written holds zeros, which need not be read.

use super::source::{Pages, Source};
use crate::system::procfs;
use crate::target::Process;
use crate::target::core_file::CoreFile;
use crate::target::memory::Memory;
use rtscope_heap::Space;
use rtscope_heap::descriptor::{BLOCK, MEGABLOCK};
use rtscope_heap::memory::holding;
use std::io;
use std::ops::Range;

/// Megablocks kept although nothing of them is in memory: in any case, and for each one with
/// something in memory. A runtime gives memory back, and large objects may be written late.
const KEPT: u64 = 4096;
const KEPT_FOR_EACH: u64 = 4;
/// Twice what the runtime reserves by default.
const MAPPED_MAX: u64 = 2 << 40;

/// Megablocks that hold only zeros, in order.
#[derive(Debug, Default)]
pub(super) struct Untouched(Vec<Range<u64>>);

impl Untouched {
    fn holds(&self, address: u64, bytes: u64) -> bool {
        holding(&self.0, address).is_some_and(|range| bytes <= range.end - address)
    }
}

/// The memory of a target, without reading zeros.
pub(super) struct View<'t> {
    pub memory: &'t Source,
    pub untouched: &'t Untouched,
}

impl Memory for View<'_> {
    fn read(&self, address: u64, buffer: &mut [u8]) -> io::Result<()> {
        if self.untouched.holds(address, buffer.len() as u64) {
            buffer.fill(0);
            return Ok(());
        }
        self.memory.read(address, buffer)
    }

    fn read_words(&self, ranges: &[Range<u64>], words: &mut [u64]) -> io::Result<()> {
        let is_untouched =
            |range: &Range<u64>| self.untouched.holds(range.start, range.end.saturating_sub(range.start));
        if ranges.iter().all(is_untouched) {
            words.fill(0);
            return Ok(());
        }
        self.memory.read_words(ranges, words)
    }
}

/// The parts of `space` in memory, and a bounded part of the rest.
pub(super) fn bound(memory: &Source, space: &Space) -> io::Result<(Space, Untouched)> {
    let mapped = space.committed.iter().map(|range| range.end - range.start);
    if mapped.fold(0, u64::saturating_add) > MAPPED_MAX {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "more is mapped for its heap than any heap takes"));
    }
    let mut touched = Vec::new();
    for range in &space.committed {
        match memory {
            Source::Live(memory) => match Pages::open(&memory.process) {
                Ok(pages) => pages.touched(range, &mut touched)?,
                // Unknown pages are bounded by the amount in memory, wherever that is.
                Err(_) => resident_at_most(&memory.process, range, &mut touched),
            },
            Source::Core(core) => held(core, range, &mut touched),
        }
    }
    Ok(bounded(space, &touched))
}

impl Pages {
    /// Adds the megablocks of `range` in which a page was ever written.
    fn touched(&self, range: &Range<u64>, touched: &mut Vec<Range<u64>>) -> io::Result<()> {
        self.in_use(range, |pages| {
            let added = touched.last().map_or(0, |last| last.end);
            let megablocks = added.max(pages.start & !(MEGABLOCK - 1))..pages.end.next_multiple_of(MEGABLOCK);
            if !megablocks.is_empty() {
                add(touched, megablocks);
            }
        })
    }
}

/// Adds a range after the others.
pub(super) fn add(ranges: &mut Vec<Range<u64>>, range: Range<u64>) {
    match ranges.last_mut().filter(|last| last.end == range.start) {
        Some(last) => last.end = range.end,
        None => ranges.push(range),
    }
}

/// Adds the first megablocks of `range`, no more than the process has pages in memory.
fn resident_at_most(process: &Process, range: &Range<u64>, touched: &mut Vec<Range<u64>>) {
    let status = process.text("status").unwrap_or_default();
    let kib = ["VmRSS", "VmSwap"].iter().filter_map(|key| procfs::number(&status, key)).fold(0, u64::saturating_add);
    let pages = kib.saturating_mul(1024) / BLOCK;
    let bytes = pages.saturating_mul(MEGABLOCK).min(range.end - range.start);
    touched.extend((bytes > 0).then(|| range.start..range.start + bytes));
}

/// Adds the megablocks of `range` for which a core file has data.
fn held(core: &CoreFile, range: &Range<u64>, touched: &mut Vec<Range<u64>>) {
    for megablock in range.clone().step_by(MEGABLOCK as usize) {
        let megablock = megablock..megablock + MEGABLOCK;
        if core.has_data(&megablock) {
            add(touched, megablock);
        }
    }
}

/// Everything in `space` that is `touched`, and some of the rest.
fn bounded(space: &Space, touched: &[Range<u64>]) -> (Space, Untouched) {
    let megablocks = touched.iter().map(|range| (range.end - range.start) / MEGABLOCK).sum::<u64>();
    let mut room = MEGABLOCK * KEPT.max(megablocks.saturating_mul(KEPT_FOR_EACH));
    let (mut committed, mut untouched) = (Vec::new(), Vec::new());
    let mut touched = touched.iter().peekable();
    for range in &space.committed {
        let mut at = range.start;
        while at < range.end {
            let next = touched.next_if(|next| next.start < range.end);
            // The gap before the touched range, then that range.
            let gap = at..next.map_or(range.end, |next| next.start);
            let kept = gap.start..gap.end.min(gap.start.saturating_add(room));
            if !kept.is_empty() {
                room -= kept.end - kept.start;
                add(&mut committed, kept.clone());
                add(&mut untouched, kept);
            }
            next.into_iter().for_each(|next| add(&mut committed, next.clone()));
            at = next.map_or(range.end, |next| next.end);
        }
    }
    (Space { committed }, Untouched(untouched))
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::found::{FileSource, Files, HeapTarget};
    use super::*;
    use crate::binary::Inspected;
    use crate::system::clock;
    use crate::system::procfs::Host;
    use rtscope_heap::{Statics, Survey};

    const AT: u64 = 0x42_0000_0000;

    fn ranges(of: &[(u64, u64)]) -> Vec<Range<u64>> {
        of.iter().map(|(from, to)| AT + from * MEGABLOCK..AT + to * MEGABLOCK).collect()
    }

    #[test]
    fn what_was_never_touched_is_kept_as_far_as_there_is_room() {
        let space = Space { committed: ranges(&[(0, 100), (200, 300), (1000, 500_000)]) };
        let (found, untouched) = bounded(&space, &ranges(&[(10, 20), (30, 31), (290, 300), (400_000, 400_001)]));
        // 80 below, 90 in the middle, and of the last ones what is left of the room.
        let left = KEPT - 89 - 90;
        let last = 1000 + left;
        assert_eq!(found.committed, ranges(&[(0, 100), (200, 300), (1000, last), (400_000, 400_001)]));
        assert_eq!(untouched.0, ranges(&[(0, 10), (20, 30), (31, 100), (200, 290), (1000, last)]));
        assert!(untouched.holds(AT, 10 * MEGABLOCK) && !untouched.holds(AT, 10 * MEGABLOCK + 1));
        assert!(!untouched.holds(AT + 10 * MEGABLOCK, 1) && untouched.holds(AT + 20 * MEGABLOCK, 1));
        let all = ranges(&[(0, 500_000)]);
        let (found, untouched) = bounded(&Space { committed: all.clone() }, &all);
        assert_eq!((found.committed, untouched.0.len()), (all, 0));
    }

    /// A mapping that takes no memory.
    pub struct Mapped(pub *mut libc::c_void, usize);

    impl Mapped {
        pub fn new(bytes: usize) -> Mapped {
            // SAFETY: a new mapping at an address that the system chooses, to which nothing refers.
            let at = unsafe {
                let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
                libc::mmap(std::ptr::null_mut(), bytes, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0)
            };
            assert_ne!(at, libc::MAP_FAILED);
            // SAFETY: advice on the mapping that was just made.
            unsafe { libc::madvise(at, bytes, libc::MADV_NOHUGEPAGE) };
            Mapped(at, bytes)
        }
    }

    impl Drop for Mapped {
        fn drop(&mut self) {
            // SAFETY: mapped by `new`; what a test wrote into it is not used any more.
            unsafe { libc::munmap(self.0, self.1) };
        }
    }

    /// This process as a target whose heap lies in `range`.
    fn target(range: Range<u64>) -> HeapTarget {
        let process = Process::open(&Host::default(), std::process::id()).unwrap();
        let (program, inspected, place) = (String::new(), Inspected::default(), FileSource::Process(process.clone()));
        HeapTarget {
            of: "this".into(),
            version: None,
            memory: Source::Live(process.into()),
            space: Space { committed: vec![range.clone()] },
            untouched: Untouched::default(),
            statics: Statics::default(),
            mappings: Vec::new(),
            reserved: range,
            files: Files { program, inspected, place },
        }
    }

    fn page_tables() -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        procfs::number(&status, "VmPTE").unwrap()
    }

    #[test]
    fn half_a_terabyte_that_is_only_mapped_costs_next_to_nothing() {
        let mapped = Mapped::new(512 << 30);
        let first = (mapped.0 as u64).next_multiple_of(MEGABLOCK);
        let end = first + (511 << 30);
        for number in [3, 4, 200_000] {
            // SAFETY: the address lies in the mapping, which nothing else uses.
            unsafe { *((first + number * MEGABLOCK + 5 * BLOCK) as *mut u8) = 1 };
        }
        let (spent_ns, before) = (clock::thread_cpu_ns(), page_tables());
        let mut target = target(first..end);
        target.bound().unwrap();
        assert!([3, 4, 200_000].iter().all(|number| target.space.contains(first + number * MEGABLOCK)));
        assert_eq!(target.space.megablocks().count() as u64, KEPT + 3);
        let survey = Survey::take(&target.view(), &target.space, &Statics::default(), false).unwrap();
        assert_eq!(survey.megablocks.len() as u64, KEPT + 3);
        assert!(target.residency().unwrap().1 <= 3 * MEGABLOCK);
        // Page tables of everything would take a gigabyte, those of the kept part take eight megabytes.
        assert!(page_tables() < before + 1024, "{before} kB, then {} kB", page_tables());
        // CPU time: on a busy machine the wall clock says nothing.
        let spent_ns = clock::thread_cpu_ns().saturating_sub(spent_ns);
        assert!(spent_ns < 5_000_000_000, "{spent_ns} ns");
        target.space.committed = std::iter::once(first..first + 2 * MAPPED_MAX).collect();
        assert!(target.bound().is_err());
    }
}

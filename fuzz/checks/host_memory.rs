//! Any bytes as the memory of a program, with made-up symbols and mappings: the heap lies in mapped
//! memory, all blocks are accounted for, no copy exceeds a buffer, and reading ends.

use rtscope_heap::descriptor::{BLOCK, MEGABLOCK};
use rtscope_heap::{Scan, ScanInput, Space, Statics, Survey};
use rtscope_host::binary::{RuntimeSymbols, StmSymbols};
use rtscope_host::by_bytes;
use rtscope_host::mappings::Mapping;
use rtscope_host::memory::Memory;
use rtscope_host::unflushed::{Block, Buffers, Take, clock, is_logging};
use std::io;
use std::ops::Range;

/// Bytes that give the addresses of symbols and mappings; the rest is memory.
const HEAD: usize = 256;
/// Number of megablocks whose blocks are read.
const SURVEYED: usize = 2;
/// The runtime's buffers are 2 MiB.
const BUFFER_MAX: u64 = 16 << 20;

/// The bytes repeat through the whole address space, except that the last of every 16 pages is unmapped.
struct RepeatedPages<'a>(&'a [u8]);

impl Memory for &RepeatedPages<'_> {
    fn read(&self, address: u64, buffer: &mut [u8]) -> io::Result<()> {
        let end = address.checked_add(buffer.len() as u64).ok_or(io::ErrorKind::UnexpectedEof)?;
        if (address / BLOCK..end.div_ceil(BLOCK)).take(16).any(|page| page % 16 == 15) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut from = (address % (self.0.len() as u64)) as usize;
        let mut rest = buffer;
        while !rest.is_empty() {
            let count = rest.len().min(self.0.len() - from);
            let (now, after) = rest.split_at_mut(count);
            now.copy_from_slice(&self.0[from..from + count]);
            (rest, from) = (after, 0);
        }
        Ok(())
    }
}

/// Makes up numbers from the head: one or eight bytes for each.
struct Head<'a>(&'a [u8]);

impl Head<'_> {
    fn byte(&mut self) -> u8 {
        self.0.split_off_first().copied().unwrap_or(0)
    }

    fn word(&mut self) -> u64 {
        let bytes = std::array::from_fn(|_| self.byte());
        u64::from_le_bytes(bytes)
    }

    /// No address, a low one, or any.
    fn address(&mut self) -> Option<u64> {
        match self.byte() {
            0 => None,
            255 => Some(self.word()),
            low => Some(u64::from(low) * 8),
        }
    }

    fn mapping(&mut self) -> Mapping {
        let from = self.address().unwrap_or(0x42_0000_0000);
        let bytes = u64::from(self.byte()) * (MEGABLOCK / 4);
        let flags = self.byte();
        let end = if flags & 4 == 0 { from.saturating_add(bytes) } else { self.word().max(from) };
        let name = if flags & 2 == 0 { String::new() } else { "/program".to_owned() };
        Mapping {
            range: from..end,
            writable: flags & 1 == 0,
            executable: false,
            device: (0, 0),
            inode: 0,
            offset: 0,
            name,
            rss_bytes: None,
        }
    }
}

/// # Panics
/// If a check fails.
pub fn check(bytes: &[u8]) {
    let Some((head, image)) = bytes.split_at_checked(HEAD).filter(|(_, image)| image.len() >= 64) else { return };
    let (mut head, image) = (Head(head), RepeatedPages(image));
    let statics = statics(&mut head);
    let symbols = RuntimeSymbols {
        cap_event_buf: head.address(),
        event_buf: head.address(),
        start_init_elapsed: head.address(),
        n_capabilities: statics.n_capabilities,
        heap: statics,
        stm: StmSymbols {
            start: head.address(),
            max_commits: head.address(),
            token_locked: head.address(),
            capabilities_bytes: head.address(),
            block: head.address(),
        },
        lowest_load: 0,
    };
    let mappings: Vec<Mapping> = (0..head.byte() % 8).map(|_| head.mapping()).collect();
    buffers(&image, symbols);
    drop(by_bytes::transactions(&image, &symbols, &[Range { start: 0, end: image.0.len() as u64 }]));
    heap(&image, &statics, &mappings);
}

fn statics(head: &mut Head<'_>) -> Statics {
    Statics {
        generations: head.address(),
        oldest: head.address(),
        nurseries: head.address(),
        n_nurseries: head.address(),
        capabilities: head.address(),
        n_capabilities: head.address(),
        megablocks: head.address(),
        blocks: head.address(),
        address_space: head.address(),
        given_back: head.address(),
        high_watermark: head.address(),
        next_thread: None,
    }
}

/// Counts the bytes that it receives.
#[derive(Default)]
struct ReceivedBytes(u64);

impl Take for ReceivedBytes {
    fn had(&self, block: Block) -> u64 {
        u64::from(block.capability) % 64
    }

    fn take(&mut self, _: Block, from: u64, bytes: &[u8]) -> io::Result<()> {
        assert!(from + bytes.len() as u64 <= BUFFER_MAX);
        self.0 += bytes.len() as u64;
        // Further blocks only add the same again, so stop here.
        if self.0 > BUFFER_MAX { Err(io::ErrorKind::OutOfMemory.into()) } else { Ok(()) }
    }
}

fn buffers(image: &RepeatedPages<'_>, symbols: RuntimeSymbols) {
    clock(&image, &symbols);
    if symbols.cap_event_buf.is_none() {
        is_logging(image, symbols);
    }
    let mut taken = ReceivedBytes::default();
    if let Ok(new) = Buffers::new(image, symbols).copy(&mut taken) {
        assert!(new <= taken.0 + 64 * 4097);
    }
}

fn heap(image: &RepeatedPages<'_>, statics: &Statics, mappings: &[Mapping]) {
    let Ok(Some((reserved, space))) = by_bytes::heap_space(&image, statics, mappings) else { return };
    let inside = |range: &Range<u64>, all: &Range<u64>| all.start <= range.start && range.end <= all.end;
    for range in &space.committed {
        assert!(range.start < range.end && inside(range, &reserved));
        assert!(range.start.is_multiple_of(MEGABLOCK) && range.end.is_multiple_of(MEGABLOCK));
        assert!(mappings.iter().any(|mapping| mapping.range.contains(&range.start)));
    }
    let first: Vec<u64> = space.megablocks().take(SURVEYED).collect();
    let space = Space { committed: first.iter().map(|at| *at..at + MEGABLOCK).collect() };
    let Ok(survey) = Survey::take(&image, &space, statics, true) else { return };
    let blocks: u64 = survey.totals.iter().map(|total| total.blocks).sum();
    assert_eq!(blocks, 256 * survey.megablocks.len() as u64);
    let code = mappings.iter().filter(|mapping| !mapping.name.is_empty()).map(|mapping| mapping.range.clone());
    let data = std::iter::once(0..image.0.len() as u64 / 8 * 8).collect();
    let input = ScanInput { threads: 1, code: code.collect(), data };
    let scan = Scan::of(&image, &survey, statics, &input);
    let met: u64 = scan.census.iter().map(|entry| entry.bytes).sum();
    assert!(met + scan.skipped_bytes <= scan.read_bytes);
    assert!(scan.pinned.live_objects <= scan.pinned.objects);
}

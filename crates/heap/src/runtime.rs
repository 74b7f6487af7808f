//! What the runtime's variables say about its heap: generations, how often they were collected,
//! nurseries. Owns the layout of `generation` and `nursery` (`rts/storage/GC.h`; the fields read here
//! are the same from GHC 8.10 to 9.14 on 64-bit machines). Refuses impossible values, such as a
//! generation number that differs from its index in the array.

use crate::memory::Memory;
use std::io;
use std::ops::Range;

/// More generations than any program has.
const GENERATIONS_MAX: u32 = 64;
const NURSERIES_MAX: u32 = 4096;
/// Bytes of `generation` up to the end of the last field that is read.
const GENERATION: usize = 136;
/// Bytes from `mark` to the end of `generation`.
const FROM_MARK: u64 = 88;

/// Addresses of the runtime's variables in the process.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Statics {
    /// `generations`: a pointer to the array.
    pub generations: Option<u64>,
    /// `oldest_gen`: a pointer into that array.
    pub oldest: Option<u64>,
    /// `nurseries`: a pointer to the array.
    pub nurseries: Option<u64>,
    /// `n_nurseries`, 32 bits.
    pub n_nurseries: Option<u64>,
    /// `capabilities`: an array of pointers, or a pointer to one.
    pub capabilities: Option<u64>,
    /// `n_capabilities`, 32 bits.
    pub n_capabilities: Option<u64>,
    /// `mblocks_allocated`: megablocks that the runtime has at present.
    pub megablocks: Option<u64>,
    /// `n_alloc_blocks`: blocks that are not on a free list.
    pub blocks: Option<u64>,
    /// `mblock_address_space`: start and end of the reserved range.
    pub address_space: Option<u64>,
    /// `free_list_head`: a pointer to the first range that was returned.
    pub given_back: Option<u64>,
    /// `mblock_high_watermark`: no address above it was ever used.
    pub high_watermark: Option<u64>,
    /// `next_thread_id`: threads are numbered from 1 in the order of creation.
    pub next_thread: Option<u64>,
}

/// More ranges than the list has.
const RANGES_MAX: usize = 1 << 16;

/// Ranges of megablocks that the runtime has returned to the system. The system may unmap them later;
/// until then they keep their content. Sorted and disjoint.
///
/// # Errors
/// The list cannot be read.
pub fn given_back(memory: &impl Memory, statics: &Statics) -> io::Result<Vec<Range<u64>>> {
    let mut ranges = Vec::new();
    if let Some(watermark) = statics.high_watermark {
        let watermark = memory.read_u64(watermark)?;
        ranges.extend((watermark != 0).then_some(watermark..u64::MAX));
    }
    let head = statics.given_back.map(|head| memory.read_u64(head)).transpose()?;
    let mut at = head.unwrap_or(0);
    while at != 0 && ranges.len() < RANGES_MAX {
        // Each entry: the previous one, the next one, its address, its size.
        let word = |place: u64| memory.read_u64(at.saturating_add(place));
        let (next, address, size) = (word(8)?, word(16)?, word(24)?);
        ranges.push(address..address.saturating_add(size));
        at = next;
    }
    ranges.sort_unstable_by_key(|range: &Range<u64>| range.start);
    ranges.dedup_by(|later, earlier| {
        let touches = later.start <= earlier.end;
        if touches {
            earlier.end = earlier.end.max(later.end);
        }
        touches
    });
    Ok(ranges)
}

/// One generation, as the runtime counts it.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Default)]
pub struct Generation {
    /// Blocks of movable objects, of large objects, and of compact regions.
    pub blocks: u64,
    pub large_blocks: u64,
    pub compact_blocks: u64,
    /// Collected next when the sum of its blocks exceeds this.
    pub blocks_max: u64,
    /// Collections of it so far.
    pub collections: u32,
    /// Whether its next collection marks objects in place and copies none. `None`: with a single
    /// generation, the end of the structure that says so is not known.
    pub marks: Option<bool>,
    /// Blocks that a running collection has yet to empty; 0: no collection runs, or as for `marks`.
    pub old_blocks: u64,
}

/// The runtime's variables, read once.
#[derive(Clone, Eq, PartialEq, Debug, Default)]
pub struct Runtime {
    /// Youngest first; empty where the variables are not known.
    pub generations: Vec<Generation>,
    /// Blocks of all nurseries.
    pub nursery_blocks: Option<u64>,
    /// Megablocks that the runtime has at present.
    pub megablocks: Option<u64>,
    /// Blocks that are not on a free list.
    pub blocks: Option<u64>,
}

impl Runtime {
    /// Reads the variables that are known.
    ///
    /// # Errors
    /// Memory cannot be read, or holds impossible values.
    pub fn read(memory: &impl Memory, statics: &Statics) -> io::Result<Runtime> {
        let word = |address: Option<u64>| address.map(|address| memory.read_u64(address)).transpose();
        Ok(Runtime {
            generations: generations(memory, statics)?,
            nursery_blocks: nurseries(memory, statics)?,
            megablocks: word(statics.megablocks)?,
            blocks: word(statics.blocks)?,
        })
    }

    /// Whether, since `before`, the oldest generation was not collected and no megablock was taken or given back.
    pub fn is_as_whole_as(&self, before: &Runtime) -> bool {
        self.collections_of_oldest() == before.collections_of_oldest() && self.megablocks == before.megablocks
    }

    /// Collections of the oldest generation so far, with one that is running: the runtime counts that when it ends.
    pub fn collections_of_oldest(&self) -> Option<u64> {
        let oldest = self.generations.last()?;
        Some(u64::from(oldest.collections) + u64::from(oldest.old_blocks > 0))
    }

    /// Number of collections so far; `None`: not counted.
    pub fn collections(&self) -> Option<u64> {
        let all = || self.generations.iter().map(|generation| u64::from(generation.collections));
        (!self.generations.is_empty()).then(|| all().sum())
    }
}

fn generations(memory: &impl Memory, statics: &Statics) -> io::Result<Vec<Generation>> {
    let (Some(generations), Some(oldest)) = (statics.generations, statics.oldest) else { return Ok(Vec::new()) };
    let (first, last) = (memory.read_u64(generations)?, memory.read_u64(oldest)?);
    if first == 0 {
        // The runtime has not started.
        return Ok(Vec::new());
    }
    let number = memory.read_u32(last)?;
    if number >= GENERATIONS_MAX || (number == 0) != (first == last) || last < first {
        return Err(contradiction());
    }
    // The size differs between versions and ways.
    let size = if number == 0 { 0 } else { (last - first) / u64::from(number) };
    (0..=number).map(|index| generation(memory, first.saturating_add(u64::from(index) * size), index, size)).collect()
}

fn generation(memory: &impl Memory, address: u64, number: u32, size: u64) -> io::Result<Generation> {
    let mut bytes = [0; GENERATION];
    memory.read(address, &mut bytes)?;
    let word =
        |at: usize| bytes.get(at..at + 8).map_or(0, |word| u64::from_ne_bytes(word.try_into().unwrap_or_default()));
    if word(0) as u32 != number {
        return Err(contradiction());
    }
    Ok(Generation {
        blocks: word(16),
        large_blocks: word(40),
        compact_blocks: word(72),
        blocks_max: word(96),
        collections: word(128) as u32,
        marks: marks(memory, address, size)?,
        old_blocks: old_blocks(memory, address, size)?,
    })
}

/// The value of `mark`. Fields before it differ between ways, those after it do not.
fn marks(memory: &impl Memory, address: u64, size: u64) -> io::Result<Option<bool>> {
    let Some(at) = size.checked_sub(FROM_MARK).filter(|at| *at >= GENERATION as u64) else { return Ok(None) };
    let mark = memory.read_u32(address.saturating_add(at))?;
    Ok((mark <= 1).then_some(mark == 1))
}

/// The value of `n_old_blocks`, two words after `mark`.
fn old_blocks(memory: &impl Memory, address: u64, size: u64) -> io::Result<u64> {
    let at = size.checked_sub(FROM_MARK).filter(|at| *at >= GENERATION as u64);
    at.map_or(Ok(0), |at| memory.read_u64(address.saturating_add(at + 16)))
}

fn contradiction() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the runtime's generations are not where its symbols say")
}

fn nurseries(memory: &impl Memory, statics: &Statics) -> io::Result<Option<u64>> {
    let (Some(nurseries), Some(count)) = (statics.nurseries, statics.n_nurseries) else { return Ok(None) };
    let (first, count) = (memory.read_u64(nurseries)?, memory.read_u32(count)?);
    if first == 0 || count > NURSERIES_MAX {
        return Ok(None);
    }
    let mut words = vec![0; 2 * count as usize];
    let range = first..first.saturating_add(16 * u64::from(count));
    memory.read_words(std::slice::from_ref(&range), &mut words)?;
    // Each nursery: its first block, then its number of blocks.
    Ok(Some(words.iter().skip(1).step_by(2).fold(0, |sum: u64, blocks| sum.saturating_add(*blocks))))
}

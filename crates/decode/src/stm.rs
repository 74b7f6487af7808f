//! The block of counters that the package `rtscope-stm` keeps in a program's memory, as copied from it. Owns the layout
//! of its version 1. The program continues to count during the copy: counts of one lane can be a few attempts apart.
//!
//! Little-endian: a header of 64 bytes, then three arrays at the offsets given in it:
//!
//! | bytes | what |
//! |---|---|
//! | 0 | `RTSCSTM` and 1 |
//! | 8 | u32: size of the header, size of a lane, number of lanes, their offset |
//! | 24 | u32: capacity of names, size of a name, their offset, number of names in use |
//! | 40 | u32: mode of the scheduler; flags: bit 0: the runtime's calls lead here, bit 2: several capabilities share a lane |
//! | 48 | u64: offset of the counts by name: for each lane four u64 per name |
//!
//! A lane does not count commits: they are the attempts that did not end otherwise.

use rtscope_model::{STM_COUNTS, StmCounts, StmNamed};
use std::ops::Range;

/// The first bytes of a block.
pub const MAGIC: &[u8; 8] = b"RTSCSTM\x01";
/// Size of the header in bytes.
pub const HEADER_BYTES: usize = 64;
/// A lane has all counts but commits, and the scheduler's state.
const LANE_BYTES_MIN: u32 = 8 * STM_COUNTS as u32;
/// Size of a name in bytes, padded with NULs.
const NAME_TEXT: usize = 64;
/// Size of the counts of one name in one lane, in bytes.
const NAMED_BYTES: u64 = 4 * 8;
/// The counts of names follow the block at a limited distance.
const NAMED_OFFSET_MAX: u64 = 1 << 40;
/// Limits of entries, of the size of one, and of all: far above what the package has.
const ENTRIES_MAX: u32 = 1 << 12;
const ENTRY_BYTES_MAX: u32 = 1 << 12;
const BLOCK_BYTES_MAX: u64 = 1 << 24;

/// Why bytes are not a block.
#[derive(Copy, Clone, Eq, PartialEq, Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum NoBlock {
    #[error("there is no block of counters")]
    Magic,
    #[error("the block of counters has the version {0}, which this rtscope does not know")]
    Version(u8),
    #[error("the block of counters is damaged")]
    Damaged,
}

/// The header of a block.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct Header {
    lane_bytes: u32,
    lanes: u32,
    lanes_offset: u32,
    name_bytes: u32,
    names_offset: u32,
    names_max: u32,
    named_offset: u64,
    /// Number of names in use.
    pub names: u32,
    /// Mode of the scheduler, see [`rtscope_model::StmSeen::Mode`].
    pub mode: u32,
    /// The runtime's calls are redirected to the package.
    pub redirected: bool,
    /// There are more capabilities than lanes: counts can be short.
    pub crowded: bool,
}

impl Header {
    /// Reads the first [`HEADER_BYTES`] of a block.
    ///
    /// # Errors
    /// It is not a valid header.
    pub fn parse(bytes: &[u8]) -> Result<Header, NoBlock> {
        let magic = bytes.first_chunk::<8>().ok_or(NoBlock::Magic)?;
        if magic != MAGIC {
            let [name @ .., version] = magic;
            let same = MAGIC.starts_with(name);
            return Err(if same { NoBlock::Version(*version) } else { NoBlock::Magic });
        }
        let word = |index: usize| {
            let at = 8 + 4 * index;
            bytes.get(at..at + 4)?.try_into().ok().map(u32::from_le_bytes)
        };
        let words: Option<Vec<u32>> = (0..10).map(word).collect();
        let words = words.filter(|_| bytes.len() >= HEADER_BYTES).ok_or(NoBlock::Damaged)?;
        let &[header, lane_bytes, lanes, lanes_offset, names_max, name_bytes, names_offset, names, mode, flags] =
            &words[..]
        else {
            return Err(NoBlock::Damaged);
        };
        let (redirected, crowded) = (flags & 1 != 0, flags & 4 != 0);
        let named_offset = bytes.get(48..).and_then(|rest| self::words(rest).next()).unwrap_or(0);
        let found = Header {
            lane_bytes,
            lanes,
            lanes_offset,
            name_bytes,
            names_offset,
            names_max,
            named_offset,
            names,
            mode,
            redirected,
            crowded,
        };
        let sizes = (LANE_BYTES_MIN..=ENTRY_BYTES_MAX).contains(&lane_bytes)
            && ((NAME_TEXT as u32)..=ENTRY_BYTES_MAX).contains(&name_bytes)
            && (1..=ENTRIES_MAX).contains(&lanes)
            && names_max <= ENTRIES_MAX
            && names <= names_max;
        let starts = header as usize == HEADER_BYTES && lanes_offset.min(names_offset) as usize >= HEADER_BYTES;
        let (of_lanes, of_names) = (found.lane_range(u32::MAX), found.name_range());
        let apart = of_lanes.end <= of_names.start || of_names.end <= of_lanes.start || names == 0;
        let inside = of_lanes.end.max(of_names.end) <= BLOCK_BYTES_MAX && named_offset <= NAMED_OFFSET_MAX;
        if sizes && starts && apart && inside { Ok(found) } else { Err(NoBlock::Damaged) }
    }

    /// Location of the first `count` lanes, relative to the block's start; of all lanes if there are fewer.
    pub fn lane_range(&self, count: u32) -> Range<u64> {
        let from = u64::from(self.lanes_offset);
        from..from + u64::from(count.min(self.lanes)) * u64::from(self.lane_bytes)
    }

    /// Number and location of the last lane, which several capabilities can share.
    pub fn last_lane(&self) -> (u32, Range<u64>) {
        let all = self.lane_range(u32::MAX);
        (self.lanes.saturating_sub(1), all.end.saturating_sub(u64::from(self.lane_bytes))..all.end)
    }

    /// Location of the names in use, relative to the block's start.
    pub fn name_range(&self) -> Range<u64> {
        let from = u64::from(self.names_offset);
        from..from + u64::from(self.names) * u64::from(self.name_bytes)
    }

    /// Location of the counts of names in lane `lane`, relative to the block's start.
    pub fn named_range(&self, lane: u32) -> Range<u64> {
        let from = self.named_offset + u64::from(lane) * u64::from(self.names_max) * NAMED_BYTES;
        from..from + u64::from(self.names) * NAMED_BYTES
    }

    /// Lanes by number, from the bytes at [`Header::lane_range`], without their commits ([`fill_commits`]); truncated
    /// lanes are left out.
    pub fn lanes(&self, bytes: &[u8]) -> Vec<StmCounts> {
        let lane = |entry: &[u8]| {
            let mut counts = [0; STM_COUNTS];
            let mut words = words(entry);
            let mut next = || words.next().unwrap_or(0);
            let (attempts, restarts) = (next(), next());
            // Attempts and commits come first, restarts last.
            for count in &mut counts[2..STM_COUNTS - 1] {
                *count = next();
            }
            (counts[0], counts[STM_COUNTS - 1]) = (attempts, restarts);
            let now = next();
            StmCounts::of(counts, now as u32, (now >> 32) as u32)
        };
        bytes.chunks_exact(self.lane_bytes.max(1) as usize).take(self.lanes as usize).map(lane).collect()
    }

    /// Texts of the names in use, by number, from the bytes at [`Header::name_range`].
    pub fn names(&self, bytes: &[u8]) -> Vec<String> {
        let name = |entry: &[u8]| {
            let text = entry.get(..NAME_TEXT).unwrap_or_default();
            let end = text.iter().position(|byte| *byte == 0).unwrap_or(text.len());
            String::from_utf8_lossy(text.get(..end).unwrap_or_default()).into_owned()
        };
        bytes.chunks_exact(self.name_bytes.max(1) as usize).take(self.names as usize).map(name).collect()
    }
}

/// Counts of names by number, from the bytes at [`Header::named_range`].
pub fn named(bytes: &[u8]) -> impl Iterator<Item = StmNamed> + '_ {
    bytes.chunks_exact(NAMED_BYTES as usize).map(|entry| {
        let mut counts = words(entry);
        StmNamed::of(std::array::from_fn(|_| counts.next().unwrap_or(0)))
    })
}

/// Computes the commits of lanes: attempts that did not end otherwise. A thread that migrates during a transaction
/// begins it in one lane and ends it in another. What a lane lacks is taken from the others, so that the sum is right.
pub fn fill_commits<'l>(lanes: impl Iterator<Item = &'l mut StmCounts>) {
    let mut missing = 0_u64;
    let mut lanes: Vec<&mut StmCounts> = lanes.collect();
    for lane in &mut lanes {
        let ended = [lane.waits, lane.exceptions].into_iter().fold(lane.lost(), u64::saturating_add);
        lane.commits = lane.attempts.saturating_sub(ended);
        missing = missing.saturating_add(ended.saturating_sub(lane.attempts));
    }
    for lane in lanes {
        let taken = missing.min(lane.commits);
        lane.commits -= taken;
        missing -= taken;
    }
}

fn words(bytes: &[u8]) -> impl Iterator<Item = u64> {
    bytes.chunks_exact(8).map(|word| word.try_into().map_or(0, u64::from_le_bytes))
}

/// Addresses at which a block can begin in `bytes`, the first of which is at `address`: multiples of 8.
pub fn candidates(bytes: &[u8], address: u64) -> impl Iterator<Item = u64> + '_ {
    let found = memchr::memmem::find_iter(bytes, MAGIC).map(move |at| address.saturating_add(at as u64));
    found.filter(|at| at.is_multiple_of(8))
}

/// Builds blocks for tests.
#[cfg(any(test, feature = "testing"))]
pub mod builder {
    use super::{HEADER_BYTES, MAGIC};
    use rtscope_model::{StmCounts, StmNamed};

    /// The bytes of a block as the package lays it out, with room for a few lanes and names. It lacks the commits of
    /// lanes; names are counted in the first lane.
    pub fn block(lanes: &[StmCounts], names: &[(&str, StmNamed)], mode: u32, flags: u32) -> Vec<u8> {
        let (lane_count, names_max) = (lanes.len().max(1), names.len().max(4));
        let names_offset = HEADER_BYTES + 256 * lane_count;
        let named_offset = names_offset + 64 * names_max;
        let header = [64, 256, lane_count, 64, names_max, 64, names_offset, names.len()];
        let mut bytes = MAGIC.to_vec();
        let words = header.map(|word| word as u32).into_iter().chain([mode, flags]);
        bytes.extend(words.flat_map(u32::to_le_bytes));
        bytes.extend((named_offset as u64).to_le_bytes());
        bytes.resize(HEADER_BYTES, 0);
        for lane in lanes {
            let from = bytes.len();
            let [attempts, _, counts @ .., restarts] = lane.counts();
            let words = [attempts, restarts].into_iter().chain(counts);
            bytes.extend(words.flat_map(u64::to_le_bytes));
            bytes.extend([lane.arm, lane.limit].into_iter().flat_map(u32::to_le_bytes));
            bytes.resize(from + 256, 0);
        }
        for (index, (name, _)) in names.iter().enumerate() {
            bytes.resize(names_offset + 64 * index, 0);
            bytes.extend(name.as_bytes());
        }
        bytes.resize(named_offset, 0);
        for (_, counts) in names {
            bytes.extend(counts.counts().into_iter().flat_map(u64::to_le_bytes));
        }
        bytes.resize(named_offset + 32 * names_max * lane_count, 0);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::builder::block;
    use super::*;

    fn lane(attempts: u64) -> StmCounts {
        StmCounts {
            attempts,
            conflicts: attempts / 4,
            decisions: 3,
            restarts: 5,
            arm: 1,
            limit: 9,
            ..StmCounts::default()
        }
    }

    fn part(bytes: &[u8], range: Range<u64>) -> &[u8] {
        &bytes[range.start as usize..range.end as usize]
    }

    #[test]
    fn a_block_is_read_as_it_was_written() {
        let transfer = StmNamed { attempts: 9, commits: 4, waits: 2, exceptions: 1 };
        let long = "é".repeat(32);
        let bytes = block(&[lane(10), lane(7)], &[("transfer", transfer), (&long, StmNamed::default())], 1, 1);
        let header = Header::parse(&bytes).unwrap();
        assert_eq!((header.names, header.mode, header.redirected), (2, 1, true));
        assert_eq!(header.lanes(part(&bytes, header.lane_range(u32::MAX))), [lane(10), lane(7)]);
        assert_eq!(header.lanes(part(&bytes, header.lane_range(1))), [lane(10)]);
        let (number, last) = header.last_lane();
        assert_eq!((number, header.lanes(part(&bytes, last))), (1, vec![lane(7)]));
        assert_eq!(header.names(part(&bytes, header.name_range())), ["transfer".to_owned(), long]);
        let counts: Vec<StmNamed> = named(part(&bytes, header.named_range(0))).collect();
        assert_eq!(counts, [transfer, StmNamed::default()]);
        assert_eq!(named(part(&bytes, header.named_range(1))).next(), Some(StmNamed::default()));
        assert!(header.lanes(&bytes[..100]).is_empty() && header.names(&[]).is_empty());
    }

    #[test]
    fn commits_are_what_did_not_end_otherwise() {
        let filled = |lanes: &[(u64, u64)]| {
            let lane = |&(attempts, waits): &(u64, u64)| StmCounts { attempts, waits, ..StmCounts::default() };
            let mut lanes: Vec<StmCounts> = lanes.iter().map(lane).collect();
            fill_commits(lanes.iter_mut());
            lanes.iter().map(|lane| lane.commits).collect::<Vec<_>>()
        };
        assert_eq!(filled(&[(10, 4), (5, 5)]), [6, 0]);
        // Three that waited in the second lane had begun in another one.
        assert_eq!(filled(&[(2, 0), (5, 8), (9, 1)]), [0, 0, 7]);
        assert_eq!(filled(&[(0, 8), (1, 0)]), [0, 0]);
        let mut all = [StmCounts { attempts: 32, ..StmCounts::of([1; STM_COUNTS], 0, 0) }];
        fill_commits(all.iter_mut());
        assert_eq!(all[0].commits, 32 - 6);
    }

    #[test]
    fn what_cannot_be_is_no_block() {
        let whole = block(&[lane(1)], &[("a", StmNamed::default())], 0, 0);
        assert!(Header::parse(&whole[..HEADER_BYTES]).is_ok());
        for end in 0..HEADER_BYTES {
            assert!(Header::parse(&whole[..end]).is_err(), "{end}");
        }
        let with = |word: usize, value: u32| {
            let mut bytes = whole.clone();
            bytes[8 + 4 * word..12 + 4 * word].copy_from_slice(&value.to_le_bytes());
            Header::parse(&bytes)
        };
        // Header size, lane size, lanes, their offset, names, their size, their offset, names in use.
        for (word, value) in [(0, 63), (1, 64), (1, 1 << 20), (2, 0), (2, 1 << 20), (3, 8), (3, u32::MAX)] {
            assert_eq!(with(word, value), Err(NoBlock::Damaged), "{word} {value}");
        }
        for (word, value) in [(4, 0), (4, 1 << 20), (5, 63), (6, 0), (6, 100), (7, 5), (7, u32::MAX), (11, 1 << 8)] {
            assert_eq!(with(word, value), Err(NoBlock::Damaged), "{word} {value}");
        }
        assert!(with(8, 7).is_ok() && with(9, 0xff04).is_ok_and(|header| !header.redirected && header.crowded));
        let mut other = whole.clone();
        other[7] = 2;
        assert_eq!(Header::parse(&other), Err(NoBlock::Version(2)));
        other[0] = b'X';
        assert_eq!(Header::parse(&other), Err(NoBlock::Magic));
    }

    #[test]
    fn candidates_are_where_a_word_can_be() {
        let mut bytes = vec![0; 8];
        bytes.extend(MAGIC);
        bytes.extend([0; 3]);
        bytes.extend(MAGIC);
        assert_eq!(candidates(&bytes, 0x1000).collect::<Vec<_>>(), [0x1008]);
        assert_eq!(candidates(&bytes, 0x1005).collect::<Vec<_>>(), [0x1018]);
    }
}

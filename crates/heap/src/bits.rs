//! Bit sets over the words of the pinned blocks: which words begin an object, and which of those
//! objects are alive. Owns where a block's bits lie. Several threads may set bits at once; none is
//! ever cleared.

use crate::blocks::Groups;
use crate::descriptor::BLOCK;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Bits per machine word.
const WIDTH: u64 = 64;
/// Words of a block.
const WORDS: u64 = BLOCK / 8;

/// One bit for each word of some block groups. A group of several blocks holds one object, which
/// begins in the first block: the other blocks have no bits.
#[derive(Debug)]
pub struct Bits {
    bits: Vec<AtomicU64>,
    /// Number of groups; each has the bits of one block.
    blocks: u64,
}

impl Bits {
    /// A set with all bits clear.
    pub fn of(groups: &Groups) -> Bits {
        let blocks = groups.len() as u64;
        let mut bits = Vec::new();
        bits.resize_with((blocks * WORDS / WIDTH) as usize, AtomicU64::default);
        Bits { bits, blocks }
    }

    fn bit(&self, group: usize, word: u64) -> Option<u64> {
        let group = group as u64;
        (group < self.blocks && word < WORDS).then(|| group * WORDS + word)
    }

    fn at(&self, index: u64) -> u64 {
        self.bits.get(index as usize).map_or(0, |bits| bits.load(Relaxed))
    }

    /// Sets the bit of word `word` of group `group`; returns whether it was clear.
    pub fn set(&self, group: usize, word: u64) -> bool {
        let Some(bit) = self.bit(group, word) else { return false };
        let Some(bits) = self.bits.get((bit / WIDTH) as usize) else { return false };
        let mask = 1 << (bit % WIDTH);
        // Most bits are already set: a write would take the cache line from other threads.
        bits.load(Relaxed) & mask == 0 && bits.fetch_or(mask, Relaxed) & mask == 0
    }

    /// The last set bit of the group at `word` or before.
    pub fn last(&self, group: usize, word: u64) -> Option<u64> {
        let bit = self.bit(group, word.min(WORDS - 1))?;
        let (first, mut index) = (group as u64 * WORDS / WIDTH, bit / WIDTH);
        // Ignore the bits above the requested one in this machine word.
        let mut found = self.at(index) & (u64::MAX >> (WIDTH - 1 - bit % WIDTH));
        while found == 0 {
            index = index.checked_sub(1).filter(|index| *index >= first)?;
            found = self.at(index);
        }
        Some((index - first) * WIDTH + u64::from(found.ilog2()))
    }

    /// The first set bit of the group at `word` or later.
    pub fn next(&self, group: usize, word: u64) -> Option<u64> {
        let bit = self.bit(group, word)?;
        let (first, mut index) = (group as u64 * WORDS / WIDTH, bit / WIDTH);
        let mut found = self.at(index) & (u64::MAX << (bit % WIDTH));
        while found == 0 {
            index = Some(index + 1).filter(|index| *index < first + WORDS / WIDTH)?;
            found = self.at(index);
        }
        Some((index - first) * WIDTH + u64::from(found.trailing_zeros()))
    }

    /// The words of the group whose bits are set, in order.
    pub fn words(&self, group: usize) -> impl Iterator<Item = u64> {
        std::iter::successors(self.next(group, 0), move |word| self.next(group, word + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::groups;

    #[test]
    fn objects_before_and_after_an_address_are_found() {
        let groups = groups(&[(0x42_0010_4000, 4000), (0x42_0010_5000, 8192)]);
        let bits = Bits::of(&groups);
        for (group, word) in [(0, 0), (0, 130), (1, 5), (1, 511)] {
            assert!(bits.set(group, word) && !bits.set(group, word));
        }
        assert!(!bits.set(2, 0) && !bits.set(1, 512));
        let found = [(0, 0), (0, 129), (0, 130), (0, 400), (1, 4), (1, 5), (1, 510), (1, 1023), (2, 0)];
        let last: Vec<_> = found.iter().map(|(group, word)| bits.last(*group, *word)).collect();
        let expected = [Some(0), Some(0), Some(130), Some(130), None, Some(5), Some(5), Some(511), None];
        assert_eq!(last, expected);
        let next: Vec<_> =
            [(0, 0), (0, 1), (0, 131), (1, 6), (1, 512)].map(|(group, word)| bits.next(group, word)).into();
        assert_eq!(next, [Some(0), Some(130), None, Some(511), None]);
        assert_eq!(bits.words(1).collect::<Vec<_>>(), [5, 511]);
    }
}

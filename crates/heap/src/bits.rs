//! One bit for each word of the pinned blocks: which of them begin an object, and which of
//! those are alive. Owns where a block's bits lie.

use crate::blocks::Groups;
use crate::descriptor::BLOCK;

/// Words that one machine word has bits for.
const WIDTH: u64 = 64;

/// Bits of all words of some block groups.
#[derive(Clone, Debug)]
pub struct Bits {
    bits: Vec<u64>,
    /// Where each group's begin.
    offsets: Vec<u64>,
}

impl Bits {
    /// All clear.
    pub fn of(groups: &Groups) -> Bits {
        let mut next = 0;
        let offsets = groups
            .iter()
            .map(|group| {
                let offset = next;
                next += group.used_bytes().next_multiple_of(BLOCK) / 8;
                offset
            })
            .collect();
        Bits { bits: vec![0; (next / WIDTH) as usize], offsets }
    }

    fn place(&self, group: usize, word: u64) -> Option<(usize, u64)> {
        let bit = self.offsets.get(group)? + word;
        Some(((bit / WIDTH) as usize, 1 << (bit % WIDTH)))
    }

    /// Sets the bit of word `word` of group `group`; tells whether it was clear.
    pub fn set(&mut self, group: usize, word: u64) -> bool {
        let Some((at, mask)) = self.place(group, word) else { return false };
        let Some(bits) = self.bits.get_mut(at) else { return false };
        let clear = *bits & mask == 0;
        *bits |= mask;
        clear
    }

    /// Whether the bit of word `word` of group `group` is set.
    pub fn has(&self, group: usize, word: u64) -> bool {
        self.place(group, word).is_some_and(|(at, mask)| self.bits.get(at).is_some_and(|bits| bits & mask != 0))
    }

    /// The last set bit of the group at `word` or before.
    pub fn last(&self, group: usize, word: u64) -> Option<u64> {
        let offset = *self.offsets.get(group)?;
        let mut bit = offset + word;
        // Bits of this machine word behind the one that is asked for.
        let mut mask = u64::MAX >> (WIDTH - 1 - bit % WIDTH);
        loop {
            let found = self.bits.get((bit / WIDTH) as usize)? & mask;
            if found != 0 {
                let at = bit / WIDTH * WIDTH + u64::from(found.ilog2());
                return at.checked_sub(offset);
            }
            bit = (bit / WIDTH * WIDTH).checked_sub(1).filter(|bit| *bit >= offset)?;
            mask = u64::MAX;
        }
    }

    /// Words of the group whose bits are set, in order.
    pub fn words(&self, group: usize, count: u64) -> impl Iterator<Item = u64> {
        (0..count).filter(move |word| self.has(group, *word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::groups;

    #[test]
    fn the_last_object_before_an_address_is_found() {
        let groups = groups(&[(0x42_0010_4000, 4000), (0x42_0010_5000, 8192)]);
        let mut bits = Bits::of(&groups);
        for (group, word) in [(0, 0), (0, 130), (1, 5), (1, 1000)] {
            assert!(bits.set(group, word) && !bits.set(group, word));
        }
        let found = [(0, 0), (0, 129), (0, 130), (0, 400), (1, 4), (1, 5), (1, 999), (1, 1023)];
        let last: Vec<_> = found.iter().map(|(group, word)| bits.last(*group, *word)).collect();
        let expected = [Some(0), Some(0), Some(130), Some(130), None, Some(5), Some(5), Some(1000)];
        assert_eq!(last, expected);
        assert_eq!(bits.words(1, 1024).collect::<Vec<_>>(), [5, 1000]);
    }
}

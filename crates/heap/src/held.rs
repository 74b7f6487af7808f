//! Which objects hold which: pointers to pinned objects and their bytes, by info table and block
//! group. Owns fast summing: neighbours in a heap point to neighbours, so a small cache keeps each sum
//! until another pair of holder and group takes its slot.

use std::collections::HashMap;

/// Sums in the cache.
const QUICK: usize = 256;

/// The sum for one holder in one group.
#[derive(Copy, Clone, Default)]
struct Sum {
    holder: u64,
    group: u32,
    count: u32,
    bytes: u64,
}

/// The sums of one thread, cached.
pub struct Holding {
    quick: Vec<Sum>,
    held: Held,
}

/// What each holder points to.
#[derive(Clone, Debug, Default)]
pub struct Held {
    /// Bytes, by holder and group number.
    pub bytes: HashMap<(u64, u32), u64>,
    /// Pointers, by holder.
    pub pointers: HashMap<u64, u64>,
}

impl Default for Holding {
    fn default() -> Holding {
        Holding { quick: vec![Sum::default(); QUICK], held: Held::default() }
    }
}

impl Holding {
    /// Counts one pointer from `holder` to an object of `bytes` in `group`.
    pub fn add(&mut self, holder: u64, group: u32, bytes: u64) {
        let place = ((holder >> 3) as usize ^ (group as usize).wrapping_mul(31)) % QUICK;
        let Some(sum) = self.quick.get_mut(place) else { return };
        if sum.count == u32::MAX || sum.count > 0 && (sum.holder, sum.group) != (holder, group) {
            self.held.take(sum);
            *sum = Sum::default();
        }
        (sum.holder, sum.group) = (holder, group);
        sum.count += 1;
        sum.bytes += bytes;
    }

    /// Returns all sums.
    pub fn finish(mut self) -> Held {
        self.quick.iter().for_each(|sum| self.held.take(sum));
        self.held
    }
}

impl Held {
    fn take(&mut self, sum: &Sum) {
        if sum.count > 0 {
            *self.bytes.entry((sum.holder, sum.group)).or_default() += sum.bytes;
            *self.pointers.entry(sum.holder).or_default() += u64::from(sum.count);
        }
    }

    /// Adds the sums of another thread.
    pub fn merge(&mut self, other: Held) {
        if self.bytes.is_empty() {
            *self = other;
            return;
        }
        for (key, bytes) in other.bytes {
            *self.bytes.entry(key).or_default() += bytes;
        }
        other.pointers.into_iter().for_each(|(holder, count)| *self.pointers.entry(holder).or_default() += count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_whole_whatever_takes_their_place() {
        let mut all = Held::default();
        for _ in 0..2 {
            let mut holding = Holding::default();
            for turn in 0..5000_u32 {
                holding.add(0x40_0000 + u64::from(turn % 3) * 8, turn % 700, 16);
            }
            all.merge(holding.finish());
        }
        assert_eq!(all.bytes.values().sum::<u64>(), 2 * 5000 * 16);
        assert_eq!((all.bytes.len(), all.pointers.len()), (2100, 3));
        assert_eq!(all.pointers[&0x40_0008], 2 * 1667);
    }
}

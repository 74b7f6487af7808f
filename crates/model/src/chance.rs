//! Seeded pseudorandom numbers: the same input gives the same result. Owns the generator (xorshift64*, Vigna 2016),
//! which is not cryptographic.

/// A stream of pseudorandom numbers.
#[derive(Clone, Debug)]
pub struct Chance(u64);

impl Chance {
    /// The stream with the seed `seed`.
    pub fn new(seed: u64) -> Chance {
        Chance(seed.max(1))
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    /// A number below `bound`; 0 where `bound` is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.next().checked_rem(bound).unwrap_or(0)
    }

    /// Shuffles `items` (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = self.below(last as u64 + 1) as usize;
            items.swap(last, other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Chance;

    #[test]
    fn an_order_follows_from_its_seed_and_loses_nothing() {
        let order = |seed| {
            let mut items: Vec<u32> = (0..20).collect();
            Chance::new(seed).shuffle(&mut items);
            items
        };
        assert_eq!(order(3), order(3));
        assert_ne!(order(3), order(4));
        let mut sorted = order(3);
        sorted.sort_unstable();
        assert_eq!(sorted, (0..20).collect::<Vec<_>>());
        assert_eq!(Chance::new(0).below(0), 0);
    }
}

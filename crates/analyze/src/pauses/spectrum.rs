//! Durations in columns of equal width on a logarithmic scale, two per doubling. Counts and sums are exact, and so
//! are the edges: column `i` holds what lies between the roots of 2^i and 2^(i+1).
//!
//! Owns the columns; drawing them is the report's task.

use crate::results::Column;

/// First column: everything below 182 ns; no pause is that short.
const FIRST: u32 = 14;
/// End of the columns: the square of a duration has 128 bits.
const END: u32 = 128;

pub struct Spectrum {
    /// Count and sum of each column.
    columns: [(u64, u64); (END - FIRST) as usize],
}

impl Default for Spectrum {
    fn default() -> Self {
        Spectrum { columns: [(0, 0); (END - FIRST) as usize] }
    }
}

impl Spectrum {
    pub fn add(&mut self, ns: u64) {
        let square = u128::from(ns) * u128::from(ns);
        let exponent = square.checked_ilog2().unwrap_or(0).max(FIRST);
        if let Some((count, sum)) = self.columns.get_mut((exponent - FIRST) as usize) {
            *count += 1;
            *sum = sum.saturating_add(ns);
        }
    }

    /// The columns from the first to the last non-empty one.
    pub fn columns(&self) -> Vec<Column> {
        let used = |column: &(u64, u64)| column.0 > 0;
        let Some(first) = self.columns.iter().position(used) else { return Vec::new() };
        let last = self.columns.iter().rposition(used).unwrap_or(first);
        let column = |(at, (count, sum_ns)): (usize, &(u64, u64))| {
            let exponent = FIRST + at as u32;
            let from_ns = if exponent == FIRST { 0 } else { edge(exponent) };
            Column { from_ns, to_ns: edge(exponent + 1), count: *count, sum_ns: *sum_ns }
        };
        self.columns.iter().enumerate().take(last + 1).skip(first).map(column).collect()
    }
}

/// The smallest duration whose square is at least 2^`exponent`.
fn edge(exponent: u32) -> u64 {
    let Some(square) = 1u128.checked_shl(exponent) else { return u64::MAX };
    let root = square.isqrt();
    let root = if root * root < square { root + 1 } else { root };
    u64::try_from(root).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn two_columns_double_and_gaps_stay() {
        let mut spectrum = Spectrum::default();
        [1_000_000, 1_048_576, 1_400_000, 4_194_304].iter().for_each(|ns| spectrum.add(*ns));
        let columns = spectrum.columns();
        let counts: Vec<u64> = columns.iter().map(|column| column.count).collect();
        assert_eq!(counts, [1, 2, 0, 0, 0, 1]);
        assert_eq!(columns.first().map(|column| column.to_ns), Some(1 << 20));
        assert_eq!(columns.last().map(|column| (column.from_ns, column.sum_ns)), Some((1 << 22, 4_194_304)));
        assert!(columns.windows(2).all(|pair| pair[0].to_ns == pair[1].from_ns));
        assert!(Spectrum::default().columns().is_empty());
    }

    #[test]
    fn any_value_is_taken() {
        let mut spectrum = Spectrum::default();
        [0, 1, 181, 182, u64::MAX, u64::MAX].iter().for_each(|ns| spectrum.add(*ns));
        let columns = spectrum.columns();
        let ends = columns.first().zip(columns.last());
        assert_eq!(
            ends.map(|(first, last)| (first.from_ns, first.count, last.to_ns, last.count)),
            Some((0, 3, u64::MAX, 2))
        );
    }

    proptest! {
        #[test]
        fn each_duration_lies_in_its_column(all in proptest::collection::vec(0u64..10_000_000_000, 1..100)) {
            let mut spectrum = Spectrum::default();
            all.iter().for_each(|ns| spectrum.add(*ns));
            for column in spectrum.columns() {
                let inside = || all.iter().filter(|ns| (column.from_ns..column.to_ns).contains(ns));
                prop_assert_eq!(inside().count() as u64, column.count);
                prop_assert_eq!(inside().sum::<u64>(), column.sum_ns);
            }
        }
    }
}

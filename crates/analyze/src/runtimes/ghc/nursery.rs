//! Allocation areas in pieces: from 16 MiB on, or with `-n`, capabilities take pieces of all areas from a common
//! pool. Owns that rule of the runtime; the figures come from [`crate::collector::allocation`].

use crate::folds::{End, Fold};
use crate::results::Results;

/// From this size on GHC divides areas into pieces by default.
const POOLED_FROM_BYTES: u64 = 16 << 20;

/// The fold; it follows the fold that finds the areas.
pub struct Pieces;

impl Fold for Pieces {
    fn result(&mut self, end: &End<'_>, results: &mut Results) {
        let Some(nursery) = &mut results.nursery else { return };
        nursery.pooled = pooled(nursery.bytes, results.lanes.len(), end.context.options());
    }
}

/// Whether areas of `bytes` are divided: large ones, and where `-n4m` requests it.
fn pooled<'o>(bytes: u64, lanes: usize, mut options: impl Iterator<Item = &'o str>) -> bool {
    let digit = |size: &str| size.starts_with(|digit: char| ('1'..='9').contains(&digit));
    lanes > 1 && (bytes >= POOLED_FROM_BYTES || options.any(|option| option.strip_prefix("-n").is_some_and(digit)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_pooled_from_16_mib_on_or_when_requested() {
        let of = |bytes: u64, options: &[&'static str]| pooled(bytes, 2, options.iter().copied());
        assert!(!of(4 << 20, &["-N2", "-n0"]));
        assert!(of(4 << 20, &["-A4m", "-n1m"]));
        assert!(of(16 << 20, &[]));
        assert!(!pooled(16 << 20, 1, std::iter::empty()));
    }
}

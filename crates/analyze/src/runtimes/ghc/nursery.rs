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
        nursery.pooled = pooled(nursery.bytes, results.lanes.len(), &end.context.runtime.args);
    }
}

/// Whether areas of `bytes` are divided; `args` are the program's, including the runtime's flags.
fn pooled(bytes: u64, lanes: usize, args: &[String]) -> bool {
    lanes > 1 && (bytes >= POOLED_FROM_BYTES || requests_pieces(args))
}

/// Whether the command line requests pieces (`-n4m`).
fn requests_pieces(args: &[String]) -> bool {
    let mut inside = false;
    args.iter().any(|arg| {
        inside = match arg.as_str() {
            "+RTS" => true,
            "-RTS" | "--RTS" => false,
            _ => inside,
        };
        inside
            && arg.strip_prefix("-n").is_some_and(|size| size.starts_with(|digit: char| ('1'..='9').contains(&digit)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_pooled_from_16_mib_on_or_when_requested() {
        let of = |bytes: u64, args: &[&str]| {
            let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
            pooled(bytes, 2, &args)
        };
        assert!(!of(4 << 20, &["p", "-n4m", "+RTS", "-N2", "-n0"]));
        assert!(of(4 << 20, &["p", "+RTS", "-A4m", "-n1m"]));
        assert!(of(16 << 20, &["p"]));
        assert!(!pooled(16 << 20, 1, &[]));
    }
}

//! Counts and losses of a pass over rings. Owns limiting the number of losses: a ring that is overwritten a thousand
//! times a second has as many.

use rtscope_model::{Loss, Time, TypeCount};

/// Limit of separate losses. When there are twice as many, losses close in time are merged: sums stay exact, and each
/// span covers what its parts covered.
const KEPT: usize = 256;

/// Counts of one pass. Complete once the stream has returned `None`; covers every event of the rings, whatever
/// classes were requested.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RingTally {
    /// Events by type, ascending by number; only types that occur. Bit 9 of a number: posted by the program's own
    /// code; bits 6 to 8: the type; bits 0 to 5: the id, for phases their number in 5.4. The numbers are the same
    /// for every version.
    pub by_type: Vec<TypeCount>,
    /// Number of bytes read, including padding.
    pub bytes: u64,
    /// Number of rings with events.
    pub lanes: usize,
    pub first: Option<Time>,
    pub last: Option<Time>,
    /// The program ended normally.
    pub ended: bool,
    /// Losses of the pass.
    pub losses: Vec<Loss>,
}

impl RingTally {
    /// Number of events of all types.
    pub fn events(&self) -> u64 {
        self.by_type.iter().map(|kind| kind.count).sum()
    }

    /// Number of events of the type with this name.
    pub fn count(&self, name: &str) -> u64 {
        self.by_type.iter().filter(|kind| kind.name == name).map(|kind| kind.count).sum()
    }
}

/// A loss whose source has no name yet.
pub(super) type RawLoss = crate::raw_loss::RawLoss<&'static str>;

/// Losses of one pass.
#[derive(Clone, Debug, Default)]
pub(super) struct Losses {
    kept: Vec<RawLoss>,
}

impl Losses {
    pub(super) fn push(&mut self, loss: RawLoss) {
        self.kept.push(loss);
        if self.kept.len() < 2 * KEPT {
            return;
        }
        self.kept.sort_by_key(|loss| (loss.kind, loss.note, loss.from, loss.to));
        let last = self.kept.iter().filter_map(|loss| loss.to).max().unwrap_or(0);
        let first = self.kept.iter().filter_map(|loss| loss.from).min().unwrap_or(last);
        let mut width = (last.saturating_sub(first) / KEPT as u64).max(1);
        // There are few kinds and notes: the last round leaves one loss of each.
        while self.kept.len() > KEPT && width < u64::MAX {
            let wide = |loss: &RawLoss| loss.from.zip(loss.to).map_or(0, |(from, to)| to.saturating_sub(from)) >= width;
            let mut kept: Vec<RawLoss> = Vec::with_capacity(2 * KEPT);
            for loss in self.kept.drain(..) {
                match kept.last_mut().filter(|last| (last.kind, last.note) == (loss.kind, loss.note)) {
                    Some(last) if !wide(&last.and(&loss)) => *last = last.and(&loss),
                    _ => kept.push(loss),
                }
            }
            self.kept = kept;
            width = width.saturating_mul(2);
        }
    }

    pub(super) fn named(&self, source: &str) -> Vec<Loss> {
        self.kept.iter().map(|loss| loss.named(source, Time)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rtscope_model::LossKind;

    #[test]
    fn thousands_of_losses_become_few_with_the_same_sum_and_places() {
        let mut losses = Losses::default();
        for at in 0..10_000u64 {
            let (from, to) = (Some(at * 100), Some(at * 100 + 10));
            losses.push(RawLoss { kind: LossKind::RingWords, count: 3, from, to, note: "n" });
        }
        losses.push(RawLoss { kind: LossKind::Damaged, count: 8, from: None, to: None, note: "d" });
        let all = losses.named("x");
        assert!(all.len() < 2 * KEPT, "{}", all.len());
        let words = || all.iter().filter(|loss| loss.kind == LossKind::RingWords);
        assert_eq!(words().map(|loss| loss.count).sum::<u64>(), 30_000);
        assert_eq!(
            (words().count() + 1, all.iter().filter(|loss| loss.kind == LossKind::Damaged).count()),
            (all.len(), 1)
        );
        for at in 0..10_000u64 {
            assert!(words().any(|loss| loss.touches(Time(at * 100 + 5), Time(at * 100 + 5))), "{at}");
        }
        let longest = words().filter_map(|loss| Some(loss.to?.since(loss.from?))).max();
        assert!(longest.is_some_and(|ns| ns < 20_000), "{longest:?}");
    }
}

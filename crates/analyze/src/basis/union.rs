//! Union of intervals that arrive almost in order, in bounded memory. Owns the merging; spans older than the newest
//! [`OPEN_MAX`] disjoint ones are final.

use rtscope_model::Time;
use std::collections::VecDeque;

/// Disjoint spans that may still grow.
const OPEN_MAX: usize = 128;

#[derive(Clone, Debug, Default)]
pub struct Union {
    open: VecDeque<(Time, Time)>,
    final_ns: u64,
    floor: Time,
}

impl Union {
    /// Adds `[from, to]`; returns a span that has become final, if any.
    pub fn add(&mut self, from: Time, to: Time) -> Option<(Time, Time)> {
        let mut new = (from.max(self.floor), to);
        if new.0 >= new.1 {
            return None;
        }
        let mut at = self.open.partition_point(|span| span.1 < new.0);
        while let Some(span) = self.open.get(at).copied().filter(|span| span.0 <= new.1) {
            new = (new.0.min(span.0), new.1.max(span.1));
            self.open.remove(at);
        }
        at = at.min(self.open.len());
        self.open.insert(at, new);
        if self.open.len() <= OPEN_MAX {
            return None;
        }
        self.finalise()
    }

    /// Makes the oldest span final.
    pub fn finalise(&mut self) -> Option<(Time, Time)> {
        let span = self.open.pop_front()?;
        self.final_ns += span.1.since(span.0);
        self.floor = span.1;
        Some(span)
    }

    pub fn ns(&self) -> u64 {
        self.final_ns + self.open.iter().map(|span| span.1.since(span.0)).sum::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlaps_count_once_in_any_order() {
        let mut union = Union::default();
        for (from, to) in [(10, 20), (15, 25), (40, 50), (0, 5), (22, 41), (50, 60)] {
            union.add(Time(from), Time(to));
        }
        assert_eq!(union.ns(), 5 + 50);
    }

    #[test]
    fn a_long_stream_keeps_its_sum() {
        let mut union = Union::default();
        for at in 0..10_000 {
            union.add(Time(at * 10), Time(at * 10 + 3));
        }
        assert_eq!(union.ns(), 30_000);
        assert!(union.open.len() <= OPEN_MAX);
    }
}

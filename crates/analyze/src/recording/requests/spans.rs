//! Spans of time, and how much of an interval they cover. Owns merging and its bound.

use rtscope_model::Time;

/// Maximum number of spans; beyond that they prove nothing.
const SPANS_MAX: usize = 1 << 20;

/// Spans in any order.
#[derive(Clone, Debug, Default)]
pub(super) struct Spans {
    pub list: Vec<(Time, Time)>,
    /// Some spans were left out.
    pub full: bool,
}

impl Spans {
    pub(super) fn add(&mut self, from: Time, to: Time) {
        if let Some(last) = self.list.last_mut().filter(|last| (last.0..=last.1).contains(&from)) {
            last.1 = last.1.max(to);
        } else if self.list.len() < SPANS_MAX {
            self.list.push((from, to));
        } else {
            self.full = true;
        }
    }
}

/// Disjoint spans in time order.
#[derive(Clone, Debug, Default)]
pub(super) struct Cover {
    /// Start, end, and time covered by the spans before, nanoseconds.
    spans: Vec<(Time, Time, u64)>,
}

impl Cover {
    pub(super) fn of(mut list: Vec<(Time, Time)>) -> Cover {
        list.sort_unstable();
        let mut spans: Vec<(Time, Time, u64)> = Vec::with_capacity(list.len());
        for (from, to) in list.into_iter().filter(|(from, to)| from < to) {
            match spans.last_mut() {
                Some(last) if from <= last.1 => last.1 = last.1.max(to),
                last => {
                    let before = last.map_or(0, |last| last.2 + last.1.since(last.0));
                    spans.push((from, to, before));
                }
            }
        }
        Cover { spans }
    }

    /// Time covered before `at`, nanoseconds.
    fn before(&self, at: Time) -> u64 {
        let next = self.spans.partition_point(|span| span.0 < at);
        let last = next.checked_sub(1).and_then(|last| self.spans.get(last));
        last.map_or(0, |(from, to, before)| before + at.min(*to).since(*from))
    }

    /// Time covered in `[from, to]`, nanoseconds.
    pub(super) fn ns(&self, from: Time, to: Time) -> u64 {
        self.before(to).saturating_sub(self.before(from))
    }

    /// Whether any span touches `[from, to]`.
    pub(super) fn touches(&self, from: Time, to: Time) -> bool {
        let first = self.spans.partition_point(|span| span.1 < from);
        self.spans.get(first).is_some_and(|span| span.0 <= to)
    }

    /// The span that contains `at`.
    pub(super) fn around(&self, at: Time) -> Option<(Time, Time)> {
        let first = self.spans.partition_point(|span| span.1 < at);
        self.spans.get(first).filter(|span| span.0 <= at).map(|span| (span.0, span.1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cover(list: &[(u64, u64)]) -> Cover {
        Cover::of(list.iter().map(|(from, to)| (Time(*from), Time(*to))).collect())
    }

    #[test]
    fn what_is_covered_counts_once() {
        let cover = cover(&[(50, 60), (10, 20), (15, 30), (60, 70), (90, 90)]);
        let ns = |from, to| cover.ns(Time(from), Time(to));
        assert_eq!((ns(0, 100), ns(12, 55), ns(30, 50), ns(29, 51), ns(80, 20)), (40, 23, 0, 2, 0));
        assert!(cover.touches(Time(30), Time(40)) && !cover.touches(Time(31), Time(49)));
        assert_eq!((cover.around(Time(65)), cover.around(Time(40))), (Some((Time(50), Time(70))), None));
        assert_eq!(Cover::default().ns(Time(0), Time(9)), 0);
    }

    #[test]
    fn a_bound_is_kept_and_reported() {
        let mut spans = Spans::default();
        (0..SPANS_MAX as u64).for_each(|at| spans.add(Time(at * 10), Time(at * 10 + 4)));
        assert!(!spans.full);
        let last = SPANS_MAX as u64 * 10 - 10;
        spans.add(Time(last + 4), Time(last + 8));
        assert!(!spans.full, "it is part of the one before");
        spans.add(Time(last + 10), Time(last + 11));
        assert!(spans.full && spans.list.len() == SPANS_MAX);
    }
}

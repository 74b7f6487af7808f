//! A sum of waits. Owns that the longest wait can be shown.

use rtscope_model::Time;

/// A sum of waits, with the longest.
#[derive(Clone, Debug, Default)]
pub struct Sum {
    pub ns: u64,
    pub count: u64,
    pub longest: Option<(Time, Time)>,
}

impl Sum {
    /// Adds a wait of `ns` in this interval.
    pub fn add(&mut self, (from, to): (Time, Time), ns: u64) {
        self.ns = self.ns.saturating_add(ns);
        self.count += 1;
        if self.longest.is_none_or(|(start, end)| end.since(start) < to.since(from)) {
            self.longest = Some((from, to));
        }
    }

    pub fn longest_ns(&self) -> u64 {
        self.longest.map_or(0, |(from, to)| to.since(from))
    }

    pub fn mean_ns(&self) -> u64 {
        self.ns.checked_div(self.count).unwrap_or(0)
    }
}

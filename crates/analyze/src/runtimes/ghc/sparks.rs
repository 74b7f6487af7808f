//! Sparks: the fate of the work that the program offered to run in parallel, according to the runtime's cumulative
//! counters. Owns those counters, per lane.

use crate::folds::{End, Fold};
use crate::results::{LaneSparks, Results, SparkCounts, Sparks as Values};
use rtscope_model::{Body, Class, Classes, Counter, Event, LaneId, Runtime};
use std::collections::BTreeMap;

type Field = fn(&mut SparkCounts) -> &mut u64;

/// The field of each counter.
const FIELDS: [(Counter, Field); 7] = [
    (Counter::SparksCreated, |counts| &mut counts.created),
    (Counter::SparksConverted, |counts| &mut counts.converted),
    (Counter::SparksOverflowed, |counts| &mut counts.overflowed),
    (Counter::SparksDud, |counts| &mut counts.dud),
    (Counter::SparksCollected, |counts| &mut counts.collected),
    (Counter::SparksFizzled, |counts| &mut counts.fizzled),
    (Counter::SparksRemaining, |counts| &mut counts.remaining),
];

#[derive(Default)]
pub struct Sparks {
    lanes: BTreeMap<LaneId, SparkCounts>,
}

impl Sparks {
    /// The sums; `None` where no counters were logged.
    pub fn values(&self) -> Option<Values> {
        if self.lanes.is_empty() {
            return None;
        }
        let mut all = SparkCounts::default();
        for mut lane in self.lanes.values().copied() {
            for (_, field) in FIELDS {
                *field(&mut all) = field(&mut all).saturating_add(*field(&mut lane));
            }
        }
        let lanes = self.lanes.iter().map(|(lane, counts)| LaneSparks { lane: lane.0, counts: *counts });
        Some(Values { all, lanes: lanes.collect() })
    }
}

impl Fold for Sparks {
    fn classes(&self) -> Classes {
        Classes::NONE.with(Class::Sparks)
    }

    fn event(&mut self, event: &Event) {
        let Body::Runtime(Runtime::Count(counter, value)) = event.body else { return };
        let Some((_, field)) = FIELDS.into_iter().find(|(of, _)| *of == counter) else { return };
        // The last value of each lane counts: the counters run from the start.
        *field(self.lanes.entry(event.lane).or_default()) = value;
    }

    fn result(&mut self, _: &End<'_>, results: &mut Results) {
        results.sparks = self.values();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Script;

    #[test]
    fn the_last_counters_of_each_lane_are_summed() {
        let count = |counter, value| Runtime::Count(counter, value);
        let script = Script::default()
            .rt(1, 0, count(Counter::SparksCreated, 3))
            .rt(2, 1, count(Counter::SparksCreated, 10))
            .rt(3, 0, count(Counter::SparksCreated, 7))
            .rt(4, 0, count(Counter::SparksRemaining, 5))
            .rt(5, 0, count(Counter::SparksRemaining, 1))
            .rt(6, 1, count(Counter::SparksFizzled, 4));
        let mut sparks = Sparks::default();
        script.events().iter().for_each(|event| sparks.event(event));
        let values = sparks.values().unwrap();
        assert_eq!((values.all.created, values.all.remaining, values.all.fizzled), (17, 1, 4));
        let lanes: Vec<_> = values.lanes.iter().map(|lane| (lane.lane, lane.counts.created)).collect();
        assert_eq!(lanes, [(0, 7), (1, 10)]);
    }

    #[test]
    fn a_log_without_counters_gives_nothing() {
        let mut sparks = Sparks::default();
        Script::default().parallel(1, 2, 3, 9).events().iter().for_each(|event| sparks.event(event));
        assert_eq!(sparks.values(), None);
    }
}

//! What each lane allocates, and how much of its allocation area it had used at each collection: with areas of equal
//! size and unequal use, the busiest lane decides when all of them stop.
//!
//! Owns the cumulative counters of lanes. A runtime may count large objects too, and lanes may take pieces of all
//! areas from a common pool: then a use above 1 is a lane that took more than its share.

use crate::folds::{End, Fold};
use crate::results::{Lane, Nursery, NurseryUse, Results};
use rtscope_model::{Body, Class, Classes, Counter, Event, LaneId, Runtime};
use std::collections::BTreeMap;

/// A full area is believed to be the reason for a collection if some lane allocated at least this share of one since
/// the previous collection.
const FULL_SHARE: f64 = 0.75;

#[derive(Default)]
struct OneLane {
    off: bool,
    allocated: u64,
    /// At the end of the previous collection; `None`: none was seen.
    before: Option<u64>,
    /// Shares of an area, summed up over `judged` collections.
    used: f64,
    least: Option<f64>,
    judged: u64,
}

impl OneLane {
    /// Bytes allocated since the start; `None`: the counter was never posted.
    fn known(&self) -> Option<u64> {
        (self.allocated > 0 || self.before.is_some()).then_some(self.allocated)
    }

    fn used(&mut self, share: f64) {
        self.used += share;
        self.least = Some(self.least.map_or(share, |least| least.min(share)));
        self.judged += 1;
    }
}

#[derive(Default)]
pub struct Allocation {
    lanes: BTreeMap<LaneId, OneLane>,
    area_bytes: Option<u64>,
    /// Collections caused by a full area.
    collections: u64,
    /// Mean share over lanes, summed over these collections.
    used: f64,
    /// Most bytes in a young heap when it was collected: its size, if one was full.
    pub young_bytes_max: u64,
}

impl Allocation {
    fn collected(&mut self) {
        let mut shares = Vec::with_capacity(self.lanes.len());
        for (id, lane) in &mut self.lanes {
            let before = lane.before.replace(lane.allocated);
            if let (Some(before), Some(area), false) = (before, self.area_bytes, lane.off) {
                shares.push((*id, lane.allocated.saturating_sub(before) as f64 / area as f64));
            }
        }
        if !shares.iter().any(|(_, share)| *share >= FULL_SHARE) {
            return;
        }
        self.collections += 1;
        self.used += shares.iter().map(|(_, share)| share).sum::<f64>() / shares.len() as f64;
        for (id, share) in shares {
            self.lanes.entry(id).or_default().used(share);
        }
    }

    /// Bytes allocated per second over `span_ns`.
    pub fn per_second(&self, span_ns: u64) -> Option<f64> {
        rate(self.lanes.values().filter_map(OneLane::known).reduce(u64::saturating_add)?, span_ns)
    }

    /// The allocation areas, one per lane.
    pub fn nursery(&self) -> Option<Nursery> {
        let bytes = self.area_bytes?;
        Some(Nursery {
            bytes,
            pooled: false,
            collections: self.collections,
            used: (self.collections > 0).then(|| self.used / self.collections as f64),
        })
    }

    /// Writes each lane's figures into the lanes of a recording of `span_ns`.
    pub fn fill(&self, lanes: &mut [Lane], span_ns: u64) {
        for lane in lanes {
            let Some(own) = self.lanes.get(&LaneId(lane.id)) else { continue };
            lane.allocated_bytes = own.known();
            lane.allocation_bytes_per_second = own.known().and_then(|bytes| rate(bytes, span_ns));
            lane.nursery_use = own.least.map(|min| NurseryUse { mean: own.used / own.judged as f64, min });
        }
    }
}

impl Fold for Allocation {
    fn classes(&self) -> Classes {
        Classes::NONE.with(Class::Figures).with(Class::Heap).with(Class::Lanes)
    }

    fn event(&mut self, event: &Event) {
        let Body::Runtime(body) = event.body else { return };
        match body {
            Runtime::Count(Counter::AllocatedBytes, bytes) if event.lane.is_some() => {
                let lane = self.lanes.entry(event.lane).or_default();
                lane.allocated = lane.allocated.max(bytes);
            }
            Runtime::Count(Counter::YoungBytes, bytes) => self.young_bytes_max = self.young_bytes_max.max(bytes),
            Runtime::Count(Counter::NurseryBytes, bytes) => self.area_bytes = (bytes > 0).then_some(bytes),
            // The leader posts every lane's counter and then the figures.
            Runtime::Count(Counter::Generation, _) => self.collected(),
            Runtime::LaneDisabled | Runtime::LaneDeleted => self.lanes.entry(event.lane).or_default().off = true,
            Runtime::LaneEnabled | Runtime::LaneCreated => self.lanes.entry(event.lane).or_default().off = false,
            _ => {}
        }
    }

    fn result(&mut self, end: &End<'_>, results: &mut Results) {
        results.allocation_bytes_per_second = self.per_second(end.span_ns);
        results.nursery = self.nursery();
        self.fill(&mut results.lanes, end.span_ns);
    }
}

fn rate(bytes: u64, span_ns: u64) -> Option<f64> {
    (span_ns > 0).then(|| bytes as f64 / (span_ns as f64 / 1e9))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Script;

    const AREA: u64 = 1_000;

    fn count(counter: Counter, value: u64) -> Runtime {
        Runtime::Count(counter, value)
    }

    /// A collection at `at`; `allocated` are the lanes' totals so far.
    fn collection(script: Script, at: u64, allocated: [u64; 2]) -> Script {
        script
            .rt(at, 0, count(Counter::AllocatedBytes, allocated[0]))
            .rt(at + 1, 1, count(Counter::AllocatedBytes, allocated[1]))
            .figures(at + 2, 0, 0, 0)
    }

    fn fold(script: Script) -> Allocation {
        let mut allocation = Allocation::default();
        script.events().iter().for_each(|event| allocation.event(event));
        allocation
    }

    fn lanes(allocation: &Allocation) -> Vec<Lane> {
        let mut lanes: Vec<Lane> = (0..2).map(|id| Lane { id, ..Lane::default() }).collect();
        allocation.fill(&mut lanes, 500_000_000);
        lanes
    }

    #[test]
    fn use_is_what_was_allocated_between_collections() {
        let start = Script::default().rt(0, 0, count(Counter::NurseryBytes, AREA));
        let script = [(10, [5_000, 100]), (20, [6_000, 300]), (30, [6_990, 900]), (40, [7_000, 910])]
            .into_iter()
            .fold(start, |script, (at, allocated)| collection(script, at, allocated));
        let allocation = fold(script);
        let lanes = lanes(&allocation);
        let use_of = |lane: usize| lanes[lane].nursery_use.unwrap();
        // The first collection says nothing, and no area was full at the last.
        assert_eq!(use_of(0), NurseryUse { mean: (1.0 + 0.99) / 2.0, min: 0.99 });
        assert_eq!(use_of(1), NurseryUse { mean: (0.2 + 0.6) / 2.0, min: 0.2 });
        assert_eq!(lanes[0].allocated_bytes, Some(7_000));
        assert_eq!(lanes[1].allocation_bytes_per_second, Some(1_820.0));
        assert_eq!(allocation.per_second(500_000_000), Some(15_820.0));
        let nursery = allocation.nursery().unwrap();
        assert_eq!((nursery.bytes, nursery.pooled, nursery.collections), (AREA, false, 2));
        assert!((nursery.used.unwrap() - (0.6 + 0.795) / 2.0).abs() < 1e-9, "{nursery:?}");
    }

    #[test]
    fn a_lane_that_is_off_is_not_judged() {
        let start = Script::default().rt(0, 0, count(Counter::NurseryBytes, AREA)).rt(1, 1, Runtime::LaneDisabled);
        let script = collection(collection(start, 10, [0, 0]), 20, [1_000, 0]);
        let lanes = lanes(&fold(script));
        assert_eq!(lanes[0].nursery_use, Some(NurseryUse { mean: 1.0, min: 1.0 }));
        assert_eq!(lanes[1].nursery_use, None);
    }

    #[test]
    fn without_counters_nothing_is_known() {
        let allocation = fold(Script::default().parallel(1, 2, 3, 9));
        assert_eq!((allocation.per_second(1), allocation.nursery()), (None, None));
        assert_eq!(lanes(&allocation)[0].allocated_bytes, None);
    }
}

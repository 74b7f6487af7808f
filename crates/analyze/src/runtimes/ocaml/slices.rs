//! Work on the major heap that one lane does while the others run the program: OCaml's major slices. They stop one
//! lane, not the world, so they are no pauses.
//!
//! Owns their durations, over all lanes and per lane. Sections during a slice are subtracted from it. Refuses to say
//! why a slice came.

use crate::results::Distribution;
use crate::results::dist::Dist;
use rtscope_model::{Body, Event, LaneId, Phase, Runtime, Time};
use std::collections::BTreeMap;

#[derive(Default)]
struct LaneSlice {
    since: Option<Time>,
    /// Start of the section that the lane is in.
    section: Option<Time>,
    /// Time of sections in this slice, nanoseconds.
    outside_ns: u64,
    sum_ns: u64,
    any: bool,
}

#[derive(Default)]
pub struct Slices {
    lanes: BTreeMap<LaneId, LaneSlice>,
    all: Dist,
}

impl Slices {
    pub fn push(&mut self, event: &Event) {
        let Body::Runtime(body) = event.body else { return };
        let time = event.time;
        match body {
            Runtime::PhaseBegin(Phase::MajorSlice) => {
                let lane = self.lanes.entry(event.lane).or_default();
                (lane.since, lane.outside_ns) = (Some(time), 0);
            }
            Runtime::PhaseEnd(Phase::MajorSlice) => {
                let lane = self.lanes.entry(event.lane).or_default();
                let Some(since) = lane.since.take() else { return };
                let ns = time.since(since).saturating_sub(lane.outside_ns);
                lane.sum_ns = lane.sum_ns.saturating_add(ns);
                lane.any = true;
                self.all.add(ns);
            }
            Runtime::PhaseBegin(Phase::Lead | Phase::Follow) => {
                self.lanes.entry(event.lane).or_default().section = Some(time);
            }
            Runtime::PhaseEnd(Phase::Lead | Phase::Follow) => {
                let lane = self.lanes.entry(event.lane).or_default();
                if let Some(since) = lane.section.take() {
                    lane.outside_ns = lane.outside_ns.saturating_add(time.since(since));
                }
            }
            Runtime::Gap | Runtime::LaneDeleted => {
                let lane = self.lanes.entry(event.lane).or_default();
                (lane.since, lane.section) = (None, None);
            }
            _ => {}
        }
    }

    /// Sum of one lane's slices, nanoseconds; `None`: it did none.
    pub fn of(&self, lane: LaneId) -> Option<u64> {
        self.lanes.get(&lane).filter(|lane| lane.any).map(|lane| lane.sum_ns)
    }

    /// Slices of all lanes; `None`: none was seen.
    pub fn values(&self) -> Option<Distribution> {
        self.lanes.values().any(|lane| lane.any).then(|| self.all.values())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Script;

    #[test]
    fn a_slice_counts_without_the_sections_in_it() {
        let script = Script::default()
            .rt(100, 1, Runtime::PhaseBegin(Phase::MajorSlice))
            .rt(150, 1, Runtime::PhaseBegin(Phase::Follow))
            .rt(250, 1, Runtime::PhaseEnd(Phase::Follow))
            .rt(400, 1, Runtime::PhaseEnd(Phase::MajorSlice))
            .rt(500, 2, Runtime::PhaseBegin(Phase::MajorSlice))
            .rt(510, 2, Runtime::Gap)
            .rt(520, 2, Runtime::PhaseEnd(Phase::MajorSlice));
        let mut slices = Slices::default();
        script.events().iter().for_each(|event| slices.push(event));
        assert_eq!((slices.of(LaneId(1)), slices.of(LaneId(2))), (Some(200), None));
        assert_eq!(slices.values().map(|values| (values.count, values.sum)), Some((1, Some(200))));
    }
}

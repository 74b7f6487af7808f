//! What stop-the-world sections, and what comes with them, cost single domains: waits to lead, slices of the major
//! heap, costs of lanes, lives of domains. Owns that these four see each event in this order; each is its own module.

use super::lane_costs::LaneCosts;
use super::leadership::Leadership;
use super::lives::Lives;
use super::slices::Slices;
use crate::folds::{End, Fold, Now, Outside, Past, Wait};
use crate::results::{BlamedPause, Results};
use rtscope_model::{Class, Classes, Event, LaneId};

#[derive(Default)]
pub struct Sections {
    /// Waits to become leader.
    pub leadership: Leadership,
    /// Work on the major heap that stops one domain.
    pub slices: Slices,
    /// What single domains cost collections.
    pub lane_costs: LaneCosts,
    /// How long domains live.
    pub lives: Lives,
}

impl Fold for Sections {
    fn classes(&self) -> Classes {
        Classes::NONE.with(Class::Collection).with(Class::Figures).with(Class::Lanes)
    }

    fn looks_up(&self) -> bool {
        true
    }

    fn event_now(&mut self, event: &Event, now: &Now<'_>) -> Option<Wait> {
        let wait = self.leadership.push(event);
        if let Some(wait) = wait
            && let Some(own) = now.threads.own_thread(wait.lane)
        {
            self.leadership.ran(wait.lane, now.tracks.ran_ns(own, wait.from, wait.to));
        }
        self.slices.push(event);
        self.lane_costs.push(event);
        self.lives.push(event);
        wait
    }

    fn pause(&mut self, blamed: &BlamedPause, past: &Past<'_>) {
        let own = |lane| past.now.threads.own_thread(lane);
        let ran = |tid, at| past.now.tracks.was_on_cpu(tid, at, at);
        self.lane_costs.add(blamed, past.marks, own, ran, &self.leadership);
    }

    fn outside(&self, lane: LaneId) -> Option<Outside> {
        let waited = self.leadership.of(lane);
        Some(Outside {
            leadership_ns: waited.map_or(0, |waited| waited.ns),
            leadership_ran_ns: waited.map_or(0, |waited| waited.ran_ns),
            inferred: self.leadership.inferred(),
            slice_ns: self.slices.of(lane),
        })
    }

    fn led_ns(&self) -> u64 {
        self.leadership.lanes().map(|(_, waited)| waited.ran_ns).sum()
    }

    fn result(&mut self, _: &End<'_>, results: &mut Results) {
        results.slices = self.slices.values();
    }
}

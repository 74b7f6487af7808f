//! What each lane did with its time, and productivity over all of them.
//!
//! Owns per-lane sums. A lane's mutator and idle time are told only where the
//! threads that served it served no other lane and these threads are nearly all
//! of what the program ran; else they are null.

use crate::results::{Lane, Productivity};
use crate::sched::Tracks;
use crate::still::Still;
use rtscope_model::{LaneId, Pause, Tid, Time};
use std::collections::{BTreeMap, BTreeSet};

/// Threads kept per lane, at most.
const TIDS_MAX: usize = 1_024;
/// Share of the program's running time that the lanes' known threads must
/// make up before lane times are told.
const KNOWN_SHARE_MIN: f64 = 0.98;

#[derive(Default)]
struct OneLane {
    tids: BTreeSet<Tid>,
    voted: BTreeSet<Tid>,
    collect_ns: Option<u64>,
    stop_wait_ns: Option<u64>,
    release_wait_ns: Option<u64>,
}

/// The fold.
#[derive(Default)]
pub struct LaneTimes {
    lanes: BTreeMap<LaneId, OneLane>,
    /// Per thread: ran and waited for a CPU while it stood still, nanoseconds.
    in_pauses: BTreeMap<Tid, (u64, u64)>,
    /// Lane time from standing still to work done, nanoseconds.
    stopped_ns: u64,
}

fn add(sum: &mut Option<u64>, ns: u64) {
    *sum = Some(sum.unwrap_or(0).saturating_add(ns));
}

impl LaneTimes {
    /// A lane exists.
    pub fn seen(&mut self, lane: LaneId) {
        self.lanes.entry(lane).or_default();
    }

    /// The runtime says that `tid` may serve `lane`.
    pub fn task(&mut self, lane: LaneId, tid: Tid) {
        let tids = &mut self.lanes.entry(lane).or_default().tids;
        if tids.len() < TIDS_MAX {
            tids.insert(tid);
        }
    }

    /// Adds one pause.
    pub fn pause(&mut self, pause: &Pause, still: &Still) {
        self.stopped_ns = self.stopped_ns.saturating_add(still.lanes_ns);
        for part in &pause.lanes {
            if let Some(tid) = part.tid {
                self.task(part.lane, tid);
            }
            let lane = self.lanes.entry(part.lane).or_default();
            if let Some(tid) = part.tid.filter(|_| lane.voted.len() < TIDS_MAX) {
                lane.voted.insert(tid);
            }
            if part.work_begin.is_some() {
                add(&mut lane.collect_ns, part.work_ns);
            }
            let since = if pause.leader == Some(part.lane) { pause.requested } else { part.arrived };
            if let (Some(since), Some(requested)) = (since, pause.requested) {
                // An arrival may be stamped before its request.
                add(&mut lane.stop_wait_ns, pause.stopped.since(since.max(requested)));
            }
            if let Some(left) = part.left {
                add(&mut lane.release_wait_ns, left.since(pause.collected));
            }
        }
    }

    /// A thread ran and waited while it stood still.
    pub fn in_pause(&mut self, tid: Tid, ran_ns: u64, waited_ns: u64) {
        let sums = self.in_pauses.entry(tid).or_default();
        sums.0 += ran_ns;
        sums.1 += waited_ns;
    }

    /// Productivity. `tracks` where kernel events were used.
    pub fn productivity(&self, tracks: Option<&Tracks>, end: Time, collect_sum_ns: u64, span_ns: u64) -> Productivity {
        let wall = tracks.and_then(|tracks| {
            let (ran, waited) = tracks.totals(end);
            let inside = self.in_pauses.values().fold((0, 0), |sum: (u64, u64), one| (sum.0 + one.0, sum.1 + one.1));
            let ran = ran.saturating_sub(inside.0) as f64;
            let all = ran + waited.saturating_sub(inside.1) as f64 + self.stopped_ns as f64;
            (all > 0.0).then(|| ran / all)
        });
        let runtime_view = (span_ns > 0).then(|| (1.0 - collect_sum_ns as f64 / span_ns as f64).max(0.0));
        Productivity { wall, runtime_view }
    }

    /// The lanes of a recording of `span_ns` with `pauses_ns` of it in pauses.
    pub fn lanes(
        &self,
        tracks: Option<&Tracks>,
        end: Time,
        span_ns: u64,
        pauses_ns: u64,
        family: Option<&str>,
    ) -> Vec<Lane> {
        let told = tracks.filter(|tracks| self.threads_known(tracks, end));
        let noun = match family {
            Some("ghc") => "capability",
            Some("ocaml") => "domain",
            _ => "lane",
        };
        let one = |(id, lane): (&LaneId, &OneLane)| {
            let own = told.filter(|_| !lane.voted.is_empty()).map(|tracks| self.outside(lane, tracks, end));
            Lane {
                id: id.0,
                name: format!("{noun} {id}"),
                tids: lane.tids.iter().map(|tid| tid.0).collect(),
                mutator_ns: own.map(|own| own.0),
                collect_ns: lane.collect_ns,
                stop_wait_ns: lane.stop_wait_ns,
                release_wait_ns: lane.release_wait_ns,
                leadership_wait_ns: None,
                idle_ns: own.map(|own| span_ns.saturating_sub(pauses_ns).saturating_sub(own.0).saturating_sub(own.1)),
                ..Lane::default()
            }
        };
        self.lanes.iter().map(one).collect()
    }

    /// What the lane's threads ran and waited outside pauses.
    fn outside(&self, lane: &OneLane, tracks: &Tracks, end: Time) -> (u64, u64) {
        lane.voted.iter().fold((0, 0), |sum, tid| {
            let all = tracks.totals_of(*tid, end).unwrap_or((0, 0));
            let inside = self.in_pauses.get(tid).copied().unwrap_or((0, 0));
            (sum.0 + all.0.saturating_sub(inside.0), sum.1 + all.1.saturating_sub(inside.1))
        })
    }

    fn threads_known(&self, tracks: &Tracks, end: Time) -> bool {
        let mut lanes_of: BTreeMap<Tid, usize> = BTreeMap::new();
        for lane in self.lanes.values() {
            lane.voted.iter().for_each(|tid| *lanes_of.entry(*tid).or_default() += 1);
        }
        let known: u64 = lanes_of.keys().filter_map(|tid| tracks.totals_of(*tid, end)).map(|sums| sums.0).sum();
        lanes_of.values().all(|count| *count == 1) && known as f64 >= KNOWN_SHARE_MIN * tracks.totals(end).0 as f64
    }
}

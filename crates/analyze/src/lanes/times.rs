//! What each lane did with its time, and productivity over all of them.
//!
//! Owns per-lane sums. A lane's mutator and idle time are known only if the threads that served it served no other
//! lane, and if these threads account for nearly all of the program's running time; else they are null.

use crate::folds::Outside;
use crate::kernel::lane_thread::LaneThreads;
use crate::kernel::sched::Tracks;
use crate::pauses::still::StoppedIntervals;
use crate::results::{Lane, Productivity};
use rtscope_model::{LaneId, Pause, Tid, Time};
use std::collections::{BTreeMap, BTreeSet};

const TIDS_MAX: usize = 1_024;
/// Share of the program's running time that the lanes' known threads must account for before lane times are reported.
const KNOWN_SHARE_MIN: f64 = 0.98;

#[derive(Default)]
struct OneLane {
    tids: BTreeSet<Tid>,
    voted: BTreeSet<Tid>,
    collect_ns: Option<u64>,
    stop_wait_ns: Option<u64>,
    release_wait_ns: Option<u64>,
    /// From standing still to resuming, over all pauses, nanoseconds.
    inside_ns: u64,
    /// Start of its current life, and the duration of past lives, nanoseconds.
    alive: Option<Time>,
    lived_ns: u64,
    /// The end of the last past life.
    ended: Option<Time>,
}

impl OneLane {
    fn life_ns(&self, end: Time) -> u64 {
        self.lived_ns.saturating_add(self.alive.map_or(0, |since| end.since(since)))
    }
}

/// What the program's threads did outside pauses, and lanes inside them, summed; nanoseconds.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq)]
pub struct Spent {
    /// Time on a CPU.
    pub ran_ns: u64,
    /// The part of it for other things than the program.
    pub other_ns: u64,
    /// Time runnable without a CPU.
    pub waited_ns: u64,
    /// Lane time from standing still to the end of the work.
    pub stopped_ns: u64,
}

impl Spent {
    /// The share of all of it that is the program's own; `None` if there is nothing, or if the time for other things
    /// exceeds all running time, which shows that it is not known well enough.
    pub fn productivity(self) -> Option<f64> {
        let ran = self.ran_ns as f64;
        let all = ran + self.waited_ns as f64 + self.stopped_ns as f64;
        (all > 0.0 && self.other_ns <= self.ran_ns).then(|| (ran - self.other_ns as f64) / all)
    }

    /// The difference from an earlier moment.
    pub fn since(self, before: Spent) -> Spent {
        Spent {
            ran_ns: self.ran_ns.saturating_sub(before.ran_ns),
            other_ns: self.other_ns.saturating_sub(before.other_ns),
            waited_ns: self.waited_ns.saturating_sub(before.waited_ns),
            stopped_ns: self.stopped_ns.saturating_sub(before.stopped_ns),
        }
    }
}

#[derive(Default)]
pub struct LaneTimes {
    lanes: BTreeMap<LaneId, OneLane>,
    /// Per thread: time that it ran and waited for a CPU while it stood still, nanoseconds.
    in_pauses: BTreeMap<Tid, (u64, u64)>,
    /// Lane time from standing still to the end of the work, nanoseconds.
    stopped_ns: u64,
}

fn add(sum: &mut Option<u64>, ns: u64) {
    *sum = Some(sum.unwrap_or(0).saturating_add(ns));
}

impl LaneTimes {
    /// A lane exists from `at` on.
    pub fn seen(&mut self, lane: LaneId, at: Time) {
        self.lanes.entry(lane).or_default().alive.get_or_insert(at);
    }

    /// Whether it was not seen to end before `since`.
    pub fn lives_at(&self, lane: LaneId, since: Time) -> bool {
        let lane = self.lanes.get(&lane);
        lane.is_some_and(|lane| lane.alive.is_some() || lane.ended.is_none_or(|ended| ended >= since))
    }

    pub fn ended(&mut self, lane: LaneId, at: Time) {
        let lane = self.lanes.entry(lane).or_default();
        lane.lived_ns = lane.life_ns(at);
        (lane.alive, lane.ended) = (None, Some(at));
    }

    /// The runtime reported that `tid` may serve `lane`.
    pub fn task(&mut self, lane: LaneId, tid: Tid) {
        let tids = &mut self.lanes.entry(lane).or_default().tids;
        if tids.len() < TIDS_MAX {
            tids.insert(tid);
        }
    }

    pub fn pause(&mut self, pause: &Pause, still: &StoppedIntervals) {
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
                if let Some(since) = since {
                    lane.inside_ns = lane.inside_ns.saturating_add(left.since(since));
                }
            }
        }
    }

    /// Adds what a thread ran and waited while it stood still.
    pub fn in_pause(&mut self, tid: Tid, ran_ns: u64, waited_ns: u64) {
        let sums = self.in_pauses.entry(tid).or_default();
        sums.0 += ran_ns;
        sums.1 += waited_ns;
    }

    /// What the program's threads did until `end`; `other_ns` is the CPU time that they spent outside pauses on other
    /// things than the program.
    pub fn spent(&self, tracks: &Tracks, end: Time, other_ns: u64) -> Spent {
        let (ran, waited) = tracks.totals(end);
        let inside = self.in_pauses.values().fold((0, 0), |sum: (u64, u64), one| (sum.0 + one.0, sum.1 + one.1));
        let (ran_ns, waited_ns) = (ran.saturating_sub(inside.0), waited.saturating_sub(inside.1));
        Spent { ran_ns, other_ns, waited_ns, stopped_ns: self.stopped_ns }
    }

    /// Productivity. `tracks` if kernel events were used; `spent_ns` is the CPU time that threads spent outside
    /// pauses on other things than the program.
    pub fn productivity(
        &self,
        tracks: Option<&Tracks>,
        end: Time,
        collect_sum_ns: u64,
        span_ns: u64,
        spent_ns: u64,
    ) -> Productivity {
        let wall = tracks.and_then(|tracks| self.spent(tracks, end, spent_ns).productivity());
        let runtime_view = (span_ns > 0).then(|| (1.0 - collect_sum_ns as f64 / span_ns as f64).max(0.0));
        Productivity { wall, runtime_view }
    }

    /// The lanes of a recording of `span_ns` with `pauses_ns` of it in pauses.
    pub fn lanes(
        &self,
        tracks: Option<&Tracks>,
        end: Time,
        (span_ns, pauses_ns): (u64, u64),
        noun: &str,
        outside: impl Fn(LaneId) -> Option<Outside>,
        threads: &dyn LaneThreads,
    ) -> Vec<Lane> {
        let usable = tracks.filter(|tracks| self.threads_known(tracks, end));
        let one = |(id, lane): (&LaneId, &OneLane)| {
            let own = usable.filter(|_| !lane.voted.is_empty()).map(|tracks| self.outside(lane, tracks, end));
            let outside = outside(*id);
            let life_ns = outside.as_ref().map(|_| lane.life_ns(end));
            let mutator_ns = own.map(|own| match &outside {
                Some(outside) => own.0.saturating_sub(outside.leadership_ran_ns + outside.slice_ns.unwrap_or(0)),
                None => own.0,
            });
            // Sections overlap what other lanes do: a lane with its own threads is idle in the rest of its life.
            let idle_ns = own.zip(mutator_ns).map(|((_, waited), mutator)| match &outside {
                Some(outside) => {
                    [lane.inside_ns, outside.leadership_ns, outside.slice_ns.unwrap_or(0), mutator, waited]
                        .into_iter()
                        .fold(lane.life_ns(end), u64::saturating_sub)
                }
                None => span_ns.saturating_sub(pauses_ns).saturating_sub(mutator).saturating_sub(waited),
            });
            Lane {
                id: id.0,
                name: format!("{noun} {id}"),
                tids: lane.tids.iter().map(|tid| tid.0).collect(),
                mutator_ns,
                collect_ns: lane.collect_ns,
                stop_wait_ns: lane.stop_wait_ns,
                release_wait_ns: lane.release_wait_ns,
                leadership_wait_ns: outside.as_ref().map(|outside| outside.leadership_ns),
                leadership_inferred: outside.as_ref().is_some_and(|outside| outside.inferred),
                slice_ns: outside.as_ref().and_then(|outside| outside.slice_ns),
                life_ns,
                idle_ns,
                threads: threads.listed(*id),
                ..Lane::default()
            }
        };
        self.lanes.iter().map(one).collect()
    }

    /// How long each lane's threads were on a CPU outside pauses, nanoseconds; empty where that is not known.
    pub fn ran_ns(&self, tracks: Option<&Tracks>, end: Time) -> BTreeMap<u16, u64> {
        let Some(usable) = tracks.filter(|tracks| self.threads_known(tracks, end)) else { return BTreeMap::new() };
        let known = self.lanes.iter().filter(|(_, lane)| !lane.voted.is_empty());
        known.map(|(id, lane)| (id.0, self.outside(lane, usable, end).0)).collect()
    }

    /// What the lane's threads ran and waited outside pauses, nanoseconds.
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

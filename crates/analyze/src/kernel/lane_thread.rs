//! Which thread served a lane in one pause: the one thread of the program that was on a CPU at every event that the
//! lane's own thread posted. With two candidates: unknown. Decided per pause, never per run: a lane's thread changes
//! with every safe foreign call.
//!
//! Owns the vote, and one inference on top of it: a thread serves one lane in a pause, so a thread that is certain
//! for one lane is no candidate for another. Refuses to remember other pauses.

use crate::kernel::sched::Tracks;
use crate::results::LaneThread;
use rtscope_model::{LaneId, Tid, Time};
use std::collections::BTreeMap;

/// Moments of one lane in one pause.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LaneMarks {
    /// The lane that posted them.
    pub lane: LaneId,
    /// Events of the collection that the lane's own thread posted.
    pub collection: Vec<Time>,
    /// When its green thread stopped before the collection, if logged.
    pub stopped_green: Option<Time>,
    /// When it first ran a green thread again, if logged.
    pub ran_green: Option<Time>,
    /// The lane was asleep at the request, in a wait that the runtime posts.
    pub waited: bool,
}

/// How lanes and threads of a runtime belong together. Methods that need it take the error of the clock.
pub trait LaneThreads {
    /// The threads of a pause's lanes, as in [`vote`].
    fn votes(&mut self, marks: &[LaneMarks], tracks: &Tracks, error_ns: u64) -> Votes;

    /// `parent`, a thread of the program, created `child`.
    fn forked(&mut self, _time: Time, _parent: Tid, _child: Tid) {}

    /// A thread of the program ended.
    fn ended(&mut self, _time: Time, _tid: Tid) {}

    /// A lane begins.
    fn created(&mut self, _lane: LaneId, _time: Time, _tracks: &Tracks, _error_ns: u64) {}

    /// A lane ends.
    fn deleted(&mut self, _lane: LaneId, _time: Time) {}

    /// The runtime reported that `tid` serves the lane.
    fn reported(&mut self, _lane: LaneId, _time: Time, _tid: Tid) {}

    /// The lane's own thread, in runtimes whose lanes have one.
    fn own_thread(&self, _lane: LaneId) -> Option<Tid> {
        None
    }

    /// The threads of a lane, for a report.
    fn listed(&self, _lane: LaneId) -> Vec<LaneThread> {
        Vec::new()
    }
}

/// Any thread may serve any lane: decided separately for each pause.
pub struct PerPause;

impl LaneThreads for PerPause {
    fn votes(&mut self, marks: &[LaneMarks], tracks: &Tracks, error_ns: u64) -> Votes {
        vote(marks, tracks, error_ns)
    }
}

/// A lane's thread, and whether it took elimination to find it.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct Served {
    /// The thread that serves the lane.
    pub tid: Tid,
    /// Found only by excluding threads of other lanes.
    pub by_elimination: bool,
}

/// The outcome of a vote.
#[derive(Clone, Eq, PartialEq, Debug, Default)]
pub struct Votes {
    /// Lanes with exactly one candidate.
    pub served: BTreeMap<LaneId, Served>,
    /// Lanes with several candidates, and these.
    pub open: BTreeMap<LaneId, Vec<Tid>>,
}

/// The threads of a pause's lanes. `error_ns` is the largest difference between the clocks of marks and tracks.
/// Where the kernel is known to omit switches and the vote contradicts itself, threads that may have been on a CPU
/// count, too.
pub fn vote(marks: &[LaneMarks], tracks: &Tracks, error_ns: u64) -> Votes {
    let votes = settle(candidates(marks, tracks, error_ns, false));
    let settled = |lane: &LaneMarks| {
        votes.served.contains_key(&lane.lane) || votes.open.get(&lane.lane).is_some_and(|left| left.len() > 1)
    };
    if tracks.unreported == 0 || marks.iter().filter(|lane| !lane.collection.is_empty()).all(settled) {
        return votes;
    }
    settle(candidates(marks, tracks, error_ns, true))
}

fn candidates(marks: &[LaneMarks], tracks: &Tracks, error_ns: u64, lenient: bool) -> BTreeMap<LaneId, Vec<Tid>> {
    let mut candidates: BTreeMap<LaneId, Vec<Tid>> = BTreeMap::new();
    for lane in marks {
        // A lane that stood still posts nothing except, later, its next run.
        let moments = if lane.collection.is_empty() { lane.ran_green.as_slice() } else { lane.collection.as_slice() };
        let on = moments.iter().map(|at| tracks.on_cpu(at.minus(error_ns), at.plus(error_ns), lenient));
        let left = on.reduce(|left, on| left.into_iter().filter(|tid| on.contains(tid)).collect());
        candidates.extend(left.map(|left| (lane.lane, left)));
    }
    candidates
}

/// Turns candidates into votes: a thread that is the only candidate for one lane is removed from the others.
pub(crate) fn settle(mut candidates: BTreeMap<LaneId, Vec<Tid>>) -> Votes {
    let mut served: BTreeMap<LaneId, Served> = BTreeMap::new();
    let mut by_elimination = false;
    loop {
        let single: Vec<(LaneId, Tid)> = candidates
            .iter()
            .filter_map(|(lane, left)| Some((*lane, *left.first().filter(|_| left.len() == 1)?)))
            .collect();
        if single.is_empty() {
            return Votes { served, open: candidates };
        }
        for (lane, tid) in &single {
            candidates.remove(lane);
            // One thread for two lanes is a contradiction: both lanes stay unknown.
            if single.iter().filter(|other| other.1 == *tid).count() == 1 {
                served.insert(*lane, Served { tid: *tid, by_elimination });
            }
        }
        for left in candidates.values_mut() {
            left.retain(|tid| single.iter().all(|found| found.1 != *tid));
        }
        by_elimination = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Kernel;
    use rtscope_model::Time;

    fn marks(lane: u16, at: &[u64]) -> LaneMarks {
        LaneMarks { lane: LaneId(lane), collection: at.iter().map(|at| Time(*at)).collect(), ..LaneMarks::default() }
    }

    #[test]
    fn the_one_thread_that_was_on_a_cpu_at_every_event_is_the_lanes() {
        let mut kernel = Kernel::new(&[11, 12]);
        kernel.on(0, 0, 11).on(0, 1, 12).off(50, 1, 12);
        let served = vote(&[marks(0, &[10, 60]), marks(1, &[20, 40])], &kernel.tracks, 0).served;
        assert_eq!(served.get(&LaneId(0)), Some(&Served { tid: Tid(11), by_elimination: false }));
        assert_eq!(served.get(&LaneId(1)), Some(&Served { tid: Tid(12), by_elimination: true }));
    }

    #[test]
    fn two_candidates_are_unknown() {
        let mut kernel = Kernel::new(&[11, 12]);
        kernel.on(0, 0, 11).on(0, 1, 12);
        let votes = vote(&[marks(0, &[10, 60]), marks(1, &[20, 40])], &kernel.tracks, 0);
        assert!(votes.served.is_empty());
        assert_eq!(votes.open.get(&LaneId(1)), Some(&vec![Tid(11), Tid(12)]));
    }

    #[test]
    fn a_thread_that_is_certain_for_two_lanes_is_taken_for_none() {
        let mut kernel = Kernel::new(&[11]);
        kernel.on(0, 0, 11);
        assert!(vote(&[marks(0, &[10]), marks(1, &[20])], &kernel.tracks, 0).served.is_empty());
    }

    #[test]
    fn an_event_within_the_clock_error_of_a_switch_counts_for_both_sides() {
        let mut kernel = Kernel::new(&[11, 12]);
        kernel.on(0, 0, 11).off(50, 0, 11).on(50, 0, 12);
        let alone = vote(&[marks(0, &[40])], &kernel.tracks, 5).served;
        assert_eq!(alone.get(&LaneId(0)).map(|served| served.tid), Some(Tid(11)));
        assert!(vote(&[marks(0, &[48])], &kernel.tracks, 5).served.is_empty());
    }
}

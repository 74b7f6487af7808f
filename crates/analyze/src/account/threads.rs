//! Which thread serves a lane at a moment: the one that a pause's vote chose; else the last one that served it, if
//! awake; else an awake thread of the program that serves no other lane.
//!
//! Owns this assignment. How many lanes have a thread on a CPU does not depend on it; which lanes they are is
//! inferred outside pauses. Refuses to sum up.

use crate::blame::threads::ThreadState;
use rtscope_model::{LaneId, Tid};
use std::collections::BTreeMap;

/// Threads and lanes at a moment.
#[derive(Default)]
pub struct Serving {
    /// What each thread does; `None`: not known.
    pub states: BTreeMap<Tid, Option<ThreadState>>,
    /// The thread that a vote chose for a lane during the current pause.
    voted: BTreeMap<LaneId, Tid>,
    /// The thread that last served a lane.
    last: BTreeMap<LaneId, Tid>,
    /// Threads that serve one lane for life.
    owned: BTreeMap<Tid, LaneId>,
}

/// What is known of the thread that serves a lane.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum Served {
    /// This thread, in this state.
    By(Tid, ThreadState),
    /// No thread that could serve it is awake.
    Asleep,
    /// Some thread's state is not known.
    Unknown,
}

fn awake(state: Option<ThreadState>) -> bool {
    matches!(state, Some(ThreadState::Running(_) | ThreadState::WaitsFor(_) | ThreadState::Blocked))
}

/// A running thread ranks before a runnable one, and that before a blocked one.
fn rank(state: ThreadState) -> u8 {
    match state {
        ThreadState::Running(_) => 0,
        ThreadState::WaitsFor(_) => 1,
        ThreadState::Blocked => 2,
        ThreadState::Asleep => 3,
    }
}

impl Serving {
    /// `tid` serves `lane` for life.
    pub fn own(&mut self, lane: LaneId, tid: Tid) {
        self.owned.insert(tid, lane);
        self.last.entry(lane).or_insert(tid);
    }

    /// A pause begins in which `tid` serves `lane`, if that is known.
    pub fn vote(&mut self, lane: LaneId, tid: Option<Tid>) {
        match tid {
            Some(tid) => {
                self.voted.insert(lane, tid);
                self.last.insert(lane, tid);
            }
            None => _ = self.voted.remove(&lane),
        }
    }

    pub fn over(&mut self, lane: LaneId) {
        self.voted.remove(&lane);
    }

    pub fn voted(&self, lane: LaneId) -> Option<Tid> {
        self.voted.get(&lane).copied()
    }

    /// Which thread serves each of `lanes`; all of these have the program to run.
    pub fn serve(&mut self, lanes: impl Iterator<Item = LaneId>, out: &mut Vec<(LaneId, Served)>) {
        out.clear();
        let mut taken: Vec<Tid> = self.voted.values().copied().collect();
        let mut left = Vec::new();
        for lane in lanes {
            let voted = self.voted(lane);
            let known = voted.or_else(|| self.last.get(&lane).copied().filter(|tid| !taken.contains(tid)));
            let state = known.and_then(|tid| self.states.get(&tid).copied());
            match known.zip(state.flatten()) {
                Some((tid, state)) if voted.is_some() || awake(Some(state)) => {
                    taken.push(tid);
                    out.push((lane, Served::By(tid, state)));
                }
                _ => left.push(lane),
            }
        }
        if left.is_empty() {
            return;
        }
        let free = |(tid, state): (&Tid, &Option<ThreadState>)| {
            let state = state.filter(|state| awake(Some(*state)) && !taken.contains(tid))?;
            Some((rank(state), *tid, state))
        };
        let mut free: Vec<(u8, Tid, ThreadState)> = self.states.iter().filter_map(free).collect();
        free.sort_unstable_by_key(|one| (one.0, one.1));
        let unknown = self.states.values().any(Option::is_none);
        for lane in left {
            let fits = |one: &(u8, Tid, ThreadState)| self.owned.get(&one.1).is_none_or(|owner| *owner == lane);
            match free.iter().position(fits) {
                Some(index) => {
                    let (_, tid, state) = free.remove(index);
                    self.last.insert(lane, tid);
                    out.push((lane, Served::By(tid, state)));
                }
                None if unknown => out.push((lane, Served::Unknown)),
                None => out.push((lane, Served::Asleep)),
            }
        }
    }

    /// The thread that last served `lane`, and its state.
    pub fn last(&self, lane: LaneId) -> Option<(Tid, Option<ThreadState>)> {
        let tid = *self.last.get(&lane)?;
        Some((tid, self.states.get(&tid).copied().flatten()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blame::CpuHolder;
    use rtscope_model::Cpu;

    const ON: Option<ThreadState> = Some(ThreadState::Running(Some(Cpu(0))));
    const WAITING: Option<ThreadState> = Some(ThreadState::WaitsFor(CpuHolder::IdleCpu));
    const OFF: Option<ThreadState> = Some(ThreadState::Asleep);

    fn serve(serving: &mut Serving, lanes: &[u16]) -> Vec<(u16, Option<u32>)> {
        let mut out = Vec::new();
        serving.serve(lanes.iter().map(|lane| LaneId(*lane)), &mut out);
        out.sort_unstable_by_key(|one| one.0);
        let tid = |served| match served {
            Served::By(tid, _) => Some(tid.0),
            Served::Asleep => None,
            Served::Unknown => Some(0),
        };
        out.iter().map(|(lane, served)| (lane.0, tid(*served))).collect()
    }

    #[test]
    fn a_lane_keeps_its_thread_while_that_is_awake() {
        let mut serving =
            Serving { states: [(Tid(11), WAITING), (Tid(12), ON), (Tid(13), ON)].into(), ..Serving::default() };
        serving.vote(LaneId(0), Some(Tid(11)));
        serving.over(LaneId(0));
        assert_eq!(serve(&mut serving, &[0, 1]), [(0, Some(11)), (1, Some(12))]);
        serving.states.insert(Tid(11), OFF);
        assert_eq!(serve(&mut serving, &[0, 1]), [(0, Some(13)), (1, Some(12))]);
        serving.states.insert(Tid(13), OFF);
        assert_eq!(serve(&mut serving, &[0, 1]), [(0, None), (1, Some(12))]);
    }

    #[test]
    fn the_thread_of_a_pause_serves_no_other_lane() {
        let mut serving = Serving { states: [(Tid(11), ON)].into(), ..Serving::default() };
        serving.vote(LaneId(0), Some(Tid(11)));
        assert_eq!(serve(&mut serving, &[1]), [(1, None)]);
    }

    #[test]
    fn a_thread_of_one_lane_for_life_serves_no_other() {
        let mut serving = Serving { states: [(Tid(11), OFF), (Tid(12), ON)].into(), ..Serving::default() };
        serving.own(LaneId(0), Tid(11));
        serving.own(LaneId(1), Tid(12));
        assert_eq!(serve(&mut serving, &[0, 1]), [(0, None), (1, Some(12))]);
        assert_eq!(serve(&mut serving, &[0]), [(0, None)]);
    }

    #[test]
    fn where_a_state_is_not_known_nothing_is_reported_of_what_is_left() {
        let mut serving = Serving { states: [(Tid(11), None)].into(), ..Serving::default() };
        assert_eq!(serve(&mut serving, &[0]), [(0, Some(0))]);
    }
}

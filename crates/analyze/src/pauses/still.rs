//! When each lane, and each thread, stands still in a pause: from its own arrival (the leader: from its request)
//! until it resumes. Before its arrival a lane runs the program, whichever lanes wait for it.
//!
//! Owns this one rule, and the assumptions where the log is silent. A thread whose lane is not known stands still as
//! early as any lane whose thread is not known, so that its time is left out rather than counted as the program's. A
//! lane that stops without posting it (sequential collections) stands still from the moment at which all do, or from
//! the stop of its green thread where that is logged. A lane that a parallel collection leaves out is idle.

use crate::pauses::Recognised;
use rtscope_model::{LanePause, Pause, PauseMode, Tid, Time};
use std::collections::BTreeMap;

/// When each thread stands still in one pause.
pub struct StoppedIntervals {
    threads: BTreeMap<Tid, (Time, Time)>,
    others: (Time, Time),
    /// Whether some lane's thread is not known.
    open: bool,
    /// Lane time from standing still to the end of the work, nanoseconds.
    pub lanes_ns: u64,
}

impl StoppedIntervals {
    /// For a pause whose lanes have their threads; if it lists no lanes, `lanes_on` lanes stood still.
    pub fn of(recognised: &Recognised, lanes_on: usize) -> StoppedIntervals {
        let pause = &recognised.pause;
        let (begin, collected) = (pause.begin(), pause.collected);
        let mut still =
            StoppedIntervals { threads: BTreeMap::new(), others: (pause.stopped, collected), open: false, lanes_ns: 0 };
        for part in &pause.lanes {
            let green = recognised.marks.iter().find(|marks| marks.lane == part.lane);
            let Some(from) = stopped_from(pause, part, green.and_then(|marks| marks.stopped_green)) else { continue };
            still.lanes_ns += collected.since(from);
            match part.tid {
                Some(tid) => _ = still.threads.insert(tid, (from, part.left.unwrap_or(collected))),
                None => {
                    still.open = true;
                    still.others.0 = still.others.0.min(from);
                }
            }
        }
        if pause.lanes.is_empty() {
            still.open = true;
            still.others.0 = begin;
            still.lanes_ns = collected.since(begin).saturating_mul(lanes_on as u64);
        }
        still
    }

    /// Whether `tid` may serve a lane in this pause: waits of other threads do not hold a collection up.
    pub fn may_serve(&self, tid: Tid) -> bool {
        self.open || self.threads.contains_key(&tid)
    }

    /// Start and end of the standstill of `tid`.
    pub fn window(&self, tid: Tid) -> (Time, Time) {
        self.threads.get(&tid).copied().unwrap_or(self.others)
    }

    /// Whether `tid` is known to serve a lane in this pause.
    pub fn serves(&self, tid: Tid) -> bool {
        self.threads.contains_key(&tid)
    }

    /// The last moment at which any thread stands still.
    pub fn end(&self) -> Time {
        self.threads.values().fold(self.others.1, |last, window| last.max(window.1))
    }
}

/// The moment from which a lane stands still; `None`: it takes no part.
fn stopped_from(pause: &Pause, part: &LanePause, stopped_green: Option<Time>) -> Option<Time> {
    let (begin, stopped) = (pause.begin(), pause.stopped);
    if pause.leader == Some(part.lane) {
        return Some(begin);
    }
    match (part.arrived, pause.mode) {
        (Some(arrived), _) => Some(arrived.clamp(begin, stopped.max(begin))),
        (None, PauseMode::Parallel) => None,
        (None, _) => Some(stopped_green.unwrap_or(stopped).clamp(begin, stopped.max(begin))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pauses::Recognise;
    use crate::runtimes::ghc::pauses::Recogniser;
    use crate::testing::Script;
    use rtscope_model::{LaneId, Runtime};

    fn one(script: Script) -> Recognised {
        let (mut recogniser, mut out) = (Recogniser::new(Some(true), Some(2)), Vec::new());
        script.events().iter().for_each(|event| recogniser.push(event, &mut out));
        recogniser.finish(Time(1_000), &mut out);
        out.swap_remove(0)
    }

    fn serve(recognised: &mut Recognised, lane: u16, tid: u32) {
        let part = recognised.pause.lanes.iter_mut().find(|part| part.lane == LaneId(lane)).unwrap();
        part.tid = Some(Tid(tid));
    }

    #[test]
    fn a_lane_runs_the_program_until_its_own_arrival() {
        let mut recognised = one(Script::default().parallel(100, 150, 160, 300));
        serve(&mut recognised, 0, 11);
        serve(&mut recognised, 1, 12);
        let still = StoppedIntervals::of(&recognised, 2);
        assert_eq!(still.window(Tid(11)), (Time(100), Time(300)));
        assert_eq!(still.window(Tid(12)), (Time(150), Time(302)));
        assert_eq!((still.window(Tid(13)), still.lanes_ns), ((Time(160), Time(300)), 200 + 150));
    }

    #[test]
    fn an_unknown_thread_is_taken_to_serve_the_lane_that_stopped_first() {
        let mut recognised = one(Script::default().parallel(100, 150, 160, 300));
        assert_eq!(StoppedIntervals::of(&recognised, 2).window(Tid(12)), (Time(100), Time(300)));
        serve(&mut recognised, 0, 11);
        assert_eq!(StoppedIntervals::of(&recognised, 2).window(Tid(12)), (Time(150), Time(300)));
    }

    #[test]
    fn a_lane_that_posts_no_arrival_runs_until_all_have_stopped_or_is_left_out() {
        let lanes = || Script::default().rt(0, 1, Runtime::LaneCreated).rt(0, 2, Runtime::LaneCreated);
        let sequential = lanes().request(100, 0, false).begin(160, 0).end(300, 0).figures(301, 0, 0, 5);
        let mut recognised = one(sequential);
        serve(&mut recognised, 0, 11);
        let still = StoppedIntervals::of(&recognised, 3);
        assert_eq!((still.window(Tid(12)), still.lanes_ns), ((Time(160), Time(300)), 200 + 140 + 140));
        let still = StoppedIntervals::of(&one(lanes().parallel(100, 150, 160, 300)), 3);
        assert_eq!(still.lanes_ns, 200 + 150, "lane 2 is idle");
    }
}

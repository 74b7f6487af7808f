//! The data for charts: pauses over time in slices that double their width when there are too many, and the worst
//! pauses with thread states.

use crate::folds::{End, Fold, Past};
use crate::kernel::sched::{Runner, Tracks};
use crate::results::slices::{Join, Slices};
use crate::results::{BlamedPause, LaneStates, PauseSlice, Results, StateSpan, WorstPause};
use rtscope_model::{Names, Pause, PauseQuality, Time};

const SLICES_MAX: usize = 512;
pub const WORST_MAX: usize = 10;
const WIDTH_NS: u64 = 1_000_000;
/// Spans of one lane in one drawn pause, at most.
const SPANS_MAX: usize = 2_000;

#[derive(Default)]
pub struct OverTime {
    origin: Option<Time>,
    slices: Slices<PauseSlice, SLICES_MAX, WIDTH_NS>,
}

impl Join for PauseSlice {
    fn join(&mut self, later: &PauseSlice) {
        self.count += later.count;
        self.max_ns = self.max_ns.max(later.max_ns);
        self.stop_ns += later.stop_ns;
        self.collect_ns += later.collect_ns;
        self.release_ns += later.release_ns;
    }
}

impl OverTime {
    fn add(&mut self, pause: &Pause) {
        let origin = *self.origin.get_or_insert(pause.begin());
        let Some(slice) = self.slices.until(pause.begin().since(origin)).last_mut() else { return };
        slice.join(&PauseSlice {
            count: 1,
            max_ns: pause.released.since(pause.begin()),
            stop_ns: pause.time_to_stop_ns().unwrap_or(0),
            collect_ns: pause.collect_ns(),
            release_ns: pause.release_ns(),
            ..PauseSlice::default()
        });
    }

    fn values(&self) -> Vec<PauseSlice> {
        let origin = self.origin.unwrap_or_default();
        let slice = |(from, slice): (u64, &PauseSlice)| {
            let from = origin.plus(from);
            PauseSlice { from, to: from.plus(self.slices.width_ns), ..*slice }
        };
        self.slices.all().map(slice).collect()
    }
}

impl Fold for OverTime {
    fn start(&mut self, at: Time) {
        self.origin.get_or_insert(at);
    }

    fn pause(&mut self, blamed: &BlamedPause, _: &Past<'_>) {
        self.add(&blamed.pause);
    }

    fn result(&mut self, _: &End<'_>, results: &mut Results) {
        results.drawing.over_time = self.values();
    }
}

/// The longest pauses, worst first.
#[derive(Default)]
pub struct WorstPauses {
    pauses: Vec<WorstPause>,
}

impl WorstPauses {
    /// Keeps the pause if it is one of the worst.
    fn offer(&mut self, blamed: &BlamedPause, tracks: Option<&Tracks>, names: &Names) {
        let ns = |pause: &Pause| pause.released.since(pause.begin());
        let at = self.pauses.partition_point(|kept| ns(&kept.blamed.pause) >= ns(&blamed.pause));
        if at >= WORST_MAX {
            return;
        }
        let states = tracks.map(|tracks| states(&blamed.pause, tracks, names)).unwrap_or_default();
        self.pauses.insert(at, WorstPause { blamed: blamed.clone(), states });
        self.pauses.truncate(WORST_MAX);
    }
}

impl Fold for WorstPauses {
    fn pause(&mut self, blamed: &BlamedPause, past: &Past<'_>) {
        if blamed.pause.quality == PauseQuality::Whole {
            self.offer(blamed, past.tracks, past.names);
        }
    }

    fn result(&mut self, _: &End<'_>, results: &mut Results) {
        results.drawing.worst = std::mem::take(&mut self.pauses);
    }
}

fn states(pause: &Pause, tracks: &Tracks, names: &Names) -> Vec<LaneStates> {
    let known = pause.lanes.iter().filter_map(|lane| Some((lane.lane, lane.tid?)));
    let spans = |tid| {
        let stretches = tracks.stretches(tid, pause.begin(), pause.released);
        let span = |stretch: &crate::kernel::sched::Stretch| StateSpan {
            from: stretch.from,
            to: stretch.to,
            state: stretch.state.drawn(),
            who: match stretch.runner {
                Runner::Foreign { name, .. } => Some(names.get(name).to_owned()),
                _ => None,
            },
        };
        stretches.iter().take(SPANS_MAX).map(span).collect()
    };
    known.map(|(lane, tid)| LaneStates { lane: lane.0, tid: tid.0, spans: spans(tid) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pauses::{Recognise, Recognised};
    use crate::testing::Script;

    fn pauses(count: u64) -> Vec<Recognised> {
        let mut recogniser = crate::runtimes::ghc::pauses::Recogniser::new(Some(true), Some(2));
        let mut out = Vec::new();
        for at in 0..count {
            let start = at * 10_000_000;
            for event in Script::default().parallel(start, start + 10, start + 20, start + 100 + at).events() {
                recogniser.push(&event, &mut out);
            }
        }
        out
    }

    #[test]
    fn slices_double_and_lose_no_pause() {
        let mut over_time = OverTime::default();
        let all = pauses(3_000);
        all.iter().for_each(|one| over_time.add(&one.pause));
        let slices = over_time.values();
        assert!(slices.len() <= SLICES_MAX);
        assert_eq!(slices.iter().map(|slice| slice.count).sum::<u64>(), 3_000);
        assert!(slices.windows(2).all(|pair| pair[0].to == pair[1].from));
    }

    #[test]
    fn the_worst_are_kept_in_order() {
        let mut worst = WorstPauses::default();
        for one in pauses(50) {
            worst.offer(&BlamedPause { pause: one.pause, causes: Vec::new(), kept_ns: None }, None, &Names::default());
        }
        let ids: Vec<u64> = worst.pauses.iter().map(|kept| kept.blamed.pause.id).collect();
        assert_eq!(ids, (40..50).rev().collect::<Vec<_>>());
    }
}

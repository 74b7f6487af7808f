//! What a concurrent collector did in parallel with the program: marks, the stops after them, sweeps; and how much of
//! that work still lay inside pauses.
//!
//! Owns the phases of GHC's non-moving collector. The collector posts each end of a stop twice (the first begin and
//! the first end count), and a mark for every round over weak pointers: the marks of one collection are summed.

use crate::basis::lately;
use crate::folds::{End, Fold, Past};
use crate::results::dist::Dist;
use crate::results::{BlamedPause, Concurrent, Results};
use rtscope_model::{Body, Class, Classes, Event, Pause, Runtime, Time};
use std::collections::VecDeque;

/// Finished phases kept for pauses that are still held back.
const SPANS_MAX: usize = 4_096;

#[derive(Default)]
pub struct Phases {
    marking: Option<Time>,
    syncing: Option<Time>,
    sweeping: Option<Time>,
    /// Marks since the last sweep.
    marked_ns: Option<u64>,
    mark: Dist,
    sync: Dist,
    sweep: Dist,
    /// Marks and sweeps, in order.
    spans: VecDeque<(Time, Time)>,
    pauses_until: Time,
    in_pauses_ns: u64,
}

impl Phases {
    /// Adds one pause; every event up to its end must have been taken before.
    fn add(&mut self, pause: &Pause) {
        // Pauses may overlap: each moment counts once.
        let (from, to) = (pause.begin().max(self.pauses_until), pause.released);
        self.pauses_until = self.pauses_until.max(to);
        let open = [self.marking, self.sweeping].into_iter().flatten().map(|since| (since, to));
        let inside = |span: (Time, Time)| span.1.min(to).since(span.0.max(from));
        let met: u64 = self.spans.iter().rev().take_while(|span| span.1 > from).copied().chain(open).map(inside).sum();
        self.in_pauses_ns = self.in_pauses_ns.saturating_add(met);
    }

    /// The sums; `None` where the log has no such phases. A collection that did not reach its sweep before the log
    /// ended is not among the marks.
    pub fn values(&self) -> Option<Concurrent> {
        let any = [self.marking, self.syncing, self.sweeping].iter().any(Option::is_some) || self.marked_ns.is_some();
        let values = Concurrent {
            mark_ns: self.mark.values(),
            sync_ns: self.sync.values(),
            sweep_ns: self.sweep.values(),
            in_pauses_ns: self.in_pauses_ns,
        };
        let seen = values.mark_ns.count + values.sync_ns.count + values.sweep_ns.count > 0;
        (seen || any).then_some(values)
    }
}

impl Fold for Phases {
    fn classes(&self) -> Classes {
        Classes::NONE.with(Class::Concurrent)
    }

    fn event(&mut self, event: &Event) {
        let Body::Runtime(body) = event.body else { return };
        let time = event.time;
        match body {
            Runtime::ConcurrentMarkBegin => _ = self.marking.get_or_insert(time),
            Runtime::ConcurrentMarkEnd => {
                if let Some(from) = self.marking.take() {
                    self.marked_ns = Some(self.marked_ns.unwrap_or(0).saturating_add(time.since(from)));
                    lately::push(&mut self.spans, (from, time), SPANS_MAX);
                }
            }
            Runtime::ConcurrentSyncBegin => _ = self.syncing.get_or_insert(time),
            Runtime::ConcurrentSyncEnd => {
                if let Some(from) = self.syncing.take() {
                    self.sync.add(time.since(from));
                }
            }
            Runtime::ConcurrentSweepBegin => {
                if let Some(ns) = self.marked_ns.take() {
                    self.mark.add(ns);
                }
                self.sweeping.get_or_insert(time);
            }
            Runtime::ConcurrentSweepEnd => {
                if let Some(from) = self.sweeping.take() {
                    self.sweep.add(time.since(from));
                    lately::push(&mut self.spans, (from, time), SPANS_MAX);
                }
            }
            _ => {}
        }
    }

    fn result(&mut self, _: &End<'_>, results: &mut Results) {
        results.concurrent = self.values();
    }

    fn pause(&mut self, blamed: &BlamedPause, _: &Past<'_>) {
        self.add(&blamed.pause);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pauses::Recognise;
    use crate::pauses::Recognised;
    use crate::runtimes::ghc::pauses::Recogniser;
    use crate::testing::Script;

    /// Runs the script through recogniser and fold, with pauses as they come.
    fn fold(script: Script) -> Phases {
        let (mut phases, mut recogniser, mut out) =
            (Phases::default(), Recogniser::new(Some(true), Some(2)), Vec::new());
        for event in script.events() {
            phases.event(&event);
            recogniser.push(&event, &mut out);
            out.drain(..).for_each(|one: Recognised| phases.add(&one.pause));
        }
        recogniser.finish(Time(1_000_000), &mut out);
        out.iter().for_each(|one| phases.add(&one.pause));
        phases
    }

    fn cycle(script: Script, at: u64) -> Script {
        script
            .rt(at, 0, Runtime::ConcurrentMarkBegin)
            .rt(at + 100, 0, Runtime::ConcurrentMarkEnd)
            .rt(at + 110, 0, Runtime::ConcurrentSyncBegin)
            .rt(at + 111, 0, Runtime::ConcurrentSyncBegin)
            .rt(at + 112, 0, Runtime::ConcurrentMarkBegin)
            .rt(at + 117, 0, Runtime::ConcurrentMarkEnd)
            .rt(at + 120, 0, Runtime::ConcurrentSyncEnd)
            .rt(at + 121, 0, Runtime::ConcurrentSyncEnd)
            .rt(at + 130, 0, Runtime::ConcurrentSweepBegin)
            .rt(at + 160, 0, Runtime::ConcurrentSweepEnd)
    }

    #[test]
    fn phases_are_reported_by_collection_and_stops_once() {
        let values = fold(cycle(cycle(Script::default(), 1_000), 5_000)).values().unwrap();
        assert_eq!((values.mark_ns.count, values.mark_ns.sum), (2, Some(210)));
        assert_eq!((values.sync_ns.count, values.sync_ns.sum), (2, Some(20)));
        assert_eq!((values.sweep_ns.count, values.sweep_ns.max), (2, Some(30)));
        // Only the rounds over weak pointers lay in the stops.
        assert_eq!(values.in_pauses_ns, 10);
    }

    #[test]
    fn work_inside_pauses_is_counted_once() {
        // A pause from 1,020 to 1,052 during the mark, one from 1,140 over the end of the sweep.
        let script =
            cycle(Script::default(), 1_000).parallel(1_020, 1_025, 1_030, 1_050).parallel(1_140, 1_141, 1_142, 1_200);
        let values = fold(script).values().unwrap();
        assert_eq!(values.in_pauses_ns, 32 + 5 + 20);
    }

    #[test]
    fn a_log_without_phases_gives_nothing() {
        assert_eq!(fold(Script::default().parallel(1, 2, 3, 9)).values(), None);
        let begun = fold(Script::default().rt(5, 0, Runtime::ConcurrentMarkBegin)).values().unwrap();
        assert_eq!((begun.mark_ns.count, begun.mark_ns.sum), (0, None));
    }
}

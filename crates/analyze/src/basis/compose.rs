//! One line of states, some of which become known late: a base that follows its changes, and pieces laid over
//! it afterwards.
//!
//! Owns the order: output is sorted, does not overlap, and is never repeated. Refuses to wait for ever: the caller
//! says until when nothing more can be laid over.

use rtscope_model::Time;
use std::collections::VecDeque;

/// Pieces of the base that may wait; beyond that they are handed on as they are.
const WAITING_MAX: usize = 16_384;

/// One state, with its start and end.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct Segment<S> {
    /// Start of the piece.
    pub from: Time,
    /// End, later than the start.
    pub to: Time,
    /// The state that held.
    pub state: S,
}

/// One line of states.
pub struct Composer<S> {
    base: VecDeque<Segment<S>>,
    open: Option<(Time, S)>,
    over: VecDeque<Segment<S>>,
    /// Everything before was handed out.
    done: Time,
}

impl<S> Default for Composer<S> {
    fn default() -> Self {
        Composer { base: VecDeque::new(), open: None, over: VecDeque::new(), done: Time(0) }
    }
}

impl<S: Copy + PartialEq> Composer<S> {
    /// The base is `state` from now on; `None`: nothing exists.
    pub fn enter(&mut self, time: Time, state: Option<S>) {
        if self.open.as_ref().map(|(_, open)| open) == state.as_ref() {
            return;
        }
        let mut since = time;
        if let Some((from, state)) = self.open.take().filter(|open| open.0 < time) {
            self.base.push_back(Segment { from, to: time, state });
        } else if let Some(last) = self.base.back().filter(|last| last.to == time && Some(last.state) == state) {
            // The state between lasted no time at all.
            since = last.from;
            self.base.pop_back();
        }
        self.open = state.map(|state| (since, state));
    }

    /// The current state of the base, and since when it holds.
    pub fn open(&self) -> Option<(Time, S)> {
        self.open
    }

    /// Lays `state` over the base from `from` to `to`. Pieces come in time order; what overlaps the one before, or
    /// has been handed out, is cut off.
    pub fn lay(&mut self, from: Time, to: Time, state: S) {
        let from = self.over.back().map_or(from, |last| last.to.max(from));
        if from >= to {
            return;
        }
        match self.over.back_mut().filter(|last| last.to == from && last.state == state) {
            Some(last) => last.to = to,
            None => self.over.push_back(Segment { from, to, state }),
        }
    }

    /// Hands out what ended before `until`; nothing more will be laid before that.
    pub fn flush(&mut self, until: Time, out: &mut impl FnMut(Segment<S>)) {
        while let Some(over) = self.over.front().filter(|over| over.from < until).copied() {
            self.base_until(over.from, true, out);
            if let Some((from, state)) = self.open {
                self.hand(Segment { from, to: over.from, state }, out);
            }
            self.hand(over, out);
            self.over.pop_front();
        }
        self.base_until(until, false, out);
        while self.base.len() > WAITING_MAX {
            let first = self.base.pop_front();
            first.into_iter().for_each(|first| self.hand(first, out));
        }
    }

    /// Ends the line and hands out everything.
    pub fn finish(&mut self, end: Time, out: &mut impl FnMut(Segment<S>)) {
        self.enter(end, None);
        self.flush(Time(u64::MAX), out);
    }

    /// The base before `until`; with `cut`, also the first part of a piece that extends past it.
    fn base_until(&mut self, until: Time, cut: bool, out: &mut impl FnMut(Segment<S>)) {
        while let Some(first) = self.base.front().filter(|first| first.from < until).copied() {
            if first.to > until {
                if cut {
                    self.hand(Segment { to: until, ..first }, out);
                }
                return;
            }
            self.hand(first, out);
            self.base.pop_front();
        }
    }

    fn hand(&mut self, segment: Segment<S>, out: &mut impl FnMut(Segment<S>)) {
        let from = segment.from.max(self.done);
        if from < segment.to {
            self.done = segment.to;
            out(Segment { from, ..segment });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flushed(composer: &mut Composer<char>, until: u64) -> Vec<(u64, u64, char)> {
        let mut out = Vec::new();
        composer.flush(Time(until), &mut |segment| out.push((segment.from.0, segment.to.0, segment.state)));
        out
    }

    fn finished(mut composer: Composer<char>, end: u64) -> Vec<(u64, u64, char)> {
        let mut out = Vec::new();
        composer.finish(Time(end), &mut |segment| out.push((segment.from.0, segment.to.0, segment.state)));
        out
    }

    #[test]
    fn pieces_are_laid_over_what_was_there() {
        let mut line = Composer::default();
        line.enter(Time(0), Some('p'));
        line.enter(Time(50), Some('i'));
        line.enter(Time(60), Some('p'));
        line.lay(Time(20), Time(30), 'c');
        line.lay(Time(25), Time(40), 'w');
        line.lay(Time(55), Time(70), 'c');
        assert_eq!(
            finished(line, 100),
            [(0, 20, 'p'), (20, 30, 'c'), (30, 40, 'w'), (40, 50, 'p'), (50, 55, 'i'), (55, 70, 'c'), (70, 100, 'p')]
        );
    }

    #[test]
    fn what_may_still_be_covered_waits() {
        let mut line = Composer::default();
        line.enter(Time(0), Some('p'));
        line.enter(Time(10), Some('i'));
        line.enter(Time(30), Some('p'));
        assert_eq!(flushed(&mut line, 20), [(0, 10, 'p')]);
        line.lay(Time(20), Time(25), 'c');
        assert_eq!(flushed(&mut line, 40), [(10, 20, 'i'), (20, 25, 'c'), (25, 30, 'i')]);
        // Too late: only the part that has not been handed out counts.
        line.lay(Time(28), Time(35), 'c');
        assert_eq!(finished(line, 50), [(30, 35, 'c'), (35, 50, 'p')]);
    }

    #[test]
    fn no_time_at_all_is_nothing() {
        let mut line = Composer::default();
        line.enter(Time(5), Some('p'));
        line.enter(Time(10), Some('i'));
        line.enter(Time(10), Some('p'));
        line.lay(Time(12), Time(12), 'c');
        line.enter(Time(20), None);
        line.enter(Time(30), Some('p'));
        assert_eq!(finished(line, 30), [(5, 20, 'p')]);
    }

    #[test]
    fn what_waits_has_a_bound() {
        let mut line = Composer::default();
        let mut out = 0;
        for at in 0..100_000u64 {
            line.enter(Time(at + 1), Some(if at % 2 == 0 { 'p' } else { 'i' }));
            line.flush(Time(0), &mut |_| out += 1);
            assert!(line.base.len() <= WAITING_MAX);
        }
        assert!(out > 80_000);
    }
}

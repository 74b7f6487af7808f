//! How long lanes wait to become the one that stops the others. A runtime with a leader
//! lets one section be open at a time: a lane whose young heap is full tries again and
//! again until the section before is over and it has become leader, or is asked to stop
//! by another one.
//!
//! Owns those waits: per lane, their union on the wall, and how much of a given interval
//! they cover. A runtime that posts the attempt ([`Phase::Wanted`], OCaml from 5.4) is
//! taken at its word. Of one that does not, a wait is inferred where the lane leads, or
//! answers outside its own code ([`Phase::Interrupt`]): it began when the lane had had the
//! time that its allocation takes, by the tenth part of its quickest cycles. Inferred
//! waits are marked. Refuses to say whose fault it is.

use crate::union::Union;
use rtscope_model::{Body, Counter, Event, LaneId, Phase, Runtime, Time};
use std::collections::{BTreeMap, VecDeque};

/// Waits remembered for [`Leadership::covered_ns`].
const RECENT_MAX: usize = 65_536;
/// Of these, looked at for one interval.
const COVERING_MAX: usize = 64;
/// Allocation rates kept per lane.
const RATES_MAX: usize = 256;
/// After so many more the quickest are looked up anew.
const RATES_RENEWED: u64 = 64;
/// Rates before one is believed.
const RATES_MIN: usize = 8;
/// Less than this allocated says nothing of the rate.
const RATE_BYTES_MIN: u64 = 4_096;
/// Shorter waits are not inferred: the rate is not that well known.
const INFERRED_NS_MIN: u64 = 5_000;

#[derive(Default)]
struct Lane {
    /// Since when it tries, and waits.
    waits_since: Option<Time>,
    wanted: bool,
    inside: bool,
    in_code: bool,
    /// When it left its last section.
    left: Option<Time>,
    /// The cycle that has ended with its arrival: from, to, and whether it may have waited.
    cycle: Option<(Time, Time, bool)>,
    rates: Rates,
    sum_ns: u64,
    ran_ns: u64,
    count: u64,
}

impl Lane {
    fn waited(&self) -> Waited {
        Waited { ns: self.sum_ns, ran_ns: self.ran_ns, count: self.count }
    }
}

/// Nanoseconds that allocating takes, per 1,024 bytes.
#[derive(Default)]
struct Rates {
    kept: Vec<u64>,
    step: u64,
    seen: u64,
    /// The tenth part of them lies below; looked up now and then.
    quick: Option<u64>,
}

impl Rates {
    fn add(&mut self, ns: u64, bytes: u64) {
        self.step = self.step.max(1);
        if self.seen.is_multiple_of(self.step) {
            let rate = u128::from(ns) * 1_024 / u128::from(bytes.max(1));
            self.kept.push(u64::try_from(rate).unwrap_or(u64::MAX));
        }
        self.seen += 1;
        if self.seen < RATES_RENEWED || self.seen.is_multiple_of(RATES_RENEWED) {
            let mut sorted = self.kept.clone();
            sorted.sort_unstable();
            self.quick = sorted.get(sorted.len() / 10).copied().filter(|_| sorted.len() >= RATES_MIN);
        }
        if self.kept.len() >= RATES_MAX {
            let mut keep = false;
            self.kept.retain(|_| {
                keep = !keep;
                keep
            });
            self.step = self.step.saturating_mul(2);
        }
    }

    /// What `bytes` take when nothing is in the way.
    fn takes_ns(&self, bytes: u64) -> Option<u64> {
        u64::try_from(u128::from(self.quick?) * u128::from(bytes) / 1_024).ok()
    }
}

/// The fold.
#[derive(Default)]
pub struct Leadership {
    lanes: BTreeMap<LaneId, Lane>,
    posted: bool,
    union: Union,
    recent: VecDeque<(Time, Time)>,
    longest: Option<(LaneId, Time, Time)>,
}

/// One wait that is over.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct Wait {
    /// Whose.
    pub lane: LaneId,
    /// Since when.
    pub from: Time,
    /// Until when.
    pub to: Time,
}

/// The waits of one lane.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct Waited {
    /// Sum, nanoseconds.
    pub ns: u64,
    /// Of this, on a CPU, as far as the caller of [`Leadership::ran`] told.
    pub ran_ns: u64,
    /// How many.
    pub count: u64,
}

impl Leadership {
    /// Takes one event of the runtime; gives the wait that it ends.
    pub fn push(&mut self, event: &Event) -> Option<Wait> {
        let Body::Runtime(body) = event.body else { return None };
        let (id, time) = (event.lane, event.time);
        match body {
            Runtime::PhaseBegin(Phase::Wanted) => {
                self.posted = true;
                let lane = self.lanes.entry(id).or_default();
                lane.wanted = true;
                lane.waits_since = (!lane.inside).then_some(time);
            }
            Runtime::PhaseEnd(Phase::Wanted) => {
                self.lanes.entry(id).or_default().wanted = false;
                return self.waited(id, time);
            }
            Runtime::PhaseBegin(Phase::Lead) => return self.enters(id, time, true),
            Runtime::PhaseBegin(Phase::Follow) => return self.enters(id, time, false),
            Runtime::PhaseEnd(Phase::Lead | Phase::Follow) => self.leaves(id, time),
            Runtime::PhaseBegin(Phase::Interrupt) => self.lanes.entry(id).or_default().in_code = true,
            Runtime::PhaseEnd(Phase::Interrupt) => self.lanes.entry(id).or_default().in_code = false,
            // What happens on a condition, or was not seen, is no cycle.
            Runtime::PhaseBegin(Phase::Condition) => self.lanes.entry(id).or_default().left = None,
            Runtime::Gap | Runtime::LaneCreated | Runtime::LaneDeleted => {
                let lane = self.lanes.entry(id).or_default();
                (lane.waits_since, lane.left, lane.cycle) = (None, None, None);
                (lane.wanted, lane.inside, lane.in_code) = (false, false, false);
            }
            Runtime::Count(Counter::YoungBytes, bytes) => return self.allocated(id, bytes),
            _ => {}
        }
        None
    }

    /// `lane` was on a CPU for so much of a wait.
    pub fn ran(&mut self, lane: LaneId, ns: u64) {
        let lane = self.lanes.entry(lane).or_default();
        lane.ran_ns = lane.ran_ns.saturating_add(ns);
    }

    fn enters(&mut self, id: LaneId, time: Time, leads: bool) -> Option<Wait> {
        let wait = self.waited(id, time);
        let lane = self.lanes.entry(id).or_default();
        lane.inside = true;
        lane.cycle = lane.left.take().map(|left| (left, time, leads || !lane.in_code));
        wait
    }

    fn leaves(&mut self, id: LaneId, time: Time) {
        let lane = self.lanes.entry(id).or_default();
        (lane.inside, lane.left, lane.cycle) = (false, Some(time), None);
        lane.waits_since = lane.wanted.then_some(time);
    }

    /// A posted wait is over.
    fn waited(&mut self, id: LaneId, time: Time) -> Option<Wait> {
        let since = self.lanes.get_mut(&id).and_then(|lane| lane.waits_since.take());
        since.filter(|since| *since < time).map(|since| self.add(id, since, time))
    }

    /// The young heap of a lane in a section held `bytes`.
    fn allocated(&mut self, id: LaneId, bytes: u64) -> Option<Wait> {
        let lane = self.lanes.entry(id).or_default();
        let (from, to, may_have_waited) = lane.cycle.take()?;
        if bytes >= RATE_BYTES_MIN {
            lane.rates.add(to.since(from), bytes);
        }
        if self.posted || !may_have_waited {
            return None;
        }
        let since = from.plus(lane.rates.takes_ns(bytes)?);
        (to.since(since) >= INFERRED_NS_MIN).then(|| self.add(id, since, to))
    }

    fn add(&mut self, id: LaneId, from: Time, to: Time) -> Wait {
        let lane = self.lanes.entry(id).or_default();
        lane.sum_ns = lane.sum_ns.saturating_add(to.since(from));
        lane.count += 1;
        self.union.add(from, to);
        if self.recent.len() >= RECENT_MAX {
            self.recent.pop_front();
        }
        self.recent.push_back((from, to));
        if self.longest.is_none_or(|(_, start, end)| end.since(start) < to.since(from)) {
            self.longest = Some((id, from, to));
        }
        Wait { lane: id, from, to }
    }

    /// What a lane allocates in a second when nothing is in its way, bytes: of the quickest.
    pub fn unimpeded_bytes_per_second(&self) -> Option<f64> {
        let quickest = self.lanes.values().filter_map(|lane| lane.rates.quick).min()?;
        Some(1_024.0 * 1e9 / quickest.max(1) as f64)
    }

    /// Whether waits are inferred, because the runtime does not post them.
    pub fn inferred(&self) -> bool {
        !self.posted
    }

    /// Waits of `lane`; `None`: nothing of it was seen.
    pub fn of(&self, lane: LaneId) -> Option<Waited> {
        self.lanes.get(&lane).map(Lane::waited)
    }

    /// Lanes that waited, with their waits.
    pub fn lanes(&self) -> impl Iterator<Item = (LaneId, Waited)> + '_ {
        self.lanes.iter().map(|(id, lane)| (*id, lane.waited())).filter(|(_, waited)| waited.count > 0)
    }

    /// Wall-clock time in which some lane waited, nanoseconds.
    pub fn wall_ns(&self) -> u64 {
        self.union.ns()
    }

    /// The longest wait.
    pub fn longest(&self) -> Option<(LaneId, Time, Time)> {
        self.longest
    }

    /// Of `[from, to]`, the time in which some lane waited: of what was over lately, and of
    /// what still goes on.
    pub fn covered_ns(&self, from: Time, to: Time) -> u64 {
        let mut union = Union::default();
        let open = self.lanes.values().filter_map(|lane| Some((lane.waits_since?, to)));
        // They are remembered in the order of their ends, nearly.
        let first = self.recent.partition_point(|wait| wait.1 <= from);
        let recent = self.recent.range(first..).take(COVERING_MAX).copied();
        for (start, end) in recent.chain(open) {
            union.add(start.max(from), end.min(to));
        }
        union.ns()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Script;

    fn fold(script: Script) -> Leadership {
        let mut fold = Leadership::default();
        script.events().iter().for_each(|event| _ = fold.push(event));
        fold
    }

    fn span(script: Script, lane: u16, phase: Phase, from: u64, to: u64) -> Script {
        script.rt(from, lane, Runtime::PhaseBegin(phase)).rt(to, lane, Runtime::PhaseEnd(phase))
    }

    #[test]
    fn a_posted_attempt_counts_without_the_sections_inside_it() {
        let script = span(Script::default(), 1, Phase::Wanted, 100, 900);
        let script = span(span(script, 1, Phase::Follow, 400, 500), 1, Phase::Lead, 700, 880);
        let fold = fold(script);
        assert_eq!(fold.of(LaneId(1)), Some(Waited { ns: 300 + 200 + 20, ran_ns: 0, count: 3 }));
        assert_eq!((fold.wall_ns(), fold.inferred()), (520, false));
        assert_eq!(fold.covered_ns(Time(350), Time(750)), 50 + 200);
    }

    /// A cycle: out of a section at `from`, `bytes` allocated, in again at `to`.
    fn cycle(script: Script, from: u64, to: u64, bytes: u64) -> Script {
        script.rt(from, 1, Runtime::PhaseEnd(Phase::Lead)).rt(to, 1, Runtime::PhaseBegin(Phase::Lead)).rt(
            to + 1,
            1,
            Runtime::Count(Counter::YoungBytes, bytes),
        )
    }

    #[test]
    fn what_a_runtime_does_not_post_is_inferred_from_quick_cycles() {
        let mut script = Script::default();
        for index in 0..20 {
            script = cycle(script, index * 1_000_000, index * 1_000_000 + 10_000, 102_400);
        }
        let quick = fold(script.clone());
        assert_eq!((quick.of(LaneId(1)).unwrap().ns, quick.inferred()), (0, true));
        let slow = fold(cycle(script, 30_000_000, 30_400_000, 102_400));
        assert_eq!(slow.of(LaneId(1)), Some(Waited { ns: 390_000, ran_ns: 0, count: 1 }));
        assert_eq!(slow.longest(), Some((LaneId(1), Time(30_010_000), Time(30_400_000))));
    }

    #[test]
    fn a_lane_that_is_interrupted_in_its_code_did_not_wait() {
        let mut script = Script::default();
        for index in 0..20 {
            script = cycle(script, index * 1_000_000, index * 1_000_000 + 10_000, 102_400);
        }
        script = script
            .rt(30_000_000, 1, Runtime::PhaseEnd(Phase::Lead))
            .rt(30_390_000, 1, Runtime::PhaseBegin(Phase::Interrupt))
            .rt(30_400_000, 1, Runtime::PhaseBegin(Phase::Follow))
            .rt(30_400_001, 1, Runtime::Count(Counter::YoungBytes, 10_240));
        assert_eq!(fold(script).of(LaneId(1)).unwrap().ns, 0);
    }

    #[test]
    fn nothing_is_inferred_across_a_gap() {
        let script = Script::default().rt(100, 1, Runtime::PhaseBegin(Phase::Wanted)).rt(200, 1, Runtime::Gap);
        let fold = fold(script.rt(300, 1, Runtime::PhaseBegin(Phase::Lead)));
        assert_eq!(fold.of(LaneId(1)).unwrap().ns, 0);
    }
}

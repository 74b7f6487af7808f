//! How long lanes wait to become the one that stops the others. A runtime with a leader allows one open section at a
//! time: a lane with a full young heap retries until the previous section is over and it has become leader, or until
//! another lane asks it to stop.
//!
//! Owns those waits: per lane, their union in wall-clock time, and how much of a given interval they cover. If a
//! runtime posts the attempt ([`Phase::Wanted`], OCaml from 5.4), the posts are used. Otherwise a wait is inferred
//! where a section follows immediately after the previous one, as it does when a lane spun for it, and the lane leads
//! it or answers outside its own code ([`Phase::Interrupt`]): the wait began when the lane had had the time that its
//! allocation takes, judged by the quickest tenth of its cycles, and ended with the previous section. Inferred waits
//! are marked. Refuses to blame any lane.

use crate::basis::lately;
use crate::basis::thinned::Thinned;
use crate::basis::union::Union;
use crate::folds::Wait;
use rtscope_model::{Body, Counter, Event, LaneId, Phase, Runtime, Time};
use std::collections::{BTreeMap, VecDeque};

/// Waits remembered for [`Leadership::covered_ns`].
const RECENT_MAX: usize = 65_536;
/// Number of these that are checked for one interval.
const COVERING_MAX: usize = 64;
/// Allocation rates kept per lane.
const RATES_MAX: usize = 256;
/// After this many further rates the quickest are determined again.
const RATES_RENEWED: u64 = 64;
/// Number of rates needed before they are believed.
const RATES_MIN: usize = 8;
/// Allocations smaller than this say nothing about the rate.
const RATE_BYTES_MIN: u64 = 4_096;
/// A section that a lane spins for follows the previous one within this time.
const PROMPT_NS: u64 = 50_000;
/// Shorter waits are not inferred: the rate is not precise enough.
const INFERRED_NS_MIN: u64 = 5_000;

#[derive(Default)]
struct Contender {
    /// Since when it tries, and waits.
    waits_since: Option<Time>,
    wanted: bool,
    inside: bool,
    in_code: bool,
    /// When it left its last section.
    left: Option<Time>,
    /// The cycle that ended with its arrival: start, end, and, if it may have waited, the end of the section that it
    /// waited for.
    cycle: Option<(Time, Time, Option<Time>)>,
    rates: Rates,
    waited: Waited,
}

/// Time that allocating 1,024 bytes takes, nanoseconds.
#[derive(Default)]
struct Rates {
    kept: Thinned<u64, RATES_MAX>,
    /// A tenth of them lie below this; updated now and then.
    quick: Option<u64>,
}

impl Rates {
    fn add(&mut self, ns: u64, bytes: u64) {
        self.kept.offer(|| {
            let rate = u128::from(ns) * 1_024 / u128::from(bytes.max(1));
            u64::try_from(rate).unwrap_or(u64::MAX)
        });
        if self.kept.seen() < RATES_RENEWED || self.kept.seen().is_multiple_of(RATES_RENEWED) {
            let mut sorted = self.kept.kept().to_vec();
            sorted.sort_unstable();
            self.quick = sorted.get(sorted.len() / 10).copied().filter(|_| sorted.len() >= RATES_MIN);
        }
    }

    /// Time that `bytes` take without any delay.
    fn takes_ns(&self, bytes: u64) -> Option<u64> {
        u64::try_from(u128::from(self.quick?) * u128::from(bytes) / 1_024).ok()
    }
}

#[derive(Default)]
pub struct Leadership {
    lanes: BTreeMap<LaneId, Contender>,
    posted: bool,
    /// Number of lanes inside the open section.
    inside: usize,
    /// When the last lane left the previous section.
    over: Option<Time>,
    /// Whether the open section followed immediately.
    prompt: bool,
    /// Wall-clock time in which any lane waited.
    pub wall: Union,
    recent: VecDeque<(Time, Time)>,
    pub longest: Option<(LaneId, Time, Time)>,
}

/// The waits of one lane.
#[derive(Copy, Clone, Default, Eq, PartialEq, Debug)]
pub struct Waited {
    pub ns: u64,
    /// The part of `ns` on a CPU, as reported through [`Leadership::ran`].
    pub ran_ns: u64,
    pub count: u64,
}

impl Leadership {
    /// Takes one event of the runtime; returns the wait that it ends.
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
                self.inside = self.inside.saturating_sub(usize::from(lane.inside));
                (lane.waits_since, lane.left, lane.cycle) = (None, None, None);
                (lane.wanted, lane.inside, lane.in_code) = (false, false, false);
            }
            Runtime::Count(Counter::YoungBytes, bytes) => return self.allocated(id, bytes),
            _ => {}
        }
        None
    }

    /// `lane` was on a CPU for `ns` of a wait.
    pub fn ran(&mut self, lane: LaneId, ns: u64) {
        let waited = &mut self.lanes.entry(lane).or_default().waited;
        waited.ran_ns = waited.ran_ns.saturating_add(ns);
    }

    fn enters(&mut self, id: LaneId, time: Time, leads: bool) -> Option<Wait> {
        let wait = self.waited(id, time);
        if leads {
            // The last lane to leave may post it only after the next one has become leader.
            let over = if self.inside > 0 { time } else { self.over.unwrap_or(Time(0)) };
            self.over = Some(over);
            self.prompt = time.since(over) <= PROMPT_NS;
        }
        let (prompt, over) = (self.prompt, self.over);
        let lane = self.lanes.entry(id).or_default();
        self.inside += usize::from(!lane.inside);
        lane.inside = true;
        let waited = prompt && (leads || !lane.in_code);
        lane.cycle = lane.left.take().map(|left| (left, time, over.filter(|_| waited)));
        wait
    }

    fn leaves(&mut self, id: LaneId, time: Time) {
        let lane = self.lanes.entry(id).or_default();
        self.inside = self.inside.saturating_sub(usize::from(lane.inside));
        if self.inside == 0 {
            self.over = Some(time);
        }
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
        let (from, to, over) = lane.cycle.take()?;
        if bytes >= RATE_BYTES_MIN {
            lane.rates.add(to.since(from), bytes);
        }
        let until = over.filter(|_| !self.posted)?;
        let since = from.plus(lane.rates.takes_ns(bytes)?);
        (until.since(since) >= INFERRED_NS_MIN).then(|| self.add(id, since, until))
    }

    fn add(&mut self, id: LaneId, from: Time, to: Time) -> Wait {
        let waited = &mut self.lanes.entry(id).or_default().waited;
        waited.ns = waited.ns.saturating_add(to.since(from));
        waited.count += 1;
        self.wall.add(from, to);
        lately::push(&mut self.recent, (from, to), RECENT_MAX);
        if self.longest.is_none_or(|(_, start, end)| end.since(start) < to.since(from)) {
            self.longest = Some((id, from, to));
        }
        Wait { lane: id, from, to, inferred: !self.posted }
    }

    /// Allocation rate of the quickest lane when nothing delays it, bytes per second.
    pub fn unimpeded_bytes_per_second(&self) -> Option<f64> {
        let quickest = self.lanes.values().filter_map(|lane| lane.rates.quick).min()?;
        Some(1_024.0 * 1e9 / quickest.max(1) as f64)
    }

    /// Whether waits are inferred because the runtime does not post them.
    pub fn inferred(&self) -> bool {
        !self.posted
    }

    /// The end of a sentence that reports waits: how they are known, if the runtime does not post them.
    pub fn inference(&self) -> &'static str {
        if self.posted { "" } else { " (inferred from how fast they allocate: this OCaml does not post it)" }
    }

    /// Waits of `lane`; `None`: it was not seen.
    pub fn of(&self, lane: LaneId) -> Option<Waited> {
        self.lanes.get(&lane).map(|lane| lane.waited)
    }

    /// Lanes that waited, with their waits.
    pub fn lanes(&self) -> impl Iterator<Item = (LaneId, Waited)> + '_ {
        self.lanes.iter().map(|(id, lane)| (*id, lane.waited)).filter(|(_, waited)| waited.count > 0)
    }

    /// Time in `[from, to]` in which any lane waited: from recent waits, and from open ones.
    pub fn covered_ns(&self, from: Time, to: Time) -> u64 {
        let mut union = Union::default();
        let open = self.lanes.values().filter_map(|lane| Some((lane.waits_since?, to)));
        // They are remembered nearly in the order of their ends.
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
        assert_eq!((fold.wall.ns(), fold.inferred()), (520, false));
        assert_eq!(fold.covered_ns(Time(350), Time(750)), 50 + 200);
    }

    /// Twenty quick cycles of lane 1, 100 us apart.
    fn quick() -> Script {
        (0..20).fold(Script::default(), |script, index| {
            let at = index * 100_000;
            script
                .rt(at, 1, Runtime::PhaseBegin(Phase::Lead))
                .rt(at + 1, 1, Runtime::Count(Counter::YoungBytes, 102_400))
                .rt(at + 90_000, 1, Runtime::PhaseEnd(Phase::Lead))
        })
    }

    /// A section led by lane 2 from 30 ms on; lane 1 leaves it early and lane 2 late. Lane 1 leads again at `again`.
    fn late(script: Script, again: u64, in_code: bool) -> Script {
        let at = 30_000_000;
        let mut script = script
            .rt(at, 2, Runtime::PhaseBegin(Phase::Lead))
            .rt(at + 10, 1, Runtime::PhaseBegin(Phase::Follow))
            .rt(at + 1_000, 1, Runtime::PhaseEnd(Phase::Follow))
            .rt(at + 400_000, 2, Runtime::PhaseEnd(Phase::Lead));
        if in_code {
            script = script.rt(again - 1, 1, Runtime::PhaseBegin(Phase::Interrupt));
        }
        let phase = if in_code { Phase::Follow } else { Phase::Lead };
        script.rt(again, 1, Runtime::PhaseBegin(phase)).rt(again + 1, 1, Runtime::Count(Counter::YoungBytes, 102_400))
    }

    #[test]
    fn what_a_runtime_does_not_post_is_inferred_where_sections_follow_at_once() {
        assert_eq!((fold(quick()).of(LaneId(1)).unwrap().ns, fold(quick()).inferred()), (0, true));
        // 10 us for 100 KiB, as in its quickest cycles; then it waits until lane 2 has left.
        let slow = fold(late(quick(), 30_410_000, false));
        assert_eq!(slow.of(LaneId(1)), Some(Waited { ns: 389_000, ran_ns: 0, count: 1 }));
        assert_eq!(slow.longest, Some((LaneId(1), Time(30_011_000), Time(30_400_000))));
    }

    #[test]
    fn a_lane_that_was_in_its_code_or_arrived_later_did_not_wait() {
        assert_eq!(fold(late(quick(), 30_410_000, true)).of(LaneId(1)).unwrap().ns, 0);
        assert_eq!(fold(late(quick(), 39_000_000, false)).of(LaneId(1)).unwrap().ns, 0);
    }

    #[test]
    fn nothing_is_inferred_across_a_gap() {
        let script = Script::default().rt(100, 1, Runtime::PhaseBegin(Phase::Wanted)).rt(200, 1, Runtime::Gap);
        let fold = fold(script.rt(300, 1, Runtime::PhaseBegin(Phase::Lead)));
        assert_eq!(fold.of(LaneId(1)).unwrap().ns, 0);
    }
}

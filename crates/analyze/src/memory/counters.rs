//! Counters over time: memory levels, allocation rates of lanes, and promotion rates of their young data.
//!
//! Owns sums per slice of time; slices double their width when there are too many. What a lane posts at a collection
//! it allocated since its previous collection, so it is spread over the slices between. A slice in which figures were
//! lost is unknown, and then so are sums over the whole; a share of what was seen is still known.

use crate::folds::{End, Fold};
use crate::results::slices::{Join, Slices};
use crate::results::{CounterLine, MemoryLine, Promotion, Results};
use rtscope_model::{Body, Class, Classes, Counter, Event, LaneId, Runtime, Time};
use std::collections::BTreeMap;

const POINTS_MAX: usize = 200;
const WIDTH_NS: u64 = 1_000_000;

#[derive(Copy, Clone, Default)]
struct Slice {
    bytes: f64,
    unknown: bool,
}

impl Join for Slice {
    fn join(&mut self, later: &Slice) {
        self.bytes += later.bytes;
        self.unknown |= later.unknown;
    }
}

/// Bytes per slice of time.
#[derive(Default)]
struct Rate {
    slices: Slices<Slice, POINTS_MAX, WIDTH_NS>,
    any: bool,
    /// Nothing was posted after this.
    until: Time,
}

impl Rate {
    /// Adds `bytes`, spread evenly between two moments.
    fn add(&mut self, origin: Time, (from, to): (Time, Time), bytes: u64) {
        (self.any, self.until) = (true, self.until.max(to));
        self.over(origin, (from, to), |slice, share| slice.bytes += bytes as f64 * share);
    }

    /// Marks the time between two moments as unknown.
    fn lost(&mut self, origin: Time, between: (Time, Time)) {
        self.over(origin, between, |slice, share| slice.unknown |= share > 0.0);
    }

    /// Hands each slice between `from` and `to` to `each`, with the share of that time in it.
    fn over(&mut self, origin: Time, (from, to): (Time, Time), mut each: impl FnMut(&mut Slice, f64)) {
        let (from, to) = (from.min(to).since(origin), to.since(origin));
        self.slices.until(to);
        let width = self.slices.width_ns;
        for (number, slice) in (0..).zip(self.slices.until(to)).skip((from / width) as usize) {
            let begin = from.max(width.saturating_mul(number));
            let end = to.min(width.saturating_mul(number + 1));
            let share = if to > from { end.saturating_sub(begin) as f64 / (to - from) as f64 } else { 1.0 };
            each(slice, share);
        }
    }

    /// The start of each slice and its bytes per second; after the last figure nothing is known.
    fn points(&self, origin: Time, end: Time) -> Vec<(Time, Option<u64>)> {
        let mut points = Vec::new();
        for (from, slice) in self.slices.all() {
            let from = origin.plus(from);
            let ns = self.until.since(from).min(self.slices.width_ns);
            if ns > 0 {
                let rate = (slice.bytes / (ns as f64 / 1e9)) as u64;
                points.push((from, Some(rate).filter(|_| !slice.unknown)));
            }
        }
        if self.until < end {
            points.push((self.until, None));
        }
        points
    }
}

#[derive(Default)]
struct LaneAllocation {
    /// Time of its last collection, or of its creation.
    since: Option<Time>,
    /// Its last total since the start, with the time of the post.
    allocated: Option<(Time, u64)>,
    /// Figures were lost from this moment on.
    lost: Option<Time>,
}

#[derive(Default)]
pub struct Rates {
    origin: Option<Time>,
    lanes: BTreeMap<LaneId, LaneAllocation>,
    allocation: Rate,
    promotion: Rate,
    young_bytes: u64,
    promoted_bytes: u64,
    /// Lanes post the figures of each collection, so their totals since the start are redundant.
    by_collection: bool,
    lost: bool,
}

impl Rates {
    /// The lane of `event`; its loss ends with its next figures.
    fn lane(&mut self, origin: Time, event: &Event) -> &mut LaneAllocation {
        let lane = self.lanes.entry(event.lane).or_default();
        if let Some(since) = lane.lost.take() {
            let between = (since, event.time);
            self.allocation.lost(origin, between);
            self.promotion.lost(origin, between);
        }
        lane
    }

    fn gap(&mut self, origin: Time, event: &Event) {
        self.lost = true;
        let lane = self.lanes.entry(event.lane).or_default();
        let since = lane.since.max(lane.allocated.map(|(at, _)| at)).unwrap_or(origin);
        *lane = LaneAllocation { lost: Some(lane.lost.unwrap_or(since)), ..LaneAllocation::default() };
    }

    /// The share of young data that was promoted; `None`: not posted.
    pub fn promotion(&self) -> Option<Promotion> {
        let whole = |bytes: u64| Some(bytes).filter(|_| !self.lost);
        let share = self.promoted_bytes as f64 / self.young_bytes as f64;
        (self.young_bytes > 0).then(|| Promotion {
            young_bytes: whole(self.young_bytes),
            promoted_bytes: whole(self.promoted_bytes),
            share,
        })
    }

    /// Every line with any figures; `memory` are the levels.
    fn lines(&mut self, memory: &[MemoryLine], end: Time) -> Vec<CounterLine> {
        let origin = self.origin.unwrap_or(end);
        for lane in std::mem::take(&mut self.lanes).into_values() {
            if let Some(since) = lane.lost {
                self.allocation.lost(origin, (since, end.max(since)));
                self.promotion.lost(origin, (since, end.max(since)));
            }
        }
        let mut lines: Vec<CounterLine> = memory.iter().filter_map(level).collect();
        let rates =
            [("allocation_bytes_per_second", &self.allocation), ("promotion_bytes_per_second", &self.promotion)];
        let seen = rates.into_iter().filter(|(_, rate)| rate.any);
        lines.extend(seen.map(|(name, rate)| CounterLine { name, unit: "bytes/s", points: rate.points(origin, end) }));
        lines
    }
}

impl Fold for Rates {
    fn classes(&self) -> Classes {
        Classes::NONE.with(Class::Figures).with(Class::Heap).with(Class::Lanes)
    }

    fn start(&mut self, at: Time) {
        self.origin.get_or_insert(at);
    }

    fn event(&mut self, event: &Event) {
        let Body::Runtime(body) = event.body else { return };
        let origin = *self.origin.get_or_insert(event.time);
        match body {
            Runtime::Count(Counter::PromotedBytes, bytes) => {
                let since = self.lane(origin, event).since.unwrap_or(event.time);
                self.promoted_bytes = self.promoted_bytes.saturating_add(bytes);
                self.promotion.add(origin, (since, event.time), bytes);
            }
            Runtime::Count(Counter::YoungBytes, bytes) => {
                let since = self.lane(origin, event).since.replace(event.time).unwrap_or(event.time);
                self.by_collection = true;
                self.young_bytes = self.young_bytes.saturating_add(bytes);
                self.allocation.add(origin, (since, event.time), bytes);
            }
            Runtime::Count(Counter::AllocatedBytes, bytes) if !self.by_collection && event.lane.is_some() => {
                let before = self.lane(origin, event).allocated.replace((event.time, bytes));
                if let Some((since, before)) = before {
                    // A total that falls has restarted.
                    let more = bytes.checked_sub(before).unwrap_or(bytes);
                    self.allocation.add(origin, (since, event.time), more);
                }
            }
            Runtime::LaneCreated => {
                self.lanes.insert(event.lane, LaneAllocation { since: Some(event.time), ..LaneAllocation::default() });
            }
            Runtime::LaneDeleted => {
                self.lanes.remove(&event.lane);
            }
            Runtime::Gap => self.gap(origin, event),
            _ => {}
        }
    }

    fn result(&mut self, end: &End<'_>, results: &mut Results) {
        results.promotion = self.promotion();
        results.counters = self.lines(&results.drawing.memory, end.end);
    }
}

/// A level with fewer points: the highest of each group.
fn level(line: &MemoryLine) -> Option<CounterLine> {
    let name = match line.name {
        "rss" => "rss_bytes",
        "heap" => "heap_bytes",
        "blocks" => "blocks_bytes",
        "live" => "live_bytes",
        "residency" => "residency_bytes",
        _ => return None,
    };
    let every = line.points.len().div_ceil(POINTS_MAX).max(1);
    let highest = |group: &[(Time, u64)]| {
        let most = group.iter().map(|(_, bytes)| *bytes).max();
        group.first().map(|(at, _)| (*at, most))
    };
    Some(CounterLine { name, unit: "bytes", points: line.points.chunks(every).filter_map(highest).collect() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Script;

    const MS: u64 = 1_000_000;

    fn count(script: Script, at: u64, lane: u16, counter: Counter, value: u64) -> Script {
        script.rt(at, lane, Runtime::Count(counter, value))
    }

    /// A collection of one lane: the bytes promoted, the young bytes, the total allocated.
    fn collection(script: Script, at: u64, lane: u16, [promoted, young, all]: [u64; 3]) -> Script {
        let script = count(script, at, lane, Counter::PromotedBytes, promoted);
        let script = count(script, at, lane, Counter::YoungBytes, young);
        count(script, at, lane, Counter::AllocatedBytes, all)
    }

    fn fold(script: Script) -> Rates {
        let mut rates = Rates::default();
        rates.start(Time(0));
        script.events().iter().for_each(|event| rates.event(event));
        rates
    }

    fn points(mut rates: Rates, name: &str, end: u64) -> Vec<(u64, Option<u64>)> {
        let lines = rates.lines(&[], Time(end));
        let line = lines.into_iter().find(|line| line.name == name).unwrap();
        line.points.into_iter().map(|(at, value)| (at.0, value)).collect()
    }

    #[test]
    fn what_a_collection_found_is_spread_over_the_time_since_the_one_before() {
        let script = Script::default().rt(MS, 0, Runtime::LaneCreated);
        let script = collection(script, 3 * MS, 0, [100, 2_000, 2_000]);
        let script = collection(script, 4 * MS, 0, [0, 3_000, 5_000]);
        let rates = fold(script);
        let share = 100.0 / 5_000.0;
        let whole = Promotion { young_bytes: Some(5_000), promoted_bytes: Some(100), share };
        assert_eq!(rates.promotion(), Some(whole));
        let wanted =
            [(0, Some(0)), (MS, Some(1_000_000)), (2 * MS, Some(1_000_000)), (3 * MS, Some(3_000_000)), (4 * MS, None)];
        assert_eq!(points(rates, "allocation_bytes_per_second", 9 * MS), wanted);
    }

    #[test]
    fn sums_since_the_start_give_rates_too() {
        let script = count(Script::default(), 2 * MS, 0, Counter::AllocatedBytes, 70_000);
        let script = count(script, 4 * MS, 0, Counter::AllocatedBytes, 74_000);
        let rates = fold(script);
        assert_eq!(rates.promotion(), None);
        let wanted = [(0, Some(0)), (MS, Some(0)), (2 * MS, Some(2_000_000)), (3 * MS, Some(2_000_000))];
        assert_eq!(points(rates, "allocation_bytes_per_second", 4 * MS), wanted);
    }

    #[test]
    fn a_loss_makes_its_slices_and_the_sums_unknown() {
        let script = collection(Script::default().rt(0, 0, Runtime::LaneCreated), MS, 0, [10, 1_000, 1_000]);
        let script = collection(script.rt(5 * MS / 2, 0, Runtime::Gap), 7 * MS / 2, 0, [10, 1_000, 2_000]);
        let rates = fold(collection(script, 9 * MS / 2, 0, [0, 500, 2_500]));
        let whole = Promotion { young_bytes: None, promoted_bytes: None, share: 20.0 / 2_500.0 };
        assert_eq!(rates.promotion(), Some(whole));
        let wanted = [(0, Some(1_000_000)), (MS, None), (2 * MS, None), (3 * MS, None), (4 * MS, Some(500_000))];
        assert_eq!(points(rates, "allocation_bytes_per_second", 9 * MS / 2), wanted);
    }

    #[test]
    fn the_number_of_slices_is_bounded_and_no_byte_is_lost() {
        let mut script = Script::default().rt(0, 0, Runtime::LaneCreated);
        for at in 1..=10_000 {
            script = collection(script, at * MS, 0, [1, 1_000, at * 1_000]);
        }
        let rates = fold(script);
        assert!(rates.allocation.slices.all().count() <= POINTS_MAX);
        assert!((rates.allocation.slices.all().map(|(_, slice)| slice.bytes).sum::<f64>() - 1e7).abs() < 1.0);
        let points = points(rates, "allocation_bytes_per_second", 10_000 * MS);
        assert!(points.len() >= POINTS_MAX / 2 && points.iter().all(|point| point.1.unwrap().abs_diff(1_000_000) < 2));
    }

    #[test]
    fn any_times_are_taken() {
        let script = Script::default().rt(5, 0, Runtime::LaneCreated).rt(u64::MAX, 1, Runtime::Gap);
        let mut rates = fold(collection(script, u64::MAX, 0, [u64::MAX; 3]));
        assert!(rates.lines(&[], Time(u64::MAX)).iter().all(|line| line.points.len() <= POINTS_MAX + 1));
    }

    #[test]
    fn levels_keep_their_peaks() {
        let points = (0..1_000).map(|at| (Time(at), if at == 777 { 9 } else { 5 })).collect();
        let line = level(&MemoryLine { name: "heap", points }).unwrap();
        assert_eq!((line.name, line.points.len()), ("heap_bytes", 200));
        assert_eq!(line.points.iter().filter(|point| point.1 == Some(9)).count(), 1);
    }
}

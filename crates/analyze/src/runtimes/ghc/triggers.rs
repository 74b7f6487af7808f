//! Why collections were requested: how much had been allocated since the last one, whether the program was idle, and
//! the period of the unexplained ones.
//!
//! Owns that judgement. A runtime requests a collection when one lane has filled its allocation area, or when the
//! large objects of all lanes together make as many bytes (or `-AL`). If all lanes together allocated less than half
//! of that, neither applies: at most, blocks that are nearly half empty are wasted. Such a collection is the
//! runtime's idle one, or the program requested it. The same holds for a major collection before which no single lane
//! filled half of its area, in a program whose minor collections all follow a full area: there, large objects do not
//! trigger collections. And a major collection before which the kernel saw nothing run is the idle one, whatever was
//! allocated before that rest. The last one of a recording has no trigger: the runtime collects once when it ends.
//! Refuses to guess near a heap limit, and where a pause was not seen whole.

use crate::basis::lately;
use crate::basis::sum::Sum;
use crate::folds::{Fold, Past};
use crate::kernel::sched::{SchedState, Tracks};
use crate::recording::Context;
use crate::results::BlamedPause;
use rtscope_model::{
    Body, Class, Classes, Counter, Event, LaneId, Pause, PauseKind, PauseMode, PauseQuality, Runtime, Tid, Time,
};
use std::collections::{BTreeMap, VecDeque};

/// Share of the allocation area: less than this does not fill it.
const FILLED_SHARE: f64 = 0.5;
/// Share of the heap limit: from here on the limit causes collections.
const NEAR_LIMIT_SHARE: f64 = 0.8;
/// Idle delay without `-I`.
const IDLE_NS: u64 = 300_000_000;
/// The runtime counts idle time in ticks of 10 ms, and may be one early.
const TICKS_NS: u64 = 20_000_000;
/// How far back the kernel's view is checked for activity of the program.
const QUIET_NS: u64 = 180_000_000;
/// On a CPU for less than this share of that time: only the runtime's ticker ran.
const QUIET_SHARE: f64 = 0.05;
/// Least time that a burst of work needs to fill an allocation area.
const BURST_NS: u64 = 300_000;
/// A program that is awake for longer than the idle delay allocates more than this.
const BARELY_BYTES: u64 = 1 << 20;
/// At least this many minor collections follow a full area for each one that does not, if large objects do not
/// trigger collections.
const FULL_PER_OTHER_MIN: u64 = 10;
/// Collections whose figures wait for their pause.
const MARKS_MAX: usize = 8_192;
/// Distances that are kept to find a period.
const GAPS_MAX: usize = 4_096;

/// Why an early collection happened.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
enum Why {
    Idle,
    Requested,
    /// The program asked, or large objects made as many bytes.
    RequestedOrLarge,
}

/// One collection that allocation does not explain.
struct Case {
    why: Why,
    begin: Time,
    end: Time,
    major: bool,
    /// Whether the kernel's view showed that nothing ran before it.
    quiet: bool,
    allocated_bytes: u64,
    /// Since when something that arrived meanwhile waits.
    arrived: Option<Time>,
}

/// Collections of one kind, summed up.
#[derive(Default)]
pub struct Early {
    /// From the request until the last lane resumed.
    pub waits: Sum,
    /// Number of collections of the oldest generation.
    pub majors: u64,
    /// Number of collections before which the kernel's view showed that nothing ran.
    pub quiet: u64,
    /// Bytes that all lanes allocated before them, in total.
    pub allocated_bytes: u64,
    /// Number of collections during which something arrived.
    pub arrived: u64,
    /// The longest time that something had to wait, nanoseconds.
    pub waited_ns_max: u64,
    gaps: Vec<u64>,
    last: Option<Time>,
}

impl Early {
    fn add(&mut self, case: &Case) {
        self.waits.add((case.begin, case.end), case.end.since(case.begin));
        self.majors += u64::from(case.major);
        self.quiet += u64::from(case.quiet);
        self.allocated_bytes = self.allocated_bytes.saturating_add(case.allocated_bytes);
        if let Some(since) = case.arrived {
            self.arrived += 1;
            self.waited_ns_max = self.waited_ns_max.max(case.end.since(since));
        }
        if let Some(last) = self.last.replace(case.begin).filter(|_| self.gaps.len() < GAPS_MAX) {
            self.gaps.push(case.begin.since(last));
        }
    }

    /// Mean number of bytes allocated before one.
    pub fn mean_allocated_bytes(&self) -> u64 {
        self.allocated_bytes.checked_div(self.waits.count).unwrap_or(0)
    }

    /// Time from one to the next, nanoseconds, if four in five of at least five distances lie within a sixth of
    /// the median.
    pub fn period_ns(&self) -> Option<u64> {
        let mut gaps = self.gaps.clone();
        gaps.sort_unstable();
        let median = *gaps.get(gaps.len() / 2)?;
        let near = gaps.iter().filter(|gap| gap.abs_diff(median) <= median / 6).count();
        (gaps.len() >= 5 && near * 5 >= gaps.len() * 4).then_some(median)
    }
}

/// The runtime flags that matter here.
#[derive(Default)]
struct Flags {
    /// Value of `-AL`, bytes.
    large_bytes: Option<u64>,
    /// Value of `-I`, nanoseconds; 0: off.
    idle_ns: Option<u64>,
    /// Whether `-h` is set: the runtime collects to count the heap.
    census: bool,
}

impl Flags {
    fn of<'o>(options: impl Iterator<Item = &'o str>) -> Flags {
        let mut flags = Flags::default();
        options.for_each(|option| flags.take(option));
        flags
    }

    fn take(&mut self, option: &str) {
        if let Some(size) = option.strip_prefix("-AL") {
            self.large_bytes = bytes(size);
        } else if let Some(seconds) = option.strip_prefix("-I").filter(|text| !text.starts_with('w')) {
            self.idle_ns = seconds.parse::<f64>().ok().filter(|s| (0.0..1e6).contains(s)).map(|s| (s * 1e9) as u64);
        } else if option.starts_with("-h") {
            self.census = true;
        }
    }
}

/// Parses "64m" as the runtime does.
fn bytes(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let unit = match text.strip_prefix(digits)? {
        "" | "b" | "B" => 1.0,
        "k" | "K" => 1024.0,
        "m" | "M" => 1_048_576.0,
        "g" | "G" => 1_073_741_824.0,
        _ => return None,
    };
    digits.parse::<f64>().ok().filter(|count| (0.0..1e15).contains(count)).map(|count| (count * unit) as u64)
}

/// How much had been allocated when a collection's figures were posted.
#[derive(Copy, Clone)]
struct Mark {
    at: Time,
    /// Allocated by all lanes since the start.
    total: u64,
    /// Largest amount of one lane since the previous collection.
    lane_max: u64,
}

#[derive(Default)]
pub struct Triggers {
    flags: Flags,
    threaded: Option<bool>,
    nursery_bytes: Option<u64>,
    /// Maximum size of the heap; `None`: there is no limit.
    pub limit_bytes: Option<u64>,
    heap_bytes: u64,
    /// Largest amount of live data after a major collection.
    pub live_bytes_max: u64,
    /// Of each lane: allocated by now, and when the last collection's figures were posted.
    by_lane: BTreeMap<LaneId, (u64, u64)>,
    marks: VecDeque<Mark>,
    /// How much had been allocated at the last collection, and when that ended.
    before: (u64, Option<Time>),
    started: Option<Time>,
    /// Counted once another one follows.
    held: Option<Case>,
    /// Collections that the runtime started because the program was idle.
    pub idle: Early,
    requested: Early,
    /// `requested`, and those that large objects could explain, too.
    requested_or_large: Early,
    /// Minor collections that followed a full area, and others.
    minors_full: u64,
    minors_other: u64,
    /// Early collections near the heap limit; they are not judged.
    pub near_limit: u64,
}

impl Triggers {
    pub fn new(context: &Context) -> Self {
        Triggers {
            flags: Flags::of(context.options()),
            threaded: context.threaded,
            nursery_bytes: context.nursery_bytes,
            started: context.started,
            ..Triggers::default()
        }
    }

    /// Collections that the program requested.
    pub fn requested(&self) -> &Early {
        if self.large_do_not_trigger() { &self.requested_or_large } else { &self.requested }
    }

    /// Whether minor collections show that large objects do not trigger collections.
    fn large_do_not_trigger(&self) -> bool {
        self.minors_full >= FULL_PER_OTHER_MIN.saturating_mul(self.minors_other.max(1))
    }

    /// Bytes after which the runtime collects by itself; `None`: the log does not say.
    pub fn due_bytes(&self) -> Option<u64> {
        let nursery = self.nursery_bytes.filter(|bytes| *bytes > 0)?;
        Some(self.flags.large_bytes.filter(|bytes| *bytes > 0).map_or(nursery, |large| large.min(nursery)))
    }

    /// How long the program has to be idle; `None`: switched off, or there are no such collections.
    pub fn idle_delay_ns(&self) -> Option<u64> {
        let delay = self.flags.idle_ns.unwrap_or(IDLE_NS);
        (delay > 0 && self.threaded != Some(false)).then_some(delay)
    }

    /// Whether the heap is counted during the run (`-h`): that triggers collections, too.
    pub fn census(&self) -> bool {
        self.flags.census
    }

    fn mark(&mut self, at: Time) {
        let (mut total, mut lane_max) = (0u64, 0);
        for (now, before) in self.by_lane.values_mut() {
            total = total.saturating_add(*now);
            lane_max = lane_max.max(now.saturating_sub(*before));
            *before = *now;
        }
        lately::push(&mut self.marks, Mark { at, total, lane_max }, MARKS_MAX);
    }

    fn settle(&mut self) {
        let Some(case) = self.held.take() else { return };
        match case.why {
            Why::Idle => self.idle.add(&case),
            Why::Requested => {
                self.requested.add(&case);
                self.requested_or_large.add(&case);
            }
            Why::RequestedOrLarge => self.requested_or_large.add(&case),
        }
    }

    /// How much had been allocated when `pause` began.
    fn mark_of(&mut self, pause: &Pause) -> Option<Mark> {
        while self.marks.front().is_some_and(|mark| mark.at < pause.stopped) {
            self.marks.pop_front();
        }
        let last = pause.released.max(pause.collected.plus(1_000_000));
        let mark = self.marks.front().copied().filter(|mark| mark.at <= last)?;
        self.marks.pop_front();
        Some(mark)
    }

    /// `why`: the reason by allocation alone.
    fn case(
        &self,
        pause: &Pause,
        why: Option<Why>,
        since: u64,
        end: Option<Time>,
        tracks: Option<&Tracks>,
    ) -> Option<Case> {
        let begin = pause.begin();
        let major = pause.kind == PauseKind::Major;
        let gap = end.or(self.started).map_or(0, |end| begin.since(end));
        let may_be_idle = major
            && pause.mode != PauseMode::NonThreaded
            && self.idle_delay_ns().is_some_and(|delay| gap.saturating_add(TICKS_NS) >= delay);
        let ran = tracks.filter(|_| may_be_idle).map(|tracks| Ran::before(tracks, begin));
        let early = why == Some(Why::Requested);
        let quiet = ran.as_ref().is_some_and(|ran| ran.quiet() && (early || ran.last_ns < BURST_NS));
        let idle = quiet || may_be_idle && early && since < BARELY_BYTES;
        if may_be_idle && !idle && ran.is_none() {
            // Awake for a while and then idle, or awake until it asked: that cannot be decided.
            return None;
        }
        let arrived = ran.zip(tracks).filter(|_| idle).and_then(|(ran, tracks)| ran.arrived(tracks, pause));
        let why = if idle { Why::Idle } else { why? };
        Some(Case { why, begin, end: pause.released, major, quiet, allocated_bytes: since, arrived })
    }
}

impl Fold for Triggers {
    fn classes(&self) -> Classes {
        Classes::NONE.with(Class::Figures).with(Class::Heap)
    }

    fn start(&mut self, at: Time) {
        self.started.get_or_insert(at);
    }

    fn event(&mut self, event: &Event) {
        let Body::Runtime(Runtime::Count(counter, value)) = event.body else { return };
        match counter {
            Counter::AllocatedBytes => {
                let (now, _) = self.by_lane.entry(event.lane).or_default();
                *now = value.max(*now);
            }
            Counter::NurseryBytes => self.nursery_bytes = Some(value),
            Counter::HeapLimitBytes => self.limit_bytes = Some(value).filter(|bytes| *bytes > 0),
            Counter::HeapBytes => self.heap_bytes = value,
            Counter::LiveBytes => self.live_bytes_max = self.live_bytes_max.max(value),
            // Posted after the allocation of every lane.
            Counter::Generation => self.mark(event.time),
            _ => {}
        }
    }

    fn pause(&mut self, blamed: &BlamedPause, past: &Past<'_>) {
        let pause = &blamed.pause;
        if pause.kind == PauseKind::ConcurrentSync {
            return;
        }
        self.settle();
        let Some(mark) = self.mark_of(pause) else { return };
        let (before, end) = std::mem::replace(&mut self.before, (mark.total, Some(pause.collected)));
        let Some(due) = self.due_bytes().filter(|_| !self.by_lane.is_empty()) else { return };
        if pause.quality != PauseQuality::Whole {
            return;
        }
        let since = mark.total.saturating_sub(before);
        let early = (since as f64) < due as f64 * FILLED_SHARE;
        let lane_early = (mark.lane_max as f64) < due as f64 * FILLED_SHARE;
        if pause.kind == PauseKind::Minor && !early {
            *if lane_early { &mut self.minors_other } else { &mut self.minors_full } += 1;
        }
        let why = match (early, lane_early && pause.kind == PauseKind::Major) {
            (true, _) => Some(Why::Requested),
            (false, true) => Some(Why::RequestedOrLarge),
            (false, false) => None,
        };
        if self.limit_bytes.is_some_and(|limit| self.heap_bytes as f64 >= limit as f64 * NEAR_LIMIT_SHARE) {
            self.near_limit += u64::from(why.is_some());
            return;
        }
        self.held = self.case(pause, why, since, end, past.tracks);
    }
}

/// What the program's threads did before a collection.
struct Ran {
    share: f64,
    tids: Vec<Tid>,
    /// Time right before the collection, nanoseconds.
    last_ns: u64,
}

impl Ran {
    fn before(tracks: &Tracks, begin: Time) -> Ran {
        // The runtime wakes one of its own threads to start the collection.
        let (from, to) = (begin.minus(QUIET_NS), begin.minus(TICKS_NS));
        let running = |tid: Tid, from: Time, to: Time| -> u64 {
            let stretches = tracks.stretches(tid, from, to);
            let on = stretches.iter().filter(|stretch| stretch.state == SchedState::Running);
            on.map(|stretch| stretch.to.since(stretch.from)).sum()
        };
        let mut ran = Ran { share: 0.0, tids: Vec::new(), last_ns: 0 };
        let mut sum = 0u64;
        for tid in tracks.own() {
            let ns = running(tid, from, to);
            sum += ns;
            ran.last_ns += running(tid, to, begin);
            if ns > 0 {
                ran.tids.push(tid);
            }
        }
        ran.share = sum as f64 / (QUIET_NS - TICKS_NS) as f64;
        ran
    }

    fn quiet(&self) -> bool {
        self.share < QUIET_SHARE
    }

    /// First moment in `pause` at which something from outside woke a thread of the program that neither collects
    /// nor ticks.
    fn arrived(&self, tracks: &Tracks, pause: &Pause) -> Option<Time> {
        let collects = |tid: Tid| pause.lanes.iter().any(|part| part.tid == Some(tid));
        let others = tracks.own().filter(|tid| !self.tids.contains(tid) && !collects(*tid));
        let woken = others.filter_map(|tid| tracks.last_waking(tid, pause.stopped, pause.collected));
        woken.filter(|(_, by)| !tracks.is_own(*by)).map(|(at, _)| at).min()
    }
}

#[cfg(test)]
#[path = "triggers_tests.rs"]
mod tests;

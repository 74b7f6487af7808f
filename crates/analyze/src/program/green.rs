//! Green threads: their number, their running time, and what they waited for, where the log has them
//! (`--detail full`). Owns those sums.
//!
//! Also owns the moments in which lanes were idle because threads waited for each other. A thread that waits for a
//! lock, a transaction or a value that another thread computes is woken by the thread that releases it. In hindsight:
//! while that thread ran on and the other one waited, an idle lane was idle for that reason. A consumer without work,
//! a delay and input look the same in the log (the threaded runtime's I/O manager passes them on by lock, too); but
//! there the waker has run for microseconds only, or has never waited for another thread itself. So a wait for a lock
//! counts only if both threads have been on both sides.

use crate::basis::lately;
use crate::basis::union::Union;
use crate::folds::{End, Fold};
use crate::recording::Context;
use crate::results::dist::Dist;
use crate::results::{BlockedSum, GreenLane, GreenSummary, Results};
use rtscope_model::{BlockedOn, Body, Class, Classes, Counter, Event, GreenThread, LaneId, Runtime, StopReason, Time};
use std::collections::{BTreeMap, HashMap, VecDeque};

const THREADS_MAX: usize = 1 << 17;
/// Spans of idle lanes remembered: waits that began before them count in part.
const IDLE_MAX: usize = 1_024;
/// A lane that has something to run again this soon has only switched threads (0.1 us was measured, twice that with
/// the events being posted).
const IDLE_MIN_NS: u64 = 2_000;
/// A wait counts up to this length: a main thread that waits for all others to end is no contention.
const WAIT_MAX_NS: u64 = 500_000_000;
/// Threads that made others wait, remembered with the cost.
const HOLDERS_MAX: usize = 1_024;

/// The state of a green thread.
#[derive(Copy, Clone, PartialEq, Debug)]
enum GreenState {
    /// It runs, or would if it had a lane.
    Active,
    Blocked(BlockedOn),
    Woken,
    Foreign,
}

#[derive(Copy, Clone)]
struct WatchedThread {
    state: GreenState,
    since: Time,
    /// Since when it has waited for nothing but a lane.
    active_since: Time,
    /// Whether it has waited for another thread, and whether it has released one.
    waited: bool,
    woke: bool,
}

#[derive(Default)]
struct LaneRuns {
    running: Option<(GreenThread, Time)>,
    /// The thread that ran last, if it may run again at once.
    next: Option<GreenThread>,
    idle: bool,
    off: bool,
    run_ns: u64,
}

/// Waits of one kind.
#[derive(Copy, Clone, Default, Debug, PartialEq)]
pub struct GreenWaits {
    pub count: u64,
    /// Thread time, nanoseconds; in [`Contention`] only while a lane was idle.
    pub ns: u64,
}

/// Waits of threads for each other while lanes were idle.
#[derive(Default)]
pub struct Contention {
    /// Wall-clock time in which at least one lane was idle because of them.
    pub idle: Union,
    /// Waits for a lock or mailbox.
    pub locks: GreenWaits,
    /// Waits for a value that another thread computed.
    pub black_holes: GreenWaits,
    /// Waits for a transaction.
    pub transactions: GreenWaits,
    /// The longest wait: the waiting thread, the holder, start and end.
    pub longest: Option<(GreenThread, GreenThread, Time, Time)>,
    /// Thread time that others waited for each holder, nanoseconds.
    pub holders: BTreeMap<GreenThread, u64>,
}

impl Contention {
    pub fn waits(&self) -> u64 {
        self.locks.count + self.black_holes.count + self.transactions.count
    }

    /// Thread time of all waits, nanoseconds.
    pub fn waits_ns(&self) -> u64 {
        self.locks.ns + self.black_holes.ns + self.transactions.ns
    }

    fn add(&mut self, on: BlockedOn, ns: u64, wait: (GreenThread, GreenThread, Time, Time)) {
        let waits = match on {
            BlockedOn::BlackHole(_) => &mut self.black_holes,
            BlockedOn::Transaction => &mut self.transactions,
            _ => &mut self.locks,
        };
        let holder = wait.1;
        waits.count += 1;
        waits.ns = waits.ns.saturating_add(ns);
        if self.longest.is_none_or(|longest| longest.3.since(longest.2) < wait.3.since(wait.2)) {
            self.longest = Some(wait);
        }
        if self.holders.len() < HOLDERS_MAX || self.holders.contains_key(&holder) {
            let sum = self.holders.entry(holder).or_default();
            *sum = sum.saturating_add(ns);
        }
    }
}

/// When lanes were idle, as far back as waits need.
#[derive(Default)]
struct Idle {
    lanes: usize,
    /// Whether the world is stopped: then nothing counts as idle.
    stopped: bool,
    since: Option<Time>,
    spans: VecDeque<(Time, Time)>,
}

impl Idle {
    /// One lane changes from `was` idle to `is`.
    fn lane(&mut self, was: &mut bool, is: bool, time: Time) {
        match (std::mem::replace(was, is), is) {
            (false, true) => self.lanes += 1,
            (true, false) => self.lanes = self.lanes.saturating_sub(1),
            _ => return,
        }
        self.change(time);
    }

    fn change(&mut self, time: Time) {
        match (self.lanes > 0 && !self.stopped, self.since) {
            (true, None) => self.since = Some(time),
            (false, Some(since)) => {
                self.since = None;
                if time.since(since) >= IDLE_MIN_NS {
                    lately::push(&mut self.spans, (since, time), IDLE_MAX);
                }
            }
            _ => {}
        }
    }

    /// The idle pieces of `[from, to]`.
    fn within(&self, from: Time, to: Time) -> impl Iterator<Item = (Time, Time)> + '_ {
        let open = self.since.map(|since| (since, to)).filter(|span| span.1.since(span.0) >= IDLE_MIN_NS);
        let spans = open.into_iter().chain(self.spans.iter().rev().copied());
        let spans = spans.take_while(move |span| span.1 > from);
        spans.map(move |span| (span.0.max(from), span.1.min(to))).filter(|span| span.0 < span.1)
    }
}

#[derive(Default)]
pub struct GreenThreads {
    /// Whether the stream holds every run and stop.
    every_event: bool,
    seen: bool,
    threads: HashMap<GreenThread, WatchedThread>,
    lanes: BTreeMap<LaneId, LaneRuns>,
    created: u64,
    finished: u64,
    alive: u64,
    alive_max: u64,
    slices: Dist,
    wake_to_run: Dist,
    blocked: BTreeMap<&'static str, GreenWaits>,
    idle: Idle,
    /// How threads waited for each other.
    pub contention: Contention,
}

impl GreenThreads {
    pub fn new(context: &Context) -> Self {
        GreenThreads { every_event: context.every_green_event, ..GreenThreads::default() }
    }

    /// Whether every run and stop of green threads was visible.
    pub fn known(&self) -> bool {
        self.every_event && self.seen
    }

    /// The entry of `green`; a new one is active from now on.
    fn thread(&mut self, green: GreenThread, time: Time) -> Option<&mut WatchedThread> {
        if !self.threads.contains_key(&green) {
            if self.threads.len() >= THREADS_MAX {
                return None;
            }
            self.alive += 1;
            self.alive_max = self.alive_max.max(self.alive);
        }
        let new =
            WatchedThread { state: GreenState::Active, since: time, active_since: time, waited: false, woke: false };
        Some(self.threads.entry(green).or_insert(new))
    }

    fn ran(&mut self, id: LaneId, time: Time, green: GreenThread) {
        self.seen = true;
        if !id.is_some() {
            return;
        }
        if let Some(thread) = self.thread(green, time) {
            let (state, since) = (thread.state, thread.since);
            thread.active_since = match state {
                GreenState::Active => thread.active_since,
                // From its release on it holds what it waited for.
                GreenState::Woken => since,
                GreenState::Blocked(_) | GreenState::Foreign => time,
            };
            (thread.state, thread.since) = (GreenState::Active, time);
            match state {
                GreenState::Active => {}
                GreenState::Woken => self.wake_to_run.add(time.since(since)),
                GreenState::Blocked(on) => self.add_blocked(reason(on), time.since(since)),
                GreenState::Foreign => self.add_blocked("foreign-call", time.since(since)),
            }
        }
        let lane = self.lanes.entry(id).or_default();
        lane.running = Some((green, time));
        lane.next = None;
        self.idle.lane(&mut lane.idle, false, time);
    }

    fn stopped(&mut self, id: LaneId, time: Time, green: GreenThread, why: StopReason) {
        self.seen = true;
        if !id.is_some() {
            return;
        }
        let lane = self.lanes.entry(id).or_default();
        if let Some((_, since)) = lane.running.take().filter(|running| running.0 == green) {
            let ns = time.since(since);
            lane.run_ns = lane.run_ns.saturating_add(ns);
            self.slices.add(ns);
        }
        lane.next = (why == StopReason::Yielded).then_some(green);
        self.idle.lane(&mut lane.idle, lane.next.is_none() && !lane.off, time);
        if why == StopReason::Finished {
            self.finished += 1;
            if self.threads.remove(&green).is_some() {
                self.alive = self.alive.saturating_sub(1);
            }
            return;
        }
        if let Some(thread) = self.thread(green, time) {
            thread.since = time;
            thread.state = match why {
                StopReason::Blocked(on) => GreenState::Blocked(on),
                StopReason::ForeignCall => GreenState::Foreign,
                _ => GreenState::Active,
            };
        }
    }

    fn woken(&mut self, id: LaneId, time: Time, green: GreenThread) {
        let Some(thread) = self.threads.get_mut(&green) else { return };
        let GreenState::Blocked(on) = thread.state else { return };
        let waiter = *thread;
        thread.state = GreenState::Woken;
        thread.since = time;
        self.add_blocked(reason(on), time.since(waiter.since));
        let holder = self.lanes.get(&id).and_then(|lane| lane.running).map(|running| running.0);
        let Some(holder) = holder.filter(|holder| *holder != green) else { return };
        self.handed_over(on, (green, waiter), holder, time);
    }

    /// `holder` releases `waiter`.
    fn handed_over(&mut self, on: BlockedOn, waiter: (GreenThread, WatchedThread), holder: GreenThread, time: Time) {
        let Some(by) = self.threads.get_mut(&holder) else { return };
        let (active_since, both) = (by.active_since, by.waited && waiter.1.woke);
        by.woke = true;
        if let Some(thread) = self.threads.get_mut(&waiter.0) {
            thread.waited = true;
        }
        let counts = match on {
            BlockedOn::BlackHole(_) => true,
            BlockedOn::Lock | BlockedOn::Transaction => both,
            BlockedOn::Io | BlockedOn::Other => false,
        };
        let from = waiter.1.since.max(active_since);
        let to = time.min(waiter.1.since.plus(WAIT_MAX_NS));
        if !counts || from >= to {
            return;
        }
        let mut idle_ns = 0u64;
        for (from, to) in self.idle.within(from, to) {
            idle_ns = idle_ns.saturating_add(to.since(from));
            self.contention.idle.add(from, to);
        }
        if idle_ns > 0 {
            self.contention.add(on, idle_ns, (waiter.0, holder, from, to));
        }
    }

    fn moved(&mut self, id: LaneId, time: Time, green: GreenThread) {
        let Some(lane) = self.lanes.get_mut(&id).filter(|lane| lane.next == Some(green)) else { return };
        lane.next = None;
        self.idle.lane(&mut lane.idle, !lane.off, time);
    }

    fn switched(&mut self, id: LaneId, time: Time, off: bool) {
        if !id.is_some() {
            return;
        }
        let lane = self.lanes.entry(id).or_default();
        lane.off = off;
        self.idle.lane(&mut lane.idle, !off && lane.running.is_none(), time);
    }

    fn world(&mut self, time: Time, stopped: bool) {
        self.idle.stopped = stopped;
        self.idle.change(time);
    }

    fn add_blocked(&mut self, reason: &'static str, ns: u64) {
        let waits = self.blocked.entry(reason).or_default();
        waits.count += 1;
        waits.ns = waits.ns.saturating_add(ns);
    }

    /// The sums over `span_ns`; `None` where the log does not have them.
    pub fn values(&self, span_ns: u64) -> Option<GreenSummary> {
        if !self.known() {
            return None;
        }
        let share = |ns: u64| if span_ns > 0 { (ns as f64 / span_ns as f64).min(1.0) } else { 0.0 };
        let lane =
            |(id, lane): (&LaneId, &LaneRuns)| GreenLane { lane: id.0, run_ns: lane.run_ns, share: share(lane.run_ns) };
        let mut blocked: Vec<_> = self.blocked.iter().collect();
        blocked.sort_by_key(|(_, waits)| std::cmp::Reverse(waits.ns));
        let sum =
            |(reason, waits): (&&'static str, &GreenWaits)| BlockedSum { reason, count: waits.count, sum_ns: waits.ns };
        Some(GreenSummary {
            created: self.created,
            finished: self.finished,
            alive_max: self.alive_max,
            slice_ns: self.slices.values(),
            wake_to_run_ns: self.wake_to_run.values(),
            blocked: blocked.into_iter().map(sum).collect(),
            lanes: self.lanes.iter().map(lane).collect(),
            idle_while_waiting_ns: self.contention.idle.ns(),
        })
    }
}

impl Fold for GreenThreads {
    fn classes(&self) -> Classes {
        let all = Classes::NONE.with(Class::Green).with(Class::Lanes).with(Class::Collection).with(Class::Figures);
        if self.every_event { all } else { Classes::NONE }
    }

    fn event(&mut self, event: &Event) {
        let Body::Runtime(body) = event.body else { return };
        let (time, lane) = (event.time, event.lane);
        match body {
            Runtime::ThreadRun(green) => self.ran(lane, time, green),
            Runtime::ThreadStop(green, reason) => self.stopped(lane, time, green, reason),
            Runtime::ThreadWoken(green) => self.woken(lane, time, green),
            Runtime::ThreadCreated(green) => {
                self.created += 1;
                self.thread(green, time);
            }
            Runtime::ThreadMoved(green) => self.moved(lane, time, green),
            Runtime::LaneCreated | Runtime::LaneEnabled => self.switched(lane, time, false),
            Runtime::LaneDeleted | Runtime::LaneDisabled => self.switched(lane, time, true),
            Runtime::StopRequested { .. } => self.world(time, true),
            Runtime::Count(Counter::Generation, _) => self.world(time, false),
            _ => {}
        }
    }

    fn result(&mut self, end: &End<'_>, results: &mut Results) {
        results.green_threads = self.values(end.span_ns);
    }
}

fn reason(on: BlockedOn) -> &'static str {
    match on {
        BlockedOn::Lock => "lock",
        BlockedOn::BlackHole(_) => "black-hole",
        BlockedOn::Transaction => "transaction",
        BlockedOn::Io => "io",
        BlockedOn::Other => "other",
    }
}

#[cfg(test)]
#[path = "green_tests.rs"]
mod tests;

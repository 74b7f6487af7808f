//! The last seconds of a live stream: pauses per second, time to stop, productivity, causes of waits,
//! memory, throttling.
//!
//! Owns merging seconds, each of which is closed when it is over; their contents come from the analysis (pauses with
//! their causes, [`Totals`]) and from samples. Refuses to recognise or blame anything. Bounded: [`SECONDS_MAX`]
//! seconds, each with a bounded number of causes.

pub use crate::results::Throttled;

use crate::account::{AccountPart, tops_of};
use crate::lanes::times::Spent;
use crate::pauses::sums::PauseSums;
use crate::recording::stm::{StmRates, StmTotals};
use crate::results::dist::Quantiles;
use crate::results::{BlamedPause, Lane, Pauses};
use rtscope_model::{Body, Cause, Counter, Event, NameId, Names, Node, Runtime, Sample, Tid, Time};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap, VecDeque};

/// Maximum length of a window, seconds.
pub const SECONDS_MAX: usize = 600;
/// Threads whose counters are remembered.
const THREADS_MAX: usize = 8_192;

/// Sums from the start of an analysis to a moment.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// The moment up to which the sums go.
    pub at: Time,
    /// What threads did; `None` without usable kernel events.
    pub spent: Option<Spent>,
    /// Collection time as the runtime counts it, nanoseconds.
    pub collect_ns: u64,
    /// Lanes that are alive, or were until recently.
    pub lanes: Vec<Lane>,
    /// Lane time by what it counts as, as far as that is settled, nanoseconds.
    pub parts: BTreeMap<AccountPart, u64>,
    /// What kept the program off its CPUs; `None` without usable kernel events.
    pub held: Option<HeldSums>,
    /// Counters of the quotas that are set.
    pub quotas: Vec<Throttled>,
    /// Transactions; `None`: none was seen.
    pub stm: Option<StmTotals>,
}

/// Wall-clock time in which a thread of the program was runnable without a CPU, by what held the CPU; nanoseconds.
#[derive(Clone, Debug, Default)]
pub struct HeldSums {
    /// Time held by a quota.
    pub quota_ns: u64,
    /// Time held by other processes.
    pub foreign_ns: u64,
    /// Time held by the program's own threads.
    pub sibling_ns: u64,
    /// Time held by other processes, by name.
    pub by_name: BTreeMap<NameId, u64>,
}

/// The data of one second.
struct Second {
    pauses: PauseSums,
    /// Time on a CPU, and time runnable without one, nanoseconds.
    cpu: [u64; 2],
}

impl Second {
    fn new() -> Second {
        Second { pauses: PauseSums::with(Quantiles::Coarse), cpu: [0; 2] }
    }

    fn merge(&mut self, other: &Second) {
        self.pauses.merge(&other.pauses);
        self.cpu.iter_mut().zip(other.cpu).for_each(|(sum, more)| *sum += more);
    }
}

/// The fold over a live stream.
pub struct Window {
    seconds_max: usize,
    /// Seconds that are over, each with the sums at its end.
    seconds: VecDeque<(Second, Totals, u64)>,
    now: Second,
    start: Totals,
    threads: HashMap<Tid, [u64; 2]>,
    memory: Levels,
}

/// Memory as last seen, bytes; `None`: not seen.
#[derive(Copy, Clone, Debug, Default, PartialEq, Serialize)]
pub struct Levels {
    /// Resident set of the process.
    pub rss_bytes: Option<u64>,
    /// Memory that the runtime holds from the system.
    pub heap_bytes: Option<u64>,
    /// Live data after the last collection that counted it.
    pub live_bytes: Option<u64>,
    /// Since when `live_bytes` holds.
    #[serde(skip)]
    pub live_at: Option<Time>,
}

/// The longest waits in pauses, by cause.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WorstWait {
    /// The cause of these waits.
    pub cause: Cause,
    /// The process that took the CPU, where known.
    pub who: Option<String>,
    /// Sum over the window, nanoseconds.
    pub sum_ns: u64,
    /// Share of all waits in pauses.
    pub share: f64,
    /// The longest piece, nanoseconds.
    pub longest_ns: u64,
}

/// Shares of wall-clock time in which the program was runnable but kept off a CPU.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct KeptOff {
    /// Kept off by a quota.
    pub quota: f64,
    /// Kept off by other processes.
    pub others: f64,
    /// Name of the process that took most of that.
    pub who: Option<String>,
    /// Kept off by its own threads.
    pub own: f64,
}

/// Shares of a lane's time in the window.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LaneShares {
    /// Number of the lane.
    pub id: u16,
    /// "capability 0".
    pub name: String,
    /// Running the program's own code, on a CPU; `None`: the threads that serve it are not known.
    pub program: Option<f64>,
    /// Doing its own collection work.
    pub collect: Option<f64>,
    /// Waiting: to lead, for others to stop, to resume.
    pub wait: Option<f64>,
    /// Having nothing to do.
    pub idle: Option<f64>,
    /// Number of pauses in which it stopped last.
    pub straggler: u64,
}

/// The figures of a window.
#[derive(Clone, Debug, Default, Serialize)]
pub struct WindowFigures {
    /// Its end, nanoseconds of the trace clock.
    #[serde(rename = "at_ns")]
    pub at: Time,
    /// Its length, nanoseconds.
    pub span_ns: u64,
    /// Sums over its pauses.
    pub pauses: Pauses,
    /// The share of non-idle lane time in which the program ran; `None` without a log, or without usable
    /// kernel events.
    pub productivity_wall: Option<f64>,
    /// The share of time outside collections as the runtime counts them; `None` without a log.
    pub productivity_runtime: Option<f64>,
    /// Mean number of CPUs that the program used, by the kernel's counters.
    pub cpus_used: Option<f64>,
    /// Mean number of CPUs that it wanted and did not have, by the kernel's counters.
    pub cpus_missed: Option<f64>,
    /// Where the time of all lanes went, longest first; empty without a log.
    pub account: Vec<Node>,
    /// Shares of each lane's time.
    pub lanes: Vec<LaneShares>,
    /// Transactions; `None`: none was seen.
    pub transactions: Option<StmRates>,
    /// The worst cause; `None` if there were no waits in pauses.
    pub worst: Option<WorstWait>,
    /// What kept it off a CPU; `None` without usable kernel events.
    pub kept: Option<KeptOff>,
    /// The quota that ran out most; `None`: no group of the program has one.
    pub throttled: Option<Throttled>,
    /// Memory at its end.
    pub memory: Levels,
}

impl Window {
    /// A window of at most `seconds`, from `start` on.
    pub fn new(seconds: usize, start: Totals) -> Window {
        Window {
            seconds_max: seconds.clamp(1, SECONDS_MAX),
            seconds: VecDeque::new(),
            now: Second::new(),
            start,
            threads: HashMap::new(),
            memory: Levels::default(),
        }
    }

    /// Sets the start, for streams whose start is known only when it comes.
    pub fn begin(&mut self, at: Time) {
        self.start.at = at;
    }

    /// Adds a finished pause with its causes.
    pub fn pause(&mut self, blamed: &BlamedPause) {
        self.now.pauses.add(blamed);
    }

    /// Takes an event: samples, and figures of memory.
    pub fn event(&mut self, event: &Event) {
        match event.body {
            Body::Sample(Sample::Rss { bytes }) => self.memory.rss_bytes = Some(bytes),
            Body::Sample(Sample::Thread { tid, cpu_ns, wait_ns, .. }) => self.thread(tid, [cpu_ns, wait_ns]),
            Body::Runtime(Runtime::Count(Counter::HeapBytes, bytes)) => self.memory.heap_bytes = Some(bytes),
            Body::Runtime(Runtime::Count(Counter::LiveBytes, bytes)) => {
                (self.memory.live_bytes, self.memory.live_at) = (Some(bytes), Some(event.time));
            }
            _ => {}
        }
    }

    /// A thread that is new here may have run long before: it counts from its second sample on.
    fn thread(&mut self, tid: Tid, now: [u64; 2]) {
        if self.threads.len() >= THREADS_MAX && !self.threads.contains_key(&tid) {
            self.threads.clear();
        }
        let Some(before) = self.threads.insert(tid, now) else { return };
        let grown = now.into_iter().zip(before).map(|(now, before)| now.saturating_sub(before));
        self.now.cpu.iter_mut().zip(grown).for_each(|(sum, more)| *sum += more);
    }

    /// Closes a second; `standing` are the sums at its end.
    pub fn close(&mut self, standing: Totals) {
        let before = self.seconds.back().map_or(self.start.at, |(_, standing, _)| standing.at);
        let ns = standing.at.since(before);
        if ns == 0 {
            return;
        }
        let second = std::mem::replace(&mut self.now, Second::new());
        self.seconds.push_back((second, standing, ns));
        while self.seconds.len() > self.seconds_max {
            if let Some((_, standing, _)) = self.seconds.pop_front() {
                self.start = standing;
            }
        }
    }

    /// The figures of the seconds that are over.
    pub fn figures(&self, names: &Names) -> WindowFigures {
        let none = Totals::default();
        let mut sum = Second::new();
        self.seconds.iter().for_each(|(second, _, _)| sum.merge(second));
        let end = self.seconds.back().map_or(&none, |(_, standing, _)| standing);
        let span_ns: u64 = self.seconds.iter().map(|(_, _, ns)| *ns).sum();
        let share = |ns: u64| if span_ns > 0 { ns as f64 / span_ns as f64 } else { 0.0 };
        let spent = end.spent.map(|spent| spent.since(self.start.spent.unwrap_or_default()));
        let collect = share(end.collect_ns.saturating_sub(self.start.collect_ns));
        // Pauses from just before the window that became known in it may exceed those at its end.
        let total_ns = self.seconds.iter().map(|(second, _, _)| second.pauses.stopped_ns()).sum::<u64>().min(span_ns);
        let lanes = !end.lanes.is_empty();
        let [used, missed] = sum.cpu.map(|ns| (!self.threads.is_empty()).then(|| share(ns)));
        WindowFigures {
            at: end.at,
            span_ns,
            pauses: sum.pauses.pauses(span_ns, total_ns),
            productivity_wall: spent.filter(|_| lanes).and_then(Spent::productivity),
            productivity_runtime: lanes.then(|| (1.0 - collect).max(0.0)),
            cpus_used: used,
            cpus_missed: missed,
            account: account(end, &self.start, names),
            lanes: end.lanes.iter().map(|lane| self.lane(lane, &sum, span_ns)).collect(),
            transactions: end.stm.map(|stm| stm.rates(&self.start.stm.unwrap_or_default(), self.start.at, end.at)),
            worst: worst(&sum.pauses, names),
            kept: end.held.as_ref().map(|held| kept(held, self.start.held.as_ref(), names, share)),
            throttled: throttled(end, &self.start),
            memory: self.memory,
        }
    }

    fn lane(&self, lane: &Lane, sum: &Second, span_ns: u64) -> LaneShares {
        let before = self.start.lanes.iter().find(|before| before.id == lane.id);
        let share = |of: fn(&Lane) -> Option<u64>| {
            let ns = of(lane)?.saturating_sub(before.and_then(of).unwrap_or(0));
            (span_ns > 0).then(|| (ns as f64 / span_ns as f64).min(1.0))
        };
        let waits = [
            share(|lane| lane.stop_wait_ns),
            share(|lane| lane.release_wait_ns),
            share(|lane| lane.leadership_wait_ns),
        ];
        LaneShares {
            id: lane.id,
            name: lane.name.clone(),
            program: share(|lane| lane.mutator_ns),
            collect: share(|lane| lane.collect_ns),
            wait: waits.iter().any(Option::is_some).then(|| waits.iter().flatten().sum()),
            idle: share(|lane| lane.idle_ns),
            straggler: sum.pauses.was_last(lane.id),
        }
    }
}

/// What lane time counted as since `start`.
fn account(end: &Totals, start: &Totals, names: &Names) -> Vec<Node> {
    let grown = |(part, ns): (&AccountPart, &u64)| {
        let before = start.parts.get(part).copied().unwrap_or(0);
        Some((*part, ns.saturating_sub(before))).filter(|(_, ns)| *ns > 0)
    };
    tops_of(&end.parts.iter().filter_map(grown).collect(), names)
}

/// The group that was throttled longest; if none was, the first.
fn throttled(end: &Totals, start: &Totals) -> Option<Throttled> {
    let grown = |now: &Throttled| {
        let before = start.quotas.iter().find(|before| before.group == now.group);
        let since = |of: fn(&Throttled) -> u64| of(now).saturating_sub(before.map_or(0, of));
        let [periods, throttled, throttled_ns] =
            [since(|one| one.periods), since(|one| one.throttled), since(|one| one.throttled_ns)];
        Throttled { group: now.group, periods, throttled, throttled_ns }
    };
    let mut all = end.quotas.iter().map(grown);
    let most = all.clone().filter(|one| one.periods > 0).max_by_key(|one| (one.throttled_ns, one.periods));
    most.or_else(|| all.next())
}

fn worst(sums: &PauseSums, names: &Names) -> Option<WorstWait> {
    let ((cause, who), total) = sums.worst_cause().filter(|(_, total)| total.ns > 0)?;
    Some(WorstWait {
        cause,
        who: who.map(|who| names.get(who).to_owned()),
        sum_ns: total.ns,
        share: sums.share(total),
        longest_ns: total.longest.ns(),
    })
}

fn kept(held: &HeldSums, before: Option<&HeldSums>, names: &Names, share: impl Fn(u64) -> f64) -> KeptOff {
    let none = HeldSums::default();
    let before = before.unwrap_or(&none);
    let name = |(name, ns): (&NameId, &u64)| (ns.saturating_sub(before.by_name.get(name).copied().unwrap_or(0)), *name);
    let most = held.by_name.iter().map(name).max().filter(|(ns, _)| *ns > 0);
    KeptOff {
        quota: share(held.quota_ns.saturating_sub(before.quota_ns)),
        others: share(held.foreign_ns.saturating_sub(before.foreign_ns)),
        who: most.map(|(_, name)| names.get(name).to_owned()),
        own: share(held.sibling_ns.saturating_sub(before.sibling_ns)),
    }
}

#[cfg(test)]
#[path = "window_tests.rs"]
mod tests;

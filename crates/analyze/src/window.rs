//! The last seconds of a stream that goes on: pauses per second, time to stop, productivity,
//! what was waited for, memory, throttling.
//!
//! Owns putting seconds together, each of which is closed when it is over; what is in them
//! comes from the analysis (pauses with their causes, [`Standing`]) and from samples.
//! Refuses to recognise or blame anything. Bounded: [`SECONDS_MAX`] seconds, each with a
//! bounded number of causes.

pub use crate::results::Throttled;

use crate::lanes::times::Spent;
use crate::pauses::sums::Sums;
use crate::recording::stm::{StmRates, StmTotals};
use crate::results::dist::Quantiles;
use crate::results::{BlamedPause, Lane, Pauses};
use rtscope_model::{Body, Cause, Counter, Event, NameId, Names, Runtime, Sample, Tid, Time};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap, VecDeque};

/// Seconds that a window has at most.
pub const SECONDS_MAX: usize = 600;
/// Threads whose counters are remembered.
const THREADS_MAX: usize = 8_192;

/// Sums from the start of an analysis to a moment.
#[derive(Clone, Debug, Default)]
pub struct Standing {
    /// The moment.
    pub at: Time,
    /// What threads did; `None` where kernel events do not tell.
    pub spent: Option<Spent>,
    /// Collection as the runtime counts it, nanoseconds.
    pub collect_ns: u64,
    /// Lanes that live, or did a while before.
    pub lanes: Vec<Lane>,
    /// What kept the program off its CPUs; `None` where kernel events do not tell.
    pub held: Option<HeldSums>,
    /// Quotas that are set.
    pub quotas: Vec<Throttled>,
    /// Transactions; `None`: none was seen.
    pub stm: Option<StmTotals>,
}

/// Wall-clock time in which a thread of the program wanted a CPU and did not get it, by what
/// held it; nanoseconds.
#[derive(Clone, Debug, Default)]
pub struct HeldSums {
    /// A quota.
    pub quota_ns: u64,
    /// Other processes.
    pub foreign_ns: u64,
    /// The program's own threads.
    pub sibling_ns: u64,
    /// Other processes by name.
    pub by_name: BTreeMap<NameId, u64>,
}

/// What came in one second.
struct Second {
    pauses: Sums,
    /// On a CPU, and kept off one that was wanted, nanoseconds.
    cpu: [u64; 2],
}

impl Second {
    fn new() -> Second {
        Second { pauses: Sums::with(Quantiles::Coarse), cpu: [0; 2] }
    }

    fn merge(&mut self, other: &Second) {
        self.pauses.merge(&other.pauses);
        self.cpu.iter_mut().zip(other.cpu).for_each(|(sum, more)| *sum += more);
    }
}

/// The fold.
pub struct Window {
    seconds_max: usize,
    /// Those that are over, each with the sums at its end.
    seconds: VecDeque<(Second, Standing, u64)>,
    now: Second,
    start: Standing,
    threads: HashMap<Tid, [u64; 2]>,
    memory: Levels,
}

/// Memory as it was seen last, bytes; `None`: not seen.
#[derive(Copy, Clone, Debug, Default, PartialEq, Serialize)]
pub struct Levels {
    /// Resident set.
    pub rss_bytes: Option<u64>,
    /// Heap as the runtime holds it from the system.
    pub heap_bytes: Option<u64>,
    /// Live data after the last collection that counted it.
    pub live_bytes: Option<u64>,
    /// Since when that figure holds.
    #[serde(skip)]
    pub live_at: Option<Time>,
}

/// What was waited for most in pauses.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Worst {
    /// Why.
    pub cause: Cause,
    /// Who took the CPU, where known.
    pub who: Option<String>,
    /// Summed over the window, ns.
    pub sum_ns: u64,
    /// Its share of all that was waited for in pauses.
    pub share: f64,
    /// The longest piece, ns.
    pub longest_ns: u64,
}

/// Shares of wall time in which the program was kept off a CPU that it wanted.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Kept {
    /// By a quota.
    pub quota: f64,
    /// By other processes.
    pub others: f64,
    /// Whose name took most of that.
    pub who: Option<String>,
    /// By its own threads.
    pub own: f64,
}

/// Shares of a lane's time in the window.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LaneShares {
    /// Number.
    pub id: u16,
    /// "capability 0".
    pub name: String,
    /// The program's own code, on a CPU; `None`: not known which threads serve it.
    pub program: Option<f64>,
    /// Its own collection work.
    pub collect: Option<f64>,
    /// Waited: to lead, for others to stop, to go on.
    pub wait: Option<f64>,
    /// Nothing to do.
    pub idle: Option<f64>,
    /// Pauses in which it stopped last.
    pub straggler: u64,
}

/// The figures of a window.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Figures {
    /// Its end, ns of the trace clock.
    #[serde(rename = "at_ns")]
    pub at: Time,
    /// How long it is, ns.
    pub span_ns: u64,
    /// Pauses.
    pub pauses: Pauses,
    /// The share of the time that lanes were not idle in which the program ran; `None` without a
    /// log, or where kernel events do not tell.
    pub productivity_wall: Option<f64>,
    /// The share of the time that was no collection, as the runtime counts it; `None` without
    /// a log.
    pub productivity_runtime: Option<f64>,
    /// CPUs that were used, and those that were wanted and not had, by the kernel's counters.
    pub cpus_used: Option<f64>,
    /// See there.
    pub cpus_missed: Option<f64>,
    /// Lanes.
    pub lanes: Vec<LaneShares>,
    /// Transactions; `None`: none was seen.
    pub transactions: Option<StmRates>,
    /// The worst cause; `None` where nothing was waited for in pauses.
    pub worst: Option<Worst>,
    /// What kept it off a CPU; `None`: kernel events do not tell.
    pub kept: Option<Kept>,
    /// The quota that ran out most; `None`: no group that covers it has one.
    pub throttled: Option<Throttled>,
    /// Memory.
    pub memory: Levels,
}

impl Window {
    /// A window of so many seconds at most, from `start` on.
    pub fn new(seconds: usize, start: Standing) -> Window {
        Window {
            seconds_max: seconds.clamp(1, SECONDS_MAX),
            seconds: VecDeque::new(),
            now: Second::new(),
            start,
            threads: HashMap::new(),
            memory: Levels::default(),
        }
    }

    /// It begins here: for a stream of which that is known only when it comes.
    pub fn begin(&mut self, at: Time) {
        self.start.at = at;
    }

    /// A pause that is over and blamed.
    pub fn pause(&mut self, blamed: &BlamedPause) {
        self.now.pauses.add(blamed);
    }

    /// An event: samples, and figures of memory.
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

    /// A thread that is new to us may have run long before: it counts from its second sample on.
    fn thread(&mut self, tid: Tid, now: [u64; 2]) {
        if self.threads.len() >= THREADS_MAX && !self.threads.contains_key(&tid) {
            self.threads.clear();
        }
        let Some(before) = self.threads.insert(tid, now) else { return };
        let grown = now.into_iter().zip(before).map(|(now, before)| now.saturating_sub(before));
        self.now.cpu.iter_mut().zip(grown).for_each(|(sum, more)| *sum += more);
    }

    /// A second is over; the sums at its end.
    pub fn close(&mut self, standing: Standing) {
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
    pub fn figures(&self, names: &Names) -> Figures {
        let none = Standing::default();
        let mut sum = Second::new();
        self.seconds.iter().for_each(|(second, _, _)| sum.merge(second));
        let end = self.seconds.back().map_or(&none, |(_, standing, _)| standing);
        let span_ns: u64 = self.seconds.iter().map(|(_, _, ns)| *ns).sum();
        let share = |ns: u64| if span_ns > 0 { ns as f64 / span_ns as f64 } else { 0.0 };
        let spent = end.spent.map(|spent| spent.since(self.start.spent.unwrap_or_default()));
        let collect = share(end.collect_ns.saturating_sub(self.start.collect_ns));
        // Those of just before the window, known in it, may be more than those of its end.
        let total_ns = self.seconds.iter().map(|(second, _, _)| second.pauses.stopped_ns()).sum::<u64>().min(span_ns);
        let lanes = !end.lanes.is_empty();
        let [used, missed] = sum.cpu.map(|ns| (!self.threads.is_empty()).then(|| share(ns)));
        Figures {
            at: end.at,
            span_ns,
            pauses: sum.pauses.pauses(span_ns, total_ns),
            productivity_wall: spent.filter(|_| lanes).and_then(Spent::productivity),
            productivity_runtime: lanes.then(|| (1.0 - collect).max(0.0)),
            cpus_used: used,
            cpus_missed: missed,
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

/// The group that was held back longest; where none was, the first.
fn throttled(end: &Standing, start: &Standing) -> Option<Throttled> {
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

fn worst(sums: &Sums, names: &Names) -> Option<Worst> {
    let ((cause, who), total) = sums.worst_cause().filter(|(_, total)| total.ns > 0)?;
    Some(Worst {
        cause,
        who: who.map(|who| names.get(who).to_owned()),
        sum_ns: total.ns,
        share: sums.share(total),
        longest_ns: total.longest.ns(),
    })
}

fn kept(held: &HeldSums, before: Option<&HeldSums>, names: &Names, share: impl Fn(u64) -> f64) -> Kept {
    let none = HeldSums::default();
    let before = before.unwrap_or(&none);
    let name = |(name, ns): (&NameId, &u64)| (ns.saturating_sub(before.by_name.get(name).copied().unwrap_or(0)), *name);
    let most = held.by_name.iter().map(name).max().filter(|(ns, _)| *ns > 0);
    Kept {
        quota: share(held.quota_ns.saturating_sub(before.quota_ns)),
        others: share(held.foreign_ns.saturating_sub(before.foreign_ns)),
        who: most.map(|(_, name)| names.get(name).to_owned()),
        own: share(held.sibling_ns.saturating_sub(before.sibling_ns)),
    }
}

#[cfg(test)]
#[path = "window_tests.rs"]
mod tests;

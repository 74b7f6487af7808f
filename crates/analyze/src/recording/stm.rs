//! Transactions (STM): sums over looks at a program's counts, by lane, by name and over time. Owns what counts as
//! lost: attempts whose work was thrown away because another transaction had changed what they read. A wait in
//! `retry` does not count, nor does an exception.
//!
//! Counts are cumulative; for a program that ran before, they count from the first look on. A count that falls is
//! from another program in the same process: it restarts.

use crate::results::stm::{LaneTransactions, NamedTransactions, StmSlice, Transactions};
use rtscope_model::{CodeKind, StmCounts, StmNamed, StmSeen, Symbol, Time};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Maximum number of slices of time, and their initial width, nanoseconds: looks are that frequent.
const SLICES_MAX: usize = 512;
const WIDTH_NS: u64 = 100_000_000;
const NAMES_MAX: usize = 4_096;

/// Sums over all lanes up to a moment.
#[derive(Copy, Clone, Debug, Default, PartialEq)]
pub struct StmTotals {
    /// The moment from which attempts are counted.
    pub from: Time,
    /// Attempts as the package counts them, else as the runtime does.
    pub attempts: u64,
    /// Commits, and attempts that were thrown away; `None`: only attempts were counted.
    pub outcomes: Option<(u64, u64)>,
}

/// Rates of transactions over an interval.
#[derive(Copy, Clone, Debug, Default, PartialEq, Serialize)]
pub struct StmRates {
    /// Attempts per second.
    pub attempts_per_second: f64,
    /// Commits per second; null where only attempts were counted.
    pub commits_per_second: Option<f64>,
    /// Share of attempts that were thrown away; null where only attempts were counted.
    pub lost_share: Option<f64>,
}

impl StmTotals {
    /// The rates from `from` to `to`, where `before` are the totals at `from`.
    pub fn rates(&self, before: &StmTotals, from: Time, to: Time) -> StmRates {
        let span_ns = to.since(from.max(self.from));
        let grown = |now: u64, before: u64| now.saturating_sub(before);
        let per_second = |count: u64| if span_ns > 0 { count as f64 * 1e9 / span_ns as f64 } else { 0.0 };
        let attempts = grown(self.attempts, before.attempts);
        let (commits, lost) = before.outcomes.unwrap_or_default();
        let outcomes = self.outcomes.map(|now| (grown(now.0, commits), grown(now.1, lost)));
        StmRates {
            attempts_per_second: per_second(attempts),
            commits_per_second: outcomes.map(|(commits, _)| per_second(commits)),
            lost_share: outcomes.and_then(|(_, lost)| share(lost, attempts)),
        }
    }
}

impl StmSlice {
    /// The share of its counts that falls into `ns` of `whole`.
    fn part(&self, ns: u64, whole: u64) -> StmSlice {
        self.with(self, |count, _| {
            let part = u128::from(count) * u128::from(ns.min(whole)) / u128::from(whole.max(1));
            u64::try_from(part).unwrap_or(count)
        })
    }

    /// Combines each count with the other slice's.
    fn with(&self, other: &StmSlice, both: impl Fn(u64, u64) -> u64) -> StmSlice {
        StmSlice {
            attempts: both(self.attempts, other.attempts),
            commits: both(self.commits, other.commits),
            lost: both(self.lost, other.lost),
            waits: both(self.waits, other.waits),
            ..*self
        }
    }
}

/// A cumulative count: the first value, the current one, and what was counted before a restart.
#[derive(Copy, Clone, Debug, Default, Serialize, Deserialize)]
struct CounterRun<C> {
    first: C,
    now: C,
    before: C,
}

impl CounterRun<StmCounts> {
    fn see(&mut self, now: StmCounts) -> StmCounts {
        if now.attempts < self.now.attempts {
            (self.before, self.first, self.now) = (self.total(), StmCounts::default(), StmCounts::default());
        }
        let grown = now.since(&self.now);
        self.now = now;
        grown
    }

    fn total(&self) -> StmCounts {
        self.now.since(&self.first).plus(&self.before)
    }
}

impl CounterRun<u64> {
    fn see(&mut self, now: u64) -> u64 {
        if now < self.now {
            (self.before, self.first, self.now) = (self.total(), 0, 0);
        }
        let grown = now.saturating_sub(self.now);
        self.now = now;
        grown
    }

    fn total(&self) -> u64 {
        self.now.saturating_sub(self.first).saturating_add(self.before)
    }
}

/// The fold over the looks at one process. Can be serialized as it is.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Stm {
    source: Option<(bool, bool, Option<String>)>,
    /// Start of the counts, and the first and last look.
    origin: Option<Time>,
    from: Option<Time>,
    to: Option<Time>,
    /// The look before the last one.
    before: Option<Time>,
    /// When the program had ended.
    gone: Option<Time>,
    mode: Option<u32>,
    lanes: BTreeMap<u16, CounterRun<StmCounts>>,
    names: BTreeMap<u16, (String, StmNamed, StmNamed)>,
    attempts: Option<CounterRun<u64>>,
    width_ns: u64,
    slices: Vec<StmSlice>,
}

impl Stm {
    /// The fold for a recording that began at `started`; `None`: at the first look.
    pub fn new(started: Option<Time>) -> Stm {
        Stm { origin: started, width_ns: WIDTH_NS, ..Stm::default() }
    }

    /// Whether a fold can have written this: its sizes are within the bounds.
    pub fn is_sound(&self) -> bool {
        self.width_ns >= WIDTH_NS
            && self.slices.len() <= SLICES_MAX
            && self.names.len() <= NAMES_MAX
            && self.slices.iter().all(|slice| slice.from <= slice.to)
    }

    /// Takes the result of a look; looks come in time order.
    pub fn push(&mut self, time: Time, seen: &StmSeen) {
        if !matches!(seen, StmSeen::Source { .. } | StmSeen::Gone) {
            self.from.get_or_insert(time);
            if self.to.is_some_and(|to| to < time) {
                self.before = self.to;
            }
            self.to = self.to.max(Some(time));
        }
        match seen {
            StmSeen::Source { whole, outcomes, why } => {
                let whole = self.source.as_ref().map_or(*whole, |before| before.0);
                self.source = Some((whole, *outcomes, why.clone()));
            }
            StmSeen::Mode(mode) => self.mode = Some(*mode),
            StmSeen::Lane(lane, counts) => self.lane(time, *lane, counts),
            StmSeen::Name(number, name, counts) => self.name(time, *number, name, counts),
            StmSeen::Attempts(attempts) => self.attempts(time, *attempts),
            StmSeen::Last => {}
            StmSeen::Gone => self.gone = Some(time),
        }
    }

    /// Counts from before the first look do not belong to the recording.
    fn is_before(&self, time: Time) -> bool {
        !self.is_whole() && self.from == Some(time)
    }

    /// Whether counting began with the program.
    fn is_whole(&self) -> bool {
        self.source.as_ref().is_some_and(|source| source.0)
    }

    fn lane(&mut self, time: Time, lane: u16, counts: &StmCounts) {
        let first = if self.is_before(time) { *counts } else { StmCounts::default() };
        let run = self.lanes.entry(lane).or_insert(CounterRun { first, now: first, before: StmCounts::default() });
        let grown = run.see(*counts);
        let slice = StmSlice {
            attempts: grown.attempts,
            commits: grown.commits,
            lost: grown.lost(),
            waits: grown.waits,
            ..StmSlice::default()
        };
        self.over_time(time, &slice);
    }

    fn name(&mut self, time: Time, number: u16, name: &str, counts: &StmNamed) {
        let first = if self.is_before(time) { *counts } else { StmNamed::default() };
        if self.names.len() < NAMES_MAX || self.names.contains_key(&number) {
            let known = self.names.entry(number).or_insert_with(|| (name.to_owned(), first, *counts));
            if counts.attempts < known.2.attempts {
                // The id belongs to another program, whose name it has from now on.
                (known.0, known.1) = (name.to_owned(), StmNamed::default());
            }
            known.2 = *counts;
        }
    }

    fn attempts(&mut self, time: Time, attempts: u64) {
        let first = if self.is_before(time) { attempts } else { 0 };
        let grown = self.attempts.get_or_insert(CounterRun { first, now: first, before: 0 }).see(attempts);
        // Where the package counts, its counts are drawn.
        if !self.has_outcomes() {
            self.over_time(time, &StmSlice { attempts: grown, ..StmSlice::default() });
        }
    }

    fn has_outcomes(&self) -> bool {
        self.source.as_ref().is_some_and(|source| source.1)
    }

    /// The earliest moment at which what grew up to `time` can have grown: the look before, unless that is so long
    /// ago that nothing can have changed in between.
    fn since(&self, time: Time) -> Time {
        match self.before {
            Some(before) if time.since(before) <= 3 * WIDTH_NS => before,
            None if self.is_whole() => self.origin.unwrap_or(time),
            Some(_) | None => time.minus(WIDTH_NS),
        }
    }

    /// Adds what was counted up to `time`, spread evenly over the time in which it grew.
    fn over_time(&mut self, time: Time, grown: &StmSlice) {
        let origin = *self.origin.get_or_insert(time);
        let from = self.since(time).max(origin).min(time.minus(1));
        while time.since(origin) / self.width_ns.max(1) >= SLICES_MAX as u64 {
            self.double();
        }
        let width = self.width_ns.max(1);
        let last = (time.since(origin).saturating_sub(1) / width) as usize;
        while self.slices.len() <= last {
            let from = origin.plus(self.slices.len() as u64 * width);
            self.slices.push(StmSlice { from, to: from.plus(width), ..StmSlice::default() });
        }
        let first = (from.since(origin) / width) as usize;
        let mut added = StmSlice::default();
        for slice in self.slices.iter_mut().skip(first.min(last)) {
            let so_far = grown.part(slice.to.min(time).since(from), time.since(from));
            *slice = slice.with(&so_far.with(&added, u64::saturating_sub), u64::saturating_add);
            added = so_far;
        }
    }

    fn double(&mut self) {
        self.width_ns = self.width_ns.saturating_mul(2).max(WIDTH_NS);
        let join = |pair: &[StmSlice]| {
            let mut joined = pair.first().copied().unwrap_or_default();
            joined.to = joined.from.plus(self.width_ns);
            pair.get(1).map_or(joined, |second| joined.with(second, u64::saturating_add))
        };
        self.slices = self.slices.chunks(2).map(join).collect();
    }

    /// How many attempts were seen, by either count: of several processes the busiest is reported.
    pub fn busy(&self) -> u64 {
        let package = self.lanes.values().fold(0, |sum: u64, run| sum.saturating_add(run.total().attempts));
        package.max(self.attempts.as_ref().map_or(0, CounterRun::<u64>::total))
    }

    /// Start of the counts.
    fn begin(&self) -> Option<Time> {
        self.origin.filter(|_| self.is_whole()).or(self.from)
    }

    /// Counts over all lanes.
    fn all(&self) -> StmCounts {
        self.lanes.values().fold(StmCounts::default(), |sum, run| sum.plus(&run.total()))
    }

    /// Sums so far; `None` where nothing was counted.
    pub fn totals(&self) -> Option<StmTotals> {
        let (from, all) = (self.begin()?, self.all());
        let totals = match self.has_outcomes() {
            true => StmTotals { from, attempts: all.attempts, outcomes: Some((all.commits, all.lost())) },
            false => {
                StmTotals { from, attempts: self.attempts.as_ref().map(CounterRun::<u64>::total)?, outcomes: None }
            }
        };
        (totals.attempts > 0).then_some(totals)
    }

    /// The sums of a recording that ended at `ended`, unless the program ended before; `None` if counts were
    /// never read.
    pub fn values(&self, ended: Option<Time>) -> Option<Transactions> {
        let (whole, outcomes, why) = self.source.clone()?;
        let span_ns = self.to.zip(self.begin()).map_or(0, |(to, begin)| to.since(begin));
        let per_second = |count: u64| (span_ns > 0).then(|| count as f64 * 1e9 / span_ns as f64);
        let totals: Vec<(u16, StmCounts)> = self.lanes.iter().map(|(lane, run)| (*lane, run.total())).collect();
        let all = self.all();
        let runtime_attempts = self.attempts.as_ref().map(CounterRun::<u64>::total);
        let attempts = if outcomes { Some(all.attempts) } else { runtime_attempts };
        let lane = |(lane, counts): &(u16, StmCounts)| LaneTransactions {
            lane: *lane,
            counts: *counts,
            lost_share: share(counts.lost(), counts.attempts),
            commit_share: share(counts.commits, all.commits),
        };
        let begun = |(_, counts): &&(u16, StmCounts)| counts.attempts > 0;
        Some(Transactions {
            outcomes,
            why,
            whole,
            from: self.from,
            to: self.to,
            span_ns,
            unseen_ns: self.gone.or(ended).zip(self.to).map(|(ended, to)| ended.since(to)),
            runtime_attempts,
            attempts_per_second: attempts.and_then(per_second),
            commits_per_second: outcomes.then(|| per_second(all.commits)).flatten(),
            counts: outcomes.then_some(all),
            lost: outcomes.then(|| all.lost()),
            lost_share: if outcomes { share(all.lost(), all.attempts) } else { None },
            lanes: totals.iter().filter(begun).map(lane).collect(),
            names: self.named(),
            scheduler: self.mode.filter(|_| outcomes).and_then(mode),
            over_time: self.slices.clone(),
        })
    }

    fn named(&self) -> Vec<NamedTransactions> {
        let one = |(name, first, now): &(String, StmNamed, StmNamed)| {
            let counts = now.since(first);
            let lost = counts.lost();
            NamedTransactions { name: name.clone(), counts, lost, lost_share: share(lost, counts.attempts) }
        };
        let mut names: Vec<_> = self.names.values().map(one).filter(|named| named.counts.attempts > 0).collect();
        names.sort_by_key(|named| std::cmp::Reverse((named.lost, named.counts.attempts)));
        names
    }
}

fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| (part as f64 / whole as f64).min(1.0))
}

fn mode(mode: u32) -> Option<&'static str> {
    Some(match mode {
        0 => "counting",
        1 => "adaptive",
        2 => "back-off",
        3 => "limit",
        _ => return None,
    })
}

/// Functions of the runtime that only transactions use, in addition to `stm…`; the compiler inlines most others
/// into these.
const RUNTIME_CODE: [&str; 22] = [
    "validate_and_acquire_ownership",
    "validate_trec_optimistic",
    "check_read_only",
    "revert_ownership",
    "lock_tvar",
    "cond_lock_tvar",
    "unlock_tvar",
    "get_entry_for",
    "get_new_entry",
    "merge_update_into",
    "merge_read_into",
    "entry_is_update",
    "entry_is_read_only",
    "start_new_trec",
    "build_watch_queue_entries_for_trec",
    "remove_watch_queue_entries_for_trec",
    "unpark_waiters_on",
    "unpark_tso",
    "park_tso",
    "alloc_stg_trec_header",
    "alloc_stg_trec_chunk",
    "free_stg_trec_header",
];

/// Functions for transactions that compiled code calls.
const CALLED_CODE: [&str; 9] = [
    "stg_atomically",
    "stg_retry",
    "stg_catchRetry",
    "stg_catch_retry",
    "stg_catchSTM",
    "stg_catch_stm",
    "stg_newTVar",
    "stg_readTVar",
    "stg_writeTVar",
];

/// Whether a place in the code is work of the runtime for transactions, or of the package that counts them.
pub fn is_runtime_work(symbol: &Symbol) -> bool {
    let name = symbol.name.strip_prefix("__wrap_").unwrap_or(&symbol.name);
    // The name of a local function may have a suffix from the compiler.
    let plain = name.split('.').next().unwrap_or(name);
    let of_stm = |name: &str| name.strip_prefix("stm").is_some_and(|rest| rest.starts_with(char::is_uppercase));
    let ours = symbol.kind == CodeKind::Foreign && name.starts_with("rtscope_");
    let own = matches!(symbol.kind, CodeKind::Runtime | CodeKind::Foreign)
        && (of_stm(plain) || RUNTIME_CODE.contains(&plain));
    let called = symbol.kind == CodeKind::Runtime && CALLED_CODE.iter().any(|begin| plain.starts_with(begin));
    ours || own || called
}

#[cfg(test)]
#[path = "stm_tests.rs"]
mod tests;

//! The inputs of rules. Owns their list; refuses to judge.

use crate::blame::held::Held;
use crate::collector::allocation::Allocation;
use crate::collector::collections::Collections;
use crate::collector::tracer::Disturbance;
use crate::folds::{Fold, Folds};
use crate::kernel::code::CodeSamples;
use crate::kernel::samples::Counters;
use crate::kernel::sched::Wakes;
use crate::memory::lines::Lines;
use crate::pauses::sums::PauseSums;
use crate::program::green::GreenThreads;
use crate::recording::Context;
use crate::results::Throttled;
use crate::results::stm::Transactions;
use rtscope_model::heap::Heap;
use rtscope_model::{Account, Cause, Confidence, Evidence, NameId, Names, RuntimeInfo, Symbols, Time};
use std::collections::{BTreeMap, BTreeSet};

/// Causes of waits that have rules of their own.
const NAMED: [Cause; 8] = [
    Cause::HostSteal,
    Cause::LateSafepoint,
    Cause::ForeignCall,
    Cause::InKernel,
    Cause::Throttled,
    Cause::Preempted,
    Cause::Oversubscribed,
    Cause::BlockedInKernel,
];

/// Everything that rules look at.
pub struct Facts<'a> {
    /// What is known of the recording as a whole.
    pub context: &'a Context,
    /// Names of processes.
    pub names: &'a Names,
    /// Wall-clock time of the recording, nanoseconds.
    pub span_ns: u64,
    /// Start of the recording.
    pub started: Time,
    /// End of the recording.
    pub end: Time,
    /// Lanes switched on at the end.
    pub lanes: usize,
    /// The runtime, with its words and flags.
    pub runtime: &'static RuntimeInfo,
    /// Sums over pauses.
    pub sums: &'a PauseSums,
    /// What held the program off its CPUs; `None` without usable kernel events.
    pub held: Option<&'a Held>,
    /// Wake-ups of the program's threads; `None` without usable kernel events.
    pub wakes: Option<Wakes>,
    /// Names of the recorder's own threads: their time is the tracer's cost.
    pub recorder: BTreeSet<NameId>,
    /// Whether kernel events name the thread that ran instead of a waiting one.
    pub names_next: bool,
    /// Names of code; only the unknown one where nothing was sampled.
    pub symbols: &'a Symbols,
    /// Where the code was; `None`: not sampled.
    pub code: Option<&'a CodeSamples>,
    /// The recorder's counters.
    pub counters: &'a Counters,
    /// Of page faults that touched memory first, the share (0 to 1) on memory that had been given back; `None`:
    /// not known.
    pub given_back: Option<f64>,
    /// What writing the log cost.
    pub disturbance: &'a Disturbance,
    /// Memory lines.
    pub lines: &'a Lines,
    /// What lanes allocate.
    pub allocation: &'a Allocation,
    /// What collections did.
    pub collections: &'a Collections,
    /// Where lane time went; `None` in an analysis without an account.
    pub account: Option<&'a Account>,
    /// Green threads, where the log has them.
    pub green: &'a GreenThreads,
    /// The program's transactions; `None`: their counts were not read.
    pub transactions: Option<&'a Transactions>,
    /// CPU time of lanes outside pauses, by number; empty: not known.
    pub lane_cpu: BTreeMap<u16, u64>,
    /// Looks at the heap, in time order.
    pub heaps: &'a [Heap],
    /// Every fold, including those that only one runtime has.
    pub folds: &'a Folds,
    /// Counters of quotas over the whole recording.
    pub quotas: Vec<Throttled>,
}

impl<'a> Facts<'a> {
    /// The fold of type `T`, if this recording has it.
    pub fn fold<T: Fold>(&self) -> Option<&'a T> {
        self.folds.get()
    }

    /// `ns` as a share of the wall clock.
    pub fn share(&self, ns: u64) -> f64 {
        if self.span_ns > 0 { (ns as f64 / self.span_ns as f64).min(1.0) } else { 0.0 }
    }

    /// `count` per second of the recording.
    pub fn per_second(&self, count: u64) -> f64 {
        count as f64 / (self.span_ns.max(1) as f64 / 1e9)
    }

    /// Minor collections per second.
    pub fn minors_per_second(&self) -> f64 {
        self.per_second(self.collections.minor.count)
    }

    /// Bytes allocated by all lanes.
    pub fn allocated_bytes(&self) -> Option<f64> {
        Some(self.allocation.per_second(self.span_ns)? * self.span_ns as f64 / 1e9)
    }

    /// Wall-clock time in which at least one lane had nothing to run; `None` without usable kernel events: only they
    /// distinguish a scheduler at work from a lane at rest.
    pub fn idle_wall_ns(&self) -> Option<u64> {
        self.held.and(self.account)?.part("idle").map_or(Some(0), |idle| idle.wall_ns)
    }

    /// Pause time spent waiting without a cause that a rule names: it comes with each pause, whichever lane is late.
    pub fn waited_unnamed_ns(&self) -> u64 {
        let named: u64 = NAMED.iter().map(|cause| self.paused_ns(*cause)).sum();
        self.sums.waited_ns.saturating_sub(named)
    }

    /// Pause time spent waiting because of `cause`.
    pub(super) fn paused_ns(&self, cause: Cause) -> u64 {
        self.sums.cause_total(cause).map_or(0, |total| total.ns)
    }

    /// Evidence seen over the whole recording.
    pub fn overall(&self, text: String) -> Evidence {
        evidence(text, Some((self.started, self.end)))
    }

    /// High confidence with usable kernel events, else medium.
    pub fn sure_with_kernel(&self) -> Confidence {
        sure(self.held.is_some())
    }
}

/// High if `sure`, else medium.
pub fn sure(sure: bool) -> Confidence {
    if sure { Confidence::High } else { Confidence::Medium }
}

/// One sentence, and the interval of the recording that shows it.
pub fn evidence(text: String, range: Option<(Time, Time)>) -> Evidence {
    Evidence { text, from: range.map(|range| range.0), to: range.map(|range| range.1) }
}

/// Wall-clock time in which the recorder's own threads ran on CPUs that the program wanted; `None` where that is
/// not visible.
pub fn recorder_held_ns(facts: &Facts<'_>) -> Option<u64> {
    facts.held.filter(|_| facts.names_next).map(|held| recorder_ns(held, &facts.recorder))
}

/// Wall-clock time in which other processes except the recorder ran on CPUs that the program wanted; `None` where
/// that is not visible.
pub fn others_held_ns(facts: &Facts<'_>) -> Option<u64> {
    Some(facts.held?.foreign.ns().saturating_sub(recorder_held_ns(facts)?))
}

/// Upper bound of the wall-clock time that the recorder's threads took.
pub(crate) fn recorder_ns(held: &Held, recorder: &BTreeSet<NameId>) -> u64 {
    held.by_name.iter().filter(|(name, _)| recorder.contains(*name)).map(|(_, (part, _))| part.ns()).sum()
}

/// `ns` times `part` / `whole`.
pub fn scaled(ns: u64, part: u64, whole: u64) -> u64 {
    (u128::from(ns) * u128::from(part) / u128::from(whole.max(1))) as u64
}

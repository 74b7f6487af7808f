//! A pause: one stop-the-world collection, from the first request to the last
//! lane back at work, and the causes of its waits. Knows no runtime.

use crate::code::SymbolId;
use crate::finding::Confidence;
use crate::ids::{LaneId, Tid};
use crate::names::NameId;
use crate::time::Time;
use serde::{Deserialize, Serialize};

/// What was collected.
#[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PauseKind {
    /// The youngest generation only (or some, but not the oldest).
    Minor,
    /// The oldest generation.
    Major,
    /// The short stop at the end of a concurrent mark.
    ConcurrentSync,
    /// The heap was compacted.
    Compaction,
    /// Heaps were laid out anew: nothing was collected.
    Layout,
    /// The log does not say.
    #[default]
    Unknown,
}

/// How the world was stopped.
#[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PauseMode {
    /// Every lane takes part and posts its arrival.
    #[default]
    Parallel,
    /// One lane collects; the others stand still and post nothing.
    Sequential,
    /// A runtime with one lane and no request (time to stop is unknown, not 0).
    NonThreaded,
}

/// Whether the figures of a pause can be used.
#[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PauseQuality {
    /// Everything was seen.
    #[default]
    Whole,
    /// A loss touches it, or its events contradict each other: counted, but
    /// kept out of the quantiles.
    Partial,
}

/// What `left` and `released` stand on.
#[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReleaseBasis {
    /// The lane was seen at work again.
    BackAtWork,
    /// Only the lane's own end of collection is known: a lower bound.
    #[default]
    LowerBound,
}

/// One lane's part in a pause; serialized, moments are nanoseconds.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct LanePause {
    /// The lane.
    pub lane: LaneId,
    /// The thread that served it in this pause, where exactly one candidate is left.
    pub tid: Option<Tid>,
    /// When it had stopped; `None` where the runtime posts no arrival.
    #[serde(rename = "arrived_ns")]
    pub arrived: Option<Time>,
    /// First start of its collection work.
    #[serde(rename = "work_begin_ns")]
    pub work_begin: Option<Time>,
    /// Last end of its collection work.
    #[serde(rename = "work_end_ns")]
    pub work_end: Option<Time>,
    /// Sum of its work spans, in nanoseconds.
    pub work_ns: u64,
    /// When it went on.
    #[serde(rename = "left_ns")]
    pub left: Option<Time>,
}

/// One stop-the-world collection; serialized, moments are nanoseconds.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Pause {
    /// Counts from 0 in the order of `stopped`.
    pub id: u64,
    /// What was collected.
    pub kind: PauseKind,
    /// How the world was stopped.
    pub mode: PauseMode,
    /// Oldest generation collected.
    pub generation: Option<u16>,
    /// The lane that asked for it and led it.
    pub leader: Option<LaneId>,
    /// First request; `None` where the runtime posts none.
    #[serde(rename = "requested_ns")]
    pub requested: Option<Time>,
    /// Last lane stopped, collection starts.
    #[serde(rename = "stopped_ns")]
    pub stopped: Time,
    /// Work done.
    #[serde(rename = "collected_ns")]
    pub collected: Time,
    /// Last lane back at work.
    #[serde(rename = "released_ns")]
    pub released: Time,
    /// What `released` stands on.
    pub release_basis: ReleaseBasis,
    /// The lane that stopped last (parallel), `None` where unknown or where
    /// nobody was waited for.
    pub straggler: Option<LaneId>,
    /// Whether a loss touches it.
    pub quality: PauseQuality,
    /// Bytes copied.
    pub copied_bytes: Option<u64>,
    /// Threads of the runtime that collected.
    pub gc_threads: Option<u32>,
    /// Each lane's part, by lane.
    pub lanes: Vec<LanePause>,
}

impl Pause {
    /// First moment of the pause: the request, or where none is posted the stop.
    pub fn begin(&self) -> Time {
        self.requested.unwrap_or(self.stopped)
    }

    /// Request to last lane stopped, in nanoseconds.
    pub fn time_to_stop_ns(&self) -> Option<u64> {
        self.requested.map(|requested| self.stopped.since(requested))
    }

    /// All stopped to work done, in nanoseconds.
    pub fn collect_ns(&self) -> u64 {
        self.collected.since(self.stopped)
    }

    /// Work done to last lane back, in nanoseconds.
    pub fn release_ns(&self) -> u64 {
        self.released.since(self.collected)
    }

    /// The part of `lane`, if it took part.
    pub fn lane(&self, lane: LaneId) -> Option<&LanePause> {
        self.lanes.iter().find(|part| part.lane == lane)
    }
}

crate::listed! {
    /// Why an interval was waited for.
    #[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Hash, Debug, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Cause {
        /// The host or an interrupt took the CPU.
        HostSteal,
        /// On a CPU; user or kernel code unknown.
        Running,
        /// On a CPU and shown by samples to be in the program's own code, which did not
        /// come to a safepoint.
        LateSafepoint,
        /// In another language's code that the program called without giving its lane up:
        /// on a CPU, or waiting in the kernel.
        ForeignCall,
        /// On a CPU, in the kernel: a page fault or a system call.
        InKernel,
        /// Runnable while a quota that covers it was used up.
        Throttled,
        /// Runnable while another process ran on its CPU.
        Preempted,
        /// Runnable while another thread of the same program ran on its CPU.
        Oversubscribed,
        /// Runnable while its CPU, or another one that the program may use, was idle.
        IdleCpu,
        /// Runnable or not running; this tier cannot say who ran instead.
        NotScheduled,
        /// Woken, not yet running.
        WakeLatency,
        /// Asleep: an idle lane that had to be woken, or blocked.
        Asleep,
        /// Blocked in the kernel, not interruptible.
        BlockedInKernel,
        /// The lane changed hands: the arriving thread did not hold it before.
        HandedOver,
        /// No event says.
        Unknown,
    }
}

impl Cause {
    /// Whether the thread that is waited for has a CPU. A foreign call counts as one that has, though its thread may sleep.
    pub fn on_a_cpu(self) -> bool {
        matches!(self, Cause::Running | Cause::LateSafepoint | Cause::ForeignCall | Cause::InKernel)
    }
}

/// One piece of one wait, with its cause.
#[derive(Copy, Clone, PartialEq, Debug)]
pub struct CausePiece {
    /// Why.
    pub cause: Cause,
    /// The lane that was waited for.
    pub lane: Option<LaneId>,
    /// The thread that was waited for.
    pub tid: Option<Tid>,
    /// Who took the CPU: a process name, where one is known.
    pub who: Option<NameId>,
    /// A pid for `who`.
    pub who_pid: Option<u32>,
    /// Where the thread was found most often meanwhile, where it was sampled.
    pub code: Option<SymbolId>,
    /// A foreign process also ran on that CPU (for throttled waits).
    pub neighbour: bool,
    /// Start.
    pub from: Time,
    /// End.
    pub to: Time,
    /// How sure.
    pub confidence: Confidence,
}

impl CausePiece {
    /// Its length in nanoseconds.
    pub fn ns(&self) -> u64 {
        self.to.since(self.from)
    }
}

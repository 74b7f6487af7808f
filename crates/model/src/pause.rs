//! A pause: one stop-the-world collection, from the first request until the last lane resumes, with the causes of its
//! waits. Knows no runtime.

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
    /// Heaps were laid out anew, and nothing was collected.
    Layout,
    /// The kind is not in the log.
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
    /// One lane collects; the others are stopped and post nothing.
    Sequential,
    /// A runtime with one lane and no request: time to stop is unknown, not 0.
    NonThreaded,
}

/// Whether the figures of a pause can be used.
#[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PauseQuality {
    /// The whole pause was seen.
    #[default]
    Whole,
    /// A loss affects it, or its events contradict each other: it is counted, but excluded from the quantiles.
    Partial,
}

/// What `left` and `released` are based on.
#[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReleaseBasis {
    /// The lane was seen to have resumed.
    BackAtWork,
    /// Only the lane's own end of collection is known: a lower bound.
    #[default]
    LowerBound,
}

/// One lane's part in a pause. When serialized, times are nanoseconds.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct LanePause {
    /// Number of the lane.
    pub lane: LaneId,
    /// The thread that served it in this pause, if exactly one candidate is left.
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
    /// When it resumed.
    #[serde(rename = "left_ns")]
    pub left: Option<Time>,
}

/// One stop-the-world collection. When serialized, times are nanoseconds.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Pause {
    /// Number of the pause, from 0 in the order of `stopped`.
    pub id: u64,
    /// What was collected.
    pub kind: PauseKind,
    /// How the world was stopped.
    pub mode: PauseMode,
    /// Oldest generation collected.
    pub generation: Option<u16>,
    /// The lane that requested and led it.
    pub leader: Option<LaneId>,
    /// First request; `None`: the runtime posts none.
    #[serde(rename = "requested_ns")]
    pub requested: Option<Time>,
    /// When the last lane had stopped and the collection started.
    #[serde(rename = "stopped_ns")]
    pub stopped: Time,
    /// When the collection work was done.
    #[serde(rename = "collected_ns")]
    pub collected: Time,
    /// When the last lane resumed.
    #[serde(rename = "released_ns")]
    pub released: Time,
    /// What `released` is based on.
    pub release_basis: ReleaseBasis,
    /// The lane that stopped last (parallel); `None`: unknown, or no lane had to be waited for.
    pub straggler: Option<LaneId>,
    /// Whether a loss affects it.
    pub quality: PauseQuality,
    /// Number of bytes copied.
    pub copied_bytes: Option<u64>,
    /// Number of the runtime's threads that collected.
    pub gc_threads: Option<u32>,
    /// Each lane's part, by lane.
    pub lanes: Vec<LanePause>,
}

impl Pause {
    /// Start of the pause: the request, or the stop if no request is posted.
    pub fn begin(&self) -> Time {
        self.requested.unwrap_or(self.stopped)
    }

    /// From the request until the last lane stopped, in nanoseconds.
    pub fn time_to_stop_ns(&self) -> Option<u64> {
        self.requested.map(|requested| self.stopped.since(requested))
    }

    /// From the stop of all lanes until the work was done, in nanoseconds.
    pub fn collect_ns(&self) -> u64 {
        self.collected.since(self.stopped)
    }

    /// From the end of the work until the last lane resumed, in nanoseconds.
    pub fn release_ns(&self) -> u64 {
        self.released.since(self.collected)
    }

    /// The part of `lane`, if it took part.
    pub fn lane(&self, lane: LaneId) -> Option<&LanePause> {
        self.lanes.iter().find(|part| part.lane == lane)
    }
}

crate::listed! {
    /// The cause of a wait.
    #[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Hash, Debug, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Cause {
        /// The host or an interrupt took the CPU.
        HostSteal,
        /// On a CPU; whether in user or kernel code is unknown.
        Running,
        /// On a CPU, and by samples in the program's own code, which did not reach a safepoint.
        LateSafepoint,
        /// In another language's code that the program called without releasing its lane: on a CPU, or waiting
        /// in the kernel.
        ForeignCall,
        /// On a CPU, in the kernel: a page fault or a system call.
        InKernel,
        /// Runnable while a quota that applies to it was used up.
        Throttled,
        /// Runnable while another process ran on its CPU.
        Preempted,
        /// Runnable while another thread of the same program ran on its CPU.
        Oversubscribed,
        /// Runnable while its CPU, or another one available to the program, was idle.
        IdleCpu,
        /// Runnable or not running; this tier cannot show which thread ran instead.
        NotScheduled,
        /// Woken, but not running yet.
        WakeLatency,
        /// Asleep: an idle lane that had to be woken, or a blocked thread.
        Asleep,
        /// Blocked in the kernel, uninterruptible.
        BlockedInKernel,
        /// The lane was handed over: the arriving thread did not hold it before.
        HandedOver,
        /// No event shows a cause.
        Unknown,
    }
}

impl Cause {
    /// Whether the thread that is waited for has a CPU. A foreign call counts as having one, though its
    /// thread may sleep.
    pub fn on_a_cpu(self) -> bool {
        matches!(self, Cause::Running | Cause::LateSafepoint | Cause::ForeignCall | Cause::InKernel)
    }
}

/// One part of a wait, with its cause.
#[derive(Copy, Clone, PartialEq, Debug)]
pub struct CausePiece {
    /// The cause.
    pub cause: Cause,
    /// The lane that was waited for.
    pub lane: Option<LaneId>,
    /// The thread that was waited for.
    pub tid: Option<Tid>,
    /// The process that took the CPU, by name, if known.
    pub who: Option<NameId>,
    /// The pid of `who`.
    pub who_pid: Option<u32>,
    /// Where the thread was found most often during this part, if it was sampled.
    pub code: Option<SymbolId>,
    /// Whether a foreign process ran on that CPU too (for throttled waits).
    pub neighbour: bool,
    /// Start time.
    pub from: Time,
    /// End time.
    pub to: Time,
    /// Confidence in the cause.
    pub confidence: Confidence,
}

impl CausePiece {
    /// Its length in nanoseconds.
    pub fn ns(&self) -> u64 {
        self.to.since(self.from)
    }
}

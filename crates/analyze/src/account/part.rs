//! What a lane's time counts as. Owns the parts that events can distinguish; refuses words and figures.

use crate::blame::CpuHolder;
use crate::results::LaneTime;
use rtscope_model::{Cause, NameId};

/// What a lane stands still for.
#[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Hash, Debug)]
pub enum Still {
    /// Other lanes have not stopped yet.
    ToStop,
    /// Other lanes collect.
    Work,
    /// The work is done, but the lane has not resumed.
    Back,
    /// The lane wants to collect, but another lane leads.
    Lead,
}

/// What keeps a lane's runnable thread off the CPUs.
#[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Hash, Debug)]
pub enum Keeper {
    /// A CPU quota that was used up.
    Quota,
    /// Another process, by its name.
    Other(NameId),
    /// Another thread of the program.
    Sibling,
    /// Nothing: its CPU, or another one, is idle.
    IdleCpu,
    /// It was not seen.
    Unknown,
}

impl From<CpuHolder> for Keeper {
    fn from(holder: CpuHolder) -> Keeper {
        match holder {
            CpuHolder::Quota { .. } => Keeper::Quota,
            CpuHolder::Foreign { name, .. } => Keeper::Other(name),
            CpuHolder::Sibling { .. } => Keeper::Sibling,
            CpuHolder::IdleCpu => Keeper::IdleCpu,
            CpuHolder::Unknown => Keeper::Unknown,
        }
    }
}

/// Why it is not known what a lane did.
#[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Hash, Debug)]
pub enum Why {
    /// Events of the runtime were lost.
    EventsLost,
    /// Events of the kernel were lost.
    KernelLost,
    /// There are no kernel events, and the runtime does not post what its lanes run.
    NoKernel,
    /// Several threads may serve the lane.
    Thread,
    /// The state of the thread was not seen.
    State,
}

/// A part that events alone can distinguish.
#[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Hash, Debug)]
pub enum AccountPart {
    /// The program, on a CPU.
    Program,
    /// The program, as the log says; whether it was on a CPU is not known.
    Posted,
    /// A collection, on a CPU.
    Collecting,
    /// Collector work outside pauses, on a CPU.
    Slice,
    /// The lane stands still; this is what delays the lane that it waits for. `None`: that lane works.
    Still(Still, Option<Cause>),
    /// The lane has work, but its thread has no CPU.
    NoCpu(Keeper),
    /// The lane has work, but its thread is blocked in the kernel.
    Blocked,
    /// The lane has work, but its thread sleeps in a call.
    Call,
    /// The lane has nothing to run.
    Idle,
    /// What it did is not known.
    Unknown(Why),
}

impl AccountPart {
    /// The index of the top-level part of the tree that it belongs to.
    pub fn top(self) -> usize {
        match self {
            AccountPart::Program | AccountPart::Posted => 0,
            AccountPart::Collecting | AccountPart::Slice => 1,
            AccountPart::Still(..) => 2,
            AccountPart::NoCpu(_) => 3,
            AccountPart::Blocked | AccountPart::Call => 4,
            AccountPart::Idle => 5,
            AccountPart::Unknown(_) => 6,
        }
    }

    /// Number of top-level parts.
    pub const TOPS: usize = 7;

    /// What it counts as in a drawing of lanes over time.
    pub fn lane_time(self) -> LaneTime {
        match self {
            AccountPart::Program | AccountPart::Posted => LaneTime::Program,
            AccountPart::Collecting | AccountPart::Slice => LaneTime::Collecting,
            AccountPart::Still(Still::Back, _) => LaneTime::Release,
            AccountPart::Still(..) => LaneTime::Standing,
            AccountPart::NoCpu(Keeper::Quota) => LaneTime::Throttled,
            AccountPart::NoCpu(Keeper::Sibling) => LaneTime::Queued,
            AccountPart::NoCpu(_) => LaneTime::WaitsForCpu,
            AccountPart::Blocked | AccountPart::Call => LaneTime::Kept,
            AccountPart::Idle => LaneTime::Idle,
            AccountPart::Unknown(_) => LaneTime::Unknown,
        }
    }

    /// What it counts as where the kernel's events do not fit the log.
    pub fn without_kernel(self) -> AccountPart {
        use AccountPart::{Blocked, Call, Idle, NoCpu, Program};
        match self {
            Program | NoCpu(_) | Blocked | Call | Idle => AccountPart::Unknown(Why::NoKernel),
            shown_by_the_log => shown_by_the_log,
        }
    }
}

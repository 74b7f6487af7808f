//! What a lane's time is counted as. Owns the parts that events tell apart; refuses words and figures.

use crate::blame::Holder;
use rtscope_model::{Cause, NameId};

/// What a lane stands still for.
#[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Hash, Debug)]
pub enum Still {
    /// Others have not stopped.
    ToStop,
    /// Others collect.
    Work,
    /// The work is done and it is not back.
    Back,
    /// It wants to collect and another lane leads.
    Lead,
}

/// What keeps a lane's thread, which has work, off the CPUs.
#[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Hash, Debug)]
pub enum Keeper {
    Quota,
    /// Another process, by its name.
    Other(NameId),
    /// Another thread of the program.
    Sibling,
    /// Nothing: its CPU, or another one, is idle.
    IdleCpu,
    Unknown,
}

impl From<Holder> for Keeper {
    fn from(holder: Holder) -> Keeper {
        match holder {
            Holder::Quota { .. } => Keeper::Quota,
            Holder::Foreign { name, .. } => Keeper::Other(name),
            Holder::Sibling { .. } => Keeper::Sibling,
            Holder::Nobody => Keeper::IdleCpu,
            Holder::Unknown => Keeper::Unknown,
        }
    }
}

/// Why it is not known what a lane did.
#[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Hash, Debug)]
pub enum Why {
    EventsLost,
    KernelLost,
    /// There are none of the kernel's, and the runtime does not post what its lanes run.
    NoKernel,
    /// Several threads may serve the lane.
    Thread,
    /// The state of the thread was not seen.
    State,
}

#[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Hash, Debug)]
pub enum Part {
    /// The program, on a CPU.
    Program,
    /// The program, as the log tells; whether on a CPU is not known.
    Posted,
    /// A collection, on a CPU.
    Collecting,
    /// The same outside of pauses.
    Slice,
    /// It stands still, and the lane that is waited for does this; `None`: it works.
    Still(Still, Option<Cause>),
    /// It has work, and its thread has no CPU.
    NoCpu(Keeper),
    /// It has work, and its thread is blocked in the kernel.
    Blocked,
    /// It has work, and its thread sleeps in a call.
    Call,
    Idle,
    Unknown(Why),
}

impl Part {
    /// The number of the top of the tree that it belongs to.
    pub fn top(self) -> usize {
        match self {
            Part::Program | Part::Posted => 0,
            Part::Collecting | Part::Slice => 1,
            Part::Still(..) => 2,
            Part::NoCpu(_) => 3,
            Part::Blocked | Part::Call => 4,
            Part::Idle => 5,
            Part::Unknown(_) => 6,
        }
    }

    pub const TOPS: usize = 7;
}

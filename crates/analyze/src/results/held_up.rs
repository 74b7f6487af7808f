//! What held pauses up, as values. Refuses to choose: `pauses` does that.

use rtscope_model::{Cause, LaneId, NameId, SymbolId, Tid};
use serde::Serialize;

/// The lane, thread and cause that a pause waited for longest.
#[derive(Copy, Clone, PartialEq, Debug, Serialize)]
pub struct HeldUp {
    /// The awaited lane; null where that is not known.
    pub lane: Option<LaneId>,
    /// The thread that served the lane; null where that is not known.
    pub tid: Option<Tid>,
    /// What delayed it.
    pub cause: Cause,
    /// The process that had its CPU, for causes that involve one.
    #[serde(skip)]
    pub who: Option<NameId>,
    /// Where its code was in the longest piece, if it was sampled.
    #[serde(skip)]
    pub code: Option<SymbolId>,
    /// Total length of the wait, nanoseconds.
    pub ns: u64,
}

/// A lane that held pauses up.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Serialize)]
pub struct HeldUpSum {
    /// Number of the lane.
    pub lane: u16,
    /// Number of pauses that it held up.
    pub count: u64,
    /// Total length of these waits, nanoseconds.
    pub sum_ns: u64,
}

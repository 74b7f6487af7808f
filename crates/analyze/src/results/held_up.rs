//! What pauses were held up by, as values. Refuses to choose: that is `pauses`'.

use rtscope_model::{Cause, LaneId, NameId, SymbolId, Tid};
use serde::Serialize;

/// The lane, thread and cause that a pause waited for longest.
#[derive(Copy, Clone, PartialEq, Debug, Serialize)]
pub struct HeldUp {
    /// The lane that was waited for; null where that is not known.
    pub lane: Option<LaneId>,
    /// The thread that served it; null where that is not known.
    pub tid: Option<Tid>,
    /// What it did meanwhile.
    pub cause: Cause,
    /// Who had its CPU, where the cause has somebody.
    #[serde(skip)]
    pub who: Option<NameId>,
    /// Where its code was in the longest piece of that, where it was sampled.
    #[serde(skip)]
    pub code: Option<SymbolId>,
    /// For how long in all, nanoseconds.
    pub ns: u64,
}

/// A lane that held pauses up.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Serialize)]
pub struct HeldUpSum {
    /// Which.
    pub lane: u16,
    /// How many pauses.
    pub count: u64,
    /// For how long, nanoseconds.
    pub sum_ns: u64,
}

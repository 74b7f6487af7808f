//! Pauses: recognisers that turn a runtime's events into [`Pause`] values (one
//! file per runtime) and the sums over them. Everything behind a recogniser
//! knows no runtime.

pub mod ghc;
pub mod summary;

use rtscope_model::{LaneId, Pause, Time};

/// A pause as a recogniser hands it over, with what blame needs beside it.
#[derive(Clone, Debug)]
pub struct Recognised {
    /// The pause; no lane has a thread yet.
    pub pause: Pause,
    /// For each lane the moments at which its own thread posted something in
    /// this pause, hence was on a CPU.
    pub marks: Vec<LaneMarks>,
}

/// Moments of one lane.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LaneMarks {
    /// Which.
    pub lane: LaneId,
    /// Events of the collection that the lane's own thread posted.
    pub collection: Vec<Time>,
    /// When its green thread stopped before the collection, if logged.
    pub stopped_green: Option<Time>,
    /// When it first ran a green thread again, if logged.
    pub ran_green: Option<Time>,
}

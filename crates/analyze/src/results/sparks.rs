//! What became of work that a program offered to run in parallel. Serialised as a part of `report --json`.

use serde::Serialize;

/// What became of sparks, over all lanes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sparks {
    /// Over all lanes.
    #[serde(flatten)]
    pub all: SparkCounts,
    /// Lane by lane.
    pub lanes: Vec<LaneSparks>,
}

/// The same of one lane.
#[derive(Copy, Clone, Debug, PartialEq, Serialize)]
pub struct LaneSparks {
    /// Number of the lane.
    pub lane: u16,
    #[allow(missing_docs)]
    #[serde(flatten)]
    pub counts: SparkCounts,
}

/// Counts of sparks since the start. Those that came into the pool were created;
/// each of them is converted, collected, fizzled, or remains, on whichever lane,
/// or GHC lost count of it.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq, Serialize)]
pub struct SparkCounts {
    /// Came into the pool.
    pub created: u64,
    /// Ran in parallel.
    pub converted: u64,
    /// Thrown away because the pool was full.
    pub overflowed: u64,
    /// Were evaluated already, and never came into the pool.
    pub dud: u64,
    /// Collected: nobody needed them.
    pub collected: u64,
    /// Evaluated by another thread before they ran.
    pub fizzled: u64,
    /// Still in the pool.
    pub remaining: u64,
}

impl SparkCounts {
    /// All that the program offered.
    pub fn offered(&self) -> u64 {
        self.created.saturating_add(self.dud).saturating_add(self.overflowed)
    }
}

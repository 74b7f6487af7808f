//! The fate of work that a program offered to run in parallel. Serialised as a part of `report --json`.

use serde::Serialize;

/// Counts of sparks by fate.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sparks {
    /// Sums over all lanes.
    #[serde(flatten)]
    pub all: SparkCounts,
    /// Counts for each lane.
    pub lanes: Vec<LaneSparks>,
}

/// Counts of sparks of one lane.
#[derive(Copy, Clone, Debug, PartialEq, Serialize)]
pub struct LaneSparks {
    /// Number of the lane.
    pub lane: u16,
    #[allow(missing_docs)]
    #[serde(flatten)]
    pub counts: SparkCounts,
}

/// Counts of sparks since the start. Those that entered the pool were created; each of them is converted, collected,
/// fizzled, or remains, on any lane, or GHC lost count of it.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq, Serialize)]
pub struct SparkCounts {
    /// Entered the pool.
    pub created: u64,
    /// Ran in parallel.
    pub converted: u64,
    /// Thrown away because the pool was full.
    pub overflowed: u64,
    /// Were evaluated already, and never entered the pool.
    pub dud: u64,
    /// Garbage-collected: their values were no longer needed.
    pub collected: u64,
    /// Evaluated by another thread before they ran.
    pub fizzled: u64,
    /// Still in the pool.
    pub remaining: u64,
}

impl SparkCounts {
    /// All sparks that the program offered.
    pub fn offered(&self) -> u64 {
        self.created.saturating_add(self.dud).saturating_add(self.overflowed)
    }
}

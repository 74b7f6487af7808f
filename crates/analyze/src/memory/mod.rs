//! Memory over time: figures of the heap, of the process and of its control groups, profiles, and snapshots. Refuses
//! to explain them.

pub mod counters;
pub mod heap_profile;
pub mod ledger;
pub mod lines;

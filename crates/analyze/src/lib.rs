//! Pure folds over one time-ordered stream of events.
//!
//! Owns the questions: pauses, blame, productivity, utilisation, memory, and
//! the findings that follow from them. Refuses I/O, and holds bounded state
//! whatever the length of the stream.
#![forbid(unsafe_code)]

pub mod allocation;
pub mod analysis;
pub mod answers;
pub mod blame;
pub mod code;
pub mod collections;
pub mod compare;
pub mod concurrent;
pub mod context;
pub mod counters;
pub mod dist;
pub mod domains;
pub mod drawing;
pub mod edges;
pub mod findings;
pub mod green;
pub mod heap_profile;
pub mod heaps;
pub mod held;
pub mod lane_thread;
pub mod lanes;
pub mod leadership;
pub mod ledger;
pub mod memory;
pub mod mmu;
pub mod pauses;
pub mod per_lane;
pub mod requests;
pub mod results;
pub mod samples;
pub mod sched;
pub mod slices;
pub mod sparks;
pub mod spectrum;
pub mod still;
pub mod stm;
pub mod thinned;
pub mod timeline;
pub mod tracer;
pub mod triggers;
pub mod union;
pub mod user;
pub mod window;

#[cfg(test)]
mod testing;

pub use analysis::Analysis;
pub use context::{Context, Tail};

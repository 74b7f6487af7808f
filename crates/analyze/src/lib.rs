//! Pure folds over one time-ordered stream of events.
//!
//! Owns the questions: pauses, blame, productivity, utilisation, memory, and
//! the findings that follow from them. Refuses I/O, and holds bounded state
//! whatever the length of the stream.
#![forbid(unsafe_code)]

mod account;
mod analysis;
pub mod basis;
pub mod blame;
mod collector;
pub mod compare;
pub mod findings;
pub mod folds;
pub mod kernel;
pub mod lanes;
mod memory;
pub mod pauses;
mod program;
pub mod recording;
pub mod results;
pub mod runtimes;
pub mod window;

#[cfg(test)]
mod testing;

pub use account::{AccountPart, Keeper, OnPart, Still, Why, path_of};
pub use analysis::Analysis;
pub use recording::{Context, Tail};

//! Derives a runtime's flags, each with a reason, from what a machine gives a process; lists what can
//! be tried; and draws conclusions from trials: their order, medians with intervals, a search. Owns
//! the rules; refuses to read files and to run programs.
#![forbid(unsafe_code)]

mod dialect;
pub mod jobs;
pub mod options;
pub mod plan;
pub mod result;
pub mod runtime;
pub mod runtimes;
pub mod stats;
pub mod study;
pub mod trials;

#[cfg(test)]
mod testing;

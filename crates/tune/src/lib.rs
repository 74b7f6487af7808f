//! From what a machine gives a process to the flags of its runtime, each with a
//! reason; what can be tried of them; and what is drawn from trials: their order, medians with
//! intervals, a search by them. Owns the rules; refuses to read files and to run programs.
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

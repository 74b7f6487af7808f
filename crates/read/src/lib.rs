//! Files to results: what a FILE is, its log, kernel records, samples and code on one clock, through the analysis.
//! Owns the wiring; refuses to compute a figure and to show one.
#![forbid(unsafe_code)]

pub mod code;
pub mod heaps;
pub mod input;
pub mod log_version;
pub mod observer;
pub mod pipeline;
mod requests;
pub mod sources;
pub mod transactions;

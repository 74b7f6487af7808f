//! From what a machine gives a process to the flags of its runtime, each with a
//! reason. Owns the rules; refuses to read files and to run programs.
#![forbid(unsafe_code)]

pub mod plan;

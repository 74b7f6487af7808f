//! The laboratory: plans for a machine, studies of flags, loads, benchmarks. Owns the commands `plan`, `run`,
//! `tune`, `load` and `bench`; `tune` decides, `host` runs.
#![forbid(unsafe_code)]

pub mod bench;
mod command;
pub mod load;
pub mod plan;
mod run;
pub mod tune;
pub mod words;

pub use command::Command;

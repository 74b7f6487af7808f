//! The laboratory: plans for a machine, studies of flags, loads, benchmarks. Owns the commands `plan`, `tune`, `load`
//! and `bench`; `tune` decides, `host` runs.
#![forbid(unsafe_code)]

pub mod bench;
pub mod load;
pub mod plan;
pub mod tune;
pub mod words;

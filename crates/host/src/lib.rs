//! The only crate with system calls and `unsafe`: `/proc`, control groups,
//! spawning, reading a process's memory, sampling, and writing a capture.
//!
//! Owns what touches the machine and the recorded program, under one rule: the
//! program's behaviour and result never change. Refuses decoding (that is
//! `decode`), judging (that is `analyze`) and printing (that is the program).
//!
//! From the bottom: `system` (the kernel's own files, clocks, threads), `sandbox`, `privileges`
//! and `target` (what other users control is opened and read through these), `binary` and
//! `symbols` (what the files of programs contain), `machine`, `programs` (starting them), `kernel`,
//! `runtimes` (a folder for each), `recording` (the sequence).

pub mod binary;
mod capture;
pub mod kernel;
pub mod machine;
pub mod privileges;
mod programs;
pub mod recording;
mod runtimes;
mod sandbox;
pub mod symbols;
mod system;
pub mod target;

pub use capture::folder;
pub use machine::{cgroup, cpu_list, doctor, resources, taken};
pub use programs::{launch, probe, signals, spawn, terminal, trial};
pub use recording::{own_cost, sampler};
pub use runtimes::{by_bytes, heap, live_log, options, stm, unflushed};
pub use system::{clock, open_files, procfs, worker as background};
pub use target::{core_file, live, mappings, memory};

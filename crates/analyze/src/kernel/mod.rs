//! What the kernel and the recorder's samples say of threads: who had which CPU, which counters
//! moved, where code was. Refuses lanes, pauses and runtimes.

pub mod code;
pub mod samples;
pub mod sched;

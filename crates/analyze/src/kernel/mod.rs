//! What the kernel and the recorder's samples say of threads: who had which CPU, which counters
//! moved, where code was, which thread was there when a lane posted something. Refuses pauses
//! and runtimes.

pub mod code;
pub mod lane_thread;
pub mod purposes;
pub mod samples;
pub mod sched;

//! What the kernel and the recorder's samples show about threads: which thread had which CPU, which counters moved,
//! where code was, which thread was running when a lane posted something. Refuses pauses and runtimes.

pub(crate) mod code;
pub mod lane_thread;
pub(crate) mod purposes;
pub(crate) mod samples;
pub(crate) mod sched;

pub use code::called;
pub use sched::Tracks;

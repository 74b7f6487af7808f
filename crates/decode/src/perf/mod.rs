//! Streams of perf records: framing, bodies, order, damage, loss. What the kernel's
//! scheduling and samples of the program's code have in common.
//!
//! Owns one CPU's stream up to items in the order of time; refuses to know what
//! an item means, which its reader says (see [`stream::Interpret`]).

pub mod losses;
pub mod record;
pub mod stream;

/// 3 for `sched/cpu3.perf`.
pub fn cpu_of(stream: &str) -> Option<u16> {
    stream.rsplit('/').next()?.strip_prefix("cpu")?.strip_suffix(".perf")?.parse().ok()
}

//! Streams of perf records: framing, bodies, order, damage, loss. What the kernel's
//! scheduling and samples of the program's code have in common.
//!
//! Owns one CPU's stream up to items in the order of time; refuses to know what
//! an item means, which its reader says (see [`stream::Interpret`]).

pub mod losses;
pub mod record;
pub mod stream;

use crate::capture::IN_FRAMES;

/// 3 for `sched/cpu3.perf`, also in frames.
pub fn cpu_of(stream: &str) -> Option<u16> {
    let name = stream.rsplit('/').next()?;
    name.strip_suffix(IN_FRAMES).unwrap_or(name).strip_prefix("cpu")?.strip_suffix(".perf")?.parse().ok()
}

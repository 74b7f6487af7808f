//! Streams of perf records: framing, bodies, order, damage, loss. Shared by kernel scheduling and code samples.
//!
//! Owns one CPU's stream up to items in time order; refuses to know what an item means: that is up to its
//! reader (see [`stream::Interpret`]).

pub mod losses;
pub mod record;
pub mod stream;

use crate::capture::IN_FRAMES;

/// The CPU of a stream: 3 for `sched/cpu3.perf`, also in frames.
pub fn cpu_of(stream: &str) -> Option<u16> {
    let name = stream.rsplit('/').next()?;
    name.strip_suffix(IN_FRAMES).unwrap_or(name).strip_prefix("cpu")?.strip_suffix(".perf")?.parse().ok()
}

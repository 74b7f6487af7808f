//! What collections were like by themselves: their kinds, what they copied and allocated, what
//! ran concurrently, what writing the log took. Refuses waits and causes.

pub mod allocation;
pub mod collections;
pub mod concurrent;
pub mod drawing;
pub mod tracer;

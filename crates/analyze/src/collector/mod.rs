//! What collections did by themselves: their kinds, the bytes they copied and allocated, concurrent work, and the
//! cost of writing the log. Refuses waits and causes.

pub mod allocation;
pub mod collections;
pub mod concurrent;
pub mod drawing;
pub mod tracer;

//! What collections were like by themselves: their kinds, what they copied and allocated, what
//! ran concurrently. Refuses waits and causes.

pub mod allocation;
pub mod collections;
pub mod concurrent;

//! GHC's runtime: how its collections are recognised, why they were asked for, its sparks.

pub mod pauses;
pub mod sparks;
pub mod triggers;

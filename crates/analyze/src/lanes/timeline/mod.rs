//! The data of a timeline: for each lane and each thread of the program a sequence of states, in order and
//! without overlaps.
//!
//! Owns those states and how they follow from events: [`crate::basis::compose`] lays late knowledge over earlier
//! assumptions, [`lanes`] reads a runtime, [`crate::results::lanes_over_time`] sums a whole run up, [`own`] reads
//! what the program reports about itself. Holds a bounded part of the past. Refuses to merge, to store and to draw.

pub mod lanes;
pub mod own;
mod recognised;

pub use lanes::{Doing, LaneDetail, LanePart};
pub use own::OwnSpans;
pub use recognised::Timeline;

//! What a timeline draws: for each lane and each thread of the program one state after the other, in order
//! and without overlaps.
//!
//! Owns those states and how they follow from events: [`compose`] puts what is known later over what was
//! taken to be so, [`lanes`] reads a runtime, [`shares`] sums a whole run up, [`own`] what the program says of
//! itself. Holds a bounded part of the past. Refuses to merge, to store and to draw.

pub mod lanes;
pub mod own;
mod recognised;

pub use lanes::{Doing, LaneDetail, Part};
pub use own::OwnSpans;
pub use recognised::Timeline;

//! Containers and sums that every part of the analysis uses. Owns their bounds; knows no event.

pub mod compose;
pub mod lately;
pub mod per_lane;
pub mod sum;
pub mod thinned;
pub mod union;

//! Containers and sums that every part of the analysis uses. Owns their bounds; knows no event.

pub mod compose;
pub(crate) mod lately;
pub mod per_lane;
pub(crate) mod sum;
pub(crate) mod thinned;
pub(crate) mod union;

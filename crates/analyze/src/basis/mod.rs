//! Containers and sums shared by the whole analysis. Owns their bounds; knows no event.

pub mod compose;
pub(crate) mod lately;
pub mod per_lane;
pub(crate) mod sum;
pub(crate) mod thinned;
pub(crate) mod union;

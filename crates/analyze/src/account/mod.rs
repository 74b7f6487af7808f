//! The account: where all lane time went, divided without remainder.
//!
//! Owns how lane states, thread states, pauses with their causes, and samples become parts that add up to the
//! nanosecond. Unknown time is a part of its own, with the reason. Refuses to draw conclusions: findings do that.

mod faults;
mod part;
mod pieces;
mod slowest;
mod sums;
mod sweep;
mod threads;
mod tree;

pub use faults::given_back;
pub use part::{AccountPart, Keeper, Still, Why};
pub use pieces::OnPart;
pub use slowest::Together;
pub use sweep::{By, Sweep};
pub use tree::{Words, account, path_of, tops_of};

#[cfg(test)]
mod tests;

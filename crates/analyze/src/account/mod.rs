//! The account: where all lane time went, divided without rest.
//!
//! Owns how lanes' states, threads' states, pauses with their causes and samples become parts that sum up to the
//! nanosecond. What is not known is a part of its own, with the reason. Refuses to conclude anything: that is the
//! findings'.

mod faults;
mod part;
mod slowest;
mod sums;
mod sweep;
mod threads;
mod tree;

pub use faults::given_back;
pub use slowest::Together;
pub use sweep::{By, Sweep};
pub use tree::{Words, account};

#[cfg(test)]
mod tests;

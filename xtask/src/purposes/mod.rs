//! Are purposes right? Programs with one kind of the runtime's work that is known, each run with that work and
//! without it (`workloads/*/collector-work`): the difference of CPU time that the program itself measures has to be
//! found again as a difference of sampled time with the purpose of that work.
//!
//! Owns the order of runs. Nothing of the truth comes from samples, functions' names or call chains.

mod claims;
pub mod command;
mod pair;
mod row;
mod table;

pub use claims::{Claim, RIGHT_MIN, claims};
pub use command::WITH_MIN;
pub use pair::Pair;

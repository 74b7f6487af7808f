//! Are purposes right? Programs with one known kind of runtime work are run with that work and without it
//! (`workloads/*/collector-work`): the difference of CPU time that the program itself measures must
//! reappear as a difference of sampled time with the purpose of that work.
//!
//! Owns the order of runs. The truth never comes from samples, function names or call chains.

mod claims;
pub mod command;
mod pair;
mod row;
mod table;

pub use claims::{Claim, RIGHT_MIN, claims};
pub use command::WITH_MIN;
pub use pair::Pair;

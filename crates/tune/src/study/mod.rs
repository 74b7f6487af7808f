//! A search for the configuration that makes a program fastest, by trials of which each
//! costs time and none is exact. Owns what is tried next, what is concluded and how sure
//! that is; refuses to run a trial ([`Trials`] does) and to keep results ([`Study::resume`]
//! takes them back).
//!
//! A study has four stages. The default is first compared with itself: where that comparison
//! is wide, nothing can be tuned. Then many configurations are tried once each, the best of
//! them in whole blocks of which each halves their number, and the best three of those in
//! fresh blocks beside the default. Only these last say how much is gained.
//!
//! A study is a pure function of its [`Space`], its [`Design`] and the outcomes in their
//! order, so one that was killed goes on as if it had not been.

pub mod belief;
pub mod design;
pub mod interval;
pub mod kept;
pub mod propose;
pub mod replay;
pub mod space;

mod course;
#[cfg(test)]
mod course_tests;
pub(crate) mod seed;

pub use course::{Answer, Ask, Candidate, Mismatch, Next, Outcome, Stage, Study, Taken, Trials, Verdict, run};
pub use design::{Design, TooSmall};
pub use kept::{Description, Kind, Row, told};
pub use space::Space;

//! A search for the configuration that makes a program fastest. Trials cost time, and none is exact.
//! Owns what is tried next, what is concluded and how certain that is; refuses to run a trial
//! ([`Trials`] does) and to store results ([`Study::resume`] accepts them).
//!
//! A study has four stages. First, the default is compared with itself: if that comparison varies
//! widely, nothing can be tuned. Then many configurations are tried once each, the best of them in
//! whole blocks, each of which halves their number, and the best three of those together with the
//! default in fresh blocks. Only these last blocks show gains.
//!
//! A study is a pure function of its [`Space`], its [`Design`] and the outcomes in their order, so a
//! killed study can go on as if nothing had happened.

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
pub use kept::{Description, Row, StudyKind, clean};
pub use space::Space;

//! Pure folds over one time-ordered stream of events.
//!
//! Owns the questions: pauses, blame, productivity, utilisation, memory, and
//! the findings that follow from them. Refuses I/O, and holds bounded state
//! whatever the length of the stream.
#![forbid(unsafe_code)]

pub mod results;

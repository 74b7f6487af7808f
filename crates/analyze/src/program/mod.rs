//! What the program itself does: green threads, its own marks.
//! Refuses collections.

pub mod green;
pub mod user;

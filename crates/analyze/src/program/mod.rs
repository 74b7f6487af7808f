//! What the program itself does: green threads, its own marks, its transactions, its requests.
//! Refuses collections.

pub mod green;
pub mod requests;
pub mod stm;
pub mod user;

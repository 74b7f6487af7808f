//! What the program itself does: forks of its process, green threads, its own marks. Refuses collections.

pub mod forks;
pub mod green;
pub mod user;

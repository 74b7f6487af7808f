//! Other processes and their files: the one way to hold, open and read them. Nothing in here knows
//! what a program is.

pub mod core_file;
pub mod live;
pub mod mappings;
pub mod memory;
mod open;
mod process;
mod root;
pub(crate) mod stop;

pub use crate::privileges::opener::{ProcessFile, Refused};
pub use open::{open_own, open_target};
pub use process::Process;
pub use root::Root;
pub(crate) use root::open_below;

#[cfg(test)]
mod tests;

//! Stored studies: one SQLite file each, appended to while trials run; merged if a study was spread over machines;
//! and exported as a table for other tools. Owns files and their formats (`docs/formats/study.md`); refuses to run a
//! trial and to draw conclusions: that is `rtscope_tune`'s task.
#![forbid(unsafe_code)]

mod error;
mod rows;
#[cfg(test)]
mod testing;

pub mod merge;
pub mod parquet;
pub mod study;

pub use error::StoreError;
pub use merge::{Merged, merge};
pub use study::Store;

/// Version of the format of a study, as in `PRAGMA user_version`.
pub const VERSION: i64 = 1;

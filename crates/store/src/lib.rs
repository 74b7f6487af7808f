//! Studies that are kept: one SQLite file each, appended to while trials run, taken together
//! where a study was spread over machines, and as a table that other tools read. Owns files
//! and their formats (`docs/formats/study.md`); refuses to run a trial and to conclude
//! anything, which is `rtscope_tune`'s matter.
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

/// Of the format of a study, as in `PRAGMA user_version`.
pub const VERSION: i64 = 1;

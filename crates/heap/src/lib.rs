//! The memory of a GHC program, from outside: which of its blocks hold what, how much of
//! them is in use, what keeps the rest.
//!
//! Owns the layouts of the runtime's block descriptors and generations. Reads through
//! [`Memory`] only: a process, a core file or a test's image. Refuses to stop anything, to
//! find a process, and to draw.
#![forbid(unsafe_code)]

pub mod batch;
pub mod bits;
pub mod blocks;
pub mod closure;
pub mod descriptor;
pub mod document;
pub mod fragmentation;
pub mod held;
pub mod ledger;
pub mod map;
pub mod megablock;
pub mod memory;
pub mod pinned;
pub mod runtime;
pub mod scan;
pub mod slices;
pub mod survey;
#[cfg(test)]
mod testing;
pub mod walk;
pub mod young;

pub use map::{Cell, Kind};
pub use megablock::Megablock;
pub use memory::{Memory, Space};
pub use runtime::{Generation, Runtime, Statics};
pub use scan::{Beside, Scan};
pub use survey::{Survey, Total};

//! The memory of a GHC program, seen from outside: which blocks hold what, how much of them is in
//! use, and what keeps the rest.
//!
//! Owns the layouts of the runtime's block descriptors and generations. Reads only through
//! [`Memory`]: a process, a core file or a test image. Refuses to stop or find processes, and does
//! not draw.
#![forbid(unsafe_code)]

mod batch;
mod bits;
mod blocks;
pub mod closure;
pub mod descriptor;
pub mod document;
mod fragmentation;
mod held;
pub mod ledger;
mod map;
mod megablock;
pub mod memory;
mod pinned;
mod runtime;
pub mod sampled;
mod scan;
mod slices;
mod survey;
#[cfg(test)]
mod testing;
mod walk;
mod young;

pub use memory::{Memory, Space};
pub use runtime::{Runtime, Statics};
pub use scan::{Scan, ScanInput};
pub use survey::Survey;

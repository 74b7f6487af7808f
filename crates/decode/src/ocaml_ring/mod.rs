//! OCaml 5's runtime events rings, 5.0 to 5.5: the file that a program shares by mapping and leaves on disk, and the
//! stream that a recorder made of one.
//!
//! Owns the formats (`docs/formats/ocaml-ring.md`, `docs/formats/ring-stream.md`), the tables of each version, how the
//! version is determined, and the importer that turns events into [`rtscope_model::Event`]. Refuses to analyse, and to
//! read a ring of unknown version: versions number phases differently, and none of the results would look wrong.
//!
//! [`Rings::open`] determines the version. [`Rings::stream`] returns the events in time order in bounded memory; its
//! `tally` says what was counted and lost.

#[cfg(any(test, feature = "testing"))]
pub mod builder;
pub mod captured;
mod error;
mod growing;
mod import;
mod layout;
mod log;
mod packed;
mod rings;
mod slot;
mod stream;
mod tables;
mod tally;
#[cfg(test)]
mod tests;
mod user_names;
mod version;
mod version_evidence;
mod words;

pub use error::RingError;
pub use growing::GrowingRings;
pub(crate) use import::neutral;
pub use log::RingFormat;
pub use packed::{Packer, WORDS_MAX as PACKED_WORDS_MAX};
pub use rings::Rings;
use stream::RingStream;
pub(crate) use tables::{COUNTERS, PHASES, phase_name};
#[cfg(test)]
use tally::RingTally;
pub use version::{Version, VersionSource};

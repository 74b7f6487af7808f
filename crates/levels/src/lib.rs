//! Levels of detail: what a track of a timeline looks like at every scale, so that a picture of any
//! stretch of a recording costs what its pixels cost.
//!
//! Owns the merging of spans and values into bins, the file that holds it (`docs/formats/levels.md`), its one-pass
//! [`Writer`] and its [`Reader`], which takes any bytes. Refuses to know what a track, a kind or a
//! detail means, to open files, and to draw.
//!
//! Level 0 is what was written. Level k has bins of 2^(10+2k) ns, and a tile of it is 1,024 bins.
#![forbid(unsafe_code)]

mod bytes;
mod items;
mod ladder;
mod merge;
mod reader;
mod record;
mod tree;
mod writer;

pub use items::{Counts, Form, Item, LEVELS, LevelsError, OTHER, Point, Range, Span, bin_ns, tile_at, top_level};
pub use merge::TILE_ITEMS_MAX;
pub use reader::{Reader, Track};
pub use writer::Writer;

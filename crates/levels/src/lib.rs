//! Levels of detail: a track of a timeline at every scale, so that the cost of drawing any part of a recording
//! depends on its pixels.
//!
//! Owns the merging of spans and values into bins, their file (`docs/formats/levels.md`), its one-pass [`Writer`],
//! and its [`Reader`], which accepts any bytes. Refuses to know what a track, a kind or a detail means, to open
//! files, and to draw.
//!
//! Level 0 is the input. Level k has bins of 2^(10+2k) ns, and a tile has 1,024 bins.
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

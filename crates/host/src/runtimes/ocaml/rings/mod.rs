//! OCaml's runtime events: rings in a file that the runtime maps and overwrites. How
//! a program is made to write them, room for them on the disk, and the threads that
//! copy their words into a capture before they are overwritten.
//!
//! Owns the file's layout as far as copying needs it, and the form of `rings/N.ring`
//! (`docs/formats/ring-stream.md`). Refuses to know what an event means. Ring files
//! are read with `pread` and never mapped: a program that calls exec may truncate
//! its ring, and reading a mapping of it would kill the recorder.

mod copy;
mod found;
mod layout;
mod manual;
pub mod parameters;
mod pen;
mod place;
mod reader;
mod stream;

pub use found::{Mapped, mapped_by};
pub use manual::{Manual, NoRings};
pub use place::RingFolder;
pub(crate) use reader::RingsReader;
pub use reader::{Config, Copied};

/// Place of the last ring of a file.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct Placed {
    /// Offset of the end of its header.
    pub header_end: u64,
    /// Offset of the end of its words.
    pub words_end: u64,
}

/// The place of the last ring in a ready file with this metadata and of `length` bytes.
pub fn placed(metadata: &[u8; 64], length: u64) -> Option<Placed> {
    let layout::Judged::Ready(found) = layout::RingLayout::of(metadata, length) else { return None };
    let last = found.rings.checked_sub(1)?;
    let (from, words) = found.place(last, u64::MAX);
    Some(Placed {
        header_end: found.header(last).checked_add(found.header_bytes)?,
        words_end: from.checked_add(words.checked_mul(layout::WORD)?)?,
    })
}

/// Whether a line of `maps` describes a ring.
pub(crate) fn is_mapped(line: &str) -> bool {
    found::ring(line).is_some()
}

//! The layout of the stream that a recorder makes of rings: its head, the heads of its frames and their kinds
//! (`docs/formats/ring-stream.md`). Owns these numbers for the writer and the reader of a stream.

use super::words::words_at;
use crate::source::ReadAt;
use rtscope_model::Time;
use std::io;

/// The first word of a stream.
pub const MAGIC: u64 = u64::from_le_bytes(*b"RTSRING1");
/// Size of a stream's head, in words.
pub const HEAD_WORDS: usize = 8;
/// Size of a frame's head, in words.
pub const FRAME_WORDS: usize = 4;
/// Size of one name of a user event, in bytes.
pub const NAME: usize = 128;

/// Kinds of frames.
pub mod kind {
    /// Words of a ring, unpacked.
    pub const WORDS: u64 = 1;
    /// The name of a user event.
    pub const NAME: u64 = 2;
    /// The process has ended normally.
    pub const ENDED: u64 = 3;
    /// Words of a ring, packed.
    pub const PACKED: u64 = 4;
}

/// The head of a stream of `rings` rings of `words` words each; `named`: the ring file has a table of names; `pid` in
/// the process's own namespace, 0 where it is not known.
pub fn head(rings: u64, words: u64, named: bool, pid: u32) -> [u64; HEAD_WORDS] {
    [MAGIC, rings, words, u64::from(named), u64::from(pid), 0, 0, 0]
}

/// The head of a frame of ring `slot`, which `follow` words follow. `number`: the position of the first of them, or a
/// user event's id.
pub fn frame(kind: u64, slot: u64, number: u64, follow: u64, now: Time) -> [u64; FRAME_WORDS] {
    [kind | slot << 16, number, follow, now.0]
}

/// Where the whole frames of a growing stream end, from the frame at `at` on, and not far beyond `most` bytes from
/// there. `each` gets every frame: its kind, its start and its end.
///
/// # Errors
/// The stream cannot be read.
pub fn whole_frames(stream: &dyn ReadAt, at: u64, most: u64, each: &mut dyn FnMut(u64, u64, u64)) -> io::Result<u64> {
    let size = stream.size()?;
    let mut end = at;
    while end < size && end - at < most {
        let Some([what, _, count, _]) = words_at(stream, end)? else { break };
        let next = count.checked_mul(8).and_then(|bytes| bytes.checked_add(end + 8 * FRAME_WORDS as u64));
        let Some(next) = next.filter(|next| *next <= size) else { break };
        each(what & 0xff, end, next);
        end = next;
    }
    Ok(end)
}

//! What the stream that a recorder makes of rings is built of: its head, the heads of its
//! frames and their kinds (`docs/formats/ring-stream.md`). Owns these numbers for who
//! writes a stream and for who reads it.

use rtscope_model::Time;

/// The first word of a stream.
pub const MAGIC: u64 = u64::from_le_bytes(*b"RTSRING1");
/// Words of a stream's head.
pub const HEAD_WORDS: usize = 8;
/// Words of a frame's head.
pub const FRAME_WORDS: usize = 4;
/// Bytes of one name of a user event.
pub const NAME: usize = 128;

/// Kinds of frames.
pub mod kind {
    /// Words of a ring as they lay there.
    pub const WORDS: u64 = 1;
    /// The name of a user event.
    pub const NAME: u64 = 2;
    /// The process has ended in good order.
    pub const ENDED: u64 = 3;
    /// Words of a ring, packed.
    pub const PACKED: u64 = 4;
}

/// The head of a stream of so many rings of so many words each; `named`: the ring file has
/// a table of names; `pid` in the process's own namespace, 0 where it is not known.
pub fn head(rings: u64, words: u64, named: bool, pid: u32) -> [u64; HEAD_WORDS] {
    [MAGIC, rings, words, u64::from(named), u64::from(pid), 0, 0, 0]
}

/// The head of a frame of ring `slot`, behind which `follow` words lie. `number`: the
/// position of the first of them, or a user event's id.
pub fn frame(kind: u64, slot: u64, number: u64, follow: u64, now: Time) -> [u64; FRAME_WORDS] {
    [kind | slot << 16, number, follow, now.0]
}

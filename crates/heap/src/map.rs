//! The map of a heap: what each of its blocks is, as far as one look at the descriptors
//! tells. Owns the kinds of blocks. Four bytes for each block of 4 KiB, whatever the heap.

use crate::descriptor::{BLOCK, BLOCKS, Descriptor, FIRST, Flags};
use std::ops::Range;

rtscope_model::listed! {
    /// What a block holds.
    #[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Hash, Debug)]
    #[repr(u8)]
    pub enum Kind: word {
        /// What a capability allocates into.
        Nursery = "nursery",
        /// Objects that collections move.
        Small = "small",
        /// One object that is too large to be moved.
        Large = "large",
        /// Objects that must not be moved.
        Pinned = "pinned",
        /// A compact region.
        Compact = "compact",
        /// A segment of the non-moving collector.
        NonMoving = "non-moving",
        /// Machine code that the runtime made.
        Executable = "executable",
        /// In use by the runtime itself, or between two states.
        Other = "other",
        /// Descriptors of the megablock's blocks.
        Descriptors = "descriptors",
        /// On a free list, inside a megablock that holds something.
        Free = "free",
        /// A whole megablock that holds nothing and that the runtime keeps.
        FreeMegablock = "free megablock",
        /// Given back to the system: its descriptors are gone.
        Returned = "returned",
    }
}

impl Kind {
    /// Whether a generation is said of it.
    pub fn has_generation(self) -> bool {
        matches!(self, Kind::Small | Kind::Large | Kind::Pinned | Kind::Compact | Kind::NonMoving)
    }

    /// Whether it holds objects of the program.
    pub fn is_used(self) -> bool {
        self.has_generation() || self == Kind::Nursery
    }

    /// What the first block of a group says of it. Blocks of a nursery have no flag at all;
    /// neither have the few that the runtime takes for lists of its own, which is where a
    /// count of nurseries and one of these blocks part.
    pub fn of(head: &Descriptor) -> Kind {
        let flags = head.flags;
        match () {
            () if head.is_free() && head.blocks as usize >= BLOCKS - FIRST => Kind::FreeMegablock,
            () if head.is_free() => Kind::Free,
            () if flags.has(Flags::COMPACT) => Kind::Compact,
            () if flags.has(Flags::PINNED) => Kind::Pinned,
            () if flags.has(Flags::LARGE) => Kind::Large,
            // Large objects of the non-moving collector's generation have its flag, too.
            () if flags.has(Flags::NON_MOVING) => Kind::NonMoving,
            () if flags.has(Flags::EXECUTABLE) => Kind::Executable,
            () if flags.has(Flags::EVACUATED) => Kind::Small,
            () if head.generation == 0 && head.blocks == 1 => Kind::Nursery,
            () => Kind::Other,
        }
    }
}

/// One block, in four bytes.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct Cell {
    pub kind: Kind,
    /// Its generation, where its kind has one.
    pub generation: u8,
    /// Bytes of it that are used, and whether a group starts here.
    used: u16,
}

const HEAD: u16 = 1 << 15;

impl Cell {
    /// A cell of a block without a group of its own.
    pub fn plain(kind: Kind) -> Cell {
        Cell { kind, generation: 0, used: 0 }
    }

    /// The cells of these blocks of a group.
    pub fn of_group(head: &Descriptor, kind: Kind, blocks: Range<u64>) -> impl Iterator<Item = Cell> {
        let generation = if kind.has_generation() { head.generation.min(255) as u8 } else { 0 };
        let used = match kind {
            // How far a segment is used stands in itself: all of it may be.
            Kind::NonMoving => head.bytes(),
            _ if kind.is_used() => head.used_bytes().unwrap_or(0),
            _ => 0,
        };
        blocks.map(move |block| {
            let inside = used.saturating_sub(block * BLOCK).min(BLOCK) as u16;
            Cell { kind, generation, used: inside | if block == 0 { HEAD } else { 0 } }
        })
    }

    /// Bytes of it that are used.
    pub fn used_bytes(&self) -> u64 {
        u64::from(self.used & !HEAD)
    }

    /// Whether a group starts here.
    pub fn is_head(&self) -> bool {
        self.used & HEAD != 0
    }
}

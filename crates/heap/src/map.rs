//! The map of a heap: what each of its blocks is, as far as one look at the descriptors shows. Owns
//! the kinds of blocks. Takes four bytes per 4 KiB block, whatever the size of the heap.

use crate::descriptor::{BLOCK, BLOCKS, Descriptor, FIRST, Flags};
use std::ops::Range;

rtscope_model::listed! {
    /// What a block holds.
    #[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Hash, Debug)]
    #[repr(u8)]
    pub enum Kind: word {
        /// Memory that a capability allocates into.
        Nursery = "nursery",
        /// Objects that collections move.
        Small = "small",
        /// One object that is too large to move.
        Large = "large",
        /// Pinned objects, which must not move.
        Pinned = "pinned",
        /// A compact region.
        Compact = "compact",
        /// A segment of the non-moving collector.
        NonMoving = "non-moving",
        /// Machine code that the runtime generated.
        Executable = "executable",
        /// In use by the runtime itself, or between two states.
        Other = "other",
        /// The descriptors of the megablock's blocks.
        Descriptors = "descriptors",
        /// On a free list, in a megablock that is partly used.
        Free = "free",
        /// A whole empty megablock that the runtime keeps.
        FreeMegablock = "free megablock",
        /// Returned to the system: its descriptors are gone.
        Returned = "returned",
    }
}

impl Kind {
    /// Whether its blocks belong to a generation.
    pub fn has_generation(self) -> bool {
        matches!(self, Kind::Small | Kind::Large | Kind::Pinned | Kind::Compact | Kind::NonMoving)
    }

    /// Whether it holds the program's objects.
    pub fn is_used(self) -> bool {
        self.has_generation() || self == Kind::Nursery
    }

    /// The kind that the descriptor of a group's first block shows. Nursery blocks have no flag; neither
    /// have the few blocks of the runtime's own lists, so this count of nursery blocks can exceed the
    /// runtime's.
    pub fn of(head: &Descriptor) -> Kind {
        let flags = head.flags;
        match () {
            () if head.is_free() && head.blocks as usize >= BLOCKS - FIRST => Kind::FreeMegablock,
            () if head.is_free() => Kind::Free,
            () if flags.has(Flags::COMPACT) => Kind::Compact,
            () if flags.has(Flags::PINNED) => Kind::Pinned,
            () if flags.has(Flags::LARGE) => Kind::Large,
            // Large objects of the non-moving generation carry its flag, too.
            () if flags.has(Flags::NON_MOVING) => Kind::NonMoving,
            () if flags.has(Flags::EXECUTABLE) => Kind::Executable,
            () if flags.has(Flags::EVACUATED) => Kind::Small,
            () if head.generation == 0 && head.blocks == 1 => Kind::Nursery,
            () => Kind::Other,
        }
    }
}

/// One block of the map, in four bytes.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct Cell {
    pub kind: Kind,
    /// Its generation, where its kind has one.
    pub generation: u8,
    /// Bytes of it in use, and whether a group starts here.
    used: u16,
}

const HEAD: u16 = 1 << 15;

impl Cell {
    /// A block that belongs to no group.
    pub fn plain(kind: Kind) -> Cell {
        Cell { kind, generation: 0, used: 0 }
    }

    /// The cells for these blocks of a group.
    pub fn of_group(head: &Descriptor, kind: Kind, blocks: Range<u64>) -> impl Iterator<Item = Cell> {
        let generation = if kind.has_generation() { head.generation.min(255) as u8 } else { 0 };
        let used = match kind {
            // Only the segment itself records how much of it is used: it may be all of it.
            Kind::NonMoving => head.bytes(),
            _ if kind.is_used() => head.used_bytes().unwrap_or(0),
            _ => 0,
        };
        blocks.map(move |block| {
            let inside = used.saturating_sub(block * BLOCK).min(BLOCK) as u16;
            Cell { kind, generation, used: inside | if block == 0 { HEAD } else { 0 } }
        })
    }

    /// Bytes of it in use.
    pub fn used_bytes(&self) -> u64 {
        u64::from(self.used & !HEAD)
    }

    /// Whether a group starts here.
    pub fn is_head(&self) -> bool {
        self.used & HEAD != 0
    }
}

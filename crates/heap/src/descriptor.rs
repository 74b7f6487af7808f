//! Block descriptors: the 64 bytes that the runtime keeps for each 4 KiB block of a megablock
//! (`rts/storage/Block.h`; the same from GHC 8.10 to 9.14 on 64-bit machines). Owns their layout and
//! the checks on their content.

/// Bytes of a megablock: the unit that the runtime takes from the system, and its alignment.
pub const MEGABLOCK: u64 = 1 << 20;
/// Bytes of a block.
pub const BLOCK: u64 = 1 << 12;
/// Blocks of a megablock, including those that hold its descriptors.
pub const BLOCKS: usize = (MEGABLOCK / BLOCK) as usize;
/// Blocks at the start of a megablock that hold its descriptors.
pub const FIRST: usize = 4;
/// Bytes of the descriptors of a megablock.
pub const DESCRIPTORS: usize = BLOCKS * SIZE;
/// Bytes of one descriptor.
const SIZE: usize = 64;
/// Value of `free` in a group that is on a free list.
const UNALLOCATED: u64 = u64::MAX;

/// What a block is used for: the runtime's flags.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Default)]
pub struct Flags(pub u16);

impl Flags {
    /// Its objects were already there at the last collection of its generation.
    pub const EVACUATED: u16 = 1;
    /// It holds one object, which is never moved.
    pub const LARGE: u16 = 2;
    /// It holds objects that are never moved.
    pub const PINNED: u16 = 4;
    /// It holds machine code that the runtime generated.
    pub const EXECUTABLE: u16 = 0x20;
    /// It is part of a compact region.
    pub const COMPACT: u16 = 0x200;
    /// It is a segment of the non-moving collector.
    pub const NON_MOVING: u16 = 0x400;

    /// Whether any of `flags` is set.
    pub fn has(self, flags: u16) -> bool {
        self.0 & flags != 0
    }
}

/// The descriptor of a group's first block.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct Descriptor {
    /// Address of the block's memory.
    pub start: u64,
    /// Address of the first unused byte; has no meaning in a non-moving segment.
    pub free: u64,
    /// Address of the descriptor of the next group in its list.
    pub link: u64,
    /// Number of its generation.
    pub generation: u16,
    /// How the block is used.
    pub flags: Flags,
    /// Blocks in the group; 0: this block belongs to a group that starts before it.
    pub blocks: u32,
}

impl Descriptor {
    /// Parses the first 64 of `bytes`, in this machine's byte order.
    pub fn parse(bytes: &[u8]) -> Option<Descriptor> {
        let bytes = bytes.first_chunk::<SIZE>()?;
        let word = |at: usize| bytes.get(at..at + 8).and_then(|word| word.try_into().ok()).map(u64::from_ne_bytes);
        let half = |at: usize| bytes.get(at..at + 2).and_then(|half| half.try_into().ok()).map(u16::from_ne_bytes);
        Some(Descriptor {
            start: word(0)?,
            free: word(8)?,
            link: word(16)?,
            generation: half(40)?,
            flags: Flags(half(46)?),
            blocks: bytes.get(48..52).and_then(|word| word.try_into().ok()).map(u32::from_ne_bytes)?,
        })
    }

    /// Whether the group is on a free list.
    pub fn is_free(&self) -> bool {
        self.free == UNALLOCATED
    }

    /// Bytes of the group; megablocks after its first hold no descriptors that would have to be added.
    pub fn bytes(&self) -> u64 {
        u64::from(self.blocks) * BLOCK
    }

    /// Bytes in use; `None` where `free` does not lie in the group.
    pub fn used_bytes(&self) -> Option<u64> {
        self.free.checked_sub(self.start).filter(|used| *used <= self.bytes())
    }

    /// Megablocks that this group takes.
    pub fn megablocks(&self) -> u64 {
        let rest = u64::from(self.blocks).saturating_sub((BLOCKS - FIRST) as u64);
        1 + rest.div_ceil(BLOCKS as u64)
    }
}

/// The descriptor of block `index` among the `descriptors` of a megablock.
pub fn at(descriptors: &[u8], index: usize) -> Option<Descriptor> {
    Descriptor::parse(descriptors.get(index * SIZE..)?)
}

/// Address of the block that the descriptor at `address` describes.
pub fn block_of(address: u64) -> u64 {
    let megablock = address & !(MEGABLOCK - 1);
    megablock.saturating_add((address - megablock) / SIZE as u64 * BLOCK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_takes_as_many_megablocks_as_in_the_runtime() {
        let of =
            |blocks| Descriptor { start: 0, free: 0, link: 0, generation: 0, flags: Flags(0), blocks }.megablocks();
        assert_eq!([1, 252, 253, 252 + 256, 253 + 256].map(of), [1, 1, 2, 2, 3]);
    }

    #[test]
    fn a_descriptor_stands_for_its_block() {
        let megablock = 0x42_0010_0000;
        assert_eq!(block_of(megablock + 4 * 64), megablock + 0x4000);
        assert_eq!(block_of(megablock + 255 * 64), megablock + 255 * 4096);
    }
}

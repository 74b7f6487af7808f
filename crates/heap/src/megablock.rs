//! One megablock: reads from its descriptors what its blocks are and how much of them is in use. Owns
//! the checks on descriptors: a group that does not lie where it says is ignored.

use crate::descriptor::{self, BLOCK, BLOCKS, Descriptor, FIRST, MEGABLOCK};
use crate::map::{Cell, Kind};

/// The blocks of one megablock.
#[derive(Clone, Eq, PartialEq, Debug)]
pub struct Megablock {
    pub address: u64,
    /// One cell for each of its 256 blocks.
    pub cells: Vec<Cell>,
    /// Descriptors that contradict each other: the runtime was changing them.
    pub contradictions: u32,
}

/// The blocks of a group that lie in the following megablocks.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct Rest {
    head: Descriptor,
    /// Blocks of it that lie before them.
    before: u32,
}

impl Megablock {
    fn new(address: u64) -> Megablock {
        Megablock { address, cells: Vec::with_capacity(BLOCKS), contradictions: 0 }
    }

    /// A megablock whose descriptors can no longer be read, or that was returned to the system.
    pub fn returned(address: u64) -> Megablock {
        let mut returned = Megablock::new(address);
        returned.plain(Kind::Returned, BLOCKS);
        returned
    }

    /// Reads the `descriptors` of the megablock at `address`; also returns the part of its last group
    /// that lies in the following megablocks.
    pub fn read(address: u64, descriptors: &[u8]) -> (Megablock, Option<Rest>) {
        let head = |index: usize| {
            let head = descriptor::at(descriptors, index)?;
            (head.start == address + index as u64 * BLOCK).then_some(head)
        };
        if head(FIRST).is_none() && descriptors.iter().all(|byte| *byte == 0) {
            return (Megablock::returned(address), None);
        }
        let mut read = Megablock::new(address);
        read.plain(Kind::Descriptors, FIRST);
        while read.cells.len() < BLOCKS {
            let index = read.cells.len();
            let room = BLOCKS - index;
            match head(index).filter(|head| head.blocks > 0) {
                Some(head) if head.blocks as usize <= room => read.group(&head, 0, head.blocks as usize),
                Some(head) if index == FIRST => {
                    read.group(&head, 0, room);
                    return (read, Some(Rest { head, before: room as u32 }));
                }
                _ => {
                    read.contradictions += 1;
                    read.plain(Kind::Other, 1);
                }
            }
        }
        (read, None)
    }

    /// The megablock at `address`, which begins with the `rest` of a group; and what remains of that group.
    pub fn go_on(address: u64, rest: Rest) -> (Megablock, Option<Rest>) {
        let mut read = Megablock::new(address);
        let left = (rest.head.blocks - rest.before) as usize;
        let here = left.min(BLOCKS);
        read.group(&rest.head, rest.before, here);
        // A group takes the whole of its last megablock, however little of it it needs.
        read.plain(Kind::of(&rest.head), BLOCKS - here);
        let more = (left > BLOCKS).then(|| Rest { before: rest.before + here as u32, ..rest });
        (read, more)
    }

    fn plain(&mut self, kind: Kind, count: usize) {
        self.cells.extend(std::iter::repeat_n(Cell::plain(kind), count));
    }

    /// Adds `count` blocks of a group, `before` of whose blocks lie before this megablock.
    fn group(&mut self, head: &Descriptor, before: u32, count: usize) {
        let before = u64::from(before);
        self.cells.extend(Cell::of_group(head, Kind::of(head), before..before + count as u64));
    }

    /// Its blocks with their addresses.
    pub fn blocks(&self) -> impl Iterator<Item = (u64, &Cell)> {
        (self.address..).step_by(BLOCK as usize).zip(&self.cells)
    }

    /// Whether it was returned to the system.
    pub fn is_returned(&self) -> bool {
        self.cells.first().is_some_and(|cell| cell.kind == Kind::Returned)
    }

    /// Whether two looks at it agree. The used bytes of nursery blocks and of pinned blocks of generation
    /// 0 are ignored: they change while the program runs, without a collection.
    pub fn agrees(&self, other: &Megablock) -> bool {
        let fills = |cell: &Cell| matches!(cell.kind, Kind::Nursery | Kind::Pinned) && cell.generation == 0;
        let place = |cell: &Cell| (cell.kind, cell.generation, cell.is_head());
        let alike = |one: &Cell, other: &Cell| one == other || fills(one) && place(one) == place(other);
        self.cells.len() == other.cells.len()
            && self.cells.iter().zip(&other.cells).all(|(one, other)| alike(one, other))
    }

    /// Its end address.
    pub fn end(&self) -> u64 {
        self.address + MEGABLOCK
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::descriptor::Flags;
    use crate::testing::Laid;

    const AT: u64 = 0x42_0010_0000;

    fn count(read: &Megablock, kind: Kind) -> usize {
        read.cells.iter().filter(|cell| cell.kind == kind).count()
    }

    #[test]
    fn flags_identify_groups() {
        let laid = Laid::at(AT)
            .group(1, 0, 0, 100)
            .group(1, 0, Flags::EVACUATED, 4096)
            .group(1, 1, Flags::EVACUATED, 4000)
            .group(2, 1, Flags::EVACUATED | Flags::LARGE, 8000)
            .group(1, 1, Flags::EVACUATED | Flags::LARGE | Flags::PINNED, 4090)
            .group(3, 1, Flags::COMPACT | Flags::LARGE, 10_000)
            .group(8, 1, Flags::NON_MOVING, 0)
            .group(1, 1, Flags::NON_MOVING | Flags::LARGE | Flags::PINNED, 64)
            .free(234);
        let (read, rest) = Megablock::read(AT, &laid.descriptors());
        assert_eq!((rest, read.contradictions, read.cells.len()), (None, 0, 256));
        let mut found: Vec<_> = Vec::new();
        for (_, cell) in read.blocks().filter(|(_, cell)| cell.is_head()) {
            found.push((cell.kind, cell.generation));
        }
        let expected = [
            (Kind::Nursery, 0),
            (Kind::Small, 0),
            (Kind::Small, 1),
            (Kind::Large, 1),
            (Kind::Pinned, 1),
            (Kind::Compact, 1),
            (Kind::NonMoving, 1),
            (Kind::Pinned, 1),
            (Kind::Free, 0),
        ];
        assert_eq!(found, expected);
        let used: Vec<u64> = read.cells.iter().skip(4).take(9).map(Cell::used_bytes).collect();
        assert_eq!(used, [100, 4096, 4000, 4096, 3904, 4090, 4096, 4096, 1808]);
    }

    #[test]
    fn a_large_object_takes_the_following_megablocks() {
        let laid = Laid::at(AT).group(252 + 256 + 10, 1, Flags::LARGE, (252 + 256 + 9) * 4096);
        let (first, rest) = Megablock::read(AT, &laid.descriptors());
        let (second, rest) = Megablock::go_on(first.end(), rest.expect("more"));
        let (third, rest) = Megablock::go_on(second.end(), rest.expect("more"));
        assert_eq!(rest, None);
        let all: Vec<usize> = [&first, &second, &third].iter().map(|read| count(read, Kind::Large)).collect();
        assert_eq!(all, [252, 256, 256]);
        let used = |read: &Megablock| read.cells.iter().map(Cell::used_bytes).sum::<u64>();
        assert_eq!([used(&first), used(&second), used(&third)], [252, 256, 9].map(|blocks| blocks * 4096));
        assert_eq!(third.cells.len(), 256);
    }

    #[test]
    fn what_cannot_be_is_counted_and_not_believed() {
        assert_eq!(Megablock::read(AT, &[0; 16384]).0, Megablock::returned(AT));
        let mut bytes = Laid::at(AT).group(1, 0, 0, 0).group(300, 1, Flags::LARGE, 0).descriptors();
        let (read, rest) = Megablock::read(AT, &bytes);
        assert_eq!((rest, read.contradictions, count(&read, Kind::Other)), (None, 251, 251));
        bytes.truncate(1000);
        assert_eq!(Megablock::read(AT, &bytes).0.cells.len(), 256);
        let noise: Vec<u8> = (0..16384_u32).map(|at| ((at * 7919) >> 3) as u8).collect();
        assert_eq!(Megablock::read(AT, &noise).0.cells.len(), 256);
    }

    #[test]
    fn two_looks_agree_where_only_a_nursery_fills() {
        let of = |used, pinned| {
            let laid = Laid::at(AT).group(1, 0, 0, used).group(1, 1, Flags::PINNED, pinned).free(250);
            Megablock::read(AT, &laid.descriptors()).0
        };
        assert!(of(10, 100).agrees(&of(4000, 100)));
        assert!(!of(10, 100).agrees(&of(10, 200)));
    }
}

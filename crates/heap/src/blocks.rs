//! Block groups of selected kinds in address order, and which of them an address lies in. Scans of
//! the heap start here.

use crate::descriptor::BLOCK;
use crate::map::Kind;
use crate::survey::Survey;

/// A group whose memory can be read.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct BlockGroup {
    /// Address of its first byte.
    pub start: u64,
    /// End of its last used byte.
    pub free: u64,
    pub kind: Kind,
    pub generation: u8,
}

impl BlockGroup {
    pub fn used_bytes(&self) -> u64 {
        self.free - self.start
    }
}

/// Groups in address order.
#[derive(Clone, Debug, Default)]
pub struct Groups {
    groups: Vec<BlockGroup>,
}

impl Groups {
    /// The used groups of `survey` that `wanted` selects.
    pub fn of(survey: &Survey, wanted: impl Fn(Kind, u8) -> bool) -> Groups {
        let mut groups: Vec<BlockGroup> = Vec::new();
        let mut open = false;
        for (start, cell) in survey.megablocks.iter().flat_map(|megablock| megablock.blocks()) {
            let used = cell.used_bytes();
            if cell.is_head() {
                open = used > 0 && wanted(cell.kind, cell.generation);
                let (kind, generation) = (cell.kind, cell.generation);
                groups.extend(open.then_some(BlockGroup { start, free: start + used, kind, generation }));
            } else if let Some(group) = groups.last_mut().filter(|group| open && group.free == start) {
                group.free += used;
            }
        }
        Groups { groups }
    }

    /// Groups that were found in another way, sorted.
    pub fn made(mut groups: Vec<BlockGroup>) -> Groups {
        groups.sort_by_key(|group| group.start);
        groups.dedup_by_key(|group| group.start);
        Groups { groups }
    }

    pub fn iter(&self) -> impl Iterator<Item = &BlockGroup> {
        self.groups.iter()
    }

    /// These groups in the same order, each cut to what lies in its first block.
    pub fn heads(&self) -> Groups {
        let head = |group: &BlockGroup| BlockGroup { free: group.free.min(group.start + BLOCK), ..*group };
        Groups { groups: self.groups.iter().map(head).collect() }
    }

    pub fn get(&self, number: usize) -> Option<&BlockGroup> {
        self.groups.get(number)
    }

    pub fn len(&self) -> usize {
        self.groups.len()
    }

    pub fn used_bytes(&self) -> u64 {
        self.groups.iter().map(BlockGroup::used_bytes).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::descriptor::Flags;
    use crate::runtime::Statics;
    use crate::testing::{Image, Laid, space};

    #[test]
    fn groups_are_put_together_again_and_found_by_address() {
        const AT: u64 = 0x42_0010_0000;
        let next = AT + (1 << 20);
        let laid = Laid::at(AT).group(1, 1, Flags::PINNED, 100).group(1, 1, Flags::EVACUATED, 50).group(
            250,
            1,
            Flags::PINNED,
            5000,
        );
        let more = Laid::at(next).group(300, 1, Flags::PINNED, 290 * 4096 + 8);
        let image = Image::default().put(AT, laid.descriptors()).put(next, more.descriptors());
        let space = space(AT, 3);
        let survey = Survey::take(&image, &space, &Statics::default(), true).unwrap();
        let groups = Groups::of(&survey, |kind, _| kind == Kind::Pinned);
        let used: Vec<u64> = groups.iter().map(BlockGroup::used_bytes).collect();
        assert_eq!(used, [100, 5000, 290 * 4096 + 8]);
        assert_eq!((groups.len(), groups.used_bytes()), (3, 5100 + 290 * 4096 + 8));
    }
}

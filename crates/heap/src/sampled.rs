//! Samples old objects at a cost that does not depend on the size of the heap. Owns which blocks are
//! read and which of them count. The program keeps running: a block that a collection is emptying
//! holds mostly words that are no objects, so it does not count.

use crate::closure::Type;
use crate::descriptor::DESCRIPTORS;
use crate::map::Kind;
use crate::megablock::Megablock;
use crate::memory::{Memory, Space};
use crate::walk::{Tables, walk};
use rtscope_model::OldObjects;
use rtscope_model::chance::Chance;
use std::collections::HashMap;
use std::ops::Range;

/// Megablocks per look, and blocks of each.
const MEGABLOCKS: usize = 2;
const BLOCKS: usize = 3;
/// Code addresses recorded per look.
const THUNKS_MAX: usize = 8;

/// Samples blocks of `space`. Info tables lie next to `code`, and identify thunks.
pub fn look(memory: &impl Memory, space: &Space, code: &[Range<u64>], chance: &mut Chance) -> OldObjects<u64> {
    let mut tables = Tables::new(memory, code.to_vec());
    let (mut old, mut thunks) = (OldObjects::default(), HashMap::<u64, u64>::new());
    for _ in 0..MEGABLOCKS {
        let Some(blocks) = megablock(memory, space, chance) else { continue };
        for _ in 0..BLOCKS.min(blocks.len()) {
            let Some((start, used)) = blocks.get(chance.below(blocks.len() as u64) as usize) else { continue };
            let mut words = vec![0; (*used / 8) as usize];
            if memory.read_words(std::slice::from_ref(&(*start..start + used / 8 * 8)), &mut words).is_err() {
                continue;
            }
            let mut here: Vec<(u64, u64)> = Vec::new();
            let skipped = walk(&words, &mut tables, |object, own| {
                if matches!(object.table.info.kind, Type::Thunk | Type::Selector | Type::Ap | Type::ApStack) {
                    here.extend(own.first().map(|code| (*code, 8 * own.len() as u64)));
                }
            });
            // The leftover words of evaluated thunks are skipped, too, but are at most half of a block.
            if skipped * 2 <= *used {
                old.bytes += used;
                here.into_iter().for_each(|(code, bytes)| *thunks.entry(code).or_default() += bytes);
            }
        }
    }
    old.thunk_bytes = thunks.values().sum();
    old.thunks = thunks.into_iter().collect();
    old.thunks.sort_by_key(|(code, bytes)| (std::cmp::Reverse(*bytes), *code));
    old.thunks.truncate(THUNKS_MAX);
    old
}

/// The blocks of old objects in a random megablock: start address and used bytes of each.
fn megablock(memory: &impl Memory, space: &Space, chance: &mut Chance) -> Option<Vec<(u64, u64)>> {
    let count = space.megablocks().count() as u64;
    let address = space.megablocks().nth(chance.below(count) as usize)?;
    let mut descriptors = vec![0; DESCRIPTORS];
    memory.read(address, &mut descriptors).ok()?;
    let (megablock, _) = Megablock::read(address, &descriptors);
    let old = megablock.blocks().filter(|(_, cell)| cell.kind == Kind::Small && cell.generation > 0 && cell.is_head());
    Some(old.map(|(start, cell)| (start, cell.used_bytes())).filter(|(_, used)| *used > 0).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::descriptor::{BLOCK, FIRST, Flags};
    use crate::testing::{Image, Laid, space};

    const AT: u64 = 0x42_0010_0000;
    const CODE: u64 = 0x40_0000;

    /// Info tables of a pair, a thunk with one free variable, and a selector.
    fn code() -> (Image, [u64; 3]) {
        let table = |pointers: u64, others: u64, number: u64| [others << 32 | pointers, number];
        let words = [table(2, 0, 4), table(1, 0, 16), table(0, 0, 22)].concat();
        (Image::default().words(CODE, &words), [CODE + 16, CODE + 32, CODE + 48])
    }

    fn looked(image: &Image, megablocks: u64) -> OldObjects<u64> {
        look(image, &space(AT, megablocks), std::slice::from_ref(&(CODE..CODE + 0x1000)), &mut Chance::new(1))
    }

    #[test]
    fn unevaluated_thunks_of_old_blocks_are_counted() {
        let (image, [pair, thunks, field]) = code();
        // Two thunks for each pair, and one selector for every two pairs.
        let objects = [pair, 1, 2, thunks, 0, 9, thunks, 0, 9, pair, 1, 2, thunks, 0, 9, thunks, 0, 9, field, 0, 9];
        let laid = Laid::at(AT).group(1, 0, Flags::EVACUATED, 168).group(1, 1, Flags::EVACUATED, 168).group(
            1,
            1,
            Flags::EVACUATED | Flags::PINNED,
            168,
        );
        let block = |number: u64| AT + (FIRST as u64 + number) * BLOCK;
        let image = image.put(AT, laid.descriptors()).words(block(1), &objects);
        let old = looked(&image, 1);
        let times = old.bytes / 168;
        assert!(times > 0 && old.bytes.is_multiple_of(168), "the old block alone is read: {old:?}");
        assert_eq!(old.thunks, [(thunks, 96 * times), (field, 24 * times)]);
        assert_eq!(old.thunk_bytes, 120 * times);
    }

    #[test]
    fn what_is_gone_or_being_emptied_does_not_count() {
        let (image, [pair, ..]) = code();
        let laid = Laid::at(AT).group(1, 1, Flags::EVACUATED, 64).group(1, 1, Flags::EVACUATED, 64);
        let moved = [pair, 1, 2, 0x42_0000_0001, 5, 5, 5, 5];
        let image = image.put(AT, laid.descriptors()).words(AT + FIRST as u64 * BLOCK, &moved);
        assert_eq!(looked(&image, 1), OldObjects::default());
        assert_eq!(looked(&image, 0), OldObjects::default());
        assert_eq!(looked(&Image::default(), 3), OldObjects::default());
    }
}

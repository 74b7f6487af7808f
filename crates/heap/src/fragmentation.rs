//! The three levels of fragmentation: dead objects in blocks, free blocks in megablocks, free
//! megablocks. Owns what counts on which level.

use crate::descriptor::{BLOCK, BLOCKS, FIRST};
use crate::ledger::Resident;
use crate::map::Kind;
use crate::megablock::Megablock;
use crate::pinned::Pinned;
use crate::survey::Survey;
use rtscope_model::heap::{Fragmentation, HeapLine, Part};

/// What one megablock holds.
struct MegablockUse {
    groups: u64,
    used_blocks: u64,
    free_blocks: u64,
}

impl MegablockUse {
    fn of(megablock: &Megablock) -> MegablockUse {
        let is_free = |kind| matches!(kind, Kind::Free | Kind::FreeMegablock);
        let mut held = MegablockUse { groups: 0, used_blocks: 0, free_blocks: 0 };
        for cell in megablock.cells.iter().filter(|cell| cell.kind != Kind::Descriptors) {
            if is_free(cell.kind) {
                held.free_blocks += 1;
            } else {
                held.used_blocks += 1;
                held.groups += u64::from(cell.is_head());
            }
        }
        held
    }
}

/// Computes the levels; `lines` are the ledger's.
pub fn levels(survey: &Survey, resident: &Resident, pinned: Option<&Pinned>, lines: &[HeapLine]) -> Fragmentation {
    let mut levels = Fragmentation {
        object_bytes: pinned.map(|pinned| pinned.used_bytes.saturating_sub(pinned.live_bytes)),
        slop_bytes: lines.iter().filter(|line| line.part == Part::Slop).map(|line| line.bytes).sum(),
        ..Fragmentation::default()
    };
    let mut used_blocks = 0;
    let mut previous_end = None;
    for megablock in survey.megablocks.iter().filter(|megablock| !megablock.is_returned()) {
        levels.gap_bytes += previous_end.map_or(0, |previous_end| megablock.address.saturating_sub(previous_end));
        previous_end = Some(megablock.end());
        let held = MegablockUse::of(megablock);
        if held.used_blocks == 0 {
            continue;
        }
        levels.megablocks += 1;
        used_blocks += held.used_blocks;
        levels.block_bytes += held.free_blocks * BLOCK;
        if held.groups == 1 && held.free_blocks > 0 {
            levels.kept_by_one += 1;
            levels.kept_by_one_bytes += held.free_blocks * BLOCK;
        }
    }
    levels.megablocks_needed = used_blocks.div_ceil((BLOCKS - FIRST) as u64);
    let sum = |wanted| resident.iter().filter(|((kind, _), _)| *kind == wanted).map(|(_, bytes)| bytes).sum();
    levels.free_megablock_bytes = sum(Kind::FreeMegablock);
    levels.returned_resident_bytes = sum(Kind::Returned);
    levels
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::descriptor::{Flags, MEGABLOCK};
    use crate::ledger::{Residency, resident};
    use crate::memory::Space;
    use crate::runtime::Statics;
    use crate::testing::{Image, Laid};

    #[test]
    fn one_live_block_keeps_its_megablock() {
        const AT: u64 = 0x42_0010_0000;
        let (second, third, last) = (AT + MEGABLOCK, AT + 2 * MEGABLOCK, AT + 7 * MEGABLOCK);
        let image = Image::default()
            .put(AT, Laid::at(AT).group(1, 1, Flags::PINNED, 64).free(251).descriptors())
            .put(second, Laid::at(second).free(252).descriptors())
            .put(third, Laid::at(third).group(252, 1, Flags::EVACUATED, 9).descriptors())
            .put(
                last,
                Laid::at(last)
                    .group(2, 1, Flags::EVACUATED, 9)
                    .group(1, 1, Flags::EVACUATED, 9)
                    .free(249)
                    .descriptors(),
            );
        let space = Space { committed: vec![AT..AT + 3 * MEGABLOCK, last..last + MEGABLOCK] };
        let survey = Survey::take(&image, &space, &Statics::default(), true).unwrap();
        let pinned = Pinned { used_bytes: 64, live_bytes: 24, ..Pinned::default() };
        let levels = levels(&survey, &resident(&survey, &Residency::without([second + 16384])), Some(&pinned), &[]);
        assert_eq!((levels.megablocks, levels.megablocks_needed), (3, 2));
        assert_eq!((levels.kept_by_one, levels.kept_by_one_bytes), (1, 251 * 4096));
        assert_eq!((levels.block_bytes, levels.object_bytes), ((251 + 249) * 4096, Some(40)));
        assert_eq!((levels.free_megablock_bytes, levels.gap_bytes), (251 * 4096, 4 * MEGABLOCK));
    }
}

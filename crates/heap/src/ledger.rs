//! Where the memory of a process is, line by line. Owns that the lines do not overlap: each resident
//! page of the heap is in exactly one line. Owns the part that each line belongs to. The caller adds
//! memory outside the heap.

use crate::descriptor::{BLOCK, BLOCKS, MEGABLOCK};
use crate::map::Kind;
use crate::pinned::Pinned;
use crate::survey::Survey;
use rtscope_model::heap::{HeapLine, Part};
use std::collections::BTreeMap;

/// Machine words that hold one bit for each block of a megablock.
const WORDS: usize = BLOCKS / 64;

/// Which blocks are in memory.
#[derive(Clone, Debug, Default)]
pub struct Residency {
    /// Blocks that are not in memory, by megablock.
    absent: BTreeMap<u64, [u64; WORDS]>,
}

impl Residency {
    /// All blocks are in memory except `absent`.
    pub fn without(absent: impl IntoIterator<Item = u64>) -> Residency {
        let mut residency = Residency::default();
        absent.into_iter().for_each(|address| residency.remove(address));
        residency
    }

    /// Marks the block at `address` as absent.
    pub fn remove(&mut self, address: u64) {
        let (megablock, word, bit) = place(address);
        if let Some(word) = self.absent.entry(megablock).or_default().get_mut(word) {
            *word |= bit;
        }
    }

    /// Whether the block at `address` is in memory.
    pub fn has(&self, address: u64) -> bool {
        let (megablock, word, bit) = place(address);
        self.absent.get(&megablock).and_then(|words| words.get(word)).is_none_or(|word| word & bit == 0)
    }
}

fn place(address: u64) -> (u64, usize, u64) {
    let block = address % MEGABLOCK / BLOCK;
    (address & !(MEGABLOCK - 1), (block / 64) as usize, 1 << (block % 64))
}

/// Resident bytes of blocks of each kind and generation, in the order of kinds.
pub type Resident = BTreeMap<(Kind, u8), u64>;

/// Counts the bytes of blocks that are in memory.
pub fn resident(survey: &Survey, residency: &Residency) -> Resident {
    let mut sums = BTreeMap::new();
    for (address, cell) in survey.megablocks.iter().flat_map(crate::megablock::Megablock::blocks) {
        if residency.has(address) {
            *sums.entry((cell.kind, cell.generation)).or_insert(0) += BLOCK;
        }
    }
    sums
}

/// The lines written so far.
#[derive(Default)]
struct Ledger {
    lines: Vec<HeapLine>,
    slop: u64,
}

impl Ledger {
    fn line(&mut self, part: Part, line: impl Into<String>, bytes: u64, how: &str) {
        if bytes > 0 {
            self.lines.push(HeapLine { line: line.into(), part, bytes, how: how.into() });
        }
    }

    /// Blocks with objects: the used bytes, and the rest.
    fn used(&mut self, part: Part, line: impl Into<String>, (resident, used): (u64, u64)) {
        // What is not in memory was not used, or is swapped out.
        let used = used.min(resident);
        self.slop += resident - used;
        self.line(part, line, used, "where each block says that it is used up to");
    }
}

/// The heap's lines; `sums`: what is in memory; `pinned`: the pinned objects, if they were read.
pub fn lines(survey: &Survey, sums: &Resident, pinned: Option<&Pinned>) -> Vec<HeapLine> {
    let oldest = survey.oldest_generation();
    let used = |kind: Kind, generation: u8| {
        let alike = |total: &&crate::survey::Total| total.kind == kind && total.generation.unwrap_or(0) == generation;
        survey.totals.iter().filter(alike).map(|total| total.used_bytes).sum::<u64>()
    };
    let of = |wanted: Kind| sums.iter().filter(move |((kind, _), _)| *kind == wanted);
    let sum = |wanted: Kind| of(wanted).map(|(_, bytes)| bytes).sum::<u64>();
    let mut ledger = Ledger::default();
    for kind in [Kind::Small, Kind::Large, Kind::Compact] {
        for ((_, generation), bytes) in of(kind) {
            let part = if *generation == oldest { Part::Live } else { Part::OtherGenerations };
            ledger.used(part, format!("{} of generation {generation}", words(kind)), (*bytes, used(kind, *generation)));
        }
    }
    let blocks = "block descriptors, resident pages";
    ledger.line(Part::Live, words(Kind::NonMoving), sum(Kind::NonMoving), blocks);
    pinned_lines(
        &mut ledger,
        sum(Kind::Pinned),
        of(Kind::Pinned).map(|((_, older), _)| used(Kind::Pinned, *older)).sum(),
        pinned,
    );
    let slop = ledger.slop;
    ledger.line(
        Part::Slop,
        "unused ends of used blocks (slop)",
        slop,
        "blocks of the lines above, less what is used of them",
    );
    ledger.line(
        Part::OtherGenerations,
        words(Kind::Nursery),
        sum(Kind::Nursery),
        "blocks of generation 0 without a flag, resident pages",
    );
    free_lines(&mut ledger, survey, (sum(Kind::Free), sum(Kind::FreeMegablock)));
    ledger.line(
        Part::FreeMegablocks,
        words(Kind::Returned),
        sum(Kind::Returned),
        "the runtime's list of what it gave back, resident pages",
    );
    for kind in [Kind::Executable, Kind::Other, Kind::Descriptors] {
        ledger.line(Part::Runtime, words(kind), sum(kind), blocks);
    }
    ledger.lines
}

fn pinned_lines(ledger: &mut Ledger, resident: u64, used: u64, pinned: Option<&Pinned>) {
    let Some(pinned) = pinned else {
        return ledger.used(Part::Live, "pinned objects, dead ones between them included", (resident, used));
    };
    let used = used.min(resident);
    let live = pinned.live_bytes.min(used);
    ledger.slop += resident - used;
    ledger.line(Part::Live, "pinned objects, alive", live, "objects that a word of another object points to");
    let how = "used bytes of pinned blocks, less the objects that something points to";
    ledger.line(Part::ObjectFragmentation, "pinned objects, dead, in blocks that are still held", used - live, how);
}

/// Free blocks: the part that the next major collection will copy into, and what exceeds it.
fn free_lines(ledger: &mut Ledger, survey: &Survey, (blocks, megablocks): (u64, u64)) {
    let copied = survey.copied_bytes();
    let reserve = copied.min(blocks + megablocks);
    let how = "free blocks, as many as the objects take that a collection of all generations copies";
    ledger.line(Part::CopyReserve, "free, needed to copy into at the next major collection", reserve, how);
    // The runtime keeps whole megablocks for that; single blocks serve as well.
    let of_megablocks = reserve.min(megablocks);
    let how = "block descriptors, resident pages, less the line above";
    ledger.line(Part::BlockFragmentation, words(Kind::Free), blocks - (reserve - of_megablocks), how);
    ledger.line(Part::FreeMegablocks, words(Kind::FreeMegablock), megablocks - of_megablocks, how);
}

fn words(kind: Kind) -> &'static str {
    match kind {
        Kind::Nursery => "allocation areas (nurseries)",
        Kind::Small => "objects that collections move",
        Kind::Large => "large objects",
        Kind::Pinned => "pinned objects",
        Kind::Compact => "compact regions",
        Kind::NonMoving => "segments of the non-moving collector, dead objects included",
        Kind::Executable => "machine code made by the runtime",
        Kind::Other => "blocks of the runtime itself",
        Kind::Descriptors => "block descriptors",
        Kind::Free => "free blocks in megablocks that hold something",
        Kind::FreeMegablock => "free megablocks that the runtime keeps",
        Kind::Returned => "megablocks given back and still in memory",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::descriptor::Flags;
    use crate::runtime::Statics;
    use crate::testing::{Image, Laid, space};

    const AT: u64 = 0x42_0010_0000;

    fn survey() -> Survey {
        let laid = Laid::at(AT)
            .group(1, 0, 0, 100)
            .group(2, 1, Flags::EVACUATED, 5000)
            .group(1, 1, Flags::PINNED | Flags::LARGE, 4000)
            .free(248);
        let image = Image::default().put(AT, laid.descriptors());
        let space = space(AT, 1);
        Survey::take(&image, &space, &Statics::default(), true).unwrap()
    }

    #[test]
    fn every_resident_page_is_in_one_line() {
        let absent = (11..256).map(|block| AT + block * 4096);
        let pinned = Pinned { live_bytes: 1000, ..Pinned::default() };
        let survey = survey();
        let lines = lines(&survey, &resident(&survey, &Residency::without(absent)), Some(&pinned));
        let found: Vec<_> = lines.iter().map(|line| (line.part, line.bytes)).collect();
        let expected = [
            (Part::Live, 5000),
            (Part::Live, 1000),
            (Part::ObjectFragmentation, 3000),
            (Part::Slop, 2 * 4096 - 5000 + 96),
            (Part::OtherGenerations, 4096),
            (Part::CopyReserve, 2 * 4096),
            (Part::BlockFragmentation, 4096),
            (Part::Runtime, 4 * 4096),
        ];
        assert_eq!(found, expected);
        assert_eq!(found.iter().map(|(_, bytes)| bytes).sum::<u64>(), 11 * 4096);
        assert!(lines[0].line.ends_with("of generation 1"));
    }

    #[test]
    fn without_a_scan_dead_objects_are_not_reported() {
        let survey = survey();
        let lines = lines(&survey, &resident(&survey, &Residency::default()), None);
        let found: Vec<_> =
            lines.iter().map(|line| line.part).filter(|part| *part == Part::ObjectFragmentation).collect();
        assert!(found.is_empty());
        assert_eq!(lines.iter().map(|line| line.bytes).sum::<u64>(), MEGABLOCK);
    }
}

//! Turns what was read of a heap into the document that is printed and stored. Owns which figure
//! goes under which key, the marks of the map, and the wording of doubts.

use crate::descriptor::{BLOCK, MEGABLOCK};
use crate::fragmentation;
use crate::ledger::{self, Residency};
use crate::map::{Cell, Kind};
use crate::pinned;
use crate::scan::Scan;
use crate::survey::Survey;
use rtscope_model::heap::{
    self as shown, Entry, Generation, Heap, HeapLine, Large, Megablock, PinHolder, Pinned, RuntimeFigures, SCHEMA,
    WorstGroup,
};
use rtscope_model::units::counted;
use std::collections::HashMap;

/// Everything that was read of one heap.
pub struct Read<'a> {
    /// The blocks.
    pub survey: &'a Survey,
    /// Which blocks are in memory.
    pub residency: &'a Residency,
    /// The objects, and how many collections of the oldest generation occurred while they were read.
    pub scan: Option<(&'a Scan, Option<u64>)>,
    /// Names of info tables, by address.
    pub names: &'a HashMap<u64, String>,
    /// Ledger lines for memory outside the heap.
    pub outside: Vec<HeapLine>,
    /// Resident set size, as the system reports it, bytes.
    pub rss_bytes: Option<u64>,
}

impl Read<'_> {
    /// Builds the document; the caller adds the process, the time and the duration.
    pub fn document(self) -> Heap {
        let survey = self.survey;
        let found = self.scan.map(|(scan, _)| &scan.pinned);
        let resident = ledger::resident(survey, self.residency);
        let mut ledger = ledger::lines(survey, &resident, found);
        let fragmentation = fragmentation::levels(survey, &resident, found, &ledger);
        ledger.extend(self.outside.iter().cloned());
        let explained: u64 = ledger.iter().map(|line| line.bytes).sum();
        let held = survey.megablocks.iter().filter(|megablock| !megablock.is_returned()).count() as u64;
        Heap {
            schema: SCHEMA.into(),
            rss_bytes: self.rss_bytes,
            heap_bytes: held * MEGABLOCK,
            looks: survey.looks,
            unsettled_megablocks: survey.unsettled,
            collections_meanwhile: survey.collections(),
            contradictions: survey.contradictions(),
            in_collection: survey.in_collection(),
            doubts: self.doubts(),
            kinds: kinds(survey),
            unexplained_bytes: self.rss_bytes.map(|rss| (rss as i64).saturating_sub(explained as i64)),
            ledger,
            fragmentation,
            pinned: self.pinned(),
            holders: self.holders(),
            large: self.large(),
            census: self.census(),
            scan: self.scan.map(|(scan, collections)| shown::Scan {
                read_bytes: scan.read_bytes,
                skipped_bytes: scan.skipped_bytes,
                unread_bytes: scan.unread_bytes,
                collections_of_oldest: collections,
                during_stop: false,
            }),
            runtime: runtime(survey),
            megablocks: map(survey, found),
            ..Heap::default()
        }
    }

    fn name(&self, info_address: u64) -> String {
        self.names.get(&info_address).cloned().unwrap_or_else(|| format!("{info_address:#x}"))
    }

    fn pinned(&self) -> Pinned {
        let totals = &self.survey.totals;
        let of_kind = || totals.iter().filter(|total| total.kind == Kind::Pinned);
        let blocks = of_kind().map(|total| total.blocks).sum::<u64>();
        let found = self.scan.map(|(scan, _)| &scan.pinned);
        let worst = |worst: &pinned::Worst| WorstGroup {
            address: worst.address,
            live_bytes: worst.live_bytes,
            dead_bytes: worst.dead_bytes,
            holder: worst.holder.map(|holder| self.name(holder)),
        };
        Pinned {
            blocks,
            block_bytes: blocks * BLOCK,
            used_bytes: of_kind().map(|total| total.used_bytes).sum(),
            objects: found.map(|found| found.objects),
            live_bytes: found.map(|found| found.live_bytes),
            live_objects: found.map(|found| found.live_objects),
            worst: found.map_or(Vec::new(), |found| found.worst.iter().map(worst).collect()),
        }
    }

    fn large(&self) -> Large {
        let Some((scan, _)) = self.scan else { return Large::default() };
        let (large, holder) = &scan.large;
        Large { holder: holder.map(|holder| self.name(holder)), ..large.clone() }
    }

    fn holders(&self) -> Vec<PinHolder> {
        let holder = |holder: &pinned::Holder| PinHolder {
            name: self.name(holder.info_address),
            count: holder.count,
            live_bytes: holder.live_bytes,
            kept_dead_bytes: holder.kept_dead_bytes,
        };
        self.scan.map_or(Vec::new(), |(scan, _)| scan.pinned.holders.iter().map(holder).collect())
    }

    fn census(&self) -> Vec<Entry> {
        let entry = |entry: &crate::scan::Entry| Entry {
            name: self.name(entry.info_address),
            kind: entry.info.kind.word().into(),
            count: entry.count,
            bytes: entry.bytes,
        };
        self.scan.map_or(Vec::new(), |(scan, _)| scan.census.iter().map(entry).collect())
    }

    fn doubts(&self) -> Vec<String> {
        let survey = self.survey;
        let mut doubts = Vec::new();
        if survey.collections().is_none() {
            doubts.push(
                "The program has no symbols, so whether a collection came while its blocks were read is not known."
                    .into(),
            );
        } else if !survey.after.is_as_whole_as(&survey.before) {
            doubts.push(
                "The oldest generation was collected, or grew by megablocks, each time the blocks were read: figures \
                 are from before and after."
                    .into(),
            );
        }
        if survey.in_collection() {
            doubts.push(
                "The old generation was just being collected: blocks of it that are to be emptied are counted as the runtime's own."
                    .into(),
            );
        } else if survey.is_off() {
            doubts.push(
                "What was read is not of one moment: the heap was being collected, or it changes too fast. Try again, \
                 or with --stop."
                    .into(),
            );
        }
        if survey.unsettled > 0 {
            doubts.push(format!(
                "{} of {} megablocks changed each time they were looked at ({} times).",
                survey.unsettled,
                survey.megablocks.len(),
                survey.looks
            ));
        }
        if let Some((_, Some(moved))) = self.scan.filter(|(_, moved)| moved.is_some_and(|moved| moved > 0)) {
            doubts.push(format!(
                "The oldest generation was collected {} while its objects were read: what is said of objects mixes before \
                 and after.",
                counted(moved, "time", "times")
            ));
        }
        if survey.contradictions() > 0 {
            doubts.push(format!(
                "{} are counted as the runtime's own.",
                counted(
                    survey.contradictions(),
                    "block descriptor contradicts others and its block",
                    "block descriptors contradict others and their blocks"
                )
            ));
        }
        doubts
    }
}

fn kinds(survey: &Survey) -> Vec<shown::BlockKind> {
    let kind = |total: &crate::survey::Total| shown::BlockKind {
        kind: total.kind.word().into(),
        generation: total.generation,
        blocks: total.blocks,
        block_bytes: total.blocks * BLOCK,
        // Only the segment itself records how much of it is used.
        used_bytes: (total.kind.is_used() && total.kind != Kind::NonMoving).then_some(total.used_bytes),
    };
    survey.totals.iter().map(kind).collect()
}

fn runtime(survey: &Survey) -> RuntimeFigures {
    let generation = |(number, generation): (usize, &crate::runtime::Generation)| Generation {
        generation: number.min(255) as u8,
        collections: u64::from(generation.collections),
        blocks: generation.blocks,
        large_blocks: generation.large_blocks,
        compact_blocks: generation.compact_blocks,
        blocks_max: generation.blocks_max,
    };
    RuntimeFigures {
        generations: survey.after.generations.iter().enumerate().map(generation).collect(),
        nursery_blocks: survey.after.nursery_blocks,
        megablocks: survey.after.megablocks,
        allocated_blocks: survey.after.blocks,
    }
}

/// The map; a pinned block shows the share of its bytes that is alive, or used.
fn map(survey: &Survey, found: Option<&pinned::Pinned>) -> Vec<Megablock> {
    let mut lives = found.map_or(&[][..], |found| &found.lives).iter().peekable();
    let mut grade = '0';
    let mut mark = |(address, cell): (u64, &Cell)| {
        if cell.kind != Kind::Pinned {
            return plain_mark(cell);
        }
        if found.is_none() {
            return tenth(cell.used_bytes(), BLOCK);
        }
        if cell.is_head() {
            while lives.next_if(|lives| lives.address < address).is_some() {}
            grade = lives
                .peek()
                .filter(|lives| lives.address == address)
                .map_or('0', |lives| tenth(lives.live_bytes, lives.bytes));
        }
        grade
    };
    let kept = survey.megablocks.iter().filter(|megablock| !megablock.is_returned());
    kept.map(|megablock| Megablock { address: megablock.address, blocks: megablock.blocks().map(&mut mark).collect() })
        .collect()
}

/// A share in tenths, as a digit; 0 only for nothing at all.
fn tenth(part: u64, whole: u64) -> char {
    char::from(b'0' + (part.min(whole) * 9).div_ceil(whole.max(1)) as u8)
}

fn plain_mark(cell: &Cell) -> char {
    match cell.kind {
        Kind::Descriptors => '=',
        Kind::Nursery => 'n',
        Kind::Small if cell.generation == 0 => 'a',
        Kind::Small => 'o',
        Kind::Large => 'L',
        Kind::Compact => 'C',
        Kind::NonMoving => 'm',
        Kind::Executable => 'x',
        Kind::Other | Kind::Pinned => '?',
        Kind::Free => '.',
        Kind::FreeMegablock => ',',
        Kind::Returned => ' ',
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::descriptor::Flags;
    use crate::runtime::Statics;
    use crate::testing::{Image, Laid, space};
    use rtscope_model::heap::{mark_word, pinned_grade};

    #[test]
    fn the_map_has_a_mark_for_each_block_and_pinned_ones_show_what_lives() {
        const AT: u64 = 0x42_0010_0000;
        let laid = Laid::at(AT)
            .group(1, 0, 0, 100)
            .group(1, 1, Flags::EVACUATED, 4096)
            .group(1, 1, Flags::PINNED, 4096)
            .group(2, 1, Flags::PINNED, 8192)
            .free(247);
        let image = Image::default().put(AT, laid.descriptors());
        let space = space(AT, 1);
        let survey = Survey::take(&image, &space, &Statics::default(), true).unwrap();
        let live = |block: u64, live_bytes, bytes| pinned::Live { address: AT + block * 4096, live_bytes, bytes };
        let found = pinned::Pinned { lives: vec![live(6, 0, 4096), live(7, 4000, 8192)], ..Default::default() };
        let scan = Scan {
            census: Vec::new(),
            pinned: found,
            large: Default::default(),
            read_bytes: 4096,
            skipped_bytes: 0,
            unread_bytes: 0,
        };
        let read = Read {
            survey: &survey,
            residency: &Residency::default(),
            scan: Some((&scan, Some(2))),
            names: &HashMap::new(),
            outside: Vec::new(),
            rss_bytes: Some(MEGABLOCK + 7),
        };
        let heap = read.document();
        assert_eq!(heap.megablocks[0].blocks, format!("====no055{}", ".".repeat(247)));
        assert_eq!((heap.heap_bytes, heap.unexplained_bytes), (MEGABLOCK, Some(7)));
        assert_eq!(heap.doubts.len(), 2);
        assert_eq!((mark_word('5'), pinned_grade('5'), pinned_grade('o')), ("pinned objects", Some(5), None));
        let read = Read {
            survey: &survey,
            residency: &Residency::default(),
            scan: None,
            names: &HashMap::new(),
            outside: Vec::new(),
            rss_bytes: None,
        };
        assert!(read.document().megablocks[0].blocks.starts_with("====no999."));
    }
}

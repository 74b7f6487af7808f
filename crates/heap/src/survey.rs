//! A consistent look at all blocks of a heap while its program runs. Owns how often it looks and what
//! it accepts. A young collection takes a millisecond and may come a thousand times per second, so no
//! look at a whole large heap fits between two of them. Instead, a few megablocks at a time are read
//! twice, and accepted if both looks agree and no collection was counted in between; the others are
//! read again. A collection of the oldest generation, or megablocks that were taken or returned,
//! restart the whole survey.

use crate::descriptor::{BLOCK, DESCRIPTORS};
use crate::map::Kind;
use crate::megablock::{Megablock, Rest};
use crate::memory::{Memory, Space, holding};
use crate::runtime::{Runtime, Statics, given_back};
use std::io;
use std::ops::Range;

/// Looks at megablocks that keep changing; after that, the last look is taken.
const LOOKS_MAX: u32 = 32;
/// Megablocks that are read together.
const TOGETHER: usize = 16;
/// Passes over the whole heap.
const PASSES_MAX: u32 = 4;
/// Blocks that the runtime itself uses between collections: lists, and what it keeps for pinned
/// objects. At most this many, or this part of all blocks in use.
const OWN_BLOCKS: u64 = 2048;
const OWN_PART: u64 = 8;

/// Sums over the blocks of one kind and generation.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct Total {
    pub kind: Kind,
    /// Their generation, if the kind has one.
    pub generation: Option<u8>,
    pub blocks: u64,
    /// Used bytes of these blocks; 0 for descriptors and for free and returned blocks.
    pub used_bytes: u64,
}

/// The blocks of a heap, as one consistent look.
#[derive(Clone, Debug)]
pub struct Survey {
    /// In address order.
    pub megablocks: Vec<Megablock>,
    /// The runtime's variables before the survey and after it.
    pub before: Runtime,
    /// See `before`.
    pub after: Runtime,
    /// Looks at the descriptors.
    pub looks: u32,
    /// Megablocks of which no two looks agreed.
    pub unsettled: u64,
    /// Whether nothing could change during the survey.
    pub still: bool,
    /// Sums by kind and generation, in the order of kinds.
    pub totals: Vec<Total>,
}

impl Survey {
    /// Reads the blocks of `space`. `still` says that nothing can change: the program is stopped, or this
    /// is a core file.
    ///
    /// # Errors
    /// The runtime's variables cannot be read, or contradict each other.
    pub fn take(memory: &impl Memory, space: &Space, statics: &Statics, still: bool) -> io::Result<Survey> {
        let mut passes = 0;
        loop {
            passes += 1;
            let before = Runtime::read(memory, statics)?;
            let given_back = given_back(memory, statics)?;
            let mut look = Look { memory, statics, given_back, still, looks: 1, unsettled: 0 };
            let megablocks = look.all(space)?;
            let after = Runtime::read(memory, statics)?;
            let (looks, unsettled) = (look.looks, look.unsettled);
            let totals = totals(&megablocks, after.nursery_blocks);
            let survey = Survey { megablocks, before, after, looks, unsettled, still, totals };
            let is_whole = survey.after.is_as_whole_as(&survey.before) && !survey.is_off();
            if still || passes == PASSES_MAX || is_whole {
                return Ok(survey);
            }
        }
    }

    /// Collections during the survey; `None`: not counted.
    pub fn collections(&self) -> Option<u64> {
        Some(self.after.collections()?.saturating_sub(self.before.collections()?))
    }

    /// Blocks in use minus the runtime's count of them: what was missed or counted twice.
    pub fn missed_blocks(&self) -> Option<i64> {
        let free = [Kind::Free, Kind::FreeMegablock, Kind::Descriptors, Kind::Returned];
        let used = self.blocks(|total| !free.contains(&total.kind));
        // A runtime's count may be any number.
        let signed = |blocks: u64| i64::try_from(blocks).unwrap_or(i64::MAX);
        Some(signed(used) - signed(self.after.blocks?))
    }

    /// Whether what was read cannot all be from one moment between two collections: the blocks in use, or
    /// those of movable objects, differ from the runtime's counts. The runtime counts 0 for a generation
    /// while it collects it.
    pub fn is_off(&self) -> bool {
        // These change during the survey.
        let young = self.blocks(|total| total.kind == Kind::Nursery || total.generation == Some(0));
        let is_far = |one: u64, other: u64| one.abs_diff(other) > 64 + 2 * young + other / 100;
        let blocks = |generation: &crate::runtime::Generation| generation.blocks;
        let moved = self.after.generations.iter().map(blocks).reduce(u64::saturating_add);
        let seen = self.blocks(|total| matches!(total.kind, Kind::Small | Kind::NonMoving));
        let is_collecting = self.after.generations.iter().any(|generation| generation.old_blocks > 0);
        is_collecting
            || self.in_collection()
            || self.is_short()
            || self.missed_blocks().is_some_and(|missed| is_far(missed.unsigned_abs(), 0))
            || moved.is_some_and(|moved| is_far(seen, moved))
    }

    /// Whether the heap grew after its mappings were read: the new megablocks were missed.
    fn is_short(&self) -> bool {
        let found = self.megablocks.iter().filter(|megablock| !megablock.is_returned()).count() as u64;
        !self.still && self.after.megablocks.is_some_and(|all| all > found)
    }

    /// Whether any collection may have happened between the survey and `now`.
    pub fn is_past(&self, now: Option<&Runtime>) -> bool {
        let both = self.after.collections().zip(now.and_then(Runtime::collections));
        !self.still && both.is_none_or(|(then, now)| then != now)
    }

    fn blocks(&self, wanted: impl Fn(&Total) -> bool) -> u64 {
        self.totals.iter().filter(|total| wanted(total)).map(|total| total.blocks).sum()
    }

    /// Used bytes of all blocks.
    pub fn used_bytes(&self) -> u64 {
        self.totals.iter().map(|total| total.used_bytes).sum()
    }

    /// The oldest generation that the runtime reports, else the oldest one seen.
    pub fn oldest_generation(&self) -> u8 {
        let reported = self.after.generations.len().checked_sub(1).map(|oldest| oldest.min(255) as u8);
        let cells = || self.megablocks.iter().flat_map(|megablock| &megablock.cells);
        reported.unwrap_or_else(|| cells().map(|cell| cell.generation).max().unwrap_or(0))
    }

    /// Bytes of the blocks that a collection of all generations would copy.
    pub fn copied_bytes(&self) -> u64 {
        let marks =
            |generation: u8| self.after.generations.get(usize::from(generation)).and_then(|reported| reported.marks);
        let stays = |total: &Total| total.generation.and_then(marks).is_some_and(|marks| marks);
        BLOCK * self.blocks(|total| total.kind == Kind::Small && !stays(total))
    }

    /// Whether the old generation was being collected: the blocks that a collection empties have lost
    /// their flags, so live and dead objects in them cannot be distinguished.
    pub fn in_collection(&self) -> bool {
        let own = self.blocks(|total| total.kind == Kind::Other);
        let used = self.blocks(|total| total.kind.is_used());
        own > OWN_BLOCKS.max((own + used) / OWN_PART)
    }

    /// Contradictory descriptors in the last look.
    pub fn contradictions(&self) -> u64 {
        self.megablocks.iter().map(|megablock| u64::from(megablock.contradictions)).sum()
    }
}

fn totals(megablocks: &[Megablock], nursery_blocks: Option<u64>) -> Vec<Total> {
    let mut totals: Vec<Total> = Vec::new();
    for cell in megablocks.iter().flat_map(|megablock| &megablock.cells) {
        let generation = cell.kind.has_generation().then_some(cell.generation);
        let alike = |total: &&mut Total| (total.kind, total.generation) == (cell.kind, generation);
        let used_bytes = cell.used_bytes();
        match totals.iter_mut().find(alike) {
            Some(total) => {
                total.blocks += 1;
                total.used_bytes += used_bytes;
            }
            None => totals.push(Total { kind: cell.kind, generation, blocks: 1, used_bytes }),
        }
    }
    keep_nurseries(&mut totals, nursery_blocks);
    totals.sort_by_key(|total| (total.kind, total.generation));
    totals
}

/// Blocks that a capability keeps for pinned objects look like those of its nursery: blocks in excess
/// of the runtime's nursery count are its own.
fn keep_nurseries(totals: &mut Vec<Total>, reported: Option<u64>) {
    let Some(reported) = reported else { return };
    let Some(nursery) = totals.iter_mut().find(|total| total.kind == Kind::Nursery) else { return };
    let more = nursery.blocks.saturating_sub(reported);
    nursery.blocks -= more;
    match totals.iter_mut().find(|total| total.kind == Kind::Other) {
        Some(other) => other.blocks += more,
        None if more > 0 => totals.push(Total { kind: Kind::Other, generation: None, blocks: more, used_bytes: 0 }),
        None => {}
    }
}

/// Looks at megablocks.
struct Look<'m, M> {
    memory: &'m M,
    statics: &'m Statics,
    given_back: Vec<Range<u64>>,
    still: bool,
    /// Most looks that any group of megablocks took.
    looks: u32,
    unsettled: u64,
}

impl<M: Memory> Look<'_, M> {
    fn all(&mut self, space: &Space) -> io::Result<Vec<Megablock>> {
        let addresses: Vec<u64> = space.megablocks().collect();
        let mut all: Vec<Megablock> = Vec::with_capacity(addresses.len());
        let mut rest: Option<Rest> = None;
        for addresses in addresses.chunks(TOGETHER) {
            // A group does not span a hole.
            let goes_on = all.last().is_some_and(|last| Some(&last.end()) == addresses.first());
            let (settled, more) = self.some(addresses, rest.filter(|_| goes_on))?;
            all.extend(settled);
            rest = more;
        }
        Ok(all)
    }

    /// Looks at these megablocks until nothing changes.
    fn some(&mut self, addresses: &[u64], rest: Option<Rest>) -> io::Result<(Vec<Megablock>, Option<Rest>)> {
        let mut count = Runtime::read(self.memory, self.statics)?.collections();
        let mut seen = self.once(addresses, rest);
        let (mut looks, mut unsettled) = (1, 0);
        while !self.still && looks < LOOKS_MAX {
            let again = self.once(addresses, rest);
            let counted = Runtime::read(self.memory, self.statics)?.collections();
            looks += 1;
            unsettled = seen.0.iter().zip(&again.0).filter(|(one, other)| !one.agrees(other)).count() as u64;
            let accepted = unsettled == 0 && count == counted;
            (seen, count) = (again, counted);
            if accepted {
                break;
            }
        }
        self.looks = self.looks.max(looks);
        self.unsettled += unsettled;
        Ok(seen)
    }

    fn once(&self, addresses: &[u64], mut rest: Option<Rest>) -> (Vec<Megablock>, Option<Rest>) {
        let mut bytes = vec![0; DESCRIPTORS];
        let mut all: Vec<Megablock> = Vec::with_capacity(addresses.len());
        for address in addresses {
            let goes_on = all.last().is_none_or(|last| last.end() == *address);
            let (megablock, more) = match rest.take().filter(|_| goes_on) {
                Some(rest) => Megablock::go_on(*address, rest),
                None if holding(&self.given_back, *address).is_some() => (Megablock::returned(*address), None),
                None => match self.memory.read(*address, &mut bytes) {
                    Ok(()) => Megablock::read(*address, &bytes),
                    Err(_) => (Megablock::returned(*address), None),
                },
            };
            rest = more;
            all.push(megablock);
        }
        (all, rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::descriptor::{Flags, MEGABLOCK};
    use crate::testing::{Image, Laid};
    use std::cell::Cell;

    const AT: u64 = 0x42_0010_0000;

    fn space(megablocks: u64) -> Space {
        crate::testing::space(AT, megablocks)
    }

    #[test]
    fn totals_are_summed_over_megablocks() {
        let second = AT + MEGABLOCK;
        let image = Image::default()
            .put(AT, Laid::at(AT).group(1, 0, 0, 7).group(251, 1, Flags::EVACUATED, 251 * 4096).descriptors())
            .put(
                second,
                Laid::at(second).group(200, 1, Flags::LARGE, 5).group(52, 1, Flags::EVACUATED, 1).descriptors(),
            );
        let survey = Survey::take(&image, &space(3), &Statics::default(), false).unwrap();
        assert_eq!((survey.looks, survey.unsettled, survey.contradictions()), (2, 0, 0));
        assert_eq!(survey.collections(), None);
        let totals: Vec<_> =
            survey.totals.iter().map(|total| (total.kind, total.generation, total.blocks, total.used_bytes)).collect();
        let expected = [
            (Kind::Nursery, None, 1, 7),
            (Kind::Small, Some(1), 303, 251 * 4096 + 1),
            (Kind::Large, Some(1), 200, 5),
            (Kind::Descriptors, None, 8, 0),
            (Kind::Returned, None, 256, 0),
        ];
        assert_eq!(totals, expected);
    }

    #[test]
    fn a_look_inside_a_collection_is_reported() {
        let megablocks = |flags: u16| {
            let laid = |number: u64| (AT + number * MEGABLOCK, Laid::at(AT + number * MEGABLOCK));
            let full = |(at, laid): (u64, Laid)| (at, laid.group(252, 1, flags, 252 * 4096).descriptors());
            let image = (0..10)
                .map(|number| full(laid(number)))
                .fold(Image::default(), |image, (at, descriptors)| image.put(at, descriptors));
            Survey::take(&image, &space(10), &Statics::default(), false).unwrap()
        };
        assert!(!megablocks(Flags::EVACUATED).in_collection());
        let inside = megablocks(0);
        // Nothing changes while it marks, so the looks agree.
        assert!(inside.in_collection() && inside.unsettled == 0);
    }

    #[test]
    fn a_group_does_not_go_over_a_hole() {
        let image = Image::default().put(AT, Laid::at(AT).group(600, 1, Flags::LARGE, 0).descriptors());
        let hole = AT + 2 * MEGABLOCK;
        let space = Space { committed: vec![AT..AT + MEGABLOCK, hole..hole + MEGABLOCK] };
        let survey = Survey::take(&image, &space, &Statics::default(), true).unwrap();
        assert_eq!(survey.looks, 1);
        assert_eq!(survey.megablocks[1], Megablock::returned(hole));
    }

    /// Memory that changes for a number of reads.
    struct Restless {
        reads: Cell<u64>,
        until: u64,
    }

    impl Memory for Restless {
        fn read(&self, address: u64, buffer: &mut [u8]) -> io::Result<()> {
            self.reads.set(self.reads.get() + 1);
            let used = self.reads.get().min(self.until) * 64;
            let laid = Laid::at(address).group(1, 1, Flags::PINNED, used).free(251);
            buffer.copy_from_slice(&laid.descriptors()[..buffer.len()]);
            Ok(())
        }
    }

    #[test]
    fn what_changes_is_looked_at_again_but_not_for_ever() {
        let taken = |until| {
            let memory = Restless { reads: Cell::new(0), until };
            let survey = Survey::take(&memory, &space(1), &Statics::default(), false).unwrap();
            (survey.looks, survey.unsettled)
        };
        assert_eq!(taken(1), (2, 0));
        assert_eq!(taken(4), (5, 0));
        assert_eq!(taken(u64::MAX / 64), (LOOKS_MAX, 1));
    }

    #[test]
    fn the_runtimes_count_shows_whether_a_collection_happened() {
        let generation = |number: u64, collections: u64| {
            let mut words = [0; 24];
            (words[0], words[16]) = (number, collections);
            words
        };
        let both = [generation(0, 40), generation(1, 2)].concat();
        let image = Image::default().words(0x1000, &[0x2000, 0x2000 + 192]).words(0x2000, &both);
        let statics = Statics { generations: Some(0x1000), oldest: Some(0x1008), ..Statics::default() };
        let survey = Survey::take(&image, &Space::default(), &statics, false).unwrap();
        assert_eq!((survey.collections(), survey.after.generations.len()), (Some(0), 2));
        assert_eq!(survey.after.collections(), Some(42));
        // The symbols of another program.
        let wrong = Statics { oldest: Some(0x1000), ..statics };
        assert_eq!(Runtime::read(&image, &wrong).unwrap().generations.len(), 1);
        let wrong = Statics { generations: Some(0x1008), ..statics };
        assert!(Runtime::read(&image, &wrong).is_err());
    }

    #[test]
    fn a_heap_that_is_being_collected_does_not_add_up() {
        let taken = |blocks: u64, moved: u64, marks: u64| {
            let generation = |number: u64, blocks: u64| {
                let mut words = [0; 29];
                (words[0], words[2], words[18]) = (number, blocks, number * marks);
                words
            };
            let both = [generation(0, 0), generation(1, moved)].concat();
            let laid = Laid::at(AT).group(1, 0, 0, 7).group(251, 1, Flags::EVACUATED, 251 * 4096);
            let image = Image::default()
                .words(0x1000, &[0x2000, 0x2000 + 29 * 8, blocks])
                .words(0x2000, &both)
                .put(AT, laid.descriptors());
            let statics =
                Statics { generations: Some(0x1000), oldest: Some(0x1008), blocks: Some(0x1010), ..Statics::default() };
            Survey::take(&image, &space(1), &statics, true).unwrap()
        };
        let whole = taken(252, 251, 0);
        assert_eq!((whole.is_off(), whole.missed_blocks(), whole.copied_bytes()), (false, Some(0), 251 * BLOCK));
        assert!(taken(252, 0, 0).is_off() && taken(400, 251, 0).is_off());
        // Memory that is marked in place is not copied; an unusable answer counts as none.
        assert_eq!([1, 2].map(|marks| taken(252, 251, marks).copied_bytes()), [0, 251 * BLOCK]);
    }

    #[test]
    fn megablocks_that_were_not_there_before_are_missed() {
        let image = Image::default().put(AT, Laid::at(AT).free(252).descriptors());
        let mut survey = Survey::take(&image, &space(1), &Statics::default(), false).unwrap();
        assert!(!survey.is_off());
        survey.after.megablocks = Some(1);
        assert!(!survey.is_off());
        survey.after.megablocks = Some(2);
        assert!(survey.is_off());
    }
}

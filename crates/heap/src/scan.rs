//! One pass over the objects of a heap: a census by info table, and which pinned objects they hold.
//! Owns which blocks are read and what counts. Threads share the work; memory is read in batches and
//! not kept.

use crate::batch::{self, Batch, BatchReader};
use crate::blocks::Groups;
use crate::closure::{Info, Type};
use crate::held::{Held, Holding};
use crate::map::Kind;
use crate::memory::Memory;
use crate::pinned::{Pinned, Search};
use crate::runtime::{Runtime, Statics};
use crate::slices::Slices;
use crate::survey::Survey;
use crate::walk::{InfoTable, Tables, walk};
use crate::young;
use rtscope_model::heap::Large;
use std::collections::HashMap;
use std::ops::Range;

/// Words of a large object that are read at once.
const PART: u64 = 1 << 16;
/// Words at the start of a large object that show what it is.
const HEAD: u64 = 8;

/// The objects of one info table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    pub info_address: u64,
    pub info: Info,
    pub count: u64,
    pub bytes: u64,
}

/// The result of a pass.
#[derive(Clone, Debug)]
pub struct Scan {
    /// The census, most bytes first.
    pub census: Vec<Entry>,
    /// What was found of pinned objects.
    pub pinned: Pinned,
    /// What was found of large objects, and the info table of most slices of them.
    pub large: (Large, Option<u64>),
    /// Used bytes of the blocks that the census covers.
    pub read_bytes: u64,
    /// Those of `read_bytes` in which no object was recognized.
    pub skipped_bytes: u64,
    /// Bytes of blocks that could no longer be read.
    pub unread_bytes: u64,
}

/// What a scan needs to know about a program in addition to its blocks.
#[derive(Clone, Debug, Default)]
pub struct ScanInput {
    /// Threads that read; 0 means one.
    pub threads: usize,
    /// Address ranges mapped from files, where the info tables lie.
    pub code: Vec<Range<u64>>,
    /// The written part of the program's own data: its words may point to pinned objects.
    pub data: Vec<Range<u64>>,
}

impl Scan {
    /// Scans the blocks of `survey`.
    pub fn of(memory: &(impl Memory + Sync), survey: &Survey, statics: &Statics, input: &ScanInput) -> Scan {
        let search = Search::over(Groups::of(survey, |kind, _| kind == Kind::Pinned));
        // A large object shows its type at its start, and holds no pointers.
        let heads = search.groups.heads();
        let pinned = batch::batches(&heads);
        let unread = batch::in_parallel(pinned.len(), input.threads, |numbers| {
            let mut pass = Pass::new(memory, input, &search);
            numbers.filter_map(|number| pinned.get(number)).for_each(|batch| pass.begin(&heads, batch));
            pass.sums.unread_bytes
        });
        let work = Work::of(memory, survey, statics, input);
        let passes = batch::in_parallel(work.units.len(), input.threads, |numbers| {
            let mut pass = Pass::new(memory, input, &search);
            numbers.filter_map(|number| work.units.get(number)).for_each(|unit| pass.unit(&work, unit));
            pass.finish()
        });
        let mut all = Sums { unread_bytes: unread.iter().sum(), ..Sums::default() };
        passes.into_iter().for_each(|sums| all.add(sums));
        let mut census: Vec<Entry> = all.census.into_values().collect();
        census.sort_by_key(|entry| (std::cmp::Reverse(entry.bytes), entry.info_address));
        // A collection moves the youngest objects, so what holds recently allocated objects can no longer be
        // found.
        let moved = survey.is_past(Runtime::read(memory, statics).ok().as_ref());
        let pinned = search.finish(&all.held, moved && survey.oldest_generation() > 0);
        let large = all.slices.finish(&search.groups, &work.large);
        let Sums { read_bytes, skipped_bytes, unread_bytes, .. } = all;
        Scan { census, pinned, large, read_bytes, skipped_bytes, unread_bytes }
    }
}

/// A unit of work.
enum Unit {
    /// Blocks of movable objects.
    Moved(Batch),
    /// Blocks whose objects may hold others but are not counted: memory allocated since the last
    /// collection, and non-moving segments, where dead objects stay in place.
    Held(Batch),
    /// Words of a large object.
    Large(usize, Range<u64>),
    /// The program's own data.
    Data(Range<u64>),
}

/// All units of work, and the groups that they refer to.
struct Work {
    moved: Groups,
    held: Groups,
    large: Groups,
    units: Vec<Unit>,
}

impl Work {
    fn of(memory: &impl Memory, survey: &Survey, statics: &Statics, input: &ScanInput) -> Work {
        let moved = Groups::of(survey, |kind, _| kind == Kind::Small);
        let large = Groups::of(survey, |kind, _| kind == Kind::Large);
        // Without known nurseries, no recent allocation is known.
        let mut held = young::nurseries(memory, statics).unwrap_or_default();
        held.extend(Groups::of(survey, |kind, _| kind == Kind::NonMoving).iter().copied());
        let held = Groups::made(held);
        let parts = |(number, words): (usize, u64)| {
            (0..words.div_ceil(PART)).map(move |part| Unit::Large(number, part * PART..words.min((part + 1) * PART)))
        };
        let mut units: Vec<Unit> =
            large.iter().map(|group| group.used_bytes() / 8).enumerate().flat_map(parts).collect();
        units.extend(input.data.iter().cloned().map(Unit::Data));
        units.extend(batch::batches(&held).into_iter().map(Unit::Held));
        units.extend(batch::batches(&moved).into_iter().map(Unit::Moved));
        Work { moved, held, large, units }
    }
}

/// What one thread found.
#[derive(Default)]
struct Sums {
    census: HashMap<u64, Entry>,
    held: Held,
    slices: Slices,
    read_bytes: u64,
    skipped_bytes: u64,
    unread_bytes: u64,
}

impl Sums {
    fn add(&mut self, other: Sums) {
        for (address, entry) in other.census {
            let sum = self.census.entry(address).or_insert(Entry { count: 0, bytes: 0, ..entry });
            sum.count += entry.count;
            sum.bytes += entry.bytes;
        }
        self.held.merge(other.held);
        self.slices.merge(other.slices);
        self.read_bytes += other.read_bytes;
        self.skipped_bytes += other.skipped_bytes;
        self.unread_bytes += other.unread_bytes;
    }
}

/// One thread's share of the work.
struct Pass<'m, M> {
    reader: BatchReader<'m, M>,
    tables: Tables<'m, M>,
    objects: Objects<'m>,
    sums: Sums,
}

/// What is done with each object.
struct Objects<'m> {
    search: &'m Search,
    holding: Holding,
    slices: Slices,
    /// Objects and their bytes, by table number.
    tallies: Vec<(Info, u64, u64)>,
}

impl Objects<'_> {
    fn count(&mut self, table: InfoTable, bytes: u64) {
        let number = table.number as usize;
        if number >= self.tallies.len() {
            self.tallies.resize(number + 1, (table.info, 0, 0));
        }
        if let Some(tally) = self.tallies.get_mut(number) {
            *tally = (table.info, tally.1 + 1, tally.2 + bytes);
        }
    }

    fn fields(&mut self, holder: u64, fields: &[u64]) {
        for word in fields {
            if let Some((group, bytes)) = self.search.word(*word) {
                self.holding.add(holder, group, bytes);
            }
        }
    }

    /// Counts an object that lies at `address`.
    fn object(&mut self, table: InfoTable, own: &[u64], address: u64) {
        let from = table.info.kind.first_field(own, address, own.len());
        let (Some(holder), Some(fields)) = (own.first(), own.get(from..)) else { return };
        for word in fields {
            let Some((group, bytes)) = self.search.word(*word) else { continue };
            self.holding.add(*holder, group, bytes);
            if let Some(offset) = self.search.in_large(*word, group) {
                self.slices.add(group, (offset, bytes), table, own);
            }
        }
    }
}

impl<'m, M: Memory> Pass<'m, M> {
    fn new(memory: &'m M, input: &ScanInput, search: &'m Search) -> Pass<'m, M> {
        Pass {
            reader: BatchReader::new(memory),
            tables: Tables::new(memory, input.code.clone()),
            objects: Objects { search, holding: Holding::default(), slices: Slices::default(), tallies: Vec::new() },
            sums: Sums::default(),
        }
    }

    /// Finds where objects begin in pinned blocks.
    fn begin(&mut self, heads: &Groups, batch: &Batch) {
        let search = self.objects.search;
        self.reader.batch(heads, batch, |number, group, words| match words {
            Some(words) => search.begin(number, words, &mut self.tables),
            None => self.sums.unread_bytes += group.used_bytes(),
        });
    }

    fn unit(&mut self, work: &Work, unit: &Unit) {
        match unit {
            Unit::Moved(batch) => self.blocks(&work.moved, batch, true),
            Unit::Held(batch) => self.blocks(&work.held, batch, false),
            Unit::Large(number, part) => self.large(&work.large, *number, part),
            Unit::Data(range) => self.data(range),
        }
    }

    fn blocks(&mut self, groups: &Groups, batch: &Batch, counted: bool) {
        let Pass { reader, tables, objects, sums } = self;
        reader.batch(groups, batch, |_, group, words| {
            let Some(words) = words else {
                sums.unread_bytes += group.used_bytes();
                return;
            };
            let skipped_bytes = walk(words, tables, |object, own| {
                if counted {
                    objects.count(object.table, 8 * own.len() as u64);
                }
                objects.object(object.table, own, group.start + 8 * object.at as u64);
            });
            if counted {
                sums.read_bytes += group.used_bytes();
                sums.skipped_bytes += skipped_bytes;
            }
        });
    }

    /// Scans words of a large object. A byte array holds no pointers: its content is not read.
    fn large(&mut self, groups: &Groups, number: usize, part: &Range<u64>) {
        let Some(group) = groups.get(number) else { return };
        let used = group.used_bytes() / 8;
        let Some(head) = self.reader.one(group.start..group.start + 8 * used.min(HEAD)) else {
            self.sums.unread_bytes += 8 * (part.end - part.start);
            return;
        };
        let first = head.first().copied().unwrap_or(0);
        let table = self.tables.find(first);
        let size = table.and_then(|table| table.info.words(head)).filter(|size| *size <= used);
        let from = table.map(|table| table.info.kind.first_field(head, group.start, size.unwrap_or(0) as usize) as u64);
        if part.start == 0 {
            self.sums.read_bytes += group.used_bytes();
            match table.zip(size) {
                Some((table, size)) => self.objects.count(table, 8 * size),
                None => self.sums.skipped_bytes += group.used_bytes(),
            }
        }
        let Some((table, (size, from))) = table.zip(size.zip(from)) else { return };
        let (from, to) = (part.start.max(from), part.end.min(size));
        if table.info.kind == Type::Bytes || from >= to {
            return;
        }
        match self.reader.one(group.start + 8 * from..group.start + 8 * to) {
            Some(fields) => self.objects.fields(first, fields),
            None => self.sums.unread_bytes += 8 * (to - from),
        }
    }

    /// Scans words of the program's own data: the holder is the address of the word.
    fn data(&mut self, range: &Range<u64>) {
        let mut at = range.start.next_multiple_of(8);
        while at < range.end / 8 * 8 {
            let end = range.end.min(at + 8 * PART) / 8 * 8;
            let Some(words) = self.reader.one(at..end) else { return };
            for (place, word) in (at..).step_by(8).zip(words) {
                self.objects.fields(place, std::slice::from_ref(word));
            }
            at = end;
        }
    }

    fn finish(self) -> Sums {
        let tallies = self.tables.addresses.iter().zip(self.objects.tallies);
        let entry = |(address, (info, count, bytes)): (&u64, (Info, u64, u64))| {
            (count > 0).then_some((*address, Entry { info_address: *address, info, count, bytes }))
        };
        Sums {
            census: tallies.filter_map(entry).collect(),
            held: self.objects.holding.finish(),
            slices: self.objects.slices,
            ..self.sums
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::descriptor::{BLOCK, Flags};
    use crate::testing::{Image, Laid, space};

    const AT: u64 = 0x42_0010_0000;
    const CODE: u64 = 0x40_0000;
    const DATA: u64 = 0x50_0000;

    #[test]
    fn moved_and_large_objects_segments_and_data_hold_what_is_pinned() {
        let table = |pointers: u64, number: u64| [pointers, number];
        let (pair, bytes, array) = (CODE + 16, CODE + 32, CODE + 48);
        let tables = [table(2, 4), table(0, 42), table(0, 43)].concat();
        let block = |number: u64| AT + (4 + number) * BLOCK;
        let laid = Laid::at(AT)
            .group(1, 1, Flags::EVACUATED, 5 * 8)
            .group(2, 1, Flags::LARGE, 600 * 8)
            .group(1, 1, Flags::PINNED, 5 * 4 * 8)
            .group(2, 1, Flags::PINNED | Flags::LARGE, 700 * 8)
            .group(8, 1, Flags::NON_MOVING, 0)
            .group(1, 1, Flags::LARGE, 100 * 8)
            .free(237);
        // Five byte strings of 32 bytes each, and a long one.
        let pinned: Vec<u64> = (0..5).flat_map(|number| [bytes, 16, number, number]).collect();
        let string = |number: u64| block(3) + 32 * number;
        let mut long = vec![7; 1024];
        long[..2].copy_from_slice(&[bytes, 5400]);
        let mut large = vec![0; 1024];
        large[..4].copy_from_slice(&[array, 590, 597, string(1)]);
        (large[598], large[600]) = (string(2) + 20, string(4));
        let mut segment = vec![0; 8 * 512];
        segment[10..13].copy_from_slice(&[pair, string(3), 1]);
        // A large byte array: what looks like a pointer in it is none.
        let mut numbers = vec![string(4); 512];
        numbers[..2].copy_from_slice(&[bytes, 98 * 8]);
        let image = Image::default()
            .put(AT, laid.descriptors())
            .words(CODE, &tables)
            .words(block(0), &[[pair, string(0), 5, 6, 7].to_vec(), vec![0; 507], large].concat())
            .words(block(3), &[pinned, vec![0; 492], long, segment, numbers].concat())
            .words(DATA, &[0, block(4) + 5000, 0, 0]);
        let survey = Survey::take(&image, &space(AT, 1), &Statics::default(), true).unwrap();
        let ranges = |from: u64, to: u64| std::iter::once(from..to).collect::<Vec<_>>();
        let input = ScanInput { threads: 2, code: ranges(CODE, CODE + 0x1000), data: ranges(DATA, DATA + 32) };
        let scan = Scan::of(&image, &survey, &Statics::default(), &input);
        let counted: Vec<_> = scan.census.iter().map(|entry| (entry.info_address, entry.count, entry.bytes)).collect();
        assert_eq!(counted, [(array, 1, 600 * 8), (bytes, 1, 100 * 8), (pair, 1, 24)]);
        assert_eq!((scan.read_bytes, scan.skipped_bytes, scan.unread_bytes), (705 * 8, 16, 0));
        assert_eq!((scan.pinned.objects, scan.pinned.live_objects), (6, 5));
        assert_eq!(scan.pinned.live_bytes, 4 * 32 + 700 * 8);
        let mut holders: Vec<_> =
            scan.pinned.holders.iter().map(|holder| (holder.info_address, holder.count)).collect();
        holders.sort_unstable();
        assert_eq!(holders, [(pair, 2), (array, 2), (DATA + 8, 1)]);
    }
}

//! The pauses of a recording in two files: their lines as `report --pauses` has them, and for each a record of fixed
//! size with its times and the place of its line. Owns both, and a short summary of each block of records in memory,
//! so that the longest pauses of any interval are found without reading all records. Refuses to interpret a pause.

use rtscope_analyze::results::BlamedPause;
use rtscope_decode::ReadAt;
use rtscope_model::{Names, Symbols};
use rtscope_report::pauses_json;
use serde::Serialize;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::FileExt;

/// Bytes of a record: id, begin, stopped, collected, released, place, length.
const RECORD: usize = 56;
/// Records per summary.
const BLOCK: usize = 256;
/// No line is longer; those of 512 lanes with their causes stay below.
const LINE_MAX: u64 = 4 << 20;

/// A pause's times on the trace clock, and the place of its line.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
struct Record {
    id: u64,
    begin: u64,
    stopped: u64,
    collected: u64,
    released: u64,
    place: u64,
    length: u64,
}

impl Record {
    fn ns(&self) -> u64 {
        self.released.saturating_sub(self.begin)
    }

    fn touches(&self, from: u64, to: u64) -> bool {
        self.begin < to && self.released.max(self.begin.saturating_add(1)) > from
    }

    fn words(&self) -> [[u8; 8]; RECORD / 8] {
        [self.id, self.begin, self.stopped, self.collected, self.released, self.place, self.length]
            .map(u64::to_le_bytes)
    }

    fn of(bytes: &[u8]) -> Option<Record> {
        let words = <[[u8; 8]; RECORD / 8]>::try_from(bytes.as_chunks().0).ok()?;
        let [id, begin, stopped, collected, released, place, length] = words.map(u64::from_le_bytes);
        Some(Record { id, begin, stopped, collected, released, place, length })
    }
}

/// The summary of a block of records.
#[derive(Copy, Clone, Debug)]
struct Block {
    begin: u64,
    end: u64,
    longest: u64,
    parts: PhaseTimes,
}

/// How long pauses stopped the program in an interval, by phase.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Default, Serialize)]
pub(super) struct PhaseTimes {
    /// Pauses that overlap the interval.
    count: u64,
    /// Nanoseconds within the interval, in total.
    stood_ns: u64,
    /// Of these, until the last lane had stopped.
    stop_ns: u64,
    collect_ns: u64,
    /// Of these, from the end of the work until the last lane resumed.
    release_ns: u64,
    /// The length of the longest pause, even beyond the interval; `None` without pauses.
    longest_ns: Option<u64>,
}

impl PhaseTimes {
    fn add(&mut self, record: &Record, from: u64, to: u64) {
        let cut = |begin: u64, end: u64| end.min(to).saturating_sub(begin.max(from));
        self.count += 1;
        self.stood_ns += cut(record.begin, record.released);
        self.stop_ns += cut(record.begin, record.stopped);
        self.collect_ns += cut(record.stopped, record.collected);
        self.release_ns += cut(record.collected, record.released);
        self.longest_ns = self.longest_ns.max(Some(record.ns()));
    }

    fn join(&mut self, other: &PhaseTimes) {
        self.count += other.count;
        self.stood_ns += other.stood_ns;
        self.stop_ns += other.stop_ns;
        self.collect_ns += other.collect_ns;
        self.release_ns += other.release_ns;
        self.longest_ns = self.longest_ns.max(other.longest_ns);
    }
}

/// Writes pauses as they come.
pub struct BookWriter {
    lines: BufWriter<File>,
    index: BufWriter<File>,
    place: u64,
}

impl BookWriter {
    /// Writes into two empty files.
    pub fn new(lines: File, index: File) -> BookWriter {
        BookWriter { lines: BufWriter::with_capacity(1 << 18, lines), index: BufWriter::new(index), place: 0 }
    }

    /// Adds a pause.
    ///
    /// # Errors
    /// The files cannot be written.
    pub fn add(&mut self, blamed: &BlamedPause, names: &Names, symbols: &Symbols) -> io::Result<()> {
        let mut line = Vec::new();
        pauses_json::write(&mut line, blamed, names, symbols)?;
        let pause = &blamed.pause;
        let record = Record {
            id: pause.id,
            begin: pause.begin().0,
            stopped: pause.stopped.0,
            collected: pause.collected.0,
            released: pause.released.0,
            place: self.place,
            length: line.len() as u64,
        };
        self.place += record.length;
        self.lines.write_all(&line)?;
        self.index.write_all(record.words().as_flattened())
    }

    /// Ends writing; returns the book for reading.
    ///
    /// # Errors
    /// The files cannot be written or read.
    pub fn finish(self) -> io::Result<Book> {
        let into = |out: BufWriter<File>| out.into_inner().map_err(io::IntoInnerError::into_error);
        Book::open(into(self.lines)?, into(self.index)?)
    }
}

/// The pauses of a recording, for queries.
pub struct Book {
    lines: File,
    index: File,
    blocks: Vec<Block>,
}

/// Which pauses come first.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub(super) enum Order {
    Longest,
    First,
    Last,
}

impl Order {
    /// The ascending sort key of a pause; for a block, a lower bound of the keys of its pauses.
    fn key(self, longest_ns: u64, begin: u64, end: u64) -> u64 {
        match self {
            Order::Longest => u64::MAX - longest_ns,
            Order::First => begin,
            Order::Last => u64::MAX - end,
        }
    }
}

impl Book {
    /// Opens what a [`BookWriter`] wrote. Anything after the last whole record is ignored.
    pub(super) fn open(lines: File, index: File) -> io::Result<Book> {
        let mut book = Book { lines, index, blocks: Vec::new() };
        while let Some(records) = Some(book.records(book.blocks.len())?).filter(|records| !records.is_empty()) {
            let mut block = Block { begin: u64::MAX, end: 0, longest: 0, parts: PhaseTimes::default() };
            for record in &records {
                block.begin = block.begin.min(record.begin);
                block.end = block.end.max(record.released.max(record.begin.saturating_add(1)));
                block.longest = block.longest.max(record.ns());
                block.parts.add(record, 0, u64::MAX);
            }
            book.blocks.push(block);
            if records.len() < BLOCK {
                break;
            }
        }
        Ok(book)
    }

    fn records(&self, block: usize) -> io::Result<Vec<Record>> {
        let mut bytes = vec![0; RECORD * BLOCK];
        let mut filled = 0;
        while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            let read = ReadAt::read_at(&self.index, rest, (block * RECORD * BLOCK + filled) as u64)?;
            if read == 0 {
                break;
            }
            filled += read;
        }
        Ok(bytes.get(..filled).unwrap_or_default().chunks_exact(RECORD).filter_map(Record::of).collect())
    }

    fn touching(&self, from: u64, to: u64) -> impl DoubleEndedIterator<Item = (usize, &Block)> {
        self.blocks.iter().enumerate().filter(move |(_, block)| block.begin < to && block.end > from)
    }

    /// Lines of at most `limit` pauses that overlap `[from, to)` (trace clock) and are at least `min_ns` long.
    pub(super) fn lines(&self, from: u64, to: u64, min_ns: u64, limit: usize, order: Order) -> io::Result<Vec<u8>> {
        let mut blocks: Vec<(usize, &Block)> =
            self.touching(from, to).filter(|(_, block)| block.longest >= min_ns).collect();
        let of_block = |block: &Block| order.key(block.longest, block.begin, block.end);
        let of_record = |record: &Record| order.key(record.ns(), record.begin, record.begin);
        blocks.sort_by_key(|(_, block)| of_block(block));
        let mut found: Vec<Record> = Vec::new();
        for (number, block) in blocks {
            // Blocks overlap a little where pauses came out of order.
            if found.len() >= limit && found.last().is_some_and(|last| of_block(block) >= of_record(last)) {
                break;
            }
            let fits = |record: &Record| record.touches(from, to) && record.ns() >= min_ns;
            found.extend(self.records(number)?.into_iter().filter(fits));
            found.sort_by_key(|record| (of_record(record), record.begin));
            found.truncate(limit);
        }
        let mut lines = Vec::new();
        for record in found {
            lines.extend(self.line(&record)?);
        }
        Ok(lines)
    }

    /// The line of pause `id`; `None` if there is none.
    pub(super) fn line_of(&self, id: u64) -> io::Result<Option<Vec<u8>>> {
        // Pauses are nearly in order: first the block where it should be, then its neighbours.
        let near = usize::try_from(id / BLOCK as u64).unwrap_or(usize::MAX);
        let mut blocks: Vec<usize> = (near.saturating_sub(2)..near.saturating_add(3)).collect();
        blocks.sort_by_key(|block| block.abs_diff(near));
        for block in blocks.into_iter().filter(|block| *block < self.blocks.len()) {
            if let Some(record) = self.records(block)?.into_iter().find(|record| record.id == id) {
                return self.line(&record).map(Some);
            }
        }
        Ok(None)
    }

    fn line(&self, record: &Record) -> io::Result<Vec<u8>> {
        let length = usize::try_from(record.length.min(LINE_MAX)).unwrap_or(0);
        let mut line = vec![0; length];
        FileExt::read_exact_at(&self.lines, &mut line, record.place)?;
        Ok(line)
    }

    /// How much of `[from, to)` (trace clock) pauses took, by phase.
    pub(super) fn parts(&self, from: u64, to: u64) -> io::Result<PhaseTimes> {
        let mut parts = PhaseTimes::default();
        for (number, block) in self.touching(from, to) {
            if block.begin >= from && block.end <= to {
                parts.join(&block.parts);
                continue;
            }
            let records = self.records(number)?;
            records.iter().filter(|record| record.touches(from, to)).for_each(|record| parts.add(record, from, to));
        }
        Ok(parts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rtscope_model::{Pause, PauseKind, PauseMode, PauseQuality, ReleaseBasis, Time};

    fn blamed(id: u64, begin: u64, ns: u64) -> BlamedPause {
        let pause = Pause {
            id,
            kind: PauseKind::Minor,
            mode: PauseMode::Parallel,
            generation: None,
            leader: None,
            requested: Some(Time(begin)),
            stopped: Time(begin + ns / 2),
            collected: Time(begin + ns / 2 + ns / 4),
            released: Time(begin + ns),
            release_basis: ReleaseBasis::BackAtWork,
            straggler: None,
            lanes: Vec::new(),
            copied_bytes: None,
            gc_threads: None,
            quality: PauseQuality::Whole,
        };
        BlamedPause { pause, causes: Vec::new(), kept_ns: None }
    }

    /// Pause `n` begins at 1000 n and is n % 97 + 4 long; some come out of order.
    fn book(count: u64) -> Book {
        let mut writer = BookWriter::new(tempfile::tempfile().unwrap(), tempfile::tempfile().unwrap());
        for n in 0..count {
            let n = if n % 50 == 7 {
                n + 1
            } else if n % 50 == 8 {
                n - 1
            } else {
                n
            };
            writer.add(&blamed(n, n * 1000, n % 97 + 4), &Names::default(), &Symbols::default()).unwrap();
        }
        writer.finish().unwrap()
    }

    fn ids(lines: &[u8]) -> Vec<u64> {
        let of = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap()["id"].as_u64().unwrap();
        std::str::from_utf8(lines).unwrap().lines().map(of).collect()
    }

    #[test]
    fn the_longest_of_an_interval_and_the_next() {
        let book = book(2_000);
        assert_eq!(book.parts(0, u64::MAX).unwrap().count, 2_000);
        let ask = |from, to, min, limit, order| ids(&book.lines(from, to, min, limit, order).unwrap());
        assert_eq!(ask(0, u64::MAX, 0, 3, Order::Longest), [96, 193, 290]);
        assert_eq!(ask(100_000, 200_000, 0, 2, Order::Longest), [193, 192]);
        assert_eq!(ask(97_000, u64::MAX, 100, 2, Order::First), [193, 290]);
        assert_eq!(ask(0, 500_000, 100, 2, Order::Last), [484, 387]);
        assert_eq!(ask(7_000, 9_000, 0, 9, Order::First), [7, 8]);
        assert_eq!(ask(1_500_100, 1_500_100, 0, 9, Order::First), [0u64; 0]);
        assert!(ask(0, u64::MAX, 1_000, 9, Order::Longest).is_empty());
    }

    #[test]
    fn a_pause_by_its_number() {
        let book = book(700);
        for id in [0, 7, 8, 255, 256, 699] {
            assert_eq!(ids(&book.line_of(id).unwrap().unwrap()), [id]);
        }
        assert!(book.line_of(700).unwrap().is_none() && book.line_of(u64::MAX).unwrap().is_none());
    }

    #[test]
    fn parts_sum_up_and_are_cut_at_the_bounds() {
        let book = book(1_000);
        let all = book.parts(0, u64::MAX).unwrap();
        assert_eq!((all.count, all.stood_ns), (1_000, (0..1_000u64).map(|n| n % 97 + 4).sum()));
        assert_eq!(all.stood_ns, all.stop_ns + all.collect_ns + all.release_ns);
        assert_eq!(all.longest_ns, Some(100));
        // Pause 96 lasts from 96,000 to 96,100: stops for 50, collects for 25.
        let cut = book.parts(96_020, 96_060).unwrap();
        assert_eq!((cut.count, cut.stood_ns, cut.stop_ns, cut.collect_ns, cut.release_ns), (1, 40, 30, 10, 0));
        assert_eq!(book.parts(96_200, 96_300).unwrap(), PhaseTimes::default());
    }

    #[test]
    fn files_that_were_cut_are_read_as_far_as_they_go() {
        let (lines, index) = (tempfile::tempfile().unwrap(), tempfile::tempfile().unwrap());
        let mut writer = BookWriter::new(lines.try_clone().unwrap(), index.try_clone().unwrap());
        for n in 0..3 {
            writer.add(&blamed(n, n * 1000, 10), &Names::default(), &Symbols::default()).unwrap();
        }
        drop(writer.finish().unwrap());
        index.set_len(RECORD as u64 * 2 + 9).unwrap();
        lines.set_len(10).unwrap();
        let book = Book::open(lines, index).unwrap();
        assert_eq!(book.parts(0, u64::MAX).unwrap().count, 2);
        assert!(book.lines(0, u64::MAX, 0, 9, Order::First).is_err());
    }
}

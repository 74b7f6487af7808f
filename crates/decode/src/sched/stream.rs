//! One CPU's stream: a window over its bytes, records in it, and a small window
//! in which they are put in order. Owns resynchronising and what was lost on the
//! way; refuses to know what another CPU did.

use super::interpret::{Interpreter, Item};
use super::losses::Losses;
use super::name_table::NameTable;
use super::record::{self, Body};
use crate::ReadAt;
use rtscope_model::{Cpu, Loss, LossKind, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

/// Bytes held of each stream.
const WINDOW: usize = 64 << 10;
/// Records within which a stream is put in order: an interrupt may write its
/// record between another's stamp and its place in the ring.
const REORDER: usize = 64;

const LOST: &str = "The kernel's ring was full. Record again with a larger ring.";
const DAMAGED: &str = "Bytes that are no kernel records were skipped.";
const CUT: &str = "The stream ends inside a record: the recorder was ended while it wrote.";
const LATE: &str = "Records that are too far out of order were left out.";
const THROTTLED: &str = "The kernel held events back (kernel.perf_event_max_sample_rate).";

/// An item with its moment, ordered by it and then by its place in the stream.
#[derive(Copy, Clone, Debug)]
pub struct Stamped {
    /// When.
    pub time: Time,
    place: u64,
    /// What.
    pub item: Item,
}

impl PartialEq for Stamped {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Stamped {}

impl PartialOrd for Stamped {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Stamped {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.time, self.place).cmp(&(other.time, other.place))
    }
}

/// One CPU's stream.
pub struct CpuStream {
    cpu: u16,
    source: Arc<dyn ReadAt>,
    /// Offset in the source of the byte behind the window.
    offset: u64,
    window: Vec<u8>,
    at: usize,
    ended: bool,
    waiting: BinaryHeap<Reverse<Stamped>>,
    places: u64,
    /// Newest moment read.
    newest: Option<Time>,
    /// Newest moment handed out.
    handed_out: Time,
    /// Bytes skipped since the last good record.
    skipped: u64,
    /// Bytes that the last record lacks, if the skipped ones are a cut record.
    cut: Option<u64>,
    losses: Losses,
}

impl CpuStream {
    /// The stream `name` of `cpu`.
    pub fn new(cpu: u16, name: &str, source: Arc<dyn ReadAt>) -> CpuStream {
        CpuStream {
            cpu,
            source,
            offset: 0,
            window: Vec::new(),
            at: 0,
            ended: false,
            waiting: BinaryHeap::new(),
            places: 0,
            newest: None,
            handed_out: Time(0),
            skipped: 0,
            cut: None,
            losses: Losses::new(name),
        }
    }

    /// What it did not hold, as far as it has been read.
    pub fn losses(&self) -> &[Loss] {
        self.losses.all()
    }

    /// The next item in the order of time.
    pub fn next(&mut self, interpreter: &Interpreter, names: &mut NameTable) -> Option<Stamped> {
        loop {
            while self.waiting.len() < REORDER && self.read_one(interpreter, names) {}
            let Reverse(next) = self.waiting.pop()?;
            if next.time >= self.handed_out {
                self.handed_out = next.time;
                return Some(next);
            }
            self.losses.add(LossKind::OutOfOrder, 1, Some(next.time), Some(next.time), LATE);
        }
    }

    /// Reads up to one record. False: the stream has ended.
    fn read_one(&mut self, interpreter: &Interpreter, names: &mut NameTable) -> bool {
        self.fill();
        let rest = self.window.get(self.at..).unwrap_or_default();
        if rest.is_empty() {
            self.close_gap(None);
            return false;
        }
        let Some((size, time, read)) = good_record(rest, self.cpu, interpreter, self.skipped > 0, names) else {
            return self.skip();
        };
        self.at += size;
        self.close_gap(Some(time));
        let before = self.newest;
        self.newest = Some(before.map_or(time, |newest| newest.max(time)));
        match read {
            Read::Item(item) => self.push(time, item),
            Read::Lost(count) => self.lost(count, before, time, LOST),
            Read::Throttled => self.lost(0, before, time, THROTTLED),
            Read::Nothing => {}
        }
        true
    }

    fn push(&mut self, time: Time, item: Item) {
        self.places += 1;
        self.waiting.push(Reverse(Stamped { time, place: self.places, item }));
    }

    fn lost(&mut self, count: u64, from: Option<Time>, to: Time, note: &str) {
        self.losses.add(LossKind::KernelRecords, count, from, Some(to), note);
        self.push(to, Item::Gap { cpu: Cpu(self.cpu) });
    }

    /// Steps over what is no record. A failed write may have cut a record
    /// anywhere, so the next one may start at any byte.
    fn skip(&mut self) -> bool {
        let rest = self.window.get(self.at..).unwrap_or_default();
        if self.ended && self.skipped == 0 {
            // Perhaps only the end is missing; a record behind it would disprove that.
            self.cut = match record::header(rest) {
                Some((_, _, size)) if size > rest.len() => Some((size - rest.len()) as u64),
                None if rest.len() < record::HEADER => Some(0),
                _ => None,
            };
        }
        self.at += 1;
        self.skipped += 1;
        true
    }

    /// Accounts for the bytes skipped before a record of the moment `until`, or
    /// before the end.
    fn close_gap(&mut self, until: Option<Time>) {
        if self.skipped == 0 {
            return;
        }
        match (self.cut.take(), until) {
            (Some(missing), None) => self.losses.add(LossKind::Truncated, missing, self.newest, None, CUT),
            _ => self.losses.add(LossKind::Damaged, self.skipped, self.newest, until, DAMAGED),
        }
        self.skipped = 0;
        if let Some(time) = until {
            self.push(time, Item::Gap { cpu: Cpu(self.cpu) });
        }
    }

    /// Makes sure that two records of any size are in the window, or all there is.
    fn fill(&mut self) {
        if self.ended || self.window.len() - self.at >= 2 * record::SIZE_MAX {
            return;
        }
        self.window.drain(..self.at);
        self.at = 0;
        while self.window.len() < WINDOW && !self.ended {
            let held = self.window.len();
            self.window.resize(WINDOW, 0);
            let count = match self.source.read_at(self.window.get_mut(held..).unwrap_or_default(), self.offset) {
                Ok(count) => count,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {
                    self.window.truncate(held);
                    continue;
                }
                Err(error) => {
                    let note = format!("The stream could not be read on: {error}.");
                    self.losses.add(LossKind::SourceMissing, 0, self.newest, None, &note);
                    0
                }
            };
            self.window.truncate(held + count);
            self.offset += count as u64;
            self.ended = count == 0;
        }
    }
}

enum Read {
    Item(Item),
    Lost(u64),
    Throttled,
    Nothing,
}

/// The record that `bytes` start with: its size, moment and meaning. After damage
/// (`strict`) the record behind it must look like one too.
fn good_record(
    bytes: &[u8],
    cpu: u16,
    interpreter: &Interpreter,
    strict: bool,
    names: &mut NameTable,
) -> Option<(usize, Time, Read)> {
    let (_, _, size) = record::header(bytes)?;
    let (stamp, body) = record::parse(bytes.get(..size)?)?;
    if stamp.cpu != u32::from(cpu) {
        return None;
    }
    let behind = bytes.get(size..).unwrap_or_default();
    if strict && !behind.is_empty() && record::header(behind).is_none() {
        return None;
    }
    let read = match body {
        Body::Lost { count } => Read::Lost(count),
        Body::Throttle => Read::Throttled,
        // A sample of a tracepoint that was not asked for is damage.
        Body::Sample(raw) => Read::Item(interpreter.sample(stamp, raw, names)?),
        other => interpreter.other(stamp, other, names).map_or(Read::Nothing, Read::Item),
    };
    Some((size, Time(stamp.time), read))
}

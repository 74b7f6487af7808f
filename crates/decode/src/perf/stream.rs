//! One CPU's stream: a window over its bytes, records in it, and a small window in which they are put in order. Owns
//! resynchronising and losses; refuses to know other CPUs.

use super::losses::Losses;
use super::record::{self, Body, RecordLayout, Stamp};
use crate::ReadAt;
use rtscope_model::{Cpu, Loss, LossKind, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

/// Window size per stream, in bytes.
const WINDOW: usize = 64 << 10;
/// Number of records within which a stream is put in order: an interrupt may write its record between the stamp of
/// another record and its place in the ring.
const REORDER: usize = 64;

const LOST: &str = "The kernel's buffer was full: events of that CPU are missing meanwhile.";
const DAMAGED: &str = "Bytes that are no kernel records were skipped.";
const CUT: &str = "The stream ends inside a record: the recorder was ended while it wrote.";
const LATE: &str = "Records that are too far out of order were left out.";
const THROTTLED: &str = "The kernel held events back (kernel.perf_event_max_sample_rate).";

/// Interprets a stream's records.
pub trait Interpret {
    /// The result of interpreting a record.
    type Item;

    /// The layout of the records.
    fn layout(&self) -> RecordLayout;

    /// Interprets a record other than a loss; the inner `None`: it has no meaning. `None`: it is damage.
    fn read(&mut self, stamp: Stamp, body: Body<'_>) -> Option<Option<Self::Item>>;

    /// The item for missing records of this CPU, if it has one.
    fn gap(cpu: Cpu) -> Option<Self::Item>;
}

/// An item with its time, ordered by time and then by position in the stream.
#[derive(Clone, Debug)]
pub struct Stamped<T> {
    pub time: Time,
    place: u64,
    pub item: T,
}

impl<T> PartialEq for Stamped<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<T> Eq for Stamped<T> {}

impl<T> PartialOrd for Stamped<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Stamped<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.time, self.place).cmp(&(other.time, other.place))
    }
}

/// One CPU's stream.
pub struct CpuStream<T> {
    cpu: u16,
    source: Arc<dyn ReadAt>,
    /// Offset in the source of the end of the window.
    offset: u64,
    window: Vec<u8>,
    at: usize,
    ended: bool,
    waiting: BinaryHeap<Reverse<Stamped<T>>>,
    places: u64,
    /// Latest time read.
    newest: Option<Time>,
    /// Latest time delivered.
    handed_out: Time,
    /// Number of bytes skipped since the last good record.
    skipped: u64,
    /// Number of bytes that the last record lacks, if the skipped ones are a truncated record.
    cut: Option<u64>,
    losses: Losses,
}

impl<T> CpuStream<T> {
    /// The stream `name` of `cpu`.
    pub fn new(cpu: u16, name: &str, source: Arc<dyn ReadAt>) -> CpuStream<T> {
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

    /// Continues with whole records that were appended to those read so far, which are exhausted.
    pub fn resume_with(&mut self, more: Arc<dyn ReadAt>) {
        (self.source, self.offset, self.ended) = (more, 0, false);
    }

    /// Losses since the last call.
    pub fn take_losses(&mut self) -> Vec<Loss> {
        self.losses.take()
    }

    /// Losses of the part read so far.
    pub fn losses(&self) -> &[Loss] {
        self.losses.all()
    }

    /// The next item in time order.
    pub fn next<I: Interpret<Item = T>>(&mut self, interpreter: &mut I) -> Option<Stamped<T>> {
        loop {
            while self.waiting.len() < REORDER && self.read_one(interpreter) {}
            let Reverse(next) = self.waiting.pop()?;
            if next.time >= self.handed_out {
                self.handed_out = next.time;
                return Some(next);
            }
            self.losses.add(LossKind::OutOfOrder, 1, Some(next.time), Some(next.time), LATE);
        }
    }

    /// Reads at most one record. False: the stream has ended.
    fn read_one<I: Interpret<Item = T>>(&mut self, interpreter: &mut I) -> bool {
        self.fill();
        let rest = self.window.get(self.at..).unwrap_or_default();
        if rest.is_empty() {
            self.close_gap::<I>(None);
            return false;
        }
        let Some((size, time, read)) = good_record(rest, self.cpu, interpreter, self.skipped > 0) else {
            return self.skip(interpreter.layout());
        };
        self.at += size;
        self.close_gap::<I>(Some(time));
        let before = self.newest;
        self.newest = Some(before.map_or(time, |newest| newest.max(time)));
        match read {
            Outcome::Read(item) => self.push(time, item),
            Outcome::Lost(count) => self.lost::<I>(count, before, time, LOST),
            Outcome::Throttled => self.lost::<I>(0, before, time, THROTTLED),
        }
        true
    }

    fn push(&mut self, time: Time, item: Option<T>) {
        let Some(item) = item else { return };
        self.places += 1;
        self.waiting.push(Reverse(Stamped { time, place: self.places, item }));
    }

    fn lost<I: Interpret<Item = T>>(&mut self, count: u64, from: Option<Time>, to: Time, note: &str) {
        self.losses.add(LossKind::KernelRecords, count, from, Some(to), note);
        self.push(to, I::gap(Cpu(self.cpu)));
    }

    /// Skips a byte that does not start a record. A failed write may have truncated a record anywhere, so the next
    /// one may start at any byte.
    fn skip(&mut self, layout: RecordLayout) -> bool {
        let rest = self.window.get(self.at..).unwrap_or_default();
        if self.ended && self.skipped == 0 {
            // Perhaps only the end is missing; a later record would disprove that.
            self.cut = match record::header(rest, layout) {
                Some((_, _, size)) if size > rest.len() => Some((size - rest.len()) as u64),
                None if rest.len() < record::HEADER => Some(0),
                _ => None,
            };
        }
        self.at += 1;
        self.skipped += 1;
        true
    }

    /// Accounts for the bytes skipped before a record at `until`, or before the end.
    fn close_gap<I: Interpret<Item = T>>(&mut self, until: Option<Time>) {
        if self.skipped == 0 {
            return;
        }
        match (self.cut.take(), until) {
            (Some(missing), None) => self.losses.add(LossKind::Truncated, missing, self.newest, None, CUT),
            _ => self.losses.add(LossKind::Damaged, self.skipped, self.newest, until, DAMAGED),
        }
        self.skipped = 0;
        if let Some(time) = until {
            self.push(time, I::gap(Cpu(self.cpu)));
        }
    }

    /// Fills the window with at least two records of any size, or with the rest of the stream.
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

enum Outcome<T> {
    Read(Option<T>),
    Lost(u64),
    Throttled,
}

/// The record at the start of `bytes`: its size, time and meaning. After damage (`strict`) the next record must
/// look valid too.
fn good_record<I: Interpret>(
    bytes: &[u8],
    cpu: u16,
    interpreter: &mut I,
    strict: bool,
) -> Option<(usize, Time, Outcome<I::Item>)> {
    let layout = interpreter.layout();
    let (_, _, size) = record::header(bytes, layout)?;
    let (stamp, body) = record::parse(bytes.get(..size)?, layout)?;
    if stamp.cpu != u32::from(cpu) {
        return None;
    }
    let rest = bytes.get(size..).unwrap_or_default();
    if strict && !rest.is_empty() && record::header(rest, layout).is_none() {
        return None;
    }
    let outcome = match body {
        Body::Lost { count } => Outcome::Lost(count),
        Body::Throttle => Outcome::Throttled,
        other => Outcome::Read(interpreter.read(stamp, other)?),
    };
    Some((size, Time(stamp.time), outcome))
}

//! The block index: which bytes belong to which capability and time. Walks the chain of block markers without
//! decoding events, and resynchronises after damage. Refuses to look inside blocks, except for a marker that should
//! not be there.

use super::frame::{FrameTable, NoFrame};
use super::header::Header;
use crate::raw_loss::RawLoss;
use crate::source::ReadAt;
use rtscope_model::LossKind;
use std::cell::OnceCell;
use std::io;
use std::sync::Arc;

/// Size of a block marker, including tag and time.
pub(super) const MARKER: usize = 24;
/// Capability number of the global buffer.
pub(super) const GLOBAL: u16 = u16::MAX;
/// Largest block size that is believed without further evidence: the runtime's buffers have 2 MiB.
const BLOCK_MAX: u64 = 16 << 20;
/// Capability numbers above this are not believed in the search for a marker.
const CAP_MAX: u16 = 1024;
/// How many valid records must follow a marker before it is believed, and how many bytes are read for them.
const RECORDS: usize = 8;
const RECORDS_BYTES: u64 = 64 << 10;
/// A stamp may lie this much before its buffer was opened (stamps taken before a buffer was written and posted
/// after it) …
pub(super) const EARLY_NS: u64 = 10_000_000_000;
/// … and this much after it was closed.
pub(super) const LATE_NS: u64 = 1_000_000_000;
/// No buffer is open for longer.
const YEAR_NS: u64 = 32_000_000_000_000_000;

/// One block.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct Block {
    /// Capability; 65535: the global buffer.
    pub cap: u16,
    /// The source that holds it: 0 the log, else one of the unflushed buffers.
    pub(super) source: u16,
    /// Whether it ends where its marker says.
    pub(super) end: BlockEnd,
    /// When its buffer was opened.
    pub t_open: u64,
    /// When its buffer was closed; 0: never.
    pub t_end: u64,
    /// Offset of its marker, in bytes from the start of its source.
    pub offset: u64,
    /// Size of the part that is present, including the marker.
    pub len: u32,
}

impl Block {
    fn ends_at(&self, at: u64) -> bool {
        self.offset + u64::from(self.len) == at
    }

    /// An empty block.
    pub(super) const NONE: Block =
        Block { cap: GLOBAL, source: 0, end: BlockEnd::Open, t_open: 0, t_end: 0, offset: 0, len: 0 };
}

/// How a block ends.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub(super) enum BlockEnd {
    /// Where its marker says.
    Whole,
    /// Its source ends inside it; this many bytes are missing.
    Cut(u32),
    /// It was never closed: a copied buffer, or the marker's size is unusable.
    Open,
}

/// The fields of a marker.
#[derive(Copy, Clone, Debug)]
pub(super) struct Marker {
    pub(super) time: u64,
    pub(super) size: u32,
    pub(super) end_time: u64,
    pub(super) cap: u16,
}

impl Marker {
    pub(super) fn parse(bytes: &[u8]) -> Option<Marker> {
        let head = bytes.first_chunk::<MARKER>()?;
        let mut fields = super::fields::Fields::new(head);
        if fields.u16()? != super::tags::BLOCK_MARKER {
            return None;
        }
        Some(Marker { time: fields.u64()?, size: fields.u32()?, end_time: fields.u64()?, cap: fields.u16()? })
    }

    /// The block was closed, and its fields are consistent.
    pub(super) fn is_closed(&self) -> bool {
        self.size as usize >= MARKER && self.end_time >= self.time && self.end_time != 0 && self.has_cap()
    }

    /// The block was opened and never closed.
    fn is_open(&self) -> bool {
        self.size == 0 && self.end_time == 0 && self.has_cap()
    }

    fn has_cap(&self) -> bool {
        self.cap == GLOBAL || self.cap < CAP_MAX
    }
}

/// The result of a walk over the chain.
#[derive(Clone, Debug, Default)]
pub(super) struct Chain {
    pub(super) blocks: Arc<Vec<Block>>,
    pub(super) losses: Vec<RawLoss>,
    /// Where the walk can continue when the source has grown.
    pub(super) resume: u64,
    /// How many blocks and losses will stay then: those found after `resume` only result from the end of the source.
    settled: (usize, usize),
    /// The end-of-data mark was seen.
    pub(super) ended: bool,
}

/// A walk over one source.
pub(super) struct Walk<'a> {
    source: &'a dyn ReadAt,
    size: u64,
    chain: &'a mut Chain,
    header: &'a Header,
    /// Built when a marker is searched for.
    table: OnceCell<FrameTable>,
}

impl Chain {
    /// A chain whose first block starts at `data`.
    pub(super) fn from(data: u64) -> Chain {
        Chain { resume: data, ..Chain::default() }
    }

    /// Extends the index with the part of `source` after `self.resume`; `header` is the log's.
    pub(super) fn extend(&mut self, source: &dyn ReadAt, header: &Header) -> io::Result<()> {
        let size = source.size()?;
        let (blocks, losses) = self.settled;
        Arc::make_mut(&mut self.blocks).truncate(blocks);
        self.losses.truncate(losses);
        Walk { source, size, chain: self, header, table: OnceCell::new() }.run()
    }

    /// How many blocks stay as they are when the source grows.
    pub(super) fn settled(&self) -> usize {
        self.settled.0
    }

    /// Forgets all settled blocks but the last, where the walk continues; returns how many are left.
    pub(super) fn forget(&mut self) -> usize {
        let last = self.settled.0.saturating_sub(1);
        Arc::make_mut(&mut self.blocks).drain(..last);
        self.losses.drain(..self.settled.1);
        self.settled = (self.settled.0 - last, 0);
        self.settled.0
    }
}

impl Walk<'_> {
    fn run(&mut self) -> io::Result<()> {
        let mut at = self.chain.resume;
        while at < self.size {
            at = self.step(at)?;
            let whole = self.chain.blocks.last().is_some_and(|block| block.end == BlockEnd::Whole && block.ends_at(at));
            if at < self.size || whole || self.chain.ended {
                self.chain.resume = at;
                self.chain.settled = (self.chain.blocks.len(), self.chain.losses.len());
            }
        }
        Ok(())
    }

    /// Processes the marker or end at `at`; returns where to continue.
    fn step(&mut self, at: u64) -> io::Result<u64> {
        let mut head = [0; MARKER];
        let count = self.source.read_full(&mut head, at)?;
        let head = head.get(..count).unwrap_or_default();
        if head.starts_with(&[0xff, 0xff]) && (count == 2 || self.chain.blocks.last().is_some()) {
            return self.after_end_mark(at);
        }
        match Marker::parse(head) {
            Some(marker) if marker.is_closed() => self.closed(at, marker),
            Some(marker) if marker.is_open() => self.open(at, marker),
            Some(_) => self.damaged(at, "a block marker that contradicts itself"),
            None if count < MARKER && b"\x00\x12".starts_with(head.get(..2).unwrap_or(head)) => {
                self.lose(LossKind::Truncated, at, self.size, "the log ends inside a block marker");
                Ok(self.size)
            }
            None => self.damaged(at, "no block marker where one belongs"),
        }
    }

    fn after_end_mark(&mut self, at: u64) -> io::Result<u64> {
        self.chain.ended = true;
        let after = at + 2;
        if after >= self.size {
            return Ok(self.size);
        }
        match self.search(after, self.size)? {
            Some(next) => {
                self.chain.ended = false;
                self.lose(LossKind::Damaged, after, next, "no block marker after an end-of-data mark");
                Ok(next)
            }
            None => Ok(self.size),
        }
    }

    fn closed(&mut self, at: u64, marker: Marker) -> io::Result<u64> {
        let end = at + u64::from(marker.size);
        if end > self.size {
            let plausible = u64::from(marker.size) <= BLOCK_MAX;
            if let Some(next) = self.search(at + MARKER as u64, self.size)? {
                self.lose(LossKind::Damaged, at, at + MARKER as u64, "a block's size reaches over the next block");
                return Ok(self.add(at, next, BlockEnd::Open, marker));
            }
            let missing = u32::try_from(end - self.size).unwrap_or(u32::MAX);
            if !plausible {
                self.lose(LossKind::Damaged, at, at + MARKER as u64, "a block's size is beyond any block");
            }
            let how = if plausible { BlockEnd::Cut(missing) } else { BlockEnd::Open };
            return Ok(self.add(at, self.size, how, marker));
        }
        if !self.may_follow(end)?
            && let Some(next) = self.search(at + MARKER as u64, end)?
        {
            self.lose(LossKind::Damaged, at, at + MARKER as u64, "a block's size reaches over the next block");
            return Ok(self.add(at, next, BlockEnd::Open, marker));
        }
        Ok(self.add(at, end, BlockEnd::Whole, marker))
    }

    fn open(&mut self, at: u64, marker: Marker) -> io::Result<u64> {
        let next = self.search(at + MARKER as u64, self.size)?;
        if next.is_some() {
            self.lose(LossKind::Damaged, at, at + MARKER as u64, "a block that was never closed");
        }
        Ok(self.add(at, next.unwrap_or(self.size), BlockEnd::Open, marker))
    }

    fn damaged(&mut self, at: u64, what: &str) -> io::Result<u64> {
        let next = self.search(at + 1, self.size)?.unwrap_or(self.size);
        if self.chain.blocks.is_empty() && next == self.size {
            let note = "the log holds events outside any block (GHC 6.12 or 7.0, or another producer): \
                        which capability they belong to is not known; record with GHC 7.2 or later";
            self.lose(LossKind::Damaged, at, next, note);
        } else {
            self.lose(LossKind::Damaged, at, next, what);
        }
        Ok(next)
    }

    /// Whether the bytes at `at` can follow a block.
    fn may_follow(&self, at: u64) -> io::Result<bool> {
        let mut head = [0; MARKER];
        let count = self.source.read_full(&mut head, at)?;
        let head = head.get(..count).unwrap_or_default();
        let cut_marker = count < MARKER && b"\x00\x12".starts_with(head.get(..2).unwrap_or(head));
        Ok(cut_marker || head.starts_with(&[0xff, 0xff]) || sane(head).is_some())
    }

    /// The next sane marker in `[from, to)` that has records after it and is followed by another sane marker
    /// or the end.
    fn search(&self, from: u64, to: u64) -> io::Result<Option<u64>> {
        let mut window = vec![0; 64 << 10];
        let mut at = from;
        while at < to {
            let count = self.source.read_full(&mut window, at)?;
            let bytes = window.get(..count).unwrap_or_default();
            for found in memchr::memmem::find_iter(bytes, b"\x00\x12") {
                let position = at + found as u64;
                if position >= to {
                    return Ok(None);
                }
                if let Some(marker) = bytes.get(found..).and_then(sane)
                    && (marker.size == 0 || self.chains(position, marker)?)
                    && self.holds_records(position, marker)?
                {
                    return Ok(Some(position));
                }
            }
            if count < window.len() {
                return Ok(None);
            }
            at += (count - MARKER + 1) as u64;
        }
        Ok(None)
    }

    fn chains(&self, at: u64, marker: Marker) -> io::Result<bool> {
        let end = at + u64::from(marker.size);
        Ok(end > self.size || self.may_follow(end)?)
    }

    /// Whether records with plausible times follow a marker: bytes of events can look like a marker, and megabytes of
    /// them are searched where a log ends inside a block.
    fn holds_records(&self, at: u64, marker: Marker) -> io::Result<bool> {
        let inside = if marker.size == 0 { u64::MAX } else { u64::from(marker.size) - MARKER as u64 };
        if inside == 0 {
            return Ok(true);
        }
        let mut bytes = vec![0; RECORDS_BYTES.min(inside) as usize];
        let count = self.source.read_full(&mut bytes, at + MARKER as u64)?;
        bytes.truncate(count);
        let last = if marker.size == 0 { marker.time.saturating_add(YEAR_NS) } else { marker.end_time };
        let times = marker.time.saturating_sub(EARLY_NS)..=last.saturating_add(LATE_NS);
        let table = self.table.get_or_init(|| FrameTable::new(self.header, |_| 0));
        let mut next = 0;
        for number in 0..RECORDS {
            match table.frame(&bytes, next, count as u64 == inside) {
                Ok(frame) if times.contains(&frame.time) => next = frame.next,
                Err(NoFrame::Cut | NoFrame::End) => return Ok(number > 0),
                Ok(_) | Err(NoFrame::Undeclared(_)) => return Ok(false),
            }
        }
        Ok(true)
    }

    fn add(&mut self, offset: u64, end: u64, how: BlockEnd, marker: Marker) -> u64 {
        // A block of 4 GiB or more can only come from a damaged size.
        let len = u32::try_from(end - offset).unwrap_or(u32::MAX);
        let Marker { time: t_open, end_time: t_end, cap, .. } = marker;
        for loss in self.chain.losses.iter_mut().filter(|loss| loss.kind == LossKind::Damaged && loss.to.is_none()) {
            loss.to = Some(t_end.max(t_open));
        }
        Arc::make_mut(&mut self.chain.blocks).push(Block { cap, source: 0, end: how, t_open, t_end, offset, len });
        offset + u64::from(len)
    }

    fn lose(&mut self, kind: LossKind, from: u64, to: u64, what: &str) {
        let note = format!("{what}: bytes {from} to {to} of the log");
        let since = self.chain.blocks.last().map(|block| block.t_open);
        let count = if kind == LossKind::Truncated { 0 } else { to - from };
        self.chain.losses.push(RawLoss { kind, count, from: since, to: None, note });
    }
}

/// A marker that can be believed without knowing what precedes it.
fn sane(bytes: &[u8]) -> Option<Marker> {
    const CENTURY_NS: u64 = 3_200_000_000_000_000_000;
    let marker = Marker::parse(bytes)?;
    let closed = marker.is_closed() && u64::from(marker.size) <= BLOCK_MAX && marker.end_time < CENTURY_NS;
    (closed || marker.is_open() && marker.time < CENTURY_NS).then_some(marker)
}

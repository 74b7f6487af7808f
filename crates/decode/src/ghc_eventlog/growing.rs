//! Reads a log while it grows: turns what its program has just written, or has only in memory, into events. Owns
//! joining pieces of blocks, from the file and from memory, and cutting them between records; refuses to keep events
//! that were delivered.
//!
//! Memory: the part of each block after its last whole record, and what was added since the last [`Growing::events`].

use super::error::EventlogError;
use super::eventlog::{Eventlog, UnflushedBlock, read_header};
use super::frame::{FrameTable, NoFrame};
use super::header::Header;
use super::index::{Block, BlockEnd, Chain, MARKER, Marker};
use super::info::Info;
use super::tags;
use crate::log::{GrowingLog, LogFacts, Piece};
use crate::source::ReadAt;
use rtscope_model::{Classes, ClockMap, Event, LogTime, Loss, LossKind};
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

/// The last bytes copied from memory may not have been written yet.
const UNSETTLED: usize = 8;
/// Limit of a buffer; the runtime's have 2 MiB.
const BUFFER_MAX: u64 = 16 << 20;

/// State of a capability's block.
#[derive(Debug, Default)]
struct GrowingLane {
    opened: u64,
    /// Bytes already delivered, from the block's start; always between two records.
    given: u64,
    /// Bytes that follow them.
    bytes: Vec<u8>,
    /// How many of these have been written for certain.
    settled: usize,
    /// The block was read to its end.
    whole: bool,
    /// Stamp of the last record delivered.
    last: u64,
    /// Records are missing before the next one.
    gap: bool,
}

/// Bytes at the beginning of a log that are searched for what the program is.
const FRONT_BYTES: u64 = 4 << 20;

/// A log that is read while its program writes it.
pub struct Growing {
    info: Info,
    head: Arc<dyn ReadAt>,
    header: Header,
    table: FrameTable,
    name: String,
    /// Blocks of the file, as far as the walk has gone.
    chain: Chain,
    size: u64,
    /// Number of blocks of `chain` that have been processed.
    taken: usize,
    lanes: BTreeMap<u16, GrowingLane>,
    /// Whole records of blocks that have not been delivered yet.
    ready: Vec<UnflushedBlock>,
    losses: Vec<(u16, u64, u64)>,
}

impl Growing {
    /// Opens the log `log` at its end: what it already holds is not delivered. `name` appears in losses.
    ///
    /// # Errors
    /// Errors of [`Eventlog::open`] for its header.
    pub fn open(log: Arc<dyn ReadAt>, name: impl Into<String>) -> Result<Growing, EventlogError> {
        let mut growing = Growing::from_start(Arc::clone(&log), name)?;
        growing
            .skip_to_end(log.as_ref())
            .map_err(|source| EventlogError::Io { position: growing.chain.resume, source })?;
        Ok(growing)
    }

    /// Opens the log `log` at its first event. `name` appears in losses.
    ///
    /// # Errors
    /// Errors of [`Eventlog::open`] for its header.
    pub fn from_start(log: Arc<dyn ReadAt>, name: impl Into<String>) -> Result<Growing, EventlogError> {
        let header = read_header(log.as_ref())?;
        let mut head = vec![0; usize::try_from(header.data_offset()).unwrap_or(0)];
        let count = log.read_full(&mut head, 0).map_err(|source| EventlogError::Io { position: 0, source })?;
        head.truncate(count);
        let table = FrameTable::new(&header, |_| 0);
        let mut chain = Chain::from(header.data_offset());
        let size = log.size().and_then(|size| chain.extend(log.as_ref(), &header).map(|()| size));
        let size = size.map_err(|source| EventlogError::Io { position: chain.resume, source })?;
        let front = chain.blocks.partition_point(|block| block.offset < FRONT_BYTES);
        let (info, _) = Info::scan(&header, &chain.blocks[..front], &[log], |_| {});
        Ok(Growing {
            info,
            head: Arc::new(head),
            header,
            table,
            name: name.into(),
            chain,
            size,
            taken: 0,
            lanes: BTreeMap::new(),
            ready: Vec::new(),
            losses: Vec::new(),
        })
    }

    /// Continues the walk over the file; returns the next block that was not processed completely.
    fn next_block(&mut self, log: &dyn ReadAt) -> io::Result<Option<Block>> {
        let size = log.size()?;
        if size != self.size {
            self.chain.extend(log, &self.header)?;
            self.size = size;
        }
        Ok(self.chain.blocks.get(self.taken).copied())
    }

    /// Whether the walk has passed the next block, which is then finished.
    fn step(&mut self) -> bool {
        let settled = self.taken < self.chain.settled();
        self.taken += usize::from(settled);
        if self.taken == self.chain.settled() {
            self.taken = self.chain.forget();
        }
        settled
    }

    /// Adds the part of a block of the file that was not seen in memory before.
    fn block(&mut self, log: &dyn ReadAt, block: Block) -> io::Result<usize> {
        let (there, whole) = (u64::from(block.len), block.end == BlockEnd::Whole);
        // Its successor has already been seen.
        if self.lanes.get(&block.cap).is_some_and(|lane| lane.opened > block.t_open) {
            return Ok(0);
        }
        let had = self.had(block.cap, block.t_open);
        let from = had.saturating_sub(UNSETTLED as u64);
        if there < had && !whole {
            return Ok(0);
        }
        let mut bytes = vec![0; there.saturating_sub(from) as usize];
        let count = log.read_full(&mut bytes, block.offset + from)?;
        bytes.truncate(count);
        self.add(Piece { lane: block.cap, opened: block.t_open, from, bytes: &bytes });
        if let Some(lane) = self.lanes.get_mut(&block.cap) {
            // The content of the file no longer changes.
            (lane.settled, lane.whole) = (lane.bytes.len(), whole);
        }
        Ok(count)
    }
}

impl GrowingLog for Growing {
    /// Reads a block without its end as far as it goes: the last bytes may stay in the C library's buffer for long.
    fn read(&mut self, log: &dyn ReadAt, most: usize) -> io::Result<bool> {
        let mut taken = 0;
        while let Some(block) = self.next_block(log)? {
            if taken >= most {
                return Ok(true);
            }
            taken += self.block(log, block)?;
            if !self.step() {
                break;
            }
        }
        Ok(false)
    }

    fn skip_to_end(&mut self, log: &dyn ReadAt) -> io::Result<()> {
        while let Some(block) = self.next_block(log)?
            && self.step()
        {
            let lane = self.lanes.entry(block.cap).or_default();
            if block.t_open >= lane.opened {
                (lane.opened, lane.given, lane.whole) = (block.t_open, u64::from(block.len), true);
                lane.bytes.clear();
                lane.settled = 0;
            }
        }
        Ok(())
    }

    /// A buffer's marker and the events after it. A buffer that is just being restarted is left for later.
    fn read_copy(&mut self, cap: u16, copy: &dyn ReadAt) -> io::Result<()> {
        let mut head = [0; MARKER];
        let count = copy.read_full(&mut head, 0)?;
        let Some(marker) = head.get(..count).and_then(Marker::parse).filter(|marker| marker.size == 0) else {
            return Ok(());
        };
        let from = self.had(cap, marker.time).saturating_sub(UNSETTLED as u64);
        let size = copy.size()?.min(BUFFER_MAX);
        let mut bytes = vec![0; usize::try_from(size.saturating_sub(from)).unwrap_or(0)];
        let count = copy.read_full(&mut bytes, from)?;
        bytes.truncate(count);
        if from + count as u64 >= self.had(cap, marker.time) {
            self.add(Piece { lane: cap, opened: marker.time, from, bytes: &bytes });
        }
        Ok(())
    }

    fn had(&self, cap: u16, opened: u64) -> u64 {
        let lane = self.lanes.get(&cap).filter(|lane| lane.opened == opened);
        lane.map_or(0, |lane| lane.given + lane.bytes.len() as u64)
    }

    /// The last bytes of the piece count once the next piece, which may be empty, has come.
    fn add(&mut self, piece: Piece<'_>) {
        let lane = self.lanes.entry(piece.lane).or_default();
        if piece.opened < lane.opened || (piece.opened == lane.opened && lane.whole) {
            return;
        }
        if piece.opened != lane.opened {
            // The block before had more than its whole records, and that was not seen.
            self.ready.extend(lane.take(piece.lane, &self.table, &mut self.losses));
            lane.gap |= lane.opened != 0 && !(lane.whole && lane.bytes.is_empty());
            lane.bytes.clear();
            (lane.opened, lane.given, lane.settled, lane.whole) = (piece.opened, 0, 0, false);
        }
        let Some(at) = piece.from.checked_sub(lane.given).map(|at| at as usize) else {
            // It begins in the part already delivered.
            let skip = (lane.given - piece.from) as usize;
            let Some(rest) = piece.bytes.get(skip..) else { return };
            return self.add(Piece { from: piece.from + skip as u64, bytes: rest, ..piece });
        };
        if at > lane.bytes.len() {
            // A part in between is missing: from here on nothing can be framed.
            lane.gap = true;
            return;
        }
        lane.settled = lane.bytes.len();
        lane.bytes.truncate(at);
        lane.bytes.extend_from_slice(piece.bytes);
        lane.settled = lane.settled.min(lane.bytes.len());
    }

    fn events(&mut self, classes: Classes, clock: ClockMap) -> Vec<Event> {
        let mut blocks = std::mem::take(&mut self.ready);
        for (cap, lane) in &mut self.lanes {
            blocks.extend(lane.take(*cap, &self.table, &mut self.losses));
        }
        if blocks.is_empty() {
            return Vec::new();
        }
        match Eventlog::open(Arc::clone(&self.head), blocks) {
            Ok(log) => {
                if self.info.rts_identifier.is_none() {
                    self.info = log.info().clone();
                }
                log.stream(classes, clock, 1).collect()
            }
            Err(_) => Vec::new(),
        }
    }

    fn take_losses(&mut self, clock: ClockMap) -> Vec<Loss> {
        let at = |stamp| Some(clock.convert(LogTime(stamp)));
        let loss = |(cap, from, to): (u16, u64, u64)| {
            let note = format!("capability {cap}: its buffer was written out before it could be copied");
            let loss = Loss::new(&self.name, LossKind::Unwritten, to.saturating_sub(from), note);
            Loss { from: at(from), to: at(to), ..loss }
        };
        std::mem::take(&mut self.losses).into_iter().map(loss).collect()
    }

    fn facts(&self) -> LogFacts {
        self.info.facts()
    }

    fn realtime(&self) -> Option<(LogTime, u64)> {
        self.info.wall_clock.map(|pair| (pair.log, pair.realtime_ns))
    }

    fn identifies_runtime(&self) -> bool {
        self.info.rts_identifier.is_some()
    }
}

impl GrowingLane {
    /// Takes whole records that are settled, with a new marker before them; `losses` gets what is missing before them.
    fn take(&mut self, cap: u16, table: &FrameTable, losses: &mut Vec<(u16, u64, u64)>) -> Option<UnflushedBlock> {
        if self.given == 0 {
            // The block's own marker.
            let head = self.bytes.get(..MARKER).filter(|_| self.settled >= MARKER)?;
            Marker::parse(head)?;
            self.drop_front(MARKER);
        }
        let (mut at, mut first, mut last) = (0, None, 0);
        let settled = self.settled;
        let stop = loop {
            match table.frame(&self.bytes, at, false) {
                Ok(frame) if frame.next <= settled => {
                    first.get_or_insert(frame.time);
                    last = last.max(frame.time);
                    at = frame.next;
                }
                Ok(_) => break NoFrame::Cut,
                Err(stop) => break stop,
            }
        };
        let mut bytes = Vec::with_capacity(MARKER + at);
        bytes.extend(tags::BLOCK_MARKER.to_be_bytes());
        bytes.extend(self.opened.to_be_bytes());
        bytes.extend([0; 12]);
        bytes.extend(cap.to_be_bytes());
        bytes.extend_from_slice(self.bytes.get(..at).unwrap_or_default());
        self.drop_front(at);
        if std::mem::take(&mut self.gap) {
            match first {
                Some(first) if self.last != 0 => losses.push((cap, self.last, first)),
                Some(_) => {}
                None => self.gap = true,
            }
        }
        self.last = self.last.max(last);
        if stop != NoFrame::Cut && !self.bytes.is_empty() {
            // Nothing can be framed from here on; reading continues with the next block.
            self.drop_front(self.bytes.len());
            self.gap = true;
        }
        first.map(|_| UnflushedBlock { cap, time: self.opened, bytes: Arc::new(bytes) })
    }

    fn drop_front(&mut self, count: usize) {
        self.bytes.drain(..count.min(self.bytes.len()));
        self.given += count as u64;
        self.settled = self.settled.saturating_sub(count);
    }
}

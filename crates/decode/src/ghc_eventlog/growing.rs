//! A log that grows while it is read: what its program has just written, or has only in its
//! memory, to events. Owns joining pieces of blocks, from the file and from
//! memory, and cutting them between records; refuses to keep what was given out.
//!
//! Memory: what a block has beyond its last whole record, and what was added since the
//! last [`Growing::events`].

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

/// The last bytes of what is copied from memory may not have been written yet.
const UNSETTLED: usize = 8;
/// Larger buffers are none: the runtime's have 2 MiB.
const BUFFER_MAX: u64 = 16 << 20;

/// What is known of a capability's block.
#[derive(Debug, Default)]
struct Lane {
    opened: u64,
    /// Given out, from the block's start; always between two records.
    given: u64,
    /// From there on.
    bytes: Vec<u8>,
    /// Of these, written for sure.
    settled: usize,
    /// The block was seen to its end.
    whole: bool,
    /// Stamp of the last record given out.
    last: u64,
    /// Records are missing before the next one.
    gap: bool,
}

/// The beginning of a log, which says what the program is, has so many bytes.
const FRONT_BYTES: u64 = 4 << 20;

/// See the module.
pub struct Growing {
    info: Info,
    head: Arc<dyn ReadAt>,
    header: Header,
    table: FrameTable,
    name: String,
    /// Blocks of the file, as far as it was walked through.
    chain: Chain,
    size: u64,
    /// Of these, taken in.
    taken: usize,
    lanes: BTreeMap<u16, Lane>,
    /// Whole records of blocks, not given out yet.
    ready: Vec<UnflushedBlock>,
    losses: Vec<(u16, u64, u64)>,
}

impl Growing {
    /// The log whose file is `log`, from its end on: what stands there is not given out.
    /// `name` is what losses are of.
    ///
    /// # Errors
    /// What [`Eventlog::open`] says of its header.
    pub fn open(log: Arc<dyn ReadAt>, name: impl Into<String>) -> Result<Growing, EventlogError> {
        let mut growing = Growing::from_start(Arc::clone(&log), name)?;
        growing
            .skip_to_end(log.as_ref())
            .map_err(|source| EventlogError::Io { position: growing.chain.resume, source })?;
        Ok(growing)
    }

    /// The same from its first event on.
    ///
    /// # Errors
    /// What [`Eventlog::open`] says of its header.
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

    /// Walks through what the file has got; gives its next block that was not taken in whole.
    fn next_block(&mut self, log: &dyn ReadAt) -> io::Result<Option<Block>> {
        let size = log.size()?;
        if size != self.size {
            self.chain.extend(log, &self.header)?;
            self.size = size;
        }
        Ok(self.chain.blocks.get(self.taken).copied())
    }

    /// Whether the walk has gone beyond the block that stands next: it is done with.
    fn step(&mut self) -> bool {
        let settled = self.taken < self.chain.settled();
        self.taken += usize::from(settled);
        if self.taken == self.chain.settled() {
            self.taken = self.chain.forget();
        }
        settled
    }

    /// Takes in what is there of a block of the file and was not seen in memory before.
    fn block(&mut self, log: &dyn ReadAt, block: Block) -> io::Result<usize> {
        let (there, whole) = (u64::from(block.len), block.end == BlockEnd::Whole);
        // Its successor was seen already.
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
            // What stands in the file does not change any more.
            (lane.settled, lane.whole) = (lane.bytes.len(), whole);
        }
        Ok(count)
    }
}

impl GrowingLog for Growing {
    /// Of a block whose end is not there yet, what there is: the last bytes may stay in the C
    /// library's buffer for long.
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

    /// A buffer's marker and the events after it. One that is just being made anew is left for later.
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

    /// Its last bytes count once the next piece, which may be empty, has come.
    fn add(&mut self, piece: Piece<'_>) {
        let lane = self.lanes.entry(piece.lane).or_default();
        if piece.opened < lane.opened || (piece.opened == lane.opened && lane.whole) {
            return;
        }
        if piece.opened != lane.opened {
            // What the block before had beyond its whole records was not seen.
            self.ready.extend(lane.take(piece.lane, &self.table, &mut self.losses));
            lane.gap |= lane.opened != 0 && !(lane.whole && lane.bytes.is_empty());
            lane.bytes.clear();
            (lane.opened, lane.given, lane.settled, lane.whole) = (piece.opened, 0, 0, false);
        }
        let Some(at) = piece.from.checked_sub(lane.given).map(|at| at as usize) else {
            // It begins in what was given out.
            let skip = (lane.given - piece.from) as usize;
            let Some(rest) = piece.bytes.get(skip..) else { return };
            return self.add(Piece { from: piece.from + skip as u64, bytes: rest, ..piece });
        };
        if at > lane.bytes.len() {
            // Something between is missing: from here on nothing can be framed.
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

    fn tells(&self) -> bool {
        self.info.rts_identifier.is_some()
    }
}

impl Lane {
    /// Takes whole records that are settled, after a marker of their own; `losses` hears what
    /// is missing before them.
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
            // Nothing can be framed from here on: the next block will do.
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

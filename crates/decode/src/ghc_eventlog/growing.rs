//! A log that grows while it is read: what its program has just written, or has only in its
//! memory, to events. Owns putting pieces of blocks behind each other, from the file and from
//! memory, and cutting them between records; refuses to keep what was given out.
//!
//! Memory: what a block has beyond its last whole record, and what was added since the
//! last [`Growing::events`].

use super::error::EventlogError;
use super::eventlog::{Eventlog, UnflushedBlock, read_header};
use super::frame::{FrameTable, NoFrame};
use super::index::{MARKER, Marker};
use super::info::Info;
use super::tags;
use crate::source::ReadAt;
use rtscope_model::{Classes, ClockMap, Event, LogTime, Loss, LossKind};
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

/// The last bytes of what is copied from memory may not have been written yet.
const UNSETTLED: usize = 8;
/// Larger blocks are none: the runtime's buffers have 2 MiB.
const BLOCK_MAX: u32 = 16 << 20;
/// Bytes that are skipped at once where no block starts.
const STEP: usize = 64 << 10;

/// A piece of a block, as it is copied from memory.
#[derive(Copy, Clone, Debug)]
pub struct Piece<'a> {
    /// Whose; 65535 for the global buffer.
    pub cap: u16,
    /// Stamp of the block's marker.
    pub opened: u64,
    /// Where the bytes belong, from the block's start.
    pub from: u64,
    /// The bytes.
    pub bytes: &'a [u8],
}

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

/// The beginning of a log, which says what the program is.
struct Front(Arc<dyn ReadAt>);

const FRONT_BYTES: u64 = 4 << 20;

impl ReadAt for Front {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let most = usize::try_from(FRONT_BYTES.saturating_sub(offset)).unwrap_or(0).min(buffer.len());
        self.0.read_at(buffer.get_mut(..most).unwrap_or_default(), offset)
    }

    fn size(&self) -> io::Result<u64> {
        self.0.size().map(|size| size.min(FRONT_BYTES))
    }
}

/// See the module.
pub struct Growing {
    info: Info,
    head: Arc<dyn ReadAt>,
    table: FrameTable,
    name: String,
    /// Where the next block of the file starts.
    at: u64,
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
        growing.skip_to_end(log.as_ref()).map_err(|source| EventlogError::Io { position: growing.at, source })?;
        Ok(growing)
    }

    /// The same from its first event on.
    ///
    /// # Errors
    /// What [`Eventlog::open`] says of its header.
    pub fn from_start(log: Arc<dyn ReadAt>, name: impl Into<String>) -> Result<Growing, EventlogError> {
        let header = read_header(log.as_ref())?;
        let front = Eventlog::open(Arc::new(Front(Arc::clone(&log))), Vec::new());
        let info = front.map(|front| front.info().clone()).unwrap_or_default();
        let mut head = vec![0; usize::try_from(header.data_offset()).unwrap_or(0)];
        let count = log.read_full(&mut head, 0).map_err(|source| EventlogError::Io { position: 0, source })?;
        head.truncate(count);
        let table = FrameTable::new(&header, |_| 0);
        let at = header.data_offset();
        let (head, name) = (Arc::new(head), name.into());
        Ok(Growing { info, head, table, name, at, lanes: BTreeMap::new(), ready: Vec::new(), losses: Vec::new() })
    }

    /// Leaves out what the file has and was not read.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn skip_to_end(&mut self, log: &dyn ReadAt) -> io::Result<()> {
        while self.skip(log)? {}
        Ok(())
    }

    /// Steps over a whole block; false where none stands.
    fn skip(&mut self, log: &dyn ReadAt) -> io::Result<bool> {
        let Some((marker, size)) = self.marker(log)? else { return Ok(false) };
        let end = self.at + u64::from(size);
        if end > log.size()? {
            return Ok(false);
        }
        self.at = end;
        let lane = self.lanes.entry(marker.cap).or_default();
        if marker.time >= lane.opened {
            (lane.opened, lane.given, lane.whole) = (marker.time, u64::from(size), true);
            lane.bytes.clear();
            lane.settled = 0;
        }
        Ok(true)
    }

    /// The marker of the block that stands next, and its size.
    fn marker(&self, log: &dyn ReadAt) -> io::Result<Option<(Marker, u32)>> {
        let mut head = [0; MARKER];
        let count = log.read_full(&mut head, self.at)?;
        let marker = head.get(..count).and_then(Marker::parse).filter(Marker::is_closed);
        Ok(marker.map(|marker| (marker, marker.size)).filter(|(_, size)| *size <= BLOCK_MAX))
    }

    /// Takes in what was written to the file since, up to about `most` bytes. Gives whether
    /// there is more. Of a block whose end is not there yet, what there is: the last bytes may
    /// stay in the C library's buffer for long.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read(&mut self, log: &dyn ReadAt, most: usize) -> io::Result<bool> {
        let mut taken = 0;
        let size = log.size()?;
        while self.at < size {
            if taken >= most {
                return Ok(true);
            }
            let Some((marker, length)) = self.marker(log)? else {
                if !self.find_block(log, size)? {
                    return Ok(false);
                }
                continue;
            };
            let there = u64::from(length).min(size - self.at);
            let whole = there == u64::from(length);
            taken += self.block(log, marker, there, whole)?;
            if !whole {
                return Ok(false);
            }
            self.at += there;
        }
        Ok(false)
    }

    /// Goes to the next block behind what is none; false where its start is not there yet.
    fn find_block(&mut self, log: &dyn ReadAt, size: u64) -> io::Result<bool> {
        let mut bytes = vec![0; STEP];
        let count = log.read_full(&mut bytes, self.at)?;
        bytes.truncate(count);
        let starts = bytes
            .windows(MARKER)
            .position(|head| Marker::parse(head).is_some_and(|marker| marker.is_closed() && marker.size <= BLOCK_MAX));
        self.at += match starts {
            Some(at) => at as u64,
            // The last bytes may be the beginning of one.
            None => (count.saturating_sub(MARKER - 1)) as u64,
        };
        Ok(starts.is_some() || self.at + (MARKER as u64) < size)
    }

    /// Takes in the first `there` bytes of a block of the file: what was not seen in memory before.
    fn block(&mut self, log: &dyn ReadAt, marker: Marker, there: u64, whole: bool) -> io::Result<usize> {
        let had = match self.lanes.get(&marker.cap) {
            Some(lane) if lane.opened == marker.time => lane.given + lane.bytes.len() as u64,
            // Its successor was seen already.
            Some(lane) if lane.opened > marker.time => return Ok(0),
            _ => 0,
        };
        let from = had.saturating_sub(UNSETTLED as u64);
        if there < had && !whole {
            return Ok(0);
        }
        let mut bytes = vec![0; there.saturating_sub(from) as usize];
        let count = log.read_full(&mut bytes, self.at + from)?;
        bytes.truncate(count);
        self.add(Piece { cap: marker.cap, opened: marker.time, from, bytes: &bytes });
        if let Some(lane) = self.lanes.get_mut(&marker.cap) {
            // What stands in the file does not change any more.
            (lane.settled, lane.whole) = (lane.bytes.len(), whole);
        }
        Ok(count)
    }

    /// Takes in what is new in a copy of a capability's buffer that somebody else makes: its
    /// marker and the events behind it. One that is just being made anew is left for later.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn read_copy(&mut self, cap: u16, copy: &dyn ReadAt) -> io::Result<()> {
        let mut head = [0; MARKER];
        let count = copy.read_full(&mut head, 0)?;
        let Some(marker) = head.get(..count).and_then(Marker::parse).filter(|marker| marker.size == 0) else {
            return Ok(());
        };
        let from = self.had(cap, marker.time).saturating_sub(UNSETTLED as u64);
        let size = copy.size()?.min(u64::from(BLOCK_MAX));
        let mut bytes = vec![0; usize::try_from(size.saturating_sub(from)).unwrap_or(0)];
        let count = copy.read_full(&mut bytes, from)?;
        bytes.truncate(count);
        if from + count as u64 >= self.had(cap, marker.time) {
            self.add(Piece { cap, opened: marker.time, from, bytes: &bytes });
        }
        Ok(())
    }

    /// How many bytes of a block are there already.
    pub fn had(&self, cap: u16, opened: u64) -> u64 {
        let lane = self.lanes.get(&cap).filter(|lane| lane.opened == opened);
        lane.map_or(0, |lane| lane.given + lane.bytes.len() as u64)
    }

    /// Takes in a piece of a block. What it repeats replaces what was there. Its last bytes
    /// count once the next piece, which may be empty, has come.
    pub fn add(&mut self, piece: Piece<'_>) {
        let lane = self.lanes.entry(piece.cap).or_default();
        if piece.opened < lane.opened || (piece.opened == lane.opened && lane.whole) {
            return;
        }
        if piece.opened != lane.opened {
            // What the block before had beyond its whole records was not seen.
            self.ready.extend(lane.take(piece.cap, &self.table, &mut self.losses));
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

    /// The events of `classes` in what is whole of what was taken in, in time order, on the
    /// trace clock. They are given out once.
    pub fn events(&mut self, classes: Classes, clock: ClockMap) -> Vec<Event> {
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

    /// What was missing since the last call, on the trace clock.
    pub fn take_losses(&mut self, clock: ClockMap) -> Vec<Loss> {
        let at = |stamp| Some(clock.convert(LogTime(stamp)));
        let loss = |(cap, from, to): (u16, u64, u64)| Loss {
            source: self.name.clone(),
            kind: LossKind::Unwritten,
            count: to.saturating_sub(from),
            from: at(from),
            to: at(to),
            note: format!("capability {cap}: its buffer was written out before it could be copied"),
        };
        std::mem::take(&mut self.losses).into_iter().map(loss).collect()
    }

    /// What the log says about the program, as far as its beginning was seen.
    pub fn info(&self) -> &Info {
        &self.info
    }
}

impl Lane {
    /// Takes whole records that are settled, behind a marker of their own; `losses` hears what
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

//! Framing: where records begin and end, by the sizes in the log's header. The same code serves windows of a file and
//! a pipe; it reads nothing itself.

use super::header::{Header, Size};
use super::record::Record;
use super::tags::{END_OF_DATA, IPE};
use rtscope_model::LogTime;

/// Size of tag and time stamp.
pub(super) const RECORD_HEAD: usize = 10;
/// Longest IPE record that is accepted: its length field wraps at 64 KiB.
pub(super) const IPE_MAX: usize = 1 << 20;

const SIZE: u32 = 0x7fff;
const IS_VARIABLE: u32 = 0x8000;
const IS_IPE: u32 = 0x1_0000;
const IS_DECLARED: u32 = 0x2_0000;
const ACTION_SHIFT: u32 = 24;

/// Sizes of a header packed for one look-up per record, with an action number per tag that the caller chooses.
#[derive(Clone, Debug)]
pub(super) struct FrameTable(Box<[u32; 1 << 16]>);

impl FrameTable {
    /// The table of `header`; `action` chooses the action number of a tag.
    pub(super) fn new(header: &Header, action: impl Fn(u16) -> u8) -> FrameTable {
        let zeroes = vec![0u32; 1 << 16].into_boxed_slice();
        let mut table = zeroes.try_into().map_or_else(|_| FrameTable(Box::new([0; 1 << 16])), FrameTable);
        for event in header.types() {
            let mut entry = IS_DECLARED | u32::from(action(event.tag)) << ACTION_SHIFT;
            match event.size {
                Size::Fixed(size) => entry |= u32::from(size) & SIZE,
                Size::Variable if event.tag == IPE => entry |= IS_VARIABLE | IS_IPE,
                Size::Variable => entry |= IS_VARIABLE,
            }
            table.0[usize::from(event.tag)] = entry;
        }
        table
    }

    fn entry(&self, tag: u16) -> u32 {
        self.0[usize::from(tag)]
    }

    pub(super) fn declares(&self, tag: u16) -> bool {
        self.entry(tag) & IS_DECLARED != 0
    }
}

/// One framed record.
#[derive(Copy, Clone, Debug)]
pub(super) struct Frame {
    pub(super) tag: u16,
    pub(super) time: u64,
    pub(super) action: u8,
    /// The payload is `[body, next)`.
    pub(super) body: usize,
    pub(super) next: usize,
}

/// Why there is no frame at this position.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub(super) enum NoFrame {
    /// The bytes end inside the record, or at its start.
    Cut,
    /// The end-of-data mark.
    End,
    /// The header does not declare this tag.
    Undeclared(u16),
}

impl FrameTable {
    /// Frames the record at `at`. `whole`: `bytes` is complete, nothing follows it.
    #[inline(always)]
    pub(super) fn frame(&self, bytes: &[u8], at: usize, whole: bool) -> Result<Frame, NoFrame> {
        let Some(head) = bytes.get(at..).and_then(|rest| rest.first_chunk::<RECORD_HEAD>()) else {
            return Err(self.no_head(bytes, at));
        };
        let tag = u16::from_be_bytes([head[0], head[1]]);
        let time = u64::from_be_bytes([head[2], head[3], head[4], head[5], head[6], head[7], head[8], head[9]]);
        let entry = self.entry(tag);
        let mut body = at + RECORD_HEAD;
        let mut size = (entry & SIZE) as usize;
        if entry & IS_VARIABLE != 0 {
            let Some(length) = bytes.get(body..).and_then(|rest| rest.first_chunk::<2>()) else {
                return Err(NoFrame::Cut);
            };
            size = usize::from(u16::from_be_bytes(*length));
            body += 2;
            if entry & IS_IPE != 0 {
                size = self.ipe_size(bytes, body, size, time, whole)?;
            }
        } else if entry == 0 {
            return Err(if tag == END_OF_DATA { NoFrame::End } else { NoFrame::Undeclared(tag) });
        }
        let next = body + size;
        if next > bytes.len() {
            return Err(NoFrame::Cut);
        }
        Ok(Frame { tag, time, action: (entry >> ACTION_SHIFT) as u8, body, next })
    }

    #[cold]
    fn no_head(&self, bytes: &[u8], at: usize) -> NoFrame {
        match bytes.get(at..).and_then(|rest| rest.first_chunk::<2>()).map(|tag| u16::from_be_bytes(*tag)) {
            Some(END_OF_DATA) => NoFrame::End,
            Some(tag) if !self.declares(tag) => NoFrame::Undeclared(tag),
            _ => NoFrame::Cut,
        }
    }

    /// The payload size of an IPE record. The runtimes of 9.6 to 9.10 write a length that is one too large, others
    /// the right one, and above 64 KiB it wraps. So the six texts are parsed, and where their end and the written one
    /// differ, the one after which the stream continues is used.
    #[cold]
    fn ipe_size(&self, bytes: &[u8], body: usize, written: usize, time: u64, whole: bool) -> Result<usize, NoFrame> {
        let payload = bytes.get(body..).unwrap_or_default();
        let mut parsed = 8;
        for _ in 0..6 {
            match payload.get(parsed..).and_then(|rest| memchr::memchr(0, rest)) {
                Some(end) => parsed += end + 1,
                None if whole || payload.len() > IPE_MAX => return Ok(written),
                None => return Err(NoFrame::Cut),
            }
        }
        if parsed == written {
            return Ok(written);
        }
        let farthest = parsed.max(written) + RECORD_HEAD;
        if payload.len() < farthest && !whole {
            return Err(NoFrame::Cut);
        }
        let continues = |size| self.continues(payload, size, time);
        Ok(if continues(parsed) || !continues(written) { parsed } else { written })
    }

    fn continues(&self, payload: &[u8], at: usize, time: u64) -> bool {
        const HOUR_NS: u64 = 3_600_000_000_000;
        let Some(rest) = payload.get(at..) else { return false };
        let Some(head) = rest.first_chunk::<RECORD_HEAD>() else {
            return rest.is_empty() || matches!(self.no_head(payload, at), NoFrame::End);
        };
        let tag = u16::from_be_bytes([head[0], head[1]]);
        let next = u64::from_be_bytes([head[2], head[3], head[4], head[5], head[6], head[7], head[8], head[9]]);
        tag == END_OF_DATA || self.declares(tag) && next.wrapping_sub(time.saturating_sub(HOUR_NS)) < 24 * HOUR_NS
    }
}

/// The result of [`RecordReader::next`].
#[derive(Debug)]
pub enum Next<'a> {
    Record(LogTime, Record<'a>),
    /// More bytes are needed.
    NeedMore,
    /// The end-of-data mark.
    End,
    /// A tag that the header does not declare: nothing from here on can be sized. Resynchronise at the next block and
    /// start a new reader there.
    Undeclared,
}

/// Reads records from bytes that arrive in pieces.
#[derive(Clone, Debug)]
pub struct RecordReader {
    table: FrameTable,
    bytes: Vec<u8>,
    at: usize,
    whole: bool,
}

impl RecordReader {
    /// A reader for the data section (or any whole blocks) of a log with this header.
    pub fn new(header: &Header) -> RecordReader {
        RecordReader { table: FrameTable::new(header, |_| 0), bytes: Vec::new(), at: 0, whole: false }
    }

    /// Adds bytes. They are held until they are read: at most one record beyond what was pushed.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.at);
        self.at = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// Declares that no more bytes will come.
    pub fn finish(&mut self) {
        self.whole = true;
    }

    /// The next record.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Next<'_> {
        match self.table.frame(&self.bytes, self.at, self.whole) {
            Ok(frame) => {
                self.at = frame.next;
                let payload = self.bytes.get(frame.body..frame.next).unwrap_or_default();
                Next::Record(LogTime(frame.time), Record::decode(frame.tag, payload))
            }
            Err(NoFrame::Cut) => Next::NeedMore,
            Err(NoFrame::End) => Next::End,
            Err(NoFrame::Undeclared(_)) => Next::Undeclared,
        }
    }
}

//! The header: which event types a log may hold and how large they are. The only version information before the data,
//! and the only source of sizes.

use super::error::EventlogError;

const HEADER_BEGIN: u32 = 0x6864_7262;
const TYPES_BEGIN: u32 = 0x6865_7462;
const TYPE_BEGIN: u32 = 0x6574_6200;
const TYPE_END: u32 = 0x6574_6500;
const TYPES_END: u32 = 0x6865_7465;
const HEADER_END: u32 = 0x6864_7265;
const DATA_BEGIN: u32 = 0x6461_7462;

/// Payload size of an event type, as declared by its log.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum Size {
    /// Every event has exactly this many payload bytes.
    Fixed(u16),
    /// Each event carries its own length.
    Variable,
}

/// A declared event type.
#[derive(Clone, Eq, PartialEq, Debug)]
pub struct EventType {
    pub tag: u16,
    pub size: Size,
    /// The log's description of it.
    pub description: String,
}

#[derive(Clone, Eq, PartialEq, Debug)]
pub struct Header {
    types: Vec<EventType>,
    /// Index into `types` plus one, by tag; 0: not declared.
    by_tag: Vec<u16>,
    data_offset: u64,
}

impl Header {
    /// Parses a header from the first bytes of a log, which must contain all of it. After
    /// [`EventlogError::HeaderCut`], more bytes may help.
    pub fn parse(bytes: &[u8]) -> Result<Header, EventlogError> {
        let magic = HEADER_BEGIN.to_be_bytes();
        let start = bytes.get(..magic.len()).unwrap_or(bytes);
        if bytes.is_empty() {
            return Err(EventlogError::Empty);
        }
        if !magic.starts_with(start) {
            return Err(EventlogError::NotAnEventlog);
        }
        let mut cursor = Cursor { bytes, at: 0 };
        cursor.expect(HEADER_BEGIN, "'hdrb'")?;
        cursor.expect(TYPES_BEGIN, "'hetb'")?;
        let mut header = Header { types: Vec::new(), by_tag: vec![0; 1 << 16], data_offset: 0 };
        loop {
            let at = cursor.at;
            match cursor.u32()? {
                TYPE_BEGIN => header.declare(cursor.event_type()?),
                TYPES_END => break,
                _ => return Err(damaged(at, "'etb' or 'hete'")),
            }
        }
        cursor.expect(HEADER_END, "'hdre'")?;
        cursor.expect(DATA_BEGIN, "'datb'")?;
        header.data_offset = cursor.at as u64;
        Ok(header)
    }

    fn declare(&mut self, event: EventType) {
        let index = self.types.len() + 1;
        if let (Some(slot), Ok(index)) = (self.by_tag.get_mut(usize::from(event.tag)), u16::try_from(index)) {
            *slot = index;
            self.types.push(event);
        }
    }

    /// The log's declaration of `tag`; `None`: it has none.
    pub fn declared(&self, tag: u16) -> Option<&EventType> {
        let index = *self.by_tag.get(usize::from(tag))?;
        self.types.get(usize::from(index).checked_sub(1)?)
    }

    /// Every declared type, in the log's order.
    pub fn types(&self) -> &[EventType] {
        &self.types
    }

    /// Where the data section starts, in bytes from the start of the log.
    pub fn data_offset(&self) -> u64 {
        self.data_offset
    }
}

fn damaged(at: usize, expected: &'static str) -> EventlogError {
    EventlogError::HeaderDamaged { position: at as u64, expected }
}

struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], EventlogError> {
        let cut = EventlogError::HeaderCut { position: self.bytes.len() as u64 };
        let end = self.at.checked_add(count);
        let taken = end.and_then(|end| self.bytes.get(self.at..end)).ok_or(cut)?;
        self.at += count;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], EventlogError> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    fn u16(&mut self) -> Result<u16, EventlogError> {
        self.array().map(u16::from_be_bytes)
    }

    fn u32(&mut self) -> Result<u32, EventlogError> {
        self.array().map(u32::from_be_bytes)
    }

    fn expect(&mut self, word: u32, name: &'static str) -> Result<(), EventlogError> {
        let at = self.at;
        if self.u32()? == word { Ok(()) } else { Err(damaged(at, name)) }
    }

    fn event_type(&mut self) -> Result<EventType, EventlogError> {
        let tag = self.u16()?;
        let at = self.at;
        let size = match self.u16()? {
            0xffff => Size::Variable,
            size if size < 0x8000 => Size::Fixed(size),
            _ => return Err(damaged(at, "a size of 0 to 32767, or -1")),
        };
        let description = self.counted()?;
        let description = String::from_utf8_lossy(description).into_owned();
        self.counted()?;
        self.expect(TYPE_END, "'ete'")?;
        Ok(EventType { tag, size, description })
    }

    fn counted(&mut self) -> Result<&'a [u8], EventlogError> {
        let count = self.u32()?;
        self.take(usize::try_from(count).unwrap_or(usize::MAX))
    }
}

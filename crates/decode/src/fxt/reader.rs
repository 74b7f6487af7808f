//! Bytes to records: a state machine that is fed bytes and returns records. Owns framing and the providers' tables;
//! memory is bounded by one record and those tables.

use super::error::FxtError;
use super::record::{self, Record};
use super::tables::Tables;
use super::words::WORD;

/// First word of a trace.
pub const MAGIC: u64 = 0x0016_5478_4604_0010;
/// Limit of providers with their own tables; records of further ones use the first one's.
const PROVIDERS_MAX: usize = 64;
/// Bytes that were read are dropped once there are this many.
const DROP: usize = 256 << 10;

/// Reads records from bytes.
#[derive(Debug)]
pub struct FxtReader {
    buffer: Vec<u8>,
    /// Offset of the next record in `buffer`.
    at: usize,
    /// Offset of `buffer` in the trace.
    base: u64,
    /// Bytes of a large record that are still to come and will be skipped.
    skip: u64,
    started: bool,
    tables: Vec<Tables>,
    current: usize,
    /// Offset in the trace of the last record returned.
    position: u64,
}

impl Default for FxtReader {
    fn default() -> Self {
        FxtReader {
            buffer: Vec::new(),
            at: 0,
            base: 0,
            skip: 0,
            started: false,
            tables: vec![Tables::new(0)],
            current: 0,
            position: 0,
        }
    }
}

impl FxtReader {
    /// Whether a file that begins with `head` is a trace.
    pub fn recognises(head: &[u8]) -> bool {
        head.first_chunk().is_some_and(|word| u64::from_le_bytes(*word) == MAGIC || u64::from_be_bytes(*word) == MAGIC)
    }

    /// Adds the next bytes of the trace.
    pub fn push(&mut self, bytes: &[u8]) {
        let passed = usize::try_from(self.skip).unwrap_or(usize::MAX).min(bytes.len());
        self.skip -= passed as u64;
        if self.at >= DROP || self.at == self.buffer.len() {
            self.buffer.drain(..self.at);
            self.base += self.at as u64;
            self.at = 0;
        }
        if self.buffer.is_empty() {
            self.base += passed as u64;
        }
        self.buffer.extend_from_slice(bytes.get(passed..).unwrap_or_default());
    }

    /// The next record; `None`: more bytes are needed.
    ///
    /// # Errors
    /// [`FxtError`]: nothing from here on can be read. Further calls return the same error.
    pub fn next_record(&mut self) -> Result<Option<Record<'_>>, FxtError> {
        self.position = self.base + self.at as u64;
        let Some(header) = self.left().first_chunk().map(|word| u64::from_le_bytes(*word)) else { return Ok(None) };
        if !self.started {
            match header {
                MAGIC => self.started = true,
                _ if header.swap_bytes() == MAGIC => return Err(FxtError::BigEndian),
                _ => return Err(FxtError::NotATrace),
            }
        }
        let bytes = record::words(header).saturating_mul(WORD as u64);
        if bytes == 0 {
            return Err(FxtError::Stuck { position: self.position });
        }
        let from = self.at;
        let there = self.left().len() as u64;
        if record::is_large(header) {
            let passed = usize::try_from(bytes).unwrap_or(usize::MAX).min(self.left().len());
            self.skip = bytes - passed as u64;
            self.at += passed;
            let head = self.buffer.get(from..from + WORD).unwrap_or_default();
            return Ok(self.tables.get(self.current).map(|tables| record::parse(head, tables)));
        }
        if bytes > there {
            return Ok(None);
        }
        self.at += bytes as usize;
        if let Some(id) = record::provider(header) {
            self.current = self.provider(id);
        }
        let content = self.buffer.get(from..self.at).unwrap_or_default();
        let Some(tables) = self.tables.get_mut(self.current) else { return Ok(None) };
        if !record::register(content, tables) {
            return Ok(Some(Record::Damaged { kind: (header & 15) as u8 }));
        }
        Ok(Some(record::parse(content, tables)))
    }

    /// Offset of the last record returned, in bytes from the start of the trace.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Bytes that are too few for a record, and how many the record lacks: at the end of a trace, the truncated record.
    pub fn rest(&self) -> (u64, u64) {
        let left = self.left();
        let wanted = left.first_chunk().map_or(WORD as u64, |word| record::words(u64::from_le_bytes(*word)) * 8);
        match left.len() as u64 {
            0 => (0, self.skip),
            there => (there, wanted.saturating_sub(there)),
        }
    }

    fn left(&self) -> &[u8] {
        self.buffer.get(self.at..).unwrap_or_default()
    }

    fn provider(&mut self, id: u32) -> usize {
        // Tables without a named provider are the first provider's.
        let unnamed = self.tables.len() == 1 && self.tables.first().is_some_and(|tables| tables.provider == 0);
        if let Some(known) = self.tables.iter().position(|tables| tables.provider == id) {
            return known;
        }
        if unnamed && let Some(first) = self.tables.first_mut() {
            first.provider = id;
            return 0;
        }
        if self.tables.len() >= PROVIDERS_MAX {
            return 0;
        }
        self.tables.push(Tables::new(id));
        self.tables.len() - 1
    }
}

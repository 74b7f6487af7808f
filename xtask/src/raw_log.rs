//! Reads a GHC eventlog in the simplest correct way: the whole file in memory, one event after the other,
//! keeping all of them. It checks rtscope independently, so it must not share code with `decode`, in either
//! direction. Refuses damaged logs.

use anyhow::{Context, Result, bail, ensure};
use std::collections::BTreeMap;

/// Capability of events posted without one.
pub const NO_CAP: u16 = 0xffff;

/// One event.
#[derive(Copy, Clone, Debug)]
pub struct RawEvent<'log> {
    /// Nanoseconds on the log's clock.
    pub time: u64,
    /// Capability of the block that contains it.
    pub cap: u16,
    /// Number of its event type.
    pub tag: u16,
    /// The bytes after time stamp and length.
    pub payload: &'log [u8],
}

/// A whole log.
#[derive(Debug)]
pub struct RawLog<'log> {
    /// Names of event types by number, from the header.
    pub names: BTreeMap<u16, String>,
    /// Every event in file order.
    pub events: Vec<RawEvent<'log>>,
}

const IPE: u16 = 169;
const BLOCK_MARKER: u16 = 18;
const VARIABLE: u16 = 0xffff;
const END: u16 = 0xffff;

struct Bytes<'log> {
    all: &'log [u8],
    at: usize,
}

impl<'log> Bytes<'log> {
    fn take(&mut self, count: usize) -> Result<&'log [u8]> {
        let end = self.at.checked_add(count).context("overflow")?;
        let part = self.all.get(self.at..end).with_context(|| format!("the log ends in an event at {}", self.at))?;
        self.at = end;
        Ok(part)
    }

    fn u16(&mut self) -> Result<u16> {
        Ok(self.take(2)?.iter().fold(0, |sum, byte| sum << 8 | u16::from(*byte)))
    }

    fn u32(&mut self) -> Result<u32> {
        Ok(self.take(4)?.iter().fold(0, |sum, byte| sum << 8 | u32::from(*byte)))
    }

    fn u64(&mut self) -> Result<u64> {
        Ok(self.take(8)?.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
    }

    fn expect(&mut self, word: &[u8; 4]) -> Result<()> {
        let at = self.at;
        ensure!(self.take(4)? == word, "no {} at {at}", String::from_utf8_lossy(word));
        Ok(())
    }

    /// GHC 9.6 and 9.10 write a length that is one too large here: count strings instead.
    fn ipe(&mut self) -> Result<&'log [u8]> {
        let from = self.at;
        self.take(8)?;
        for _ in 0..6 {
            while self.take(1)? != [0] {}
        }
        Ok(&self.all[from..self.at])
    }
}

impl<'log> RawLog<'log> {
    /// Reads the whole of `log`.
    pub fn read(log: &'log [u8]) -> Result<RawLog<'log>> {
        let mut bytes = Bytes { all: log, at: 0 };
        let mut sizes = BTreeMap::new();
        let mut names = BTreeMap::new();
        bytes.expect(b"hdrb")?;
        bytes.expect(b"hetb")?;
        loop {
            match bytes.take(4)? {
                b"hete" => break,
                b"etb\0" => {}
                other => bail!("unknown mark {other:?} in the header at {}", bytes.at),
            }
            let (tag, size) = (bytes.u16()?, bytes.u16()?);
            let length = bytes.u32()? as usize;
            names.insert(tag, String::from_utf8_lossy(bytes.take(length)?).into_owned());
            let length = bytes.u32()? as usize;
            bytes.take(length)?;
            bytes.expect(b"ete\0")?;
            sizes.insert(tag, size);
        }
        bytes.expect(b"hdre")?;
        bytes.expect(b"datb")?;
        let mut events = Vec::new();
        let (mut cap, mut block_end) = (NO_CAP, usize::MAX);
        while bytes.at < log.len() {
            if bytes.at >= block_end {
                cap = NO_CAP;
            }
            let start = bytes.at;
            let tag = bytes.u16()?;
            if tag == END {
                break;
            }
            let time = bytes.u64()?;
            let size = *sizes.get(&tag).with_context(|| format!("type {tag} at {start} is not in the header"))?;
            let size = if size == VARIABLE { bytes.u16()? } else { size };
            let payload = if tag == IPE { bytes.ipe()? } else { bytes.take(usize::from(size))? };
            if tag == BLOCK_MARKER {
                let mut marker = Bytes { all: payload, at: 0 };
                block_end = start.saturating_add(marker.u32()? as usize);
                marker.u64()?;
                cap = marker.u16()?;
            }
            events.push(RawEvent { time, cap, tag, payload });
        }
        Ok(RawLog { names, events })
    }

    /// Number of events of each type.
    pub fn counts(&self) -> BTreeMap<u16, u64> {
        let mut counts = BTreeMap::new();
        for event in &self.events {
            *counts.entry(event.tag).or_default() += 1;
        }
        counts
    }
}

/// The big-endian u16 at offset `at` of a payload.
pub fn u16_at(payload: &[u8], at: usize) -> Option<u16> {
    let mut bytes = Bytes { all: payload, at };
    bytes.u16().ok()
}

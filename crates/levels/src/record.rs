//! Encodes items and ranges, each as differences from the one before in its block. Owns both encodings
//! (`docs/formats/levels.md`); refuses records that contradict themselves.

use crate::bytes::{self, Cursor, Short};
use crate::{Item, LevelsError, Range};

/// Limit of a record in bytes: the size of the buffer that it is written to.
pub const RECORD_MAX: usize = bytes::ROOM;

const KIND: u8 = 0x1f;
const GAP: u8 = 0x20;
const DETAIL: u8 = 0x40;
const MERGED: u8 = 0x80;

const LATER: u8 = 1;
const BELOW: u8 = 2;
const ABOVE: u8 = 4;
const CHANGED: u8 = 8;

/// An element of a block, encoded by differences.
pub trait Record: Copy {
    /// State from the previous record; the default begins a block.
    type Before: Copy + Default;

    /// Appends the record.
    fn encode(&self, before: &mut Self::Before, out: &mut Short<'_>);

    /// Reads the next record.
    fn decode(before: &mut Self::Before, bytes: &mut Cursor<'_>) -> Result<Self, LevelsError>;

    /// Its begin and end.
    fn span(&self) -> (u64, u64);
}

/// The end and the detail of the previous item.
#[derive(Copy, Clone, Default)]
pub struct ItemBefore {
    to: u64,
    detail: u32,
}

impl Record for Item {
    type Before = ItemBefore;

    #[inline]
    fn encode(&self, before: &mut ItemBefore, out: &mut Short<'_>) {
        let length = self.to - self.from;
        let gap = self.from.wrapping_sub(before.to) as i64;
        let merged = self.count != 1 || self.covered_ns != length;
        let kind = if self.kind < u16::from(KIND) { self.kind as u8 } else { KIND };
        let flag = |set: bool, flag: u8| if set { flag } else { 0 };
        out.byte(kind | flag(gap != 0, GAP) | flag(self.detail != 0, DETAIL) | flag(merged, MERGED));
        if kind == KIND {
            out.number(u64::from(self.kind));
        }
        if gap != 0 {
            out.signed(gap);
        }
        out.number(length);
        if self.detail != 0 {
            out.signed(i64::from(self.detail) - i64::from(before.detail));
            before.detail = self.detail;
        }
        if merged {
            out.number(u64::from(self.count));
            out.number(length - self.covered_ns);
        }
        before.to = self.to;
    }

    #[inline]
    fn decode(before: &mut ItemBefore, bytes: &mut Cursor<'_>) -> Result<Item, LevelsError> {
        let flags = bytes.byte()?;
        let kind = if flags & KIND == KIND { bytes.small()? } else { u16::from(flags & KIND) };
        let from = if flags & GAP == 0 { before.to } else { before.to.wrapping_add(bytes.signed()? as u64) };
        let length = bytes.number()?;
        let to = from.checked_add(length).filter(|_| length > 0).ok_or(bytes.damaged("a span has no length"))?;
        if flags & DETAIL != 0 {
            let detail = i64::from(before.detail).checked_add(bytes.signed()?);
            before.detail = detail
                .and_then(|detail| u32::try_from(detail).ok())
                .ok_or(bytes.damaged("a detail is out of range"))?;
        }
        let detail = if flags & DETAIL != 0 { before.detail } else { 0 };
        let (mut count, mut covered_ns) = (1, length);
        if flags & MERGED != 0 {
            count = bytes.small()?;
            let open = bytes.number()?;
            covered_ns = length.checked_sub(open).ok_or(bytes.damaged("an item covers less than nothing"))?;
        }
        before.to = to;
        Ok(Item { from, to, kind, count, covered_ns, detail })
    }

    fn span(&self) -> (u64, u64) {
        (self.from, self.to)
    }
}

/// The end and the last value of the previous range.
#[derive(Copy, Clone, Default)]
pub struct RangeBefore {
    to: u64,
    last: i64,
}

impl Record for Range {
    type Before = RangeBefore;

    fn encode(&self, before: &mut RangeBefore, out: &mut Short<'_>) {
        let flag = |set: bool, flag: u8| if set { flag } else { 0 };
        let (later, changed) = (self.to != self.from, self.last != before.last);
        let (below, above) = (self.min != self.last, self.max != self.last);
        out.byte(flag(later, LATER) | flag(below, BELOW) | flag(above, ABOVE) | flag(changed, CHANGED));
        out.number(self.from.wrapping_sub(before.to));
        if later {
            out.number(self.to - self.from);
        }
        if changed {
            out.signed(self.last.wrapping_sub(before.last));
        }
        if below {
            out.number(self.last.abs_diff(self.min));
        }
        if above {
            out.number(self.max.abs_diff(self.last));
        }
        *before = RangeBefore { to: self.to, last: self.last };
    }

    fn decode(before: &mut RangeBefore, bytes: &mut Cursor<'_>) -> Result<Range, LevelsError> {
        let flags = bytes.byte()?;
        let late = bytes.damaged("a value is out of range");
        let from = before.to.checked_add(bytes.number()?).ok_or(late.clone())?;
        let length = if flags & LATER != 0 { bytes.number()? } else { 0 };
        let to = from.checked_add(length).ok_or(late.clone())?;
        let last = if flags & CHANGED != 0 { before.last.wrapping_add(bytes.signed()?) } else { before.last };
        let below = if flags & BELOW != 0 { bytes.number()? } else { 0 };
        let above = if flags & ABOVE != 0 { bytes.number()? } else { 0 };
        let min = last.checked_sub_unsigned(below).ok_or(late.clone())?;
        let max = last.checked_add_unsigned(above).ok_or(late)?;
        *before = RangeBefore { to, last };
        Ok(Range { from, to, min, max, last })
    }

    fn span(&self) -> (u64, u64) {
        (self.from, self.to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OTHER;

    fn back<R: Record>(records: &[R]) -> Vec<R> {
        let (mut bytes, mut before) = (Vec::new(), R::Before::default());
        for record in records {
            let mut room = [0; RECORD_MAX];
            let mut short = Short::new(&mut room);
            record.encode(&mut before, &mut short);
            let length = short.length();
            bytes.extend_from_slice(&room[..length]);
        }
        let (mut cursor, mut before, mut out) = (Cursor::new(&bytes, 0), R::Before::default(), Vec::new());
        while !cursor.is_empty() {
            out.push(R::decode(&mut before, &mut cursor).unwrap());
        }
        out
    }

    #[test]
    fn items_come_back() {
        let item = |from, to, kind, count, covered_ns, detail| Item { from, to, kind, count, covered_ns, detail };
        let items = [
            item(0, 10, 0, 1, 10, 0),
            item(10, 1000, 30, 1, 990, 7),
            item(1000, 1010, 31, 9, 5, 6),
            item(990, 1011, OTHER, 0, 21, u32::MAX),
            item(1 << 60, u64::MAX, 3, u32::MAX, 1, 1),
        ];
        assert_eq!(back(&items), items);
    }

    #[test]
    fn ranges_come_back() {
        let range = |from, to, min, max, last| Range { from, to, min, max, last };
        let ranges = [
            range(0, 0, 5, 5, 5),
            range(7, 9, -5, 900, 5),
            range(9, 10, i64::MIN, i64::MAX, 0),
            range(u64::MAX, u64::MAX, i64::MIN, i64::MIN, i64::MIN),
        ];
        assert_eq!(back(&ranges), ranges);
    }

    #[test]
    fn an_ordinary_span_takes_a_few_bytes() {
        let (mut room, mut before) = ([0; RECORD_MAX], ItemBefore::default());
        let mut short = Short::new(&mut room);
        for index in 0..10 {
            let (from, to) = (index * 900, index * 900 + 900);
            Item { from, to, kind: 2, count: 1, covered_ns: 900, detail: 0 }.encode(&mut before, &mut short);
        }
        assert_eq!(short.length(), 30);
    }

    #[test]
    fn records_that_contradict_themselves_are_refused() {
        let item = |bytes: &[u8]| Item::decode(&mut ItemBefore::default(), &mut Cursor::new(bytes, 0));
        assert!(item(&[0, 0]).is_err(), "no length");
        assert!(item(&[DETAIL, 1, 1]).is_err(), "detail below 0");
        assert!(item(&[MERGED, 5, 1, 6]).is_err(), "covers less than nothing");
        let range =
            |bytes: &[u8]| Range::decode(&mut RangeBefore { to: u64::MAX, last: 0 }, &mut Cursor::new(bytes, 0));
        assert!(range(&[0, 1]).is_err());
        assert!(range(&[0, 0]).is_ok());
    }
}

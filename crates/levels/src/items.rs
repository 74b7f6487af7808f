//! The elements of levels of detail: spans, values, and their merged forms; the widths of bins and tiles; the errors
//! of reading them. Refuses to merge and to know the encoding.

/// The kind of an item that merges several rare kinds of a bin.
pub const OTHER: u16 = 0xffff;

/// Number of levels: the last has one tile for all of time.
pub const LEVELS: u8 = 23;

/// The first level of spans that is stored in addition to level 0. The levels between are computed from the raw spans
/// of the tile: there are not too many of these, and storing each level would nearly duplicate them.
pub(crate) const FIRST_MERGED: u8 = 3;

/// Number of bins in a tile.
pub(crate) const BINS: u64 = 1 << 10;

/// A span of a track in one state.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct Span {
    /// Start, nanoseconds since the session's start.
    pub from: u64,
    /// End, nanoseconds; an instant (`to == from`) is stored as one nanosecond.
    pub to: u64,
    /// The writer's number for its state.
    pub kind: u16,
    /// The writer's number for a detail; 0: none.
    pub detail: u32,
}

/// A value of a track, which holds until the next one.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct Point {
    /// Start, nanoseconds since the session's start.
    pub at: u64,
    /// The value in the track's unit.
    pub value: i64,
}

/// A span, or several of one kind in one bin.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct Item {
    /// Start of the first span, nanoseconds.
    pub from: u64,
    /// End of the last span, nanoseconds.
    pub to: u64,
    /// Their kind; [`OTHER`]: several kinds.
    pub kind: u16,
    /// Number of spans that begin here; 0: the rest of one that began in the bin before.
    pub count: u32,
    /// Their total length, nanoseconds.
    pub covered_ns: u64,
    /// Detail of the longest span.
    pub detail: u32,
}

impl Item {
    /// The part of [`Item::covered_ns`] in `[from, to)`: exact for whole spans, and for merged ones if `from` and
    /// `to` are bounds of bins.
    pub fn covered_in(&self, from: u64, to: u64) -> u64 {
        let cut = self.to.min(to).saturating_sub(self.from.max(from));
        self.covered_ns.min(cut)
    }
}

/// The values of one bin, or a single one.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct Range {
    /// Time of the first value, nanoseconds.
    pub from: u64,
    /// Time of the last value, nanoseconds.
    pub to: u64,
    /// Smallest value.
    pub min: i64,
    /// Largest value.
    pub max: i64,
    /// Last value, which holds until the next range.
    pub last: i64,
}

/// The content of a track.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum Form {
    /// Spans that do not overlap.
    Spans,
    /// Values that hold until the next one.
    Values,
}

/// Width of a bin of `level`, nanoseconds.
pub const fn bin_ns(level: u8) -> u64 {
    1 << bin_shift(level)
}

/// The tile of `level` that contains `at`.
pub const fn tile_at(level: u8, at: u64) -> u64 {
    match at.checked_shr(tile_shift(level)) {
        Some(tile) => tile,
        None => 0,
    }
}

/// The first level whose tile 0 covers everything before `end`.
pub fn top_level(end: u64) -> u8 {
    (0..LEVELS).find(|level| tile_at(*level, end.saturating_sub(1)) == 0).unwrap_or(LEVELS - 1)
}

pub(crate) const fn bin_shift(level: u8) -> u32 {
    let level = if level < LEVELS { level } else { LEVELS - 1 };
    10 + 2 * level as u32
}

/// 64 on the last level.
pub(crate) const fn tile_shift(level: u8) -> u32 {
    bin_shift(level) + 10
}

/// Why levels cannot be read.
#[derive(Clone, Eq, PartialEq, Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum LevelsError {
    #[error("these are no levels of detail, or of a version that is not known")]
    NotLevels,
    #[error("the levels of detail have no end: writing them was not finished")]
    Unfinished,
    #[error("the levels of detail are damaged at byte {at}: {what}")]
    Damaged { at: u64, what: &'static str },
    #[error("no track {0} of this form")]
    NoTrack(u32),
    #[error("there is no level {0}")]
    NoLevel(u8),
    #[error("the levels of detail cannot be read: {0}")]
    Io(String),
}

/// What was written.
#[derive(Copy, Clone, Eq, PartialEq, Default, Debug)]
pub struct Counts {
    /// Number of spans.
    pub spans: u64,
    /// Number of values.
    pub points: u64,
    /// Number of spans and values that began before the end of their predecessor, and were cut or moved.
    pub clipped: u64,
    /// Number of spans that were dropped: nothing was left of them, or they end before they begin.
    pub dropped: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_and_levels_cover_all_of_time() {
        assert_eq!((bin_ns(0), bin_ns(1), bin_ns(14)), (1 << 10, 1 << 12, 1 << 38));
        assert_eq!((tile_at(0, (1 << 20) - 1), tile_at(0, 1 << 20), tile_at(LEVELS - 1, u64::MAX)), (0, 1, 0));
        assert_eq!([0, 1 << 20, (1 << 20) + 1, 1 << 22, u64::MAX].map(top_level), [0, 0, 1, 1, 22]);
    }

    #[test]
    fn a_cut_item_covers_no_more_than_is_left_of_it() {
        let item = Item { from: 10, to: 30, kind: 1, count: 1, covered_ns: 20, detail: 0 };
        assert_eq!([(0, 40), (20, 40), (0, 12), (30, 50)].map(|(from, to)| item.covered_in(from, to)), [20, 10, 2, 0]);
    }
}

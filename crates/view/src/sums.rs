//! Queries of levels of detail beyond tiles: how an interval was spent, and where a kind or a name took longest. Owns
//! how few tiles these read; refuses to know what kinds mean.

use rtscope_levels::{Item, LevelsError, Range, Reader, bin_ns, tile_at};
use std::collections::BTreeMap;
use std::ops;

/// Bins of a tile, as a power of two.
const BINS: u32 = 10;

/// The spans of a tile; empty for a track without data, and for a level above the last.
pub fn items(levels: &Reader, track: u32, level: u8, tile: u64) -> Result<Vec<Item>, LevelsError> {
    or_none(levels.items(track, level, tile))
}

/// The values of a tile; empty in the same cases as [`items`].
pub fn points(levels: &Reader, track: u32, level: u8, tile: u64) -> Result<Vec<Range>, LevelsError> {
    or_none(levels.points(track, level, tile))
}

fn or_none<T>(found: Result<Vec<T>, LevelsError>) -> Result<Vec<T>, LevelsError> {
    match found {
        Err(LevelsError::NoTrack(_)) => Ok(Vec::new()),
        found => found,
    }
}

/// What an interval holds of one kind.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Default)]
pub struct KindSum {
    /// Nanoseconds within the interval.
    pub ns: u64,
    /// Number of spans that begin in the interval.
    pub count: u64,
}

pub type KindSums = BTreeMap<u16, KindSum>;

/// A sum begins at a level where its interval has at most this many tiles.
const TILES_AT_FIRST: u64 = 4;

/// The sums of a track in an interval by kind, exact as far as kinds were kept separate. Whole bins are taken from a
/// level that has few tiles there, the rest at both ends from finer levels.
pub fn sums(levels: &Reader, track: u32, within: ops::Range<u64>) -> Result<KindSums, LevelsError> {
    let mut sums = KindSums::new();
    let Some(last) = within.end.checked_sub(1).filter(|last| *last >= within.start) else { return Ok(sums) };
    let few = |level: &u8| tile_at(*level, last) - tile_at(*level, within.start) < TILES_AT_FIRST;
    let level = (0..=levels.top()).find(few).unwrap_or(levels.top());
    Adding { levels, track, sums: &mut sums }.add(level, within)?;
    sums.retain(|_, sum| sum.ns > 0 || sum.count > 0);
    Ok(sums)
}

struct Adding<'a> {
    levels: &'a Reader,
    track: u32,
    sums: &'a mut KindSums,
}

impl Adding<'_> {
    fn add(&mut self, level: u8, within: ops::Range<u64>) -> Result<(), LevelsError> {
        if within.is_empty() {
            return Ok(());
        }
        let Some(finer) = level.checked_sub(1) else { return self.add_exactly(0, within) };
        let bin = bin_ns(level);
        let (first, end) = (within.start.div_ceil(bin).saturating_mul(bin), within.end / bin * bin);
        if first >= end {
            return self.add(finer, within);
        }
        self.add_exactly(level, first..end)?;
        self.add(finer, within.start..first)?;
        self.add(finer, end..within.end)
    }

    /// `within` has bounds of bins, or `level` has single spans.
    fn add_exactly(&mut self, level: u8, within: ops::Range<u64>) -> Result<(), LevelsError> {
        for tile in tile_at(level, within.start)..=tile_at(level, within.end - 1) {
            let (begin, end) = bounds(level, tile);
            let (low, high) = (begin.max(within.start), end.min(within.end));
            for item in items(self.levels, self.track, level, tile)? {
                let sum = self.sums.entry(item.kind).or_default();
                sum.ns = sum.ns.saturating_add(item.covered_in(low, high));
                if (low..high).contains(&item.from) {
                    sum.count = sum.count.saturating_add(u64::from(item.count));
                }
            }
        }
        Ok(())
    }
}

/// Start and end of a tile; the end is exclusive.
fn bounds(level: u8, tile: u64) -> (u64, u64) {
    let width = bin_ns(level).checked_shl(BINS).filter(|width| *width > 0).unwrap_or(u64::MAX);
    let begin = width.saturating_mul(tile);
    (begin, begin.saturating_add(width))
}

#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum Wanted {
    Kind(u16),
    /// Spans with this name.
    Detail(u32),
}

/// Maximum tiles that a search reads of one track.
const TILES_SEARCHED: u64 = 128;

/// The `limit` longest wanted items of a track, longest first. Spans shorter than a bin are merged into one item per
/// bin, which has only the name of the longest.
pub fn longest(levels: &Reader, track: u32, wanted: Wanted, limit: usize) -> Result<Vec<Item>, LevelsError> {
    let last = levels.end_ns().saturating_sub(1);
    let level = (0..=levels.top()).find(|level| tile_at(*level, last) < TILES_SEARCHED).unwrap_or(levels.top());
    let mut found: Vec<Item> = Vec::new();
    for tile in 0..=tile_at(level, last) {
        let (begin, end) = bounds(level, tile);
        let new = items(levels, track, level, tile)?.into_iter().filter(|item| match wanted {
            Wanted::Kind(kind) => item.kind == kind,
            Wanted::Detail(detail) => item.detail == detail,
        });
        // A long span is in several tiles: it is taken once.
        found.extend(new.filter(|item| (begin..end).contains(&item.from)));
        if found.len() > 4 * limit {
            keep(&mut found, limit);
        }
    }
    keep(&mut found, limit);
    Ok(found)
}

fn keep(found: &mut Vec<Item>, limit: usize) {
    found.sort_by_key(|item| (std::cmp::Reverse(item.covered_ns), item.from));
    found.truncate(limit);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rtscope_levels::{Span, Writer};
    use std::sync::Arc;

    fn levels(track: u32, spans: &[Span]) -> Reader {
        let mut writer = Writer::new(Vec::new()).unwrap();
        spans.iter().for_each(|span| writer.spans(track, *span).unwrap());
        let bytes = writer.finish(b"").unwrap();
        let length = bytes.len() as u64;
        Reader::open(Arc::new(bytes), length).unwrap()
    }

    fn line(lengths: &[(u32, u8)]) -> Vec<Span> {
        let mut at = 0u64;
        lengths
            .iter()
            .map(|(length, kind)| {
                let from = at;
                at += u64::from(*length);
                Span { from, to: at, kind: u16::from(*kind % 5), detail: u32::from(*kind) }
            })
            .collect()
    }

    proptest! {
        #[test]
        fn sums_are_those_of_the_spans(
            lengths in prop::collection::vec((1u32..3_000_000, 0u8..10), 1..300),
            from in 0u64..400_000_000, length in 1u64..400_000_000,
        ) {
            let spans = line(&lengths);
            let end = spans.last().map_or(0, |span| span.to);
            let (from, to) = (from.min(end), (from + length).min(end));
            let mut wanted = KindSums::new();
            for span in &spans {
                let ns = span.to.min(to).saturating_sub(span.from.max(from));
                let sum = wanted.entry(span.kind).or_default();
                sum.ns += ns;
                sum.count += u64::from((from..to).contains(&span.from));
            }
            wanted.retain(|_, sum| sum.ns > 0 || sum.count > 0);
            let sums = sums(&levels(7, &spans), 7, from..to).unwrap();
            let ns = |of: &KindSums| of.iter().map(|(kind, sum)| (*kind, sum.ns)).filter(|(_, ns)| *ns > 0).collect::<Vec<_>>();
            prop_assert_eq!(ns(&sums), ns(&wanted));
            prop_assert_eq!(sums.values().map(|sum| sum.count).sum::<u64>(), wanted.values().map(|sum| sum.count).sum::<u64>());
        }
    }

    #[test]
    fn the_longest_are_found_once_each() {
        let mut spans = Vec::new();
        for (index, length) in [5_000_000u64, 40, 900_000_000, 7_000].into_iter().enumerate() {
            let from = index as u64 * 1_000_000_000;
            spans.push(Span { from, to: from + length, kind: 3, detail: 9 });
            spans.push(Span { from: from + length, to: from + length + 10, kind: 4, detail: 0 });
        }
        let levels = levels(1, &spans);
        let lengths = |track, wanted| -> Vec<u64> {
            longest(&levels, track, wanted, 3).unwrap().iter().map(|item| item.covered_ns).collect()
        };
        assert_eq!(lengths(1, Wanted::Kind(3)), [900_000_000, 5_000_000, 7_000]);
        assert_eq!(lengths(1, Wanted::Detail(9)), [900_000_000, 5_000_000, 7_000]);
        assert!(lengths(1, Wanted::Detail(8)).is_empty() && lengths(2, Wanted::Kind(3)).is_empty());
    }

    #[test]
    fn an_interval_of_nothing_and_one_of_everything() {
        let levels = levels(1, &[Span { from: 0, to: u64::MAX, kind: 2, detail: 0 }]);
        assert!(sums(&levels, 1, 5..5).unwrap().is_empty());
        assert_eq!(sums(&levels, 1, 0..u64::MAX).unwrap().get(&2).map(|sum| sum.ns), Some(u64::MAX));
        assert_eq!(sums(&levels, 1, 7..9_000_000_007).unwrap().get(&2).map(|sum| sum.ns), Some(9_000_000_000));
    }
}

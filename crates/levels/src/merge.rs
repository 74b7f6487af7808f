//! Merges spans and values into bins of one width. Owns what is merged in a bin and what stays separate; refuses to
//! know widths of other levels, bytes and files.

use crate::items::{BINS, Item, OTHER, Point, Range, Span};

/// Limit of separate kinds in a stored bin; the rest become [`OTHER`].
pub const KINDS_MAX: u64 = 6;

/// Limit of items in a tile.
pub const TILE_ITEMS_MAX: usize = (BINS * (KINDS_MAX + 1) + 2 * BINS) as usize;

/// Limit of separate kinds in an open bin.
const OPEN_MAX: usize = 15;

/// Kinds below this number are found by index.
const PLACES: usize = 32;

/// A span on its way up, or spans of one kind in one bin of the level below.
#[derive(Copy, Clone, Debug)]
pub struct Piece {
    pub item: Item,
    /// Length of its longest span before any cut.
    pub longest_ns: u64,
    /// A span that is neither cut nor merged.
    pub whole: bool,
}

impl Piece {
    pub fn of(span: &Span) -> Self {
        let Span { from, to, kind, detail } = *span;
        let covered_ns = to.saturating_sub(from);
        Piece { item: Item { from, to, kind, count: 1, covered_ns, detail }, longest_ns: covered_ns, whole: true }
    }

    /// The parts before and after `at`, which lies inside. Only whole spans are cut.
    fn cut(self, at: u64) -> (Piece, Piece) {
        let head = Item { to: at, covered_ns: at - self.item.from, ..self.item };
        let tail = Item { from: at, covered_ns: self.item.to - at, count: 0, ..self.item };
        (Piece { item: head, ..self }, Piece { item: tail, ..self })
    }

    fn join(&mut self, next: &Piece) {
        self.item.from = self.item.from.min(next.item.from);
        self.item.to = self.item.to.max(next.item.to);
        self.item.covered_ns += next.item.covered_ns;
        self.item.count = self.item.count.saturating_add(next.item.count);
        if next.longest_ns > self.longest_ns {
            self.longest_ns = next.longest_ns;
            self.item.detail = next.item.detail;
        }
    }
}

/// Receives the content of bins.
pub trait Sink {
    type Error;

    /// The spans of one bin between two long ones, by kind, in the order of their starts.
    fn group(&mut self, group: &[Piece]) -> Result<(), Self::Error>;

    /// A span at least as long as a bin.
    fn long(&mut self, piece: &Piece) -> Result<(), Self::Error>;
}

/// The spans of one track in bins of 2^`shift` ns. They come in order and do not overlap, or are bins of a level below.
pub struct Bins {
    shift: u32,
    bin: u64,
    open: Vec<Piece>,
    /// Index in `open` of each of the first kinds, plus one.
    places: [u8; PLACES],
}

impl Bins {
    pub fn new(shift: u32) -> Self {
        Bins { shift, bin: 0, open: Vec::new(), places: [0; PLACES] }
    }

    /// Adds the next piece.
    #[inline]
    pub fn push<S: Sink>(&mut self, mut piece: Piece, sink: &mut S) -> Result<(), S::Error> {
        if piece.whole && piece.longest_ns >> self.shift != 0 {
            self.close(sink)?;
            return sink.long(&piece);
        }
        loop {
            let bin = piece.item.from >> self.shift;
            if bin != self.bin {
                self.close(sink)?;
                self.bin = bin;
            }
            let last = piece.item.to.saturating_sub(1) >> self.shift;
            if last <= bin {
                self.add(piece);
                return Ok(());
            }
            let (head, tail) = piece.cut((bin + 1) << self.shift);
            self.add(head);
            piece = tail;
        }
    }

    /// Passes the open bin to `sink`.
    #[inline]
    pub fn close<S: Sink>(&mut self, sink: &mut S) -> Result<(), S::Error> {
        if self.open.is_empty() {
            return Ok(());
        }
        let done = sink.group(&self.open);
        self.open.clear();
        self.places = [0; PLACES];
        done
    }

    #[inline]
    fn add(&mut self, mut piece: Piece) {
        piece.whole = false;
        let kind = piece.item.kind;
        let known = self.places.get(usize::from(kind)).map(|place| usize::from(*place).wrapping_sub(1));
        let same = match known {
            Some(place) => self.open.get_mut(place),
            None => self.open.iter_mut().find(|open| open.item.kind == kind),
        };
        match same {
            Some(same) => same.join(&piece),
            None => self.add_kind(piece),
        }
    }

    fn add_kind(&mut self, mut piece: Piece) {
        if self.open.len() >= OPEN_MAX && piece.item.kind != OTHER {
            piece.item.kind = OTHER;
            if let Some(other) = self.open.iter_mut().find(|open| open.item.kind == OTHER) {
                return other.join(&piece);
            }
        }
        self.open.push(piece);
        if let Some(place) = self.places.get_mut(usize::from(piece.item.kind)) {
            *place = self.open.len() as u8;
        }
    }

    /// Memory used, in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.open.capacity() * size_of::<Piece>()
    }
}

/// The stored form of a group: the kinds that cover most, and the others merged into one.
pub fn fold(group: &[Piece]) -> Vec<Item> {
    let mut kept: Vec<Piece> = group.to_vec();
    // The sort is stable: of kinds with equal cover, those that begin first stay separate.
    kept.sort_by_key(|piece| (piece.item.kind == OTHER, std::cmp::Reverse(piece.item.covered_ns)));
    let mut rest = kept.split_off(kept.len().min(KINDS_MAX as usize)).into_iter();
    if let Some(mut other) = rest.next() {
        other.item.kind = OTHER;
        rest.for_each(|piece| other.join(&piece));
        // There may already be one.
        match kept.last_mut().filter(|last| last.item.kind == OTHER) {
            Some(last) => last.join(&other),
            None => kept.push(other),
        }
    }
    kept.sort_by_key(|piece| piece.item.from);
    kept.into_iter().map(|piece| piece.item).collect()
}

impl Range {
    pub(crate) fn of(point: &Point) -> Range {
        let Point { at, value } = *point;
        Range { from: at, to: at, min: value, max: value, last: value }
    }

    /// Merges the next range into this one.
    pub(crate) fn join(&mut self, next: &Range) {
        self.to = next.to;
        self.min = self.min.min(next.min);
        self.max = self.max.max(next.max);
        self.last = next.last;
    }
}

/// The values of one track in bins of 2^`shift` ns.
pub struct RangeBins {
    shift: u32,
    open: Option<Range>,
}

impl RangeBins {
    pub fn new(shift: u32) -> Self {
        RangeBins { shift, open: None }
    }

    /// Adds the next range, which lies in one bin; returns the previous bin if it is complete.
    pub fn push(&mut self, next: Range) -> Option<Range> {
        match &mut self.open {
            Some(open) if open.from >> self.shift == next.from >> self.shift => {
                open.join(&next);
                None
            }
            open => open.replace(next),
        }
    }

    /// Returns the open bin.
    pub fn close(&mut self) -> Option<Range> {
        self.open.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    #[derive(Default)]
    struct MergedItems(Vec<Item>);

    impl Sink for MergedItems {
        type Error = Infallible;
        fn group(&mut self, group: &[Piece]) -> Result<(), Infallible> {
            self.0.extend(fold(group));
            Ok(())
        }
        fn long(&mut self, piece: &Piece) -> Result<(), Infallible> {
            self.0.push(piece.item);
            Ok(())
        }
    }

    fn merged(spans: &[(u64, u64, u16, u32)]) -> Vec<Item> {
        let (mut bins, mut taken) = (Bins::new(10), MergedItems::default());
        for (from, to, kind, detail) in spans {
            let span = Span { from: *from, to: *to, kind: *kind, detail: *detail };
            bins.push(Piece::of(&span), &mut taken).unwrap();
        }
        bins.close(&mut taken).unwrap();
        taken.0
    }

    fn item(from: u64, to: u64, kind: u16, count: u32, covered_ns: u64, detail: u32) -> Item {
        Item { from, to, kind, count, covered_ns, detail }
    }

    #[test]
    fn short_spans_of_a_bin_are_one_item_for_each_kind() {
        let merged = merged(&[(0, 10, 1, 5), (10, 40, 2, 6), (40, 80, 1, 7), (1030, 1040, 1, 8)]);
        assert_eq!(merged, [item(0, 80, 1, 2, 50, 7), item(10, 40, 2, 1, 30, 6), item(1030, 1040, 1, 1, 10, 8)]);
    }

    #[test]
    fn long_spans_stay_and_part_what_is_around_them() {
        let merged = merged(&[(0, 10, 1, 0), (10, 1500, 2, 0), (1500, 1510, 1, 0), (1510, 2534, 3, 0)]);
        assert_eq!(
            merged,
            [
                item(0, 10, 1, 1, 10, 0),
                item(10, 1500, 2, 1, 1490, 0),
                item(1500, 1510, 1, 1, 10, 0),
                item(1510, 2534, 3, 1, 1024, 0)
            ]
        );
    }

    #[test]
    fn a_short_span_over_a_bound_counts_where_it_begins() {
        let merged = merged(&[(1000, 1100, 1, 4), (1100, 1190, 1, 9)]);
        // In the second bin, the longest span is the one that was cut.
        assert_eq!(merged, [item(1000, 1024, 1, 1, 24, 4), item(1024, 1190, 1, 1, 166, 4)]);
    }

    #[test]
    fn rare_kinds_of_a_bin_are_taken_together() {
        let spans: Vec<_> =
            (0..20u64).map(|kind| (kind * 40, kind * 40 + 10 + kind, kind as u16, kind as u32)).collect();
        let merged = merged(&spans);
        assert_eq!(merged.len(), 7);
        assert_eq!(merged.iter().map(|item| item.covered_ns).sum::<u64>(), (0..20).map(|kind| 10 + kind).sum::<u64>());
        assert_eq!(merged.iter().map(|item| item.count).sum::<u32>(), 20);
        // Kinds after the fifteenth are not distinguished.
        let kinds: Vec<u16> = merged.iter().map(|item| item.kind).collect();
        assert_eq!(kinds, [OTHER, 9, 10, 11, 12, 13, 14]);
        assert_eq!(merged.first().unwrap().detail, 19);
    }

    #[test]
    fn values_of_a_bin_keep_their_extremes_and_the_last() {
        let mut bins = RangeBins::new(10);
        let mut out: Vec<Range> = [(0, 5), (10, 9), (20, 7), (1024, 1)]
            .into_iter()
            .filter_map(|(at, value)| bins.push(Range::of(&Point { at, value })))
            .collect();
        out.extend(bins.close());
        assert_eq!(
            out,
            [
                Range { from: 0, to: 20, min: 5, max: 9, last: 7 },
                Range { from: 1024, to: 1024, min: 1, max: 1, last: 1 }
            ]
        );
    }
}

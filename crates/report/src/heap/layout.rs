//! Positions of megablocks in a picture: rows by address with one place per megablock of address space, so that
//! returned memory shows as a hole. Longer gaps end a row. Lengths are in units: the square of one block is one unit
//! wide and high.

use super::picture::BLOCKS;
use rtscope_model::units::counted;

/// Block squares per row of a megablock, and rows.
pub(crate) const ACROSS: u64 = 32;
pub(crate) const DOWN: u64 = BLOCKS as u64 / ACROSS;
/// Megablocks per row to try, the largest scale first.
const COLUMNS: [u64; 11] = [2, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96];
/// Height, in pixels, above which megablocks are drawn smaller.
const HIGH: f64 = 900.0;
/// Room for the label of a gap, in pixels.
const GAP: f64 = 18.0;

/// Maximum number of segments: no runtime scatters its megablocks more.
const SEGMENTS_MAX: usize = 300;

/// A range of megablock addresses without long gaps.
#[derive(Copy, Clone, Eq, PartialEq, Debug, serde::Serialize)]
pub(crate) struct Segment {
    pub first: u64,
    pub slots: u64,
    /// Units above the segment.
    pub top: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct Layout {
    /// Megablocks per row.
    pub columns: u64,
    pub segments: Vec<Segment>,
    /// Pixels per unit.
    pub unit: f64,
    /// Units between segments.
    pub gap: u64,
    /// Megablocks left out because there are too many gaps.
    pub left_out: u64,
}

impl Layout {
    /// Lays out megablocks `width` pixels wide. `slots` are their addresses in megablocks, ascending and unique.
    pub(crate) fn of(slots: &[u64], width: f64) -> Layout {
        let mut tried = COLUMNS.into_iter().map(|columns| Layout::with(slots, columns, width));
        let fits = |layout: &Layout| layout.height() as f64 * layout.unit <= HIGH;
        tried.find(fits).unwrap_or_else(|| Layout::with(slots, COLUMNS[COLUMNS.len() - 1], width))
    }

    fn with(slots: &[u64], columns: u64, width: f64) -> Layout {
        let unit = width / (columns * (ACROSS + 1)) as f64;
        let mut layout = Layout { columns, segments: Vec::new(), unit, gap: (GAP / unit).ceil() as u64, left_out: 0 };
        let mut top = 0;
        for run in slots.chunk_by(|a, b| b - a <= columns) {
            let (Some(first), Some(last)) = (run.first(), run.last()) else { continue };
            if layout.segments.len() == SEGMENTS_MAX {
                layout.left_out += run.len() as u64;
                continue;
            }
            let segment = Segment { first: *first, slots: last - first + 1, top };
            layout.segments.push(segment);
            top += layout.rows(&segment) * (DOWN + 1) + layout.gap;
        }
        layout
    }

    /// How many megablocks are not drawn, in words; `None` if all are drawn.
    pub(crate) fn not_drawn(&self) -> Option<String> {
        let far = counted(self.left_out, "megablock", "megablocks");
        (self.left_out > 0).then(|| format!("{far} far apart are not drawn"))
    }

    pub(crate) fn rows(&self, segment: &Segment) -> u64 {
        segment.slots.div_ceil(self.columns)
    }

    /// Height of the picture, in units.
    pub(crate) fn height(&self) -> u64 {
        self.segments.last().map_or(0, |last| last.top + self.rows(last) * (DOWN + 1))
    }

    /// Position of a megablock of a segment, in units.
    pub(crate) fn place(&self, segment: &Segment, slot: u64) -> [u64; 2] {
        let place = slot.saturating_sub(segment.first);
        [place % self.columns * (ACROSS + 1), segment.top + place / self.columns * (DOWN + 1)]
    }
}

/// How many squares of `per` blocks (a power of two up to 256) a megablock has: across, down.
pub(crate) fn shape(per: u64) -> [u64; 2] {
    let across = [32, 16, 16, 8, 8, 4, 4, 2].get(per.max(1).ilog2() as usize).copied().unwrap_or(1);
    [across, (BLOCKS as u64 / per.max(1) / across).max(1)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_gaps_are_holes_and_long_ones_end_a_row() {
        let layout = Layout::with(&[10, 11, 14, 40, 41], 4, 870.0);
        let segment = |first, slots, top| Segment { first, slots, top };
        assert_eq!(layout.segments, [segment(10, 5, 0), segment(40, 2, 18 + layout.gap)]);
        assert_eq!(layout.place(&layout.segments[0], 14), [0, 9]);
        assert_eq!(layout.place(&layout.segments[1], 41), [33, 18 + layout.gap]);
        assert_eq!(layout.height(), 27 + layout.gap);
        assert_eq!(Layout::of(&[], 870.0).height(), 0);
        let far = Layout::of(&(0..1000).map(|slot| slot << 30).collect::<Vec<_>>(), 870.0);
        assert_eq!((far.segments.len(), far.left_out), (300, 700));
    }

    #[test]
    fn larger_heaps_have_smaller_megablocks() {
        let columns = |count: u64| Layout::of(&(0..count).collect::<Vec<_>>(), 870.0).columns;
        assert_eq!([4, 190, 2048, 100_000].map(columns), [2, 8, 24, 96]);
    }

    #[test]
    fn squares_fill_a_megablock() {
        for power in 0..=8 {
            let [across, down] = shape(1 << power);
            assert_eq!(across * down, 256 >> power);
            assert!(ACROSS.is_multiple_of(across) && DOWN.is_multiple_of(down));
        }
    }
}

//! The levels of one track while it is written: each level gets the output of the level below. Owns that chain, and
//! which levels are stored; refuses unsorted input, which the writer has already corrected.

use crate::items::{FIRST_MERGED, Item, LEVELS, Point, Range, Span, bin_shift};
use crate::merge::{Bins, KINDS_MAX, Piece, RangeBins, Sink, fold};
use crate::tree::{Out, Root, Store};
use std::io::{self, Write};

/// A level of merged spans.
struct Merged {
    bins: Bins,
    store: Store<Item>,
}

/// The levels of a track of spans.
pub struct SpanLadder {
    raw: Store<Item>,
    levels: Vec<Merged>,
}

/// Receives the output of a level: stores it and passes it to the next level.
struct Upwards<'a, W> {
    store: &'a mut Store<Item>,
    above: &'a mut [Merged],
    out: &'a mut Out<W>,
}

impl<W: Write> Sink for Upwards<'_, W> {
    type Error = io::Error;

    fn group(&mut self, group: &[Piece]) -> io::Result<()> {
        if group.len() as u64 <= KINDS_MAX {
            group.iter().try_for_each(|piece| self.store.put(&piece.item, self.out))?;
        } else {
            fold(group).iter().try_for_each(|item| self.store.put(item, self.out))?;
        }
        // Every level distinguishes kinds anew.
        group.iter().try_for_each(|piece| feed(self.above, *piece, self.out))
    }

    fn long(&mut self, piece: &Piece) -> io::Result<()> {
        self.store.put(&piece.item, self.out)?;
        feed(self.above, *piece, self.out)
    }
}

fn feed<W: Write>(levels: &mut [Merged], piece: Piece, out: &mut Out<W>) -> io::Result<()> {
    match levels.split_first_mut() {
        Some((level, above)) => level.bins.push(piece, &mut Upwards { store: &mut level.store, above, out }),
        None => Ok(()),
    }
}

impl Default for SpanLadder {
    fn default() -> Self {
        let level = |level| Merged { bins: Bins::new(bin_shift(level)), store: Store::default() };
        SpanLadder { raw: Store::default(), levels: (FIRST_MERGED..LEVELS).map(level).collect() }
    }
}

impl SpanLadder {
    /// Adds the next span; it must not begin before the end of the last one.
    #[inline]
    pub fn push<W: Write>(&mut self, span: &Span, out: &mut Out<W>) -> io::Result<()> {
        let piece = Piece::of(span);
        self.raw.put(&piece.item, out)?;
        feed(&mut self.levels, piece, out)
    }

    /// Writes what is open; returns the tops of the indices of the first `levels` levels.
    pub fn finish<W: Write>(&mut self, levels: u8, out: &mut Out<W>) -> io::Result<Vec<Option<Root>>> {
        let mut rest = self.levels.as_mut_slice();
        while let Some((level, above)) = rest.split_first_mut() {
            level.bins.close(&mut Upwards { store: &mut level.store, above, out })?;
            rest = above;
        }
        let between = (1..FIRST_MERGED).map(|_| None);
        let merged = self.levels.iter_mut().map(|level| Some(&mut level.store));
        let stores = std::iter::once(Some(&mut self.raw)).chain(between).chain(merged).take(usize::from(levels));
        stores.map(|store| store.map_or(Ok(None), |store| store.finish(out))).collect()
    }

    /// Writes blocks that are now too large.
    pub fn shrink<W: Write>(&mut self, out: &mut Out<W>) -> io::Result<()> {
        self.raw.shrink(out)?;
        self.levels.iter_mut().try_for_each(|level| level.store.shrink(out))
    }

    /// Memory used, in bytes.
    pub fn memory_bytes(&self) -> usize {
        let level = |level: &Merged| size_of::<Merged>() + level.bins.memory_bytes() + level.store.memory_bytes();
        self.raw.memory_bytes() + self.levels.iter().map(level).sum::<usize>()
    }
}

/// The levels of a track of values.
pub struct ValueLadder {
    levels: Vec<(RangeBins, Store<Range>)>,
}

impl Default for ValueLadder {
    fn default() -> Self {
        // On level 0, values at the same time are merged.
        let shift = |level| if level == 0 { 0 } else { bin_shift(level) };
        ValueLadder { levels: (0..LEVELS).map(|level| (RangeBins::new(shift(level)), Store::default())).collect() }
    }
}

impl ValueLadder {
    /// Adds the next value; it must not be earlier than the last one.
    pub fn push<W: Write>(&mut self, point: &Point, out: &mut Out<W>) -> io::Result<()> {
        let mut range = Range::of(point);
        for (bins, store) in &mut self.levels {
            let Some(over) = bins.push(range) else { return Ok(()) };
            store.put(&over, out)?;
            range = over;
        }
        Ok(())
    }

    pub fn finish<W: Write>(&mut self, levels: u8, out: &mut Out<W>) -> io::Result<Vec<Option<Root>>> {
        let mut below: Vec<Range> = Vec::new();
        for (bins, store) in &mut self.levels {
            let mut over: Vec<Range> = below.drain(..).filter_map(|range| bins.push(range)).collect();
            over.extend(bins.close());
            over.iter().try_for_each(|range| store.put(range, out))?;
            below = over;
        }
        self.levels.iter_mut().take(usize::from(levels)).map(|(_, store)| store.finish(out)).collect()
    }

    pub fn shrink<W: Write>(&mut self, out: &mut Out<W>) -> io::Result<()> {
        self.levels.iter_mut().try_for_each(|(_, store)| store.shrink(out))
    }

    pub fn memory_bytes(&self) -> usize {
        self.levels.iter().map(|level| size_of_val(level) + level.1.memory_bytes()).sum()
    }
}

//! Reads levels of detail in pieces. Owns the check of every byte; accepts any bytes without panicking, and holds a
//! bounded number of items.

use crate::bytes::Cursor;
use crate::items::{Counts, FIRST_MERGED, Form, Item, LevelsError, Range, Span, bin_shift, tile_shift, top_level};
use crate::merge::{Bins, Piece, RangeBins, Sink, TILE_ITEMS_MAX, fold};
use crate::record::Record;
use crate::tree::{BLOCK_MAX, Child, Root, Window, read, walk};
use rtscope_decode::ReadAt;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;

/// The first and last bytes of the file.
pub const MAGIC: &[u8; 8] = b"RTSLEVL1";
/// Limit of track numbers.
pub const TRACKS_MAX: u32 = 1 << 16;
/// Limit of the caller's document that is stored with the levels, in bytes.
pub const META_MAX: u64 = 64 << 20;

const DIRECTORY_MAX: u64 = 64 << 20;
const TRAILER: u64 = 40;

/// The facts of a track in the index.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct Track {
    /// Its number.
    pub id: u32,
    /// Its content: spans or values.
    pub form: Form,
    /// Number of spans or values on level 0.
    pub count: u64,
    /// Start of the first one, nanoseconds.
    pub from: u64,
    /// End of the last one, nanoseconds.
    pub to: u64,
}

/// Opened levels of detail.
pub struct Reader {
    source: Arc<dyn ReadAt>,
    tracks: BTreeMap<u32, (Track, Vec<Option<Root>>)>,
    meta: Vec<u8>,
    counts: Counts,
    end: u64,
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader").field("tracks", &self.tracks.len()).field("end", &self.end).finish()
    }
}

impl Reader {
    /// Reads the index of the first `length` bytes of `source`.
    ///
    /// # Errors
    /// The bytes are not levels of detail, are incomplete, or contradict themselves.
    pub fn open(source: Arc<dyn ReadAt>, length: u64) -> Result<Reader, LevelsError> {
        let magic = MAGIC.len() as u64;
        if length < magic || read(&*source, 0, magic)? != MAGIC {
            return Err(LevelsError::NotLevels);
        }
        if length < magic + TRAILER {
            return Err(LevelsError::Unfinished);
        }
        let trailer_at = length - TRAILER;
        let trailer = read(&*source, trailer_at, TRAILER)?;
        let (places, ending) = trailer.split_at_checked(32).ok_or(LevelsError::Unfinished)?;
        if ending != MAGIC {
            return Err(LevelsError::Unfinished);
        }
        let mut places = places.as_chunks::<8>().0.iter().map(|bytes| u64::from_le_bytes(*bytes));
        let mut next = || places.next().unwrap_or(0);
        let (directory_at, directory_length, meta_at, meta_length) = (next(), next(), next(), next());
        let ends = |at: u64, length: u64, end: u64| at.checked_add(length) == Some(end);
        if directory_at < magic
            || directory_length > DIRECTORY_MAX
            || meta_length > META_MAX
            || !ends(directory_at, directory_length, meta_at)
            || !ends(meta_at, meta_length, trailer_at)
        {
            return Err(LevelsError::Damaged { at: trailer_at, what: "the index lies where it cannot" });
        }
        let directory = read(&*source, directory_at, directory_length)?;
        let meta = read(&*source, meta_at, meta_length)?;
        let (end, counts, tracks) = tracks(&mut Cursor::new(&directory, directory_at), directory_at)?;
        Ok(Reader { source, tracks, meta, counts, end })
    }

    /// The document that the writer's caller stored with the levels.
    pub fn meta(&self) -> &[u8] {
        &self.meta
    }

    /// The tracks that are not empty, by number.
    pub fn tracks(&self) -> impl Iterator<Item = Track> + '_ {
        self.tracks.values().map(|(track, _)| *track)
    }

    /// Counts of what was written.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// End of the last span of all tracks, nanoseconds.
    pub fn end_ns(&self) -> u64 {
        self.end
    }

    /// The last level: its tile 0 covers everything.
    pub fn top(&self) -> u8 {
        top_level(self.end)
    }

    /// The spans of `track` that touch a tile, in the order of their starts, at most [`TILE_ITEMS_MAX`]. Whole spans
    /// are not cut at the tile's bounds. A tile of level 0 with more spans is returned as bins. On the first three
    /// levels the work grows with the spans in the tile; on others it is bounded.
    ///
    /// # Errors
    /// No such track or level, or damage.
    pub fn items(&self, track: u32, level: u8, tile: u64) -> Result<Vec<Item>, LevelsError> {
        let Some((root, window)) = self.find(track, Form::Spans, level, tile, false)? else { return Ok(Vec::new()) };
        let merge = level > 0 && level < FIRST_MERGED;
        let bins = merge.then(|| Bins::new(bin_shift(level)));
        let mut taken = Items { raw: level < FIRST_MERGED, window, items: Vec::new(), bins, before: None };
        let take = &mut |bytes: &[u8], at| each(bytes, at, |item| taken.push(item, at));
        walk(&*self.source, &root, window, MAGIC.len() as u64, take)?;
        Ok(taken.finish())
    }

    /// The values of `track` in a tile, in order, and the last one before it, which may still hold at the start of
    /// the tile. At most one per bin; level 0 has single values if there are at most 1,024.
    ///
    /// # Errors
    /// No such track or level, or damage.
    pub fn points(&self, track: u32, level: u8, tile: u64) -> Result<Vec<Range>, LevelsError> {
        let Some((root, window)) = self.find(track, Form::Values, level, tile, true)? else { return Ok(Vec::new()) };
        let mut taken = Ranges { level, window, earlier: None, ranges: Vec::new(), bins: None, before: None };
        let take = &mut |bytes: &[u8], at| each(bytes, at, |range| taken.push(range, at));
        walk(&*self.source, &root, window, MAGIC.len() as u64, take)?;
        Ok(taken.finish())
    }

    fn find(
        &self,
        track: u32,
        form: Form,
        level: u8,
        tile: u64,
        and_before: bool,
    ) -> Result<Option<(Root, Window)>, LevelsError> {
        let found = self.tracks.get(&track).filter(|(track, _)| track.form == form);
        let (_, roots) = found.ok_or(LevelsError::NoTrack(track))?;
        let stored = if form == Form::Spans && level < FIRST_MERGED { 0 } else { level };
        let root = roots.get(usize::from(level)).and_then(|_| roots.get(usize::from(stored)));
        let root = root.ok_or(LevelsError::NoLevel(level))?;
        let Some((first, last)) = bounds(level, tile) else { return Ok(None) };
        Ok(root.map(|root| (root, Window { first, last, and_before })))
    }
}

/// First and last nanosecond of a tile; `None`: after the end of time.
fn bounds(level: u8, tile: u64) -> Option<(u64, u64)> {
    let shift = tile_shift(level);
    if shift >= u64::BITS {
        return (tile == 0).then_some((0, u64::MAX));
    }
    let first = tile << shift;
    (first >> shift == tile).then_some((first, first | ((1 << shift) - 1)))
}

/// Passes the records of a block to `take` while it asks for more.
fn each<R: Record>(
    bytes: &[u8],
    at: u64,
    mut take: impl FnMut(R) -> Result<bool, LevelsError>,
) -> Result<(), LevelsError> {
    let (mut cursor, mut before) = (Cursor::new(bytes, at), R::Before::default());
    while !cursor.is_empty() && take(R::decode(&mut before, &mut cursor)?)? {}
    Ok(())
}

type Tracks = BTreeMap<u32, (Track, Vec<Option<Root>>)>;

fn tracks(bytes: &mut Cursor<'_>, blocks_end: u64) -> Result<(u64, Counts, Tracks), LevelsError> {
    let end = bytes.number()?;
    let counts =
        Counts { spans: bytes.number()?, points: bytes.number()?, clipped: bytes.number()?, dropped: bytes.number()? };
    let levels = top_level(end) + 1;
    let (mut tracks, mut id) = (BTreeMap::new(), 0u32);
    for index in 0..bytes.number()? {
        let step: u32 = bytes.small()?;
        let next = id.checked_add(step).filter(|next| *next < TRACKS_MAX && (step > 0 || index == 0));
        id = next.ok_or(bytes.damaged("a track has an impossible number"))?;
        let form = match bytes.byte()? {
            0 => Form::Spans,
            1 => Form::Values,
            _ => return Err(bytes.damaged("a track is of no known form")),
        };
        let (count, from) = (bytes.number()?, bytes.number()?);
        let to = from.checked_add(bytes.number()?).filter(|to| *to <= end);
        let to = to.ok_or(bytes.damaged("a track goes over the end"))?;
        let roots = (0..levels).map(|_| root(bytes, blocks_end)).collect::<Result<Vec<_>, _>>()?;
        tracks.insert(id, (Track { id, form, count, from, to }, roots));
    }
    if bytes.is_empty() { Ok((end, counts, tracks)) } else { Err(bytes.damaged("the index does not end")) }
}

fn root(bytes: &mut Cursor<'_>, blocks_end: u64) -> Result<Option<Root>, LevelsError> {
    let length = bytes.number()?;
    if length == 0 {
        return Ok(None);
    }
    let (offset, height, from) = (bytes.number()?, bytes.small()?, bytes.number()?);
    let to = from.checked_add(bytes.number()?);
    let inside = offset.checked_add(length).is_some_and(|end| end <= blocks_end);
    match to.filter(|_| inside && offset >= MAGIC.len() as u64 && length <= BLOCK_MAX) {
        Some(to) => Ok(Some(Root { child: Child { offset, length, from, to }, height })),
        None => Err(bytes.damaged("a track's index lies where it cannot")),
    }
}

/// Collects the items of a tile.
struct Items {
    /// Whether they are read from level 0.
    raw: bool,
    window: Window,
    items: Vec<Item>,
    /// Present if raw items are to be merged, or are too many.
    bins: Option<Bins>,
    /// Start and end of the last item.
    before: Option<(u64, u64)>,
}

impl Items {
    /// Adds the next item; returns whether more can follow in this block.
    fn push(&mut self, item: Item, at: u64) -> Result<bool, LevelsError> {
        let damaged = |what| Err(LevelsError::Damaged { at, what });
        if let Some((from, to)) = self.before.replace((item.from, item.to))
            && item.from < if self.raw { to } else { from }
        {
            return damaged("spans are not in order");
        }
        if self.raw && (item.count != 1 || item.covered_ns != item.to - item.from) {
            return damaged("a span is not single");
        }
        if item.from > self.window.last {
            return Ok(false);
        }
        if item.to > self.window.first {
            if self.items.len() >= TILE_ITEMS_MAX && self.bins.is_none() {
                if !self.raw {
                    return damaged("a tile has too many items");
                }
                self.fold();
            }
            self.add(item);
        }
        Ok(true)
    }

    fn fold(&mut self) {
        self.bins = Some(Bins::new(bin_shift(0)));
        for item in std::mem::take(&mut self.items) {
            self.add(item);
        }
    }

    fn add(&mut self, item: Item) {
        let Some(bins) = &mut self.bins else { return self.items.push(item) };
        let Item { from, to, kind, detail, .. } = item;
        let span = Piece::of(&Span { from, to, kind, detail });
        let Ok(()) = bins.push(span, &mut Inside { window: self.window, items: &mut self.items });
    }

    fn finish(mut self) -> Vec<Item> {
        if let Some(mut bins) = self.bins {
            let Ok(()) = bins.close(&mut Inside { window: self.window, items: &mut self.items });
        }
        self.items
    }
}

/// Collects bins that touch the window.
struct Inside<'a> {
    window: Window,
    items: &'a mut Vec<Item>,
}

impl Sink for Inside<'_> {
    type Error = Infallible;

    fn group(&mut self, group: &[Piece]) -> Result<(), Infallible> {
        let Window { first, last, .. } = self.window;
        self.items.extend(fold(group).into_iter().filter(|item| item.from <= last && item.to > first));
        Ok(())
    }

    fn long(&mut self, piece: &Piece) -> Result<(), Infallible> {
        self.items.push(piece.item);
        Ok(())
    }
}

/// Collects the values of a tile.
struct Ranges {
    level: u8,
    window: Window,
    earlier: Option<Range>,
    ranges: Vec<Range>,
    /// Present on level 0 if there are too many values.
    bins: Option<RangeBins>,
    /// End of the last range.
    before: Option<u64>,
}

impl Ranges {
    /// Adds the next range; returns whether more can follow in this block.
    fn push(&mut self, range: Range, at: u64) -> Result<bool, LevelsError> {
        let damaged = |what| Err(LevelsError::Damaged { at, what });
        if self.before.replace(range.to).is_some_and(|before| range.from <= before) {
            return damaged("values are not in order");
        }
        let shift = if self.level == 0 { 0 } else { bin_shift(self.level) };
        if range.from >> shift != range.to >> shift {
            return damaged("values of two bins are one");
        }
        if range.from > self.window.last {
            return Ok(false);
        }
        if range.from < self.window.first {
            self.earlier = Some(range);
            return Ok(true);
        }
        if self.ranges.len() >= 1 << 10 && self.bins.is_none() {
            // Only possible on level 0: others have one per bin.
            let mut bins = RangeBins::new(bin_shift(self.level));
            self.ranges = std::mem::take(&mut self.ranges).into_iter().filter_map(|range| bins.push(range)).collect();
            self.bins = Some(bins);
        }
        match &mut self.bins {
            Some(bins) => self.ranges.extend(bins.push(range)),
            None => self.ranges.push(range),
        }
        Ok(true)
    }

    fn finish(mut self) -> Vec<Range> {
        self.ranges.extend(self.bins.as_mut().and_then(RangeBins::close));
        self.earlier.into_iter().chain(self.ranges).collect()
    }
}

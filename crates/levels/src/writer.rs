//! Writes levels of detail in one pass over spans and values. Owns the file's layout and the handling of unordered
//! input; refuses to buffer more than a few blocks per track and level.

use crate::bytes::put;
use crate::items::{Counts, Point, Span, top_level};
use crate::ladder::{SpanLadder, ValueLadder};
use crate::reader::{MAGIC, META_MAX, TRACKS_MAX};
use crate::tree::{self, Out, Root};
use std::io::{self, Write};

enum Lines {
    Spans(SpanLadder),
    Values(ValueLadder),
}

struct WrittenTrack {
    lines: Lines,
    count: u64,
    from: u64,
    /// Nothing may begin before this time any more.
    end: u64,
}

/// Levels of detail that are being written.
pub struct Writer<W> {
    out: Out<W>,
    tracks: Vec<Option<Box<WrittenTrack>>>,
    used: usize,
    counts: Counts,
}

impl<W: Write> Writer<W> {
    /// Begins a file; blocks of 256 bytes to 16 KiB are written to `out` as they fill.
    ///
    /// # Errors
    /// An error from the output.
    pub fn new(out: W) -> io::Result<Self> {
        let mut out = Out::new(out);
        out.write(MAGIC)?;
        Ok(Writer { out, tracks: Vec::new(), used: 0, counts: Counts::default() })
    }

    /// Adds the next span of `track`. Spans of a track should come in time order without overlap; others are cut or
    /// dropped, and counted.
    ///
    /// # Errors
    /// An error from the output; a track with values; a track number above 65,535.
    #[inline]
    pub fn spans(&mut self, track: u32, span: Span) -> io::Result<()> {
        if !matches!(self.tracks.get(track as usize), Some(Some(_))) {
            self.begin(track, Lines::Spans(SpanLadder::default()))?;
        }
        let Some(Some(track)) = self.tracks.get_mut(track as usize) else { return Err(other_form()) };
        let Lines::Spans(ladder) = &mut track.lines else { return Err(other_form()) };
        let from = span.from.max(track.end);
        let to = if span.to == span.from { from.saturating_add(1) } else { span.to };
        if to <= from {
            self.counts.dropped += 1;
            return Ok(());
        }
        self.counts.clipped += u64::from(from > span.from);
        self.counts.spans += 1;
        if track.count == 0 {
            track.from = from;
        }
        (track.count, track.end) = (track.count + 1, to);
        ladder.push(&Span { from, to, ..span }, &mut self.out)
    }

    /// Adds the next value of `track`. Values of a track should come in time order; others are moved to the time of
    /// the last one, and counted.
    ///
    /// # Errors
    /// An error from the output; a track with spans; a track number above 65,535.
    pub fn point(&mut self, track: u32, point: Point) -> io::Result<()> {
        if !matches!(self.tracks.get(track as usize), Some(Some(_))) {
            self.begin(track, Lines::Values(ValueLadder::default()))?;
        }
        let Some(Some(track)) = self.tracks.get_mut(track as usize) else { return Err(other_form()) };
        let Lines::Values(ladder) = &mut track.lines else { return Err(other_form()) };
        let at = point.at.max(track.end);
        self.counts.clipped += u64::from(at > point.at);
        self.counts.points += 1;
        if track.count == 0 {
            track.from = at;
        }
        (track.count, track.end) = (track.count + 1, at);
        ladder.push(&Point { at, ..point }, &mut self.out)
    }

    /// Counts so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// The last level needed for the input so far, as [`crate::Reader::top`] will return it.
    pub fn top(&self) -> u8 {
        top_level(self.end())
    }

    /// End of the last span, or just after the last value.
    fn end(&self) -> u64 {
        let end = self.tracks.iter().flatten().map(|track| match track.lines {
            Lines::Spans(_) => track.end,
            // A value takes one nanosecond.
            Lines::Values(_) => track.end.saturating_add(1),
        });
        end.max().unwrap_or(0)
    }

    /// Memory used by open blocks and bins, in bytes.
    pub fn memory_bytes(&self) -> usize {
        let tracks = self.tracks.iter().flatten().map(|track| match &track.lines {
            Lines::Spans(ladder) => ladder.memory_bytes(),
            Lines::Values(ladder) => ladder.memory_bytes(),
        });
        tracks.sum::<usize>() + self.tracks.capacity() * size_of::<Option<Box<WrittenTrack>>>()
    }

    /// Writes what is open, the index, and `meta`: a document of the caller, at most 64 MiB.
    ///
    /// # Errors
    /// An error from the output, or `meta` is too long.
    pub fn finish(mut self, meta: &[u8]) -> io::Result<W> {
        if meta.len() as u64 > META_MAX {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "the document that goes with the levels is too large",
            ));
        }
        let end = self.end();
        let levels = top_level(end) + 1;
        let mut directory = Vec::new();
        let Counts { spans, points, clipped, dropped } = self.counts;
        for number in [end, spans, points, clipped, dropped, self.used as u64] {
            put(&mut directory, number);
        }
        let mut before = 0;
        for (id, track) in self.tracks.iter_mut().enumerate() {
            let Some(track) = track else { continue };
            put(&mut directory, id as u64 - before);
            before = id as u64;
            track.describe(&mut directory);
            let roots = match &mut track.lines {
                Lines::Spans(ladder) => ladder.finish(levels, &mut self.out)?,
                Lines::Values(ladder) => ladder.finish(levels, &mut self.out)?,
            };
            roots.iter().for_each(|root| describe_root(root.as_ref(), &mut directory));
        }
        let places = [self.out.write(&directory)?, directory.len() as u64, self.out.write(meta)?, meta.len() as u64];
        for place in places {
            self.out.write(&place.to_le_bytes())?;
        }
        self.out.write(MAGIC)?;
        let mut out = self.out.into_inner();
        out.flush()?;
        Ok(out)
    }

    #[cold]
    fn begin(&mut self, track: u32, lines: Lines) -> io::Result<()> {
        if track >= TRACKS_MAX {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "a track has too large a number"));
        }
        self.used += 1;
        let limit = tree::limit(self.used);
        if limit < self.out.limit {
            self.out.limit = limit;
            for track in self.tracks.iter_mut().flatten() {
                match &mut track.lines {
                    Lines::Spans(ladder) => ladder.shrink(&mut self.out)?,
                    Lines::Values(ladder) => ladder.shrink(&mut self.out)?,
                }
            }
        }
        let index = track as usize;
        if self.tracks.len() <= index {
            self.tracks.resize_with(index + 1, || None);
        }
        if let Some(place) = self.tracks.get_mut(index) {
            *place = Some(Box::new(WrittenTrack { lines, count: 0, from: 0, end: 0 }));
        }
        Ok(())
    }
}

impl WrittenTrack {
    fn describe(&self, directory: &mut Vec<u8>) {
        directory.push(match self.lines {
            Lines::Spans(_) => 0,
            Lines::Values(_) => 1,
        });
        for number in [self.count, self.from, self.end - self.from] {
            put(directory, number);
        }
    }
}

fn describe_root(root: Option<&Root>, directory: &mut Vec<u8>) {
    let Some(Root { child, height }) = root else { return put(directory, 0) };
    for number in [child.length, child.offset, u64::from(*height), child.from, child.to - child.from] {
        put(directory, number);
    }
}

fn other_form() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "a track holds spans or values, not both")
}

//! Draws a recording while it is analysed: its tracks into levels of detail, its pauses into a book. Owns that
//! both come from one pass, and what the session says of them; refuses to know what a track shows.

use super::pauses::BookWriter;
use super::session::Session;
use super::tracks::Tracks;
use rtscope_analyze::basis::compose::Segment;
use rtscope_analyze::lanes::timeline::{Doing, LaneDetail};
use rtscope_analyze::results::{BlamedPause, Results};
use rtscope_analyze::{AccountPart, Context};
use rtscope_encode::Tables;
use rtscope_levels::Writer;
use rtscope_model::manifest::Manifest;
use rtscope_model::{Classes, ClockMap, Event, LaneId, Loss, Names};
use rtscope_read::observer::Observer;
use std::fs::File;
use std::io::{self, BufWriter, Write};

pub struct Drawing {
    tracks: Tracks<BufWriter<File>>,
    book: BookWriter,
    /// The first error of writing pauses.
    broken: io::Result<()>,
    clock: ClockMap,
}

impl Drawing {
    /// Draws levels of detail into `levels` and pauses into `book`.
    pub fn new(levels: File, book: BookWriter) -> io::Result<Drawing> {
        let levels = Writer::new(BufWriter::with_capacity(1 << 18, levels))?;
        Ok(Drawing { tracks: Tracks::new(levels)?, book, broken: Ok(()), clock: ClockMap::LOG_OWN })
    }

    /// Ends the drawing; the session is written along with the levels. `results` and `names` are what the
    /// analysis found.
    ///
    /// # Errors
    /// The drawing could not be written.
    pub fn finish(self, results: &Results, names: &Names) -> io::Result<()> {
        self.broken?;
        let (writer, parts) = self.tracks.finish(results, names)?;
        let session = Session::of_results(results, self.clock).with(results, parts);
        writer.finish(&serde_json::to_vec(&session)?)?.flush()?;
        self.book.finish().map(drop)
    }
}

impl Observer for Drawing {
    fn classes(&self) -> Classes {
        self.tracks.classes()
    }

    fn start(&mut self, context: &Context, manifest: Option<&Manifest>) {
        self.clock = context.clock;
        self.tracks.start(context, manifest);
    }

    fn lanes(&self) -> LaneDetail {
        self.tracks.lanes()
    }

    fn segment(&mut self, lane: LaneId, piece: &Segment<Doing>, tables: Tables<'_>) {
        self.tracks.segment(lane, piece, tables);
    }

    fn wants_parts(&self) -> bool {
        self.tracks.wants_parts()
    }

    fn part(&mut self, lane: LaneId, piece: &Segment<AccountPart>, tables: Tables<'_>) {
        self.tracks.part(lane, piece, tables);
    }

    fn event(&mut self, event: &Event, tables: Tables<'_>) {
        self.tracks.event(event, tables);
    }

    fn pause(&mut self, pause: &BlamedPause, tables: Tables<'_>) {
        if self.broken.is_ok() {
            self.broken = self.book.add(pause, tables.kernel, tables.symbols);
        }
        self.tracks.pause(pause, tables);
    }

    fn end(&mut self, losses: &[Loss]) {
        self.tracks.end(losses);
    }
}

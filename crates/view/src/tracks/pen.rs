//! Writes levels of detail on a thread of its own, in parallel with decoding and drawing. Owns the handover in
//! batches, of which a limited number is in flight; refuses to look at what is drawn.

use rtscope_levels::{Point, Span, Writer};
use std::io::{self, Write};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;

/// Spans and values in a batch.
const BATCH: usize = 4_096;
/// Maximum batches in flight.
const BATCHES: usize = 8;

#[derive(Default)]
struct Batch {
    spans: Vec<(u32, Span)>,
    points: Vec<(u32, Point)>,
}

pub struct Pen<W> {
    batch: Batch,
    full: SyncSender<Batch>,
    empty: Receiver<Batch>,
    thread: JoinHandle<io::Result<Writer<W>>>,
}

impl<W: Write + Send + 'static> Pen<W> {
    /// Writes into `writer`.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn new(writer: Writer<W>) -> io::Result<Self> {
        let (full, batches) = sync_channel(BATCHES);
        let (back, empty) = channel();
        let thread = std::thread::Builder::new().name("levels".into()).spawn(move || write(writer, &batches, &back))?;
        Ok(Pen { batch: Batch::default(), full, empty, thread })
    }

    #[inline]
    pub fn span(&mut self, track: u32, span: Span) {
        self.batch.spans.push((track, span));
        if self.batch.spans.len() >= BATCH {
            self.hand_over();
        }
    }

    pub fn point(&mut self, track: u32, point: Point) {
        self.batch.points.push((track, point));
        if self.batch.points.len() >= BATCH {
            self.hand_over();
        }
    }

    #[cold]
    fn hand_over(&mut self) {
        let next = self.empty.try_recv().unwrap_or_default();
        // A thread that can no longer write reports its error at the end.
        let _ = self.full.send(std::mem::replace(&mut self.batch, next));
    }

    /// Waits until all is written.
    ///
    /// # Errors
    /// The first write error.
    pub fn finish(mut self) -> io::Result<Writer<W>> {
        self.hand_over();
        drop(self.full);
        self.thread.join().unwrap_or_else(|_| Err(io::Error::other("the thread that writes levels of detail failed")))
    }
}

fn write<W: Write>(mut writer: Writer<W>, batches: &Receiver<Batch>, back: &Sender<Batch>) -> io::Result<Writer<W>> {
    while let Ok(mut batch) = batches.recv() {
        batch.spans.drain(..).try_for_each(|(track, span)| writer.spans(track, span))?;
        batch.points.drain(..).try_for_each(|(track, point)| writer.point(track, point))?;
        // The receiver may be gone already.
        let _ = back.send(batch);
    }
    Ok(writer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_written_in_order() {
        let mut pen = Pen::new(Writer::new(Vec::new()).unwrap()).unwrap();
        for at in 0..100_000u64 {
            pen.span((at % 3) as u32, Span { from: at * 10, to: at * 10 + 9, kind: 1, detail: 0 });
            pen.point(7, Point { at, value: 0 });
        }
        let counts = pen.finish().unwrap().counts();
        assert_eq!((counts.spans, counts.points, counts.clipped), (100_000, 100_000, 0));
    }

    #[test]
    fn a_full_disk_is_an_error_and_no_standstill() {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        // The first bytes are the format's own, which fit.
        let writer = Writer::new(io::BufWriter::with_capacity(64, full)).unwrap();
        let mut pen = Pen::new(writer).unwrap();
        (0..1_000_000u64).for_each(|at| pen.span(0, Span { from: at * 10, to: at * 10 + 9, kind: 1, detail: 0 }));
        assert_eq!(pen.finish().err().map(|error| error.kind()), Some(io::ErrorKind::StorageFull));
    }
}

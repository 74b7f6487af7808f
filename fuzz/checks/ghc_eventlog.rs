//! Any bytes as an eventlog, read to the end with every class; again with its second half as an
//! unflushed buffer; and as a growing file, with pieces of itself as buffers in memory.

use rtscope_decode::formats::{GrowingLog, Piece};
use rtscope_decode::ghc_eventlog::{Eventlog, Growing, UnflushedBlock};
use rtscope_model::{Class, Classes, ClockMap};
use std::sync::Arc;

/// No record is shorter than this; each gives at most [`EVENTS_MAX`] events.
const RECORD_MIN: usize = 10;
const EVENTS_MAX: usize = 8;

fn drain(log: &Eventlog, classes: Classes, length: usize) {
    let mut stream = log.stream(classes, ClockMap::LOG_OWN, 1);
    let events = stream.by_ref().count();
    assert!(events <= (length / RECORD_MIN + 1) * EVENTS_MAX, "{events} events of {length} bytes");
    assert!(stream.tally().losses.len() < 1000);
}

/// # Panics
/// If a check fails.
pub fn check(bytes: &[u8]) {
    let edges = Classes::NONE
        .with(Class::GreenEdges)
        .with(Class::Collection)
        .with(Class::Figures)
        .with(Class::Heap)
        .with(Class::Tracer);
    if let Ok(mut log) = Eventlog::open(Arc::new(bytes.to_vec()), Vec::new()) {
        drain(&log, Classes::ALL, bytes.len());
        drain(&log, edges, bytes.len());
        let before = log.blocks().to_vec();
        assert!(log.refresh().is_ok());
        assert_eq!(log.blocks(), before);
    }
    let (log, buffer) = bytes.split_at(bytes.len() / 2);
    if let Ok(Some(buffer)) = UnflushedBlock::new(Arc::new(buffer.to_vec()))
        && let Ok(log) = Eventlog::open(Arc::new(log.to_vec()), vec![buffer])
    {
        drain(&log, edges, bytes.len());
    }
    grow(bytes, edges);
}

/// The log opens with its first half, from its end or from its start, and the rest is appended; buffers
/// are cut out of it.
fn grow(bytes: &[u8], classes: Classes) {
    let (first, second) = bytes.split_at(bytes.len() / 2);
    let open = if bytes.len().is_multiple_of(2) { Growing::open } else { Growing::from_start };
    let Ok(mut growing) = open(Arc::new(first.to_vec()), "log") else { return };
    let mut events = 0;
    for (number, chunk) in (0u64..).zip(second.chunks(50)) {
        let number_of = |at: usize| u64::from(chunk.get(at).copied().unwrap_or(0));
        let piece =
            Piece { lane: (number_of(0) % 3) as u16, opened: number_of(1) % 4, from: number_of(2), bytes: chunk };
        growing.add(piece);
        let _ = growing.read_copy((number % 3) as u16, &chunk.to_vec());
        if number % 8 == 0 {
            assert!(growing.read(&bytes.to_vec(), 100).is_ok());
            events += growing.events(classes, ClockMap::LOG_OWN).len();
        }
    }
    while growing.read(&bytes.to_vec(), 1 << 10).is_ok_and(|more| more) {}
    events += growing.events(classes, ClockMap::LOG_OWN).len();
    // The file and the pieces together contain at most this many records.
    assert!(events <= (3 * bytes.len() / RECORD_MIN + 1) * EVENTS_MAX, "{events} events of {} bytes", bytes.len());
    assert!(growing.take_losses(ClockMap::LOG_OWN).len() <= bytes.len());
}

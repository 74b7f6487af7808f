//! Any bytes, read as a Fuchsia trace.

use rtscope_decode::fxt::{Fxt, FxtReader};
use rtscope_model::{Classes, Event, Time};
use std::sync::Arc;

/// Panics if a check fails.
pub fn check(bytes: &[u8]) {
    let records = [bytes.len().max(1), 13].map(|piece| records(bytes, piece));
    assert_eq!(records[0], records[1], "records depend on how bytes come");
    let Ok(trace) = Fxt::open(Arc::new(bytes.to_vec())) else { return };
    let mut stream = trace.stream(Classes::ALL);
    let events: Vec<Event> = stream.by_ref().collect();
    assert!(events.is_sorted_by_key(|event| event.time));
    // A record has at least two words and gives at most three events.
    assert!(events.len() <= bytes.len() / 16 * 3);
    let (first, last) = trace.span().unwrap_or((Time(u64::MAX), Time(0)));
    assert!(events.iter().all(|event| event.time >= first), "an event before {first:?} or behind {last:?}");
    let counted: u64 = trace.records().iter().map(|kind| kind.count).sum();
    assert_eq!(counted, records[0].0);
    for loss in trace.losses().iter().chain(&stream.losses()) {
        assert!(loss.count <= bytes.len() as u64 + (1 << 35) && !loss.note.is_empty(), "{loss:?}");
    }
}

/// The number of records, their bytes, and whether the end was reached.
fn records(bytes: &[u8], piece: usize) -> (u64, u64, bool) {
    let (mut reader, mut count, mut position) = (FxtReader::default(), 0, 0);
    for piece in bytes.chunks(piece) {
        reader.push(piece);
        loop {
            match reader.next_record() {
                Ok(Some(_)) => count += 1,
                Ok(None) => break,
                Err(_) => return (count, position, false),
            }
            position = reader.position();
        }
    }
    (count, position, true)
}

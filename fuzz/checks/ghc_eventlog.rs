//! Any bytes as an eventlog, read to the end with every class; and once more
//! with its second half as an unflushed buffer.

use rtscope_decode::ghc_eventlog::{Eventlog, UnflushedBlock};
use rtscope_model::{Class, Classes, ClockMap};
use std::sync::Arc;

/// No record is shorter than this, and none gives more events than that.
const RECORD_MIN: usize = 10;
const EVENTS_MAX: usize = 8;

fn drain(log: &Eventlog, classes: Classes, length: usize) {
    let mut stream = log.stream(classes, ClockMap::LOG_OWN, 1);
    let events = stream.by_ref().count();
    assert!(events <= (length / RECORD_MIN + 1) * EVENTS_MAX, "{events} events of {length} bytes");
    assert!(stream.tally().losses.len() < 1000);
}

/// # Panics
/// Where the decoder does what it must not.
pub fn check(bytes: &[u8]) {
    let edges = Classes::NONE.with(Class::GreenEdges).with(Class::Collection).with(Class::Heap).with(Class::Tracer);
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
}

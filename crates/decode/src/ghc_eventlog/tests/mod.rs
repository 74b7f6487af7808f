//! Tests of the eventlog decoder on logs made by the builder.

mod damage;
mod events;
mod growing;
mod heap_profile;
mod random;
mod records;
mod unflushed;

use super::builder::LogBuilder;
use super::{Eventlog, EventlogError, Tally, UnflushedBlock};
use crate::source::ReadAt;
use rtscope_model::event::Runtime;
use rtscope_model::{Body, Class, Classes, ClockMap, Event, LossKind};
use std::sync::Arc;

pub(super) const REPORT: [Class; 8] = [
    Class::Collection,
    Class::Figures,
    Class::Heap,
    Class::Lanes,
    Class::GreenEdges,
    Class::Tracer,
    Class::Concurrent,
    Class::Sparks,
];

pub(super) fn classes(list: &[Class]) -> Classes {
    list.iter().fold(Classes::NONE, |set, class| set.with(*class))
}

pub(super) fn open(bytes: Vec<u8>) -> Result<Eventlog, EventlogError> {
    Eventlog::open(Arc::new(bytes), Vec::new())
}

/// The events and counts of a pass over `bytes`.
pub(super) fn read(bytes: Vec<u8>, list: &[Class]) -> (Vec<Event>, Tally) {
    read_with(bytes, Vec::new(), list)
}

pub(super) fn read_with(bytes: Vec<u8>, unflushed: Vec<UnflushedBlock>, list: &[Class]) -> (Vec<Event>, Tally) {
    let log = Eventlog::open(Arc::new(bytes), unflushed).expect("opens");
    pass(&log, classes(list), 1)
}

pub(super) fn pass(log: &Eventlog, classes: Classes, threads: usize) -> (Vec<Event>, Tally) {
    let mut stream = log.stream(classes, ClockMap::LOG_OWN, threads);
    let events = stream.by_ref().collect();
    (events, stream.tally())
}

/// Time, lane and body of each event.
pub(super) fn brief(events: &[Event]) -> Vec<(u64, u16, Runtime)> {
    let runtime = |event: &Event| match event.body {
        Body::Runtime(what) => Some((event.time.0, event.lane.0, what)),
        _ => None,
    };
    events.iter().filter_map(runtime).collect()
}

pub(super) fn kinds(tally: &Tally) -> Vec<LossKind> {
    tally.losses.iter().map(|loss| loss.kind).collect()
}

pub(super) fn unflushed(bytes: Vec<u8>) -> UnflushedBlock {
    UnflushedBlock::new(Arc::new(bytes)).expect("reads").expect("starts with a marker")
}

/// A log of two capabilities with one parallel collection.
pub(super) fn small() -> LogBuilder {
    use super::tags::*;
    LogBuilder::new()
        .preamble(77)
        .block(0, 100, 400, |block| {
            block.run(110, 1).stop(150, 1, 3).mark(160, REQUEST_PAR_GC).mark(200, GC_START).mark(210, GC_WORK);
            block.heap(215, HEAP_ALLOCATED, 4096).mark(230, GC_DONE).mark(240, GC_GLOBAL_SYNC).gc_stats(241, 1, 64, 2);
            block.mark(239, GC_END).heap(250, HEAP_LIVE, 900).heap(251, HEAP_SIZE, 1 << 20).run(260, 1).stop(300, 1, 5);
        })
        .block(1, 100, 400, |block| {
            block.run(105, 2).stop(170, 2, 3).mark(180, GC_START).mark(211, GC_WORK).mark(225, GC_DONE);
            block.heap(216, HEAP_ALLOCATED, 100).mark(245, GC_END).run(270, 2).run(280, 3).stop(390, 3, 7);
        })
}

/// A source that is shorter when read than its size says.
pub(super) struct Shrinking {
    pub bytes: Vec<u8>,
    pub left: std::sync::atomic::AtomicUsize,
}

impl ReadAt for Shrinking {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> std::io::Result<usize> {
        let left = self.left.load(std::sync::atomic::Ordering::Relaxed).min(self.bytes.len());
        self.bytes.get(..left).map_or(Ok(0), |bytes| bytes.to_vec().read_at(buffer, offset))
    }

    fn size(&self) -> std::io::Result<u64> {
        Ok(self.bytes.len() as u64)
    }
}

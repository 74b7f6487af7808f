//! Tests of the decoder on rings made event by event.

mod corpus;
mod damage;
mod events;
mod growing;
mod loss;
mod random;
mod versions;

use super::{RingError, RingStream, RingTally, Rings, Version};
use rtscope_model::{Body, Classes, Event, Runtime};
use std::sync::Arc;

/// Opens the rings, or returns why not.
fn open(bytes: &[u8], version: Option<Version>) -> Result<Rings, RingError> {
    Rings::open(Arc::new(bytes.to_vec()), version)
}

fn stream(bytes: &[u8], version: Version, classes: Classes) -> RingStream {
    open(bytes, Some(version)).expect("opens").stream(classes)
}

fn all(bytes: &[u8], version: Version) -> (Vec<Event>, RingTally) {
    let mut stream = stream(bytes, version, Classes::ALL);
    (stream.by_ref().collect(), stream.tally())
}

/// Time, lane and body of each event.
fn short(events: &[Event]) -> Vec<(u64, u16, Runtime)> {
    let runtime = |event: &Event| match event.body {
        Body::Runtime(what) => (event.time.0, event.lane.0, what),
        other => panic!("{other:?}"),
    };
    events.iter().map(runtime).collect()
}

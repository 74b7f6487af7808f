//! Any bytes as rings, under every version and under none, read to the end: events in time order, no
//! more of them than the words allow, losses bounded.

use rtscope_decode::ocaml_ring::{PACKED_WORDS_MAX, RingError, Rings, Version, VersionSource};
use rtscope_model::{Class, Classes, Time};
use std::sync::Arc;

fn drain(rings: &Rings, classes: Classes, length: usize) {
    let mut stream = rings.stream(classes);
    let (mut last, mut events) = (Time(0), 0);
    for event in stream.by_ref() {
        assert!(event.time >= last);
        last = event.time;
        events += 1;
    }
    let tally = stream.tally();
    // An event has at least two words. It may stand for up to three, and a gap may come before it; the end
    // of a pause is a gap in every existing ring.
    let most = (tally.events() as usize + 1) * (4 + tally.lanes);
    assert!(events <= most, "{events} events of {length} bytes");
    // A packed event has at least two bytes; one event of padding stands for many words.
    let frames = 1 + length as u64 / 40;
    assert!(tally.bytes <= length as u64 + 8 * PACKED_WORDS_MAX * frames && tally.events() as usize <= length / 2);
    assert!(tally.losses.len() < 1000);
}

/// # Panics
/// If a check fails.
pub fn check(bytes: &[u8]) {
    let pauses = Classes::NONE.with(Class::Collection).with(Class::Figures).with(Class::Heap).with(Class::Lanes);
    let source = Arc::new(bytes.to_vec());
    for version in Version::ALL.map(Some).into_iter().chain([None]) {
        match Rings::open(source.clone(), version) {
            Ok(rings) => {
                let found = rings.version();
                assert_eq!(found.by == VersionSource::Caller, version.is_some());
                drain(&rings, Classes::ALL, bytes.len());
                drain(&rings, pauses, bytes.len());
                resume(&rings, bytes);
            }
            Err(RingError::NotARing) => assert!(!Rings::recognise(bytes.get(..64).unwrap_or(bytes))),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
}

/// Appends the same bytes: rings that do not run backwards.
fn resume(rings: &Rings, bytes: &[u8]) {
    let mut stream = rings.stream(Classes::ALL);
    let first = stream.by_ref().count();
    if stream.resume_with(Arc::new(bytes.to_vec())).is_ok() {
        let mut last = Time(0);
        let mut again = 0;
        for event in stream.by_ref() {
            assert!(event.time >= last);
            last = event.time;
            again += 1;
        }
        assert!(again <= first + 4 * (bytes.len() / 16 + 1), "{again} behind {first}");
        assert!(stream.take_losses().len() < 1000);
    }
}

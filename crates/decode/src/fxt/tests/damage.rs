//! Truncated, damaged, unordered and oversized traces.

use crate::fxt::builder::{At, Text, ThreadRef, TraceBuilder};
use crate::fxt::{Fxt, FxtError, Value};
use rtscope_model::{Body, Classes, Event, LossKind, Phase, Runtime, Time};
use std::sync::Arc;

fn phase(trace: &mut TraceBuilder, begin: bool, ring: u64, time: u64) {
    let thread = ThreadRef::Inline(70, ring << 2 | 1);
    let at = At { time, thread, category: Text::Inline("gc"), name: Text::Inline("minor") };
    trace.event(if begin { 2 } else { 3 }, at, &[], None);
}

fn open(bytes: &[u8]) -> Fxt {
    Fxt::open(Arc::new(bytes.to_vec())).unwrap()
}

/// All events except the creation of lane 0.
fn events(bytes: &[u8]) -> Vec<Event> {
    open(bytes).stream(Classes::ALL).filter(|event| event.body != Body::Runtime(Runtime::LaneCreated)).collect()
}

/// Four spans of two rings, with each ring's batch after the other's, as written by tools that poll.
fn batches() -> TraceBuilder {
    let mut trace = TraceBuilder::default();
    for batch in 0..2 {
        for ring in 0..2 {
            for span in 0..2 {
                let from = batch * 1_000 + span * 100 + ring * 7;
                phase(&mut trace, true, ring, from);
                phase(&mut trace, false, ring, from + 40);
            }
        }
    }
    trace
}

#[test]
fn batches_of_rings_come_out_in_time_order() {
    let found = events(&batches().bytes());
    assert_eq!(found.len(), 16);
    assert!(found.is_sorted_by_key(|event| event.time), "{found:?}");
    assert_eq!(found.first().map(|event| event.body), Some(Body::Runtime(Runtime::PhaseBegin(Phase::Minor))));
    assert_eq!(open(&batches().bytes()).losses(), []);
}

#[test]
fn a_cut_trace_opens_as_far_as_it_goes() {
    let bytes = batches().bytes();
    let whole = events(&bytes);
    for end in (8..bytes.len()).step_by(4) {
        let trace = open(&bytes[..end]);
        let found = events(&bytes[..end]);
        assert!(found.len() <= whole.len() && found.iter().all(|event| whole.contains(event)));
        let cut = trace.losses();
        let inside = (8..=bytes.len()).rev().find(|at| *at <= end && open(&bytes[..*at]).losses().is_empty());
        assert_eq!(cut.is_empty(), inside == Some(end), "{end}: {cut:?}");
        assert!(cut.iter().all(|loss| loss.kind == LossKind::Truncated && (1..=64).contains(&loss.count)), "{cut:?}");
    }
    assert!(matches!(Fxt::open(Arc::new(Vec::new())), Err(FxtError::Empty)));
    assert!(matches!(Fxt::open(Arc::new(b"something else".to_vec())), Err(FxtError::NotATrace)));
}

#[test]
fn a_record_that_contradicts_itself_is_passed_over_and_reported() {
    let mut trace = TraceBuilder::default();
    phase(&mut trace, true, 0, 10);
    // A name of 200 bytes in a record of three words; a string that was never registered.
    trace.record(4 | 2 << 16 | (0x8000 | 200) << 48, &[0; 16]);
    trace.event(
        2,
        At { time: 11, thread: ThreadRef::Index(1), category: Text::Index(0), name: Text::Index(5) },
        &[],
        None,
    );
    phase(&mut trace, false, 0, 20);
    let opened = open(&trace.bytes());
    let losses = opened.losses();
    let [loss] = losses.as_slice() else { panic!("{losses:?}") };
    assert_eq!((loss.kind, loss.count, loss.from, loss.to), (LossKind::Damaged, 2, Some(Time(10)), Some(Time(20))));
    assert_eq!(events(&trace.bytes()).len(), 2);
}

#[test]
fn nothing_is_found_after_a_record_without_a_size() {
    let mut trace = TraceBuilder::default();
    phase(&mut trace, true, 0, 10);
    trace.raw(&[0; 64]);
    phase(&mut trace, false, 0, 20);
    let losses = open(&trace.bytes()).losses();
    let [loss] = losses.as_slice() else { panic!("{losses:?}") };
    assert_eq!((loss.kind, loss.from, loss.to), (LossKind::Damaged, Some(Time(10)), None));
    assert!(loss.count >= 64 && loss.note.contains("byte 56"), "{loss:?}");
    assert_eq!(events(&trace.bytes()).len(), 1);
}

#[test]
fn a_writer_whose_buffer_was_full_is_a_loss() {
    let mut trace = TraceBuilder::default();
    phase(&mut trace, true, 0, 10);
    trace.record(3 << 16, &[]);
    phase(&mut trace, false, 0, 90);
    let losses = open(&trace.bytes()).losses();
    assert_eq!(losses.first().map(|loss| (loss.from, loss.to)), Some((Some(Time(10)), Some(Time(90)))));
}

#[test]
fn the_number_of_losses_is_bounded_and_their_sum_is_not() {
    let mut trace = TraceBuilder::default();
    for time in 0..1_000 {
        phase(&mut trace, true, 0, time);
        trace.record(4 | (0x8000 | 200) << 48, &[0; 16]);
    }
    let losses = open(&trace.bytes()).losses();
    assert!(losses.len() <= 64, "{}", losses.len());
    assert_eq!(losses.iter().map(|loss| loss.count).sum::<u64>(), 1_000);
}

#[test]
fn facts_that_cannot_be_read_are_reported() {
    let mut trace = TraceBuilder::default();
    trace.blob(Text::Inline("rtscope.facts"), b"{\"schema\":");
    phase(&mut trace, true, 0, 10);
    let opened = open(&trace.bytes());
    assert!(opened.exported().is_none());
    assert!(opened.losses().iter().any(|loss| loss.kind == LossKind::SourceMissing && loss.note.contains("facts")));
}

#[test]
fn no_damage_makes_it_panic_or_hang() {
    let mut trace = batches();
    trace.blob(Text::Inline("rtscope.losses"), b"[]").wakeup(5, 1, 4, &[("waker", Value::Id(9))]);
    let bytes = trace.bytes();
    let mut state = 88_172_645_463_325_252_u64;
    for _ in 0..20_000 {
        let mut broken = bytes.clone();
        for _ in 0..3 {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let at = 8 + (state as usize >> 8) % (broken.len() - 8);
            broken[at] = if state & 1 == 0 { state as u8 } else { broken[at] ^ 1 << (state >> 60 & 7) };
        }
        let opened = open(&broken);
        let found: Vec<Event> = opened.stream(Classes::ALL).collect();
        assert!(found.is_sorted_by_key(|event| event.time) && found.len() <= 40);
    }
}

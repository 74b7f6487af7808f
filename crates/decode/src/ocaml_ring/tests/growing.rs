//! Rings whose frames come in portions: the events are the same as from one stream.

use super::super::builder::RingBuilder;
use super::super::captured::whole_frames;
use super::{open, short};
use crate::ocaml_ring::Version;
use rtscope_model::{Classes, LossKind, Runtime, Tid};
use std::sync::Arc;

const V: Version = Version::V5_4;
const HEAD: usize = 64;

fn program() -> RingBuilder {
    let mut rings = RingBuilder::new(V, 3, 1 << 12).name(5, "rtscope.thread");
    rings = rings.slot(0, |ring| _ = ring.life(1, "ring_start", 7).user_int(2, 5, 71));
    for round in 0..20 {
        rings = rings.minor(100 + 100 * round, (round % 3) as u16, &[((round + 1) % 3) as u16]);
        rings = rings.slot(1, |ring| _ = ring.heap(190 + 100 * round, 10, 5, round));
    }
    rings.slot(0, |ring| _ = ring.user_int(9_000, 5, 72))
}

#[test]
fn portions_give_the_events_of_the_whole_in_order_within_each() {
    let bytes = program().captured(3);
    let whole = open(&bytes, Some(V)).expect("opens").stream(Classes::ALL).collect::<Vec<_>>();
    for most in [1, 100, 700, 5_000] {
        let mut at = HEAD as u64;
        let mut stream = None;
        let mut seen = Vec::new();
        while at < bytes.len() as u64 {
            let end = whole_frames(&bytes, at, most, &mut |_, _, _| {}).expect("reads");
            assert!(end > at);
            let portion = [&bytes[..HEAD], &bytes[at as usize..end as usize]].concat();
            at = end;
            match &mut stream {
                None => stream = Some(open(&portion, Some(V)).expect("opens").stream(Classes::ALL)),
                Some(stream) => stream.resume_with(Arc::new(portion)).expect("goes on"),
            }
            seen.extend(stream.as_mut().unwrap());
        }
        let (mut seen, mut expected) = (short(&seen), short(&whole));
        seen.sort_by_key(|(time, lane, what)| (*time, *lane, format!("{what:?}")));
        expected.sort_by_key(|(time, lane, what)| (*time, *lane, format!("{what:?}")));
        assert_eq!(seen, expected, "{most}");
        assert!(stream.unwrap().take_losses().is_empty());
    }
}

#[test]
fn a_name_of_the_first_portion_is_known_in_the_last() {
    let bytes = program().captured(1_000);
    let stream = open(&bytes, Some(V)).expect("opens").stream(Classes::ALL);
    let found: Vec<Runtime> = short(&stream.collect::<Vec<_>>()).into_iter().map(|(_, _, what)| what).collect();
    assert!(found.contains(&Runtime::TaskCreated(Tid(71))) && found.contains(&Runtime::TaskCreated(Tid(72))));
    // Names come first, as a portion of their own, then each frame.
    let mut ends = Vec::new();
    whole_frames(&bytes, HEAD as u64, u64::MAX, &mut |_, _, end| ends.push(end as usize)).expect("reads");
    let mut stream = open(&bytes[..ends[0]], Some(V)).expect("opens").stream(Classes::ALL);
    let mut last = None;
    for pair in ends.windows(2) {
        stream.resume_with(Arc::new([&bytes[..HEAD], &bytes[pair[0]..pair[1]]].concat())).expect("goes on");
        let threads = |what: &Runtime| matches!(what, Runtime::TaskCreated(_));
        last = short(&stream.by_ref().collect::<Vec<_>>()).into_iter().map(|(_, _, what)| what).find(threads).or(last);
    }
    assert!(last.is_some());
}

#[test]
fn words_that_were_overwritten_between_two_portions_are_a_gap() {
    let rings = program();
    let words = rings.words(0);
    let first = rings.captured_as(&[(0, 0..3)]);
    let mut stream = open(&first, Some(V)).expect("opens").stream(Classes::ALL);
    assert!(!short(&stream.by_ref().collect::<Vec<_>>()).is_empty());
    stream.resume_with(Arc::new(rings.captured_as(&[(0, words - 3..words)]))).expect("goes on");
    let events = short(&stream.by_ref().collect::<Vec<_>>());
    assert!(events.contains(&(9_000, 0, Runtime::Gap)), "{events:?}");
    let losses = stream.take_losses();
    assert_eq!(
        losses.iter().map(|loss| (loss.kind, loss.count)).collect::<Vec<_>>(),
        [(LossKind::RingWords, words - 6)]
    );
    assert!(stream.take_losses().is_empty());
    // Rings of another program are refused.
    let other = RingBuilder::new(V, 2, 1 << 4).captured(1);
    assert!(stream.resume_with(Arc::new(other)).is_err());
    assert!(stream.resume_with(Arc::new(rings.file())).is_err());
}

#[test]
fn a_frame_that_is_not_whole_waits() {
    let bytes = program().captured(4);
    let mut ends = vec![HEAD as u64];
    whole_frames(&bytes, HEAD as u64, u64::MAX, &mut |_, from, to| {
        assert_eq!(Some(&from), ends.last());
        ends.push(to);
    })
    .expect("reads");
    assert_eq!(ends.last(), Some(&(bytes.len() as u64)));
    for cut in (HEAD..bytes.len()).step_by(13) {
        let end = whole_frames(&bytes[..cut].to_vec(), HEAD as u64, u64::MAX, &mut |_, _, _| {}).expect("reads");
        assert_eq!(Some(&end), ends.iter().rfind(|end| **end <= cut as u64), "{cut}");
    }
    // An impossible count ends the stream.
    let mut damaged = bytes.clone();
    damaged[HEAD + 16..HEAD + 24].copy_from_slice(&u64::MAX.to_le_bytes());
    assert_eq!(whole_frames(&damaged, HEAD as u64, u64::MAX, &mut |_, _, _| {}).expect("reads"), HEAD as u64);
}

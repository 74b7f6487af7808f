//! Bad inputs: refused with a reason where nothing can be read, else read as far as possible, and the rest counted.

use super::super::builder::{RingBuilder, frame, packed};
use super::{all, open, short};
use crate::ocaml_ring::{RingError, Rings, Version};
use rtscope_model::{LossKind, Runtime};

const V: Version = Version::V5_4;

fn rings() -> RingBuilder {
    (0..10).fold(RingBuilder::new(V, 4, 1 << 10), |rings, round| rings.minor(100 * round + 100, 1, &[0, 2]))
}

fn refused(bytes: &[u8]) -> String {
    open(bytes, Some(V)).err().expect("refused").to_string()
}

fn with(bytes: &[u8], word: usize, value: u64) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[8 * word..8 * word + 8].copy_from_slice(&value.to_le_bytes());
    bytes
}

#[test]
fn what_is_no_ring_is_refused_in_words() {
    assert!(refused(b"").contains("empty"));
    assert!(
        refused(b"hdrbhetb and more of an eventlog of GHC, long enough for a head, and then some").contains("not a")
    );
    assert!(refused(&[0; 4096]).contains("not laid out yet"));
    assert!(refused(b"RTSRING1").contains("inside its head"));
    let file = rings().file();
    assert!(refused(&file[..40]).contains("inside its head"));
    assert!(refused(&file[..200]).contains("inside its head of 384 bytes"));
    // The version is written first, then the rest.
    assert!(refused(&with(&file, 1, 0)).contains("not laid out yet"));
    assert!(refused(&with(&file, 0, 0)).contains("not laid out yet"));
    assert!(refused(&with(&file, 0, 2)).contains("not a file of OCaml"));
}

#[test]
fn a_big_endian_file_is_recognised_and_refused() {
    let swapped: Vec<u8> = rings().file().chunks(8).flat_map(|word| word.iter().rev().copied()).collect();
    assert!(Rings::recognise(&swapped[..64]));
    assert!(matches!(open(&swapped, Some(V)), Err(RingError::BigEndian)));
}

#[test]
fn a_false_head_is_refused_and_nothing_is_allocated_by_it() {
    let (file, captured) = (rings().file(), rings().captured(5));
    let wrong = [(1, 4097), (1, u64::MAX), (2, 8), (2, 1 << 20), (3, 12), (4, 1000), (4, 1 << 62), (4, 0)];
    for (word, value) in wrong.into_iter().chain([(5, 8), (5, u64::MAX), (6, 0), (6, u64::MAX), (7, 12), (7, u64::MAX)])
    {
        let error = open(&with(&file, word, value), Some(V)).err();
        assert!(matches!(error, Some(RingError::HeadDamaged { .. })), "word {word} {value}: {error:?}");
    }
    for (word, value) in [(1, 0), (1, 4097), (2, 3), (2, 0), (2, 1 << 40), (3, 2)] {
        let error = open(&with(&captured, word, value), Some(V)).err();
        assert!(matches!(error, Some(RingError::HeadDamaged { .. })), "word {word} {value}: {error:?}");
    }
}

#[test]
fn both_containers_are_recognised_and_nothing_else() {
    for bytes in [rings().file(), rings().captured(5)] {
        assert!(Rings::recognise(&bytes[..64]) && Rings::recognise(&bytes));
    }
    for other in [&b"hdrbhetb"[..], b"", b"PERFILE2", &[0; 64], b"\x10\x00\x04FxT\x16\x00", &[1, 0, 0, 0, 0, 0, 0, 0]] {
        assert!(!Rings::recognise(other), "{other:?}");
    }
}

#[test]
fn four_thousand_and_ninety_six_domains_are_read_and_need_no_room_for_those_that_are_silent() {
    let few = RingBuilder::new(V, 4096, 16).slot(4095, |ring| {
        ring.span(5, 9, "stw_handler");
    });
    let (events, tally) = all(&few.file(), V);
    assert_eq!((events.len(), tally.losses.len()), (2, 0));
    assert_eq!(events[0].lane.0, 4095);
    let every = (0..4096).fold(RingBuilder::new(V, 4096, 16), |rings, slot| {
        rings.slot(slot, |ring| {
            ring.span(u64::from(slot) + 1, u64::from(slot) + 5_000, "stw_handler");
        })
    });
    for bytes in [every.file(), every.captured(1)] {
        let (events, tally) = all(&bytes, V);
        assert_eq!((events.len(), tally.lanes, tally.losses.len()), (8192, 4096, 0));
        assert!(events.windows(2).all(|pair| pair[0].time <= pair[1].time));
    }
}

#[test]
fn a_file_that_is_cut_anywhere_is_read_as_far_as_it_goes() {
    let (whole, _) = all(&rings().file(), V);
    let file = rings().file();
    for length in (384..384 + 3 * 8192).step_by(52) {
        let (events, tally) = all(&file[..length], V);
        assert!(events.len() <= whole.len());
        let lost = tally.losses.iter().any(|loss| loss.kind == LossKind::Truncated);
        assert!(tally.losses.iter().all(|loss| loss.kind == LossKind::Truncated), "{length}: {:?}", tally.losses);
        assert_eq!(lost, events.len() < whole.len(), "{length}");
    }
}

#[test]
fn a_stream_that_is_cut_anywhere_is_read_as_far_as_it_goes() {
    let bytes = rings().captured(6);
    let (whole, _) = all(&bytes, V);
    let mut before = 0;
    for length in 64..bytes.len() {
        let (events, tally) = all(&bytes[..length], V);
        assert!(events.len() >= before && events.len() <= whole.len(), "{length}");
        before = events.len();
        let kinds: Vec<_> = tally.losses.iter().map(|loss| loss.kind).collect();
        assert!(kinds.iter().all(|kind| *kind == LossKind::Truncated), "{length}: {:?}", tally.losses);
    }
}

#[test]
fn impossible_words_end_their_frame_and_nothing_else() {
    let header = |length: u64, user: u64, kind: u64, id: u64| length << 54 | user << 53 | kind << 49 | id << 36;
    let good = |time: u64| [header(2, 0, 2, 34), time];
    let bad = [
        vec![header(0, 0, 2, 34), 20],
        vec![header(1000, 0, 1, 0), 20],
        vec![header(3, 0, 2, 34), 20, 0],
        vec![header(2, 0, 4, 5), 20],
        vec![header(2, 0, 9, 0), 20],
        vec![header(2, 1, 7, 0), 20],
        vec![header(1, 0, 2, 34)],
        vec![header(2, 0, 0, 0), 0],
        vec![u64::MAX, u64::MAX],
    ];
    for words in bad {
        let mut bytes = RingBuilder::new(V, 1, 1 << 10).captured(1);
        let first = [&good(10)[..], &words, &good(30)].concat();
        bytes.extend(frame(1, 0, 0, &first));
        bytes.extend(frame(1, 0, first.len() as u64, &good(40)));
        let (events, tally) = all(&bytes, V);
        let times: Vec<_> = short(&events).into_iter().map(|(time, _, what)| (time, what == Runtime::Gap)).collect();
        assert_eq!(times, [(10, false), (40, true), (40, false)], "{words:x?}");
        let losses: Vec<_> = tally.losses.iter().map(|loss| (loss.kind, loss.count)).collect();
        assert_eq!(losses, [(LossKind::Damaged, 8 * (first.len() as u64 - 2))], "{words:x?}");
    }
}

#[test]
fn an_event_over_the_rings_end_is_damage() {
    let bytes = RingBuilder::new(V, 1, 8).captured(1);
    let event = [2 << 54 | 2 << 49 | 34 << 36, 0];
    let mut words = vec![0u64; 0];
    for time in [10, 11, 12] {
        words.extend([event[0], time]);
    }
    // Seven of eight words, then one that would continue at the start.
    words.extend([3 << 54 | 4 << 49 | 4 << 36, 13, 5]);
    words.extend([event[0], 20]);
    let bytes = [bytes, frame(1, 0, 0, &words)].concat();
    let (events, tally) = all(&bytes, V);
    let times: Vec<u64> = events.iter().map(|event| event.time.0).collect();
    assert_eq!(times, [10, 11, 12], "{tally:?}");
    assert_eq!(tally.losses.iter().map(|loss| loss.count).collect::<Vec<_>>(), [16 + 24]);
}

#[test]
fn stamps_that_run_backwards_or_far_ahead_are_damage_and_their_neighbours_are_not() {
    let of = |times: &[u64]| {
        let rings = RingBuilder::new(V, 1, 1 << 10).slot(0, |ring| {
            times.iter().for_each(|time| {
                ring.begin(*time, "stw_handler");
            });
        });
        let (events, tally) = all(&rings.file(), V);
        let times: Vec<u64> = events.iter().map(|event| event.time.0).collect();
        assert!(times.is_sorted());
        (times, tally.losses.iter().map(|loss| (loss.kind, loss.count)).collect::<Vec<_>>())
    };
    let second = 1_000_000_000;
    assert_eq!(of(&[10, 20, 5, 30]), (vec![10, 20, 30, 30], vec![(LossKind::Damaged, 16)]));
    assert_eq!(of(&[10, u64::MAX / 8, 20, 30]), (vec![10, 20, 20, 30], vec![(LossKind::Damaged, 16)]));
    assert_eq!(of(&[u64::MAX, 20, 30]), (vec![20, 20, 30], vec![(LossKind::Damaged, 16)]));
    // A program may post nothing for long.
    assert_eq!(of(&[10, 90_000 * second, 90_001 * second]), (vec![10, 90_000 * second, 90_001 * second], vec![]));
}

#[test]
fn frames_that_are_no_frames_are_skipped_and_counted() {
    let builder = RingBuilder::new(V, 2, 1 << 10).slot(0, |ring| {
        ring.span(10, 20, "stw_handler").span(30, 40, "stw_handler");
    });
    let words = [2 << 54 | 2 << 49 | 34 << 36, 25];
    let kinds = |bytes: &[u8]| {
        let (events, tally) = all(bytes, V);
        let losses: Vec<_> = tally.losses.iter().map(|loss| (loss.kind, loss.count)).collect();
        (events.len(), losses)
    };
    let join = |parts: &[Vec<u8>]| parts.concat();
    let first = builder.captured_as(&[(0, 0..4)]);
    // A kind of a later version, an impossible ring, earlier words, no words.
    let tomorrow = join(&[first.clone(), frame(9, 1, 77, &words), frame(1, 1, 5, &[])]);
    assert_eq!(kinds(&tomorrow), (2, vec![]));
    let beyond = join(&[first.clone(), frame(1, 2, 0, &words)]);
    assert_eq!(kinds(&beyond), (2, vec![(LossKind::Damaged, 16)]));
    let again = join(&[first.clone(), frame(1, 0, 2, &words)]);
    assert_eq!(kinds(&again), (2, vec![(LossKind::Damaged, 16)]));
    let far = join(&[first.clone(), frame(1, 0, u64::MAX, &words)]);
    assert_eq!(kinds(&far), (2, vec![(LossKind::Damaged, 16)]));
    let mut long = frame(1, 0, 4, &words);
    long[16..24].copy_from_slice(&u64::MAX.to_le_bytes());
    assert_eq!(kinds(&join(&[first.clone(), long])), (2, vec![(LossKind::Damaged, 48)]));
    let garbage = frame(0x0001_0000_0000_0001, 0, 4, &words);
    assert_eq!(kinds(&join(&[first, garbage, frame(1, 0, 4, &words)])), (2, vec![(LossKind::Damaged, 96)]));
}

#[test]
fn a_damaged_packed_frame_costs_itself_only() {
    let event = |time: u64| [2 << 54 | 2 << 49 | 34 << 36, time];
    let three = [event(25), event(26), event(27)].concat();
    let first = RingBuilder::new(V, 1, 1 << 10).captured(1);
    let losses = |middle: Vec<u8>| {
        let last = packed(0, 10, &[event(30), event(31)].concat());
        let (events, tally) = all(&[first.clone(), packed(0, 0, &event(10).repeat(2)), middle, last].concat(), V);
        let times: Vec<u64> = events.iter().map(|event| event.time.0).collect();
        (times, tally.losses.iter().map(|loss| (loss.kind, loss.count)).collect::<Vec<_>>())
    };
    let good = packed(0, 4, &three);
    assert_eq!(losses(good.clone()), (vec![10, 10, 25, 26, 27, 30, 31], vec![]));
    let with = |at: usize, byte: u8| {
        let mut bytes = good.clone();
        bytes[at] = byte;
        bytes
    };
    // More words than there are, a header without a number, a length of zero.
    let follow = good.len() as u64 - 32;
    let damaged = vec![(LossKind::Damaged, follow)];
    for middle in [with(32, 12), with(38, 1), with(50, 9), with(47, 0)] {
        assert_eq!(losses(middle), (vec![10, 10, 30, 30, 31], damaged.clone()));
    }
}

#[test]
fn a_packed_frame_that_is_cut_gives_what_was_whole() {
    let event = |time: u64| [2 << 54 | 2 << 49 | 34 << 36, time];
    let events: Vec<u64> = (1..=8).flat_map(|round| event(1_000 * round)).collect();
    let whole = [RingBuilder::new(V, 1, 1 << 10).captured(1), packed(0, 0, &events)].concat();
    assert_eq!(all(&whole, V).0.len(), 8);
    // Eleven bytes for the first event, three for each other one.
    let (events, tally) = all(&whole[..whole.len() - 8], V);
    assert_eq!(events.len(), 5);
    assert_eq!(tally.losses.iter().map(|loss| (loss.kind, loss.count)).collect::<Vec<_>>(), [(LossKind::Truncated, 8)]);
}

#[test]
fn ring_heads_that_cannot_be_cost_their_ring_only() {
    let file = rings().file();
    let (whole, _) = all(&file, V);
    // Head and tail of ring 1 are words 8 + 10 and 8 + 11.
    for (word, value) in [(18, u64::MAX), (19, u64::MAX), (19, 5_000), (18, 900)] {
        let (events, tally) = all(&with(&file, word, value), V);
        assert!(events.iter().all(|event| event.lane.0 != 1) && events.len() < whole.len(), "{word}");
        assert_eq!(tally.losses.iter().map(|loss| loss.kind).collect::<Vec<_>>(), [LossKind::Damaged]);
    }
}

#[test]
fn a_normal_end_is_reported() {
    let bytes = rings().captured(6);
    assert!(!all(&bytes, V).1.ended);
    let (_, tally) = all(&[bytes, frame(3, 0, 0, &[])].concat(), V);
    assert!(tally.ended);
}

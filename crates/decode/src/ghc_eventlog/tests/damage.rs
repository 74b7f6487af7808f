//! Every kind of damage: the log is used up to it and after it, and the damage is reported.

use super::super::builder::{Field, LogBuilder};
use super::super::tags::*;
use super::super::{Eventlog, EventlogError};
use super::{REPORT, Shrinking, brief, classes, kinds, open, pass, read, small};
use crate::source::spool;
use rtscope_model::{Class, LossKind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Two blocks of capability 0 and one of 1, `fill` in the middle one.
fn around(fill: impl FnOnce(&mut super::super::builder::BlockBuilder)) -> LogBuilder {
    LogBuilder::new()
        .block(0, 0, 100, |block| {
            block.mark(10, GC_START).mark(20, GC_END);
        })
        .block(1, 0, 100, fill)
        .block(0, 100, 200, |block| {
            block.mark(110, GC_START).mark(120, GC_END);
        })
}

fn times(bytes: Vec<u8>) -> (Vec<u64>, super::Tally) {
    let (events, tally) = read(bytes, &[Class::Collection, Class::Figures]);
    (events.iter().map(|event| event.time.0).collect(), tally)
}

#[test]
fn a_log_cut_anywhere_is_used_up_to_the_cut() {
    let whole = small().end();
    let data = LogBuilder::new().len();
    let (all, _) = read(whole.clone(), &REPORT);
    let mut seen = 0;
    for length in data..whole.len() {
        let log = match open(whole[..length].to_vec()) {
            Ok(log) => log,
            Err(EventlogError::HeaderOnly { .. }) if length == data => continue,
            Err(error) => panic!("cut at {length}: {error}"),
        };
        let (events, tally) = pass(&log, classes(&REPORT), 1);
        assert!(kinds(&tally).contains(&LossKind::Truncated), "cut at {length}: {:?}", tally.losses);
        assert!(!log.is_complete());
        assert!(events.iter().all(|event| all.contains(event)), "cut at {length}");
        assert!(events.len() >= seen, "cut at {length}");
        seen = events.len();
    }
    assert!(seen + 1 >= all.len());
}

#[test]
fn a_cut_shows_how_much_is_missing_and_since_when() {
    let mut bytes = small().cut();
    bytes.truncate(bytes.len() - 17);
    let (_, tally) = read(bytes, &REPORT);
    let loss = &tally.losses[0];
    // 3 of the 20 bytes of the last stop are present: the run before it was the last event.
    assert_eq!((loss.kind, loss.count), (LossKind::Truncated, 17));
    assert_eq!((loss.from.map(|time| time.0), loss.to.map(|time| time.0)), (Some(280), Some(400)));
}

/// Bytes that look like the marker of a block from years later that extends beyond the log's end, or of one that
/// was never closed.
fn like_a_marker(size: u32) -> Vec<u8> {
    let time = 1_u64 << 49;
    let end = if size == 0 { 0 } else { 3_u64 << 50 };
    let mut bytes = BLOCK_MARKER.to_be_bytes().to_vec();
    bytes.extend(time.to_be_bytes());
    bytes.extend(size.to_be_bytes());
    bytes.extend(end.to_be_bytes());
    bytes.extend(3_u16.to_be_bytes());
    bytes
}

#[test]
fn bytes_of_events_that_look_like_a_marker_end_no_block_that_is_cut() {
    for size in [5_000_000, 0] {
        let mut text = like_a_marker(size);
        // As if an event with a declared tag followed.
        text.extend(GC_START.to_be_bytes());
        text.extend([7; 30]);
        let bytes = LogBuilder::new()
            .block(0, 0, 100, |block| {
                block.mark(10, GC_START).mark(20, GC_END);
            })
            .block(1, 0, 100, |block| {
                block.mark(30, GC_START).event(40, USER_MSG, &[Field::Bytes(&text)]).mark(50, GC_END);
                (0..20).for_each(|_| _ = block.mark(60, GC_START).mark(61, GC_END));
            });
        let mut bytes = bytes.cut();
        bytes.truncate(bytes.len() - 100);
        let (seen, tally) = times(bytes);
        assert_eq!(seen.iter().max(), Some(&61), "{seen:?}");
        assert!(seen.contains(&30) && seen.contains(&50), "{seen:?}");
        assert_eq!(kinds(&tally), [LossKind::Truncated], "{:?}", tally.losses);
    }
}

#[test]
fn a_log_without_an_end_mark_shows_since_when_it_may_lack_events() {
    let (_, tally) = read(small().cut(), &REPORT);
    assert_eq!(kinds(&tally), [LossKind::Truncated]);
    assert_eq!(tally.losses[0].from.map(|time| time.0), Some(300));
}

#[test]
fn the_end_mark_may_lie_inside_the_last_block() {
    let log = small().block(u16::MAX, 400, 500, |block| {
        block.raw(&[0xff, 0xff]);
    });
    let log = open(log.cut()).expect("opens");
    assert!(log.is_complete());
    assert_eq!(pass(&log, classes(&REPORT), 1).1.losses, []);
}

#[test]
fn data_after_the_end_mark_is_tolerated() {
    let mut bytes = small().end();
    bytes.extend([0; 4096]);
    let (events, tally) = read(bytes, &REPORT);
    assert_eq!((events, tally.losses), (read(small().end(), &REPORT).0, vec![]));
}

#[test]
fn an_undeclared_tag_costs_the_rest_of_its_block_only() {
    let log = around(|block| {
        block.mark(30, GC_START).raw(&[0x77; 40]).mark(40, GC_END);
    });
    let (times, tally) = times(log.end());
    assert_eq!(times, [10, 20, 30, 110, 120]);
    let loss = &tally.losses[0];
    assert_eq!((loss.kind, loss.count, tally.losses.len()), (LossKind::Damaged, 50, 1));
    assert_eq!((loss.from.map(|time| time.0), loss.to.map(|time| time.0)), (Some(30), Some(100)));
    assert!(loss.note.contains("tag 30583") && loss.note.contains("capability 1"), "{}", loss.note);
}

#[test]
fn a_record_that_reaches_over_its_block_is_damage() {
    let log = around(|block| {
        block.mark(30, GC_START).raw(&[0, 19, 0, 0, 0, 0, 0, 0, 0, 31, 0xff, 0, 1]);
    });
    let (times, tally) = times(log.end());
    assert_eq!((times.len(), kinds(&tally)), (5, vec![LossKind::Damaged]));
}

#[test]
fn an_impossible_time_costs_one_record() {
    let log = around(|block| {
        block.mark(30, GC_START).mark(1 << 62, GC_WORK).mark(40, GC_END);
    });
    let (times, tally) = times(log.end());
    assert_eq!(times, [10, 20, 30, 40, 110, 120]);
    assert_eq!((kinds(&tally), tally.count(GC_WORK)), (vec![LossKind::Damaged], 1));
}

/// The log of [`around`] with the size field of its middle block replaced.
fn with_size(size: u32) -> Vec<u8> {
    let first = LogBuilder::new().block(0, 0, 100, |block| {
        block.mark(10, GC_START).mark(20, GC_END);
    });
    let mut bytes = around(|block| {
        block.mark(30, GC_START);
    })
    .end();
    let at = first.len() + 10;
    bytes[at..at + 4].copy_from_slice(&size.to_be_bytes());
    bytes
}

#[test]
fn a_block_size_that_cannot_be_is_replaced_by_the_next_marker() {
    let right = 34;
    assert_eq!(times(with_size(right)).1.losses, []);
    for size in [0, 1, 23, 35, 40, 60, 1 << 20, 1 << 30, u32::MAX] {
        let (times, tally) = times(with_size(size));
        assert!(times.starts_with(&[10, 20]) && times.ends_with(&[110, 120]), "size {size}: {times:?}");
        assert!(kinds(&tally).iter().all(|kind| *kind == LossKind::Damaged), "size {size}: {:?}", tally.losses);
        assert!(!tally.losses.is_empty(), "size {size}");
    }
}

#[test]
fn a_block_of_size_zero_at_the_end_reaches_to_the_end() {
    let builder = around(|_| ());
    let open_block = builder.unflushed(1, 150, |block| {
        block.mark(160, GC_START).mark(170, GC_END);
    });
    let (times, tally) = times(builder.raw(&open_block).cut());
    assert_eq!(times, [10, 20, 110, 120, 160, 170]);
    assert_eq!(kinds(&tally), [LossKind::Truncated]);
}

#[test]
fn bytes_where_a_marker_belongs_are_skipped_to_the_next_one() {
    let builder = around(|_| ());
    let log = builder.raw(&[0xaa; 1000]).block(1, 300, 400, |block| {
        block.mark(310, GC_START);
    });
    let (times, tally) = times(log.end());
    assert_eq!(times, [10, 20, 110, 120, 310]);
    assert_eq!((tally.losses[0].kind, tally.losses[0].count), (LossKind::Damaged, 1000));
    assert_eq!(tally.losses[0].from.map(|time| time.0), Some(100));
}

#[test]
fn events_outside_any_block_are_a_loss_with_that_note() {
    let bytes = LogBuilder::new().raw(&[0, 9, 0, 0, 0, 0, 0, 0, 0, 1]).raw(&[0, 10, 0, 0, 0, 0, 0, 0, 0, 2]).end();
    let (events, tally) = read(bytes, &REPORT);
    assert_eq!(events, []);
    assert!(tally.losses[0].note.contains("outside any block"), "{:?}", tally.losses);
}

#[test]
fn every_flipped_byte_is_survived_and_the_other_blocks_are_kept() {
    let whole = small().end();
    let data = LogBuilder::new().len();
    for at in 0..whole.len() {
        for flip in [0xff, 0x80, 0x01] {
            let mut bytes = whole.clone();
            bytes[at] ^= flip;
            match open(bytes) {
                Ok(log) => {
                    let (_, tally) = pass(&log, classes(&REPORT), 1);
                    if at > data {
                        assert!(tally.events() > 0, "byte {at} ^ {flip:02x}");
                    }
                }
                Err(error) => assert!(at < data, "byte {at} ^ {flip:02x}: {error}"),
            }
        }
    }
}

#[test]
fn a_log_that_shrinks_while_it_is_read_loses_the_rest() {
    let bytes = small().end();
    let length = bytes.len();
    for left in [0, 100, length / 2, length - 60, length - 1] {
        let source = Arc::new(Shrinking { bytes: bytes.clone(), left: AtomicUsize::new(usize::MAX) });
        let log = Eventlog::open(Arc::clone(&source) as _, Vec::new()).expect("opens");
        source.left.store(left, Ordering::Relaxed);
        let (events, tally) = pass(&log, classes(&REPORT), 2);
        if left < length - 2 {
            assert!(kinds(&tally).contains(&LossKind::Truncated), "{left}: {:?}", tally.losses);
            assert!(tally.losses.iter().any(|loss| loss.note.contains("shorter")), "{:?}", tally.losses);
        }
        assert!(events.len() <= 60);
    }
}

#[test]
fn a_growing_log_is_followed() {
    let whole = small().block(0, 500, 600, |block| {
        block.mark(510, GC_START);
    });
    let whole = whole.end();
    let data = LogBuilder::new().len();
    for first in (data + 1..whole.len()).step_by(7) {
        let source = Arc::new(Growing { bytes: whole.clone(), size: AtomicUsize::new(first) });
        let mut log = Eventlog::open(Arc::clone(&source) as _, Vec::new()).expect("opens");
        source.size.store(whole.len(), Ordering::Relaxed);
        log.refresh().expect("refreshes");
        let expected = open(whole.clone()).expect("opens");
        assert_eq!(log.blocks(), expected.blocks(), "first {first}");
        assert_eq!(log.info(), expected.info());
        assert_eq!(pass(&log, classes(&REPORT), 1), pass(&expected, classes(&REPORT), 1), "first {first}");
        assert_eq!(log.refresh().expect("refreshes"), 0);
    }
}

struct Growing {
    bytes: Vec<u8>,
    size: AtomicUsize,
}

impl crate::ReadAt for Growing {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> std::io::Result<usize> {
        let size = self.size.load(Ordering::Relaxed);
        self.bytes.get(..size).map_or(Ok(0), |bytes| bytes.to_vec().read_at(buffer, offset))
    }

    fn size(&self) -> std::io::Result<u64> {
        Ok(self.size.load(Ordering::Relaxed) as u64)
    }
}

#[test]
fn a_piped_log_is_spooled_and_read() {
    let bytes = small().end();
    let file = tempfile::tempfile().expect("a temporary file");
    let (copied, result) = spool(bytes.as_slice(), &file);
    assert_eq!((copied, result.is_ok()), (bytes.len() as u64, true));
    let log = Eventlog::open(Arc::new(file), Vec::new()).expect("opens");
    assert_eq!(pass(&log, classes(&REPORT), 1).0, read(bytes, &REPORT).0);
}

#[test]
fn damage_without_end_is_listed_up_to_a_limit_and_then_summed_up() {
    let mut log = LogBuilder::new();
    for number in 0..500u64 {
        log = log.block(0, number * 10, number * 10 + 9, |block| {
            block.raw(&[0x77; 30]);
        });
    }
    let (_, tally) = read(log.end(), &REPORT);
    assert!(tally.losses.len() < 100);
    assert_eq!(tally.losses.iter().map(|loss| loss.count).sum::<u64>(), 500 * 30);
    assert!(tally.losses.last().is_some_and(|loss| loss.note.contains("further losses")));
    assert_eq!(brief(&read(small().end(), &[]).0), []);
}

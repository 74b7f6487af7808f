//! Buffers that the program had not written, merged into the log's blocks.

use super::super::builder::LogBuilder;
use super::super::tags::*;
use super::super::{Eventlog, UnflushedBlock};
use super::{REPORT, kinds, read_with, small, unflushed};
use rtscope_model::{Class, LossKind};
use std::sync::Arc;

fn times(bytes: Vec<u8>, buffers: Vec<Vec<u8>>) -> Vec<u64> {
    let buffers = buffers.into_iter().map(unflushed).collect();
    let (events, _) = read_with(bytes, buffers, &[Class::Collection, Class::Figures]);
    events.iter().map(|event| event.time.0).collect()
}

/// Capability 0 with collections at these times, in a block opened at `open`.
fn block(open: u64, starts: &[u64]) -> LogBuilder {
    LogBuilder::new().block(0, open, 1000, |block| {
        starts.iter().for_each(|time| {
            block.mark(*time, GC_START);
        });
    })
}

fn buffer(open: u64, starts: &[u64]) -> Vec<u8> {
    LogBuilder::new().unflushed(0, open, |block| {
        starts.iter().for_each(|time| {
            block.mark(*time, GC_START);
        });
    })
}

#[test]
fn a_header_only_log_reads_from_its_buffers() {
    let global = LogBuilder::new().unflushed(u16::MAX, 1, |block| {
        block.task_create(2, 1, 0, 33);
    });
    let log = LogBuilder::new().cut();
    let buffers = vec![unflushed(buffer(5, &[10, 20])), unflushed(global)];
    let log = Eventlog::open(Arc::new(log), buffers).expect("opens");
    let (events, tally) = super::pass(&log, super::classes(&REPORT), 2);
    assert_eq!(events.len(), 3);
    assert_eq!((tally.count(BLOCK_MARKER), tally.count(GC_START)), (2, 2));
}

#[test]
fn a_buffer_that_the_log_has_in_full_is_dropped() {
    let log = block(5, &[10, 20, 30]).end();
    assert_eq!(times(log, vec![buffer(5, &[10, 20]), buffer(40, &[50])]), [10, 20, 30, 50]);
}

#[test]
fn of_a_cut_block_and_its_buffer_the_longer_one_is_used() {
    let mut log = block(5, &[10, 20, 30]).cut();
    log.truncate(log.len() - 15);
    assert_eq!(times(log.clone(), vec![buffer(5, &[])]), [10]);
    assert_eq!(times(log.clone(), vec![buffer(5, &[10, 20])]), [10, 20]);
    let (_, tally) = read_with(log, vec![unflushed(buffer(5, &[10, 20]))], &REPORT);
    assert!(tally.losses.iter().all(|loss| loss.note.contains("no end mark")), "{:?}", tally.losses);
}

#[test]
fn of_two_copies_of_one_buffer_the_longer_one_is_used() {
    let log = LogBuilder::new().cut();
    assert_eq!(times(log.clone(), vec![buffer(5, &[10]), buffer(5, &[10, 20])]), [10, 20]);
    assert_eq!(times(log, vec![buffer(5, &[10, 20]), buffer(5, &[10])]), [10, 20]);
}

#[test]
fn a_buffer_that_was_copied_inside_a_record_is_used_up_to_it() {
    let whole = buffer(5, &[10, 20]);
    for length in 24..whole.len() {
        let buffers = vec![unflushed(whole[..length].to_vec())];
        let (events, tally) = read_with(LogBuilder::new().cut(), buffers, &[Class::Collection, Class::Figures]);
        assert_eq!(events.len(), (length - 24) / 10);
        assert_eq!(kinds(&tally), [LossKind::Truncated], "length {length}");
    }
}

#[test]
fn a_buffer_goes_where_its_stamp_belongs() {
    let log = block(500, &[510]).end();
    assert_eq!(times(log, vec![buffer(5, &[10])]), [10, 510]);
    assert_eq!(times(small().end(), vec![buffer(401, &[410])]).last(), Some(&410));
}

#[test]
fn bytes_that_are_no_buffer_are_refused() {
    for bytes in [vec![], vec![0; 23], vec![7; 100]] {
        assert!(UnflushedBlock::new(Arc::new(bytes)).expect("reads").is_none());
    }
}

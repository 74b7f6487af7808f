//! What the runtime overwrote or did not post: counted to the word, with a gap on the lane.

use super::super::builder::RingBuilder;
use super::{all, short, stream};
use crate::ReadAt;
use crate::ocaml_ring::{Rings, Version};
use rtscope_model::Runtime::*;
use rtscope_model::{Class, Classes, Loss, LossKind, Phase, Time};
use std::io;
use std::sync::{Arc, Mutex};

const V: Version = Version::V5_4;

fn spans(count: u64) -> RingBuilder {
    RingBuilder::new(V, 2, 1 << 16).slot(1, |ring| {
        (0..count).for_each(|step| {
            ring.span(10 * step + 10, 10 * step + 15, "stw_handler");
        });
    })
}

fn figures(loss: &Loss) -> (LossKind, u64, Option<u64>, Option<u64>) {
    (loss.kind, loss.count, loss.from.map(|time| time.0), loss.to.map(|time| time.0))
}

#[test]
fn words_between_frames_are_lost_and_a_gap_stands_before_the_next_event() {
    // Four words per span: the fifth is lost, and the start of the sixth.
    let bytes = spans(10).captured_as(&[(1, 0..16), (1, 22..40)]);
    let (events, tally) = all(&bytes, V);
    assert_eq!(tally.losses.iter().map(figures).collect::<Vec<_>>(), [(LossKind::RingWords, 6, Some(45), Some(65))]);
    let around: Vec<_> = short(&events).into_iter().filter(|(time, ..)| (40..=70).contains(time)).collect();
    let (begin, end) = (PhaseBegin(Phase::Follow), PhaseEnd(Phase::Follow));
    assert_eq!(around, [(40, 1, begin), (45, 1, end), (65, 1, Gap), (65, 1, end), (70, 1, begin)]);
    // No phases are requested: the gap is still reported.
    let quiet: Vec<_> = stream(&bytes, V, Classes::NONE).collect();
    assert_eq!(short(&quiet), [(65, 1, Gap)]);
}

#[test]
fn a_missing_start_and_a_missing_end_have_no_time_there() {
    let bytes = spans(10).captured_as(&[(1, 8..40), (0, 0..0)]);
    let (_, tally) = all(&bytes, V);
    assert_eq!(tally.losses.iter().map(figures).collect::<Vec<_>>(), [(LossKind::RingWords, 8, None, Some(30))]);
    assert!(tally.losses[0].note.contains("older than what the ring held"));
}

#[test]
fn many_gaps_are_summed_to_the_word() {
    let frames: Vec<_> = (0..4_000).map(|step| (1, 4 * step..4 * step + 2)).collect();
    let (events, tally) = all(&spans(4_000).captured_as(&frames), V);
    assert_eq!(short(&events).iter().filter(|(_, _, what)| *what == Gap).count(), 3_999);
    assert_eq!(tally.losses.iter().map(|loss| loss.count).sum::<u64>(), 2 * 3_999);
    assert!(tally.losses.len() < 520, "{}", tally.losses.len());
    let touched = |at: u64| tally.losses.iter().any(|loss| loss.touches(Time(at), Time(at)));
    assert!((0..3_999).all(|step| touched(10 * step + 15)));
}

#[test]
fn a_silence_that_the_program_requested_is_a_gap_in_all_rings() {
    let rings = RingBuilder::new(V, 3, 1 << 10)
        .slot(0, |ring| {
            ring.begin(10, "stw_handler").life(500, "ring_resume", 0).begin(600, "stw_handler");
        })
        .slot(1, |ring| {
            ring.begin(20, "stw_handler").begin(510, "stw_handler");
        })
        .slot(2, |ring| {
            ring.life(700, "domain_spawn", 7);
        });
    let (events, tally) = all(&rings.file(), V);
    assert_eq!(tally.losses.iter().map(figures).collect::<Vec<_>>(), [(LossKind::Paused, 0, Some(20), Some(500))]);
    let gaps: Vec<_> = short(&events).into_iter().filter(|(_, _, what)| *what == Gap).collect();
    assert_eq!(gaps, [(500, 0, Gap), (500, 1, Gap)]);
}

/// A ring file whose program continues to write: after the first read of the ring's words its head is at `head`, and
/// everything before that has changed.
struct LiveRingFile {
    bytes: Mutex<Vec<u8>>,
    data: u64,
    head: u64,
}

impl ReadAt for LiveRingFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut bytes = self.bytes.lock().expect("unpoisoned");
        if offset >= self.data {
            bytes[64..72].copy_from_slice(&self.head.to_le_bytes());
            let from = self.data as usize;
            bytes[from..from + 8 * self.head as usize].fill(0xff);
        }
        bytes.read_at(buffer, offset)
    }

    fn size(&self) -> io::Result<u64> {
        self.bytes.lock().expect("unpoisoned").size()
    }
}

#[test]
fn words_that_are_overwritten_while_they_are_read_are_dropped_and_counted() {
    let rings = RingBuilder::new(V, 1, 1 << 10).slot(0, |ring| {
        (0..100u64).for_each(|step| {
            ring.span(10 * step + 10, 10 * step + 15, "stw_handler");
        });
    });
    let opened = Rings::open(Arc::new(rings.file()), Some(V)).expect("opens");
    let live = |head| LiveRingFile { bytes: Mutex::new(rings.file()), data: 64 + 80, head };
    for head in [4, 40, 398, 400] {
        let mut stream =
            opened.with_source(Arc::new(live(head))).stream(Classes::NONE.with(Class::Collection).with(Class::Figures));
        let events: Vec<_> = stream.by_ref().collect();
        let kept = 200 - head / 2;
        let losses = stream.losses();
        assert_eq!(
            losses.iter().map(|loss| (loss.kind, loss.count)).collect::<Vec<_>>(),
            [(LossKind::RingWords, head)]
        );
        assert_eq!(events.len() as u64, kept + u64::from(kept > 0), "{head}");
    }
    // A head beyond everything: nothing is believed, and only the existing words are lost.
    let mut stream = opened.with_source(Arc::new(live(900))).stream(Classes::ALL);
    assert_eq!(stream.by_ref().count(), 0);
    assert_eq!(stream.losses().iter().map(|loss| loss.count).collect::<Vec<_>>(), [400]);
}

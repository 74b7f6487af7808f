//! A log that is read while its program writes it: whatever is seen in memory and in the file and when, each event is
//! delivered once, and what could not be seen is a loss.

use super::super::builder::{BlockBuilder, LogBuilder};
use super::super::growing::Growing;
use super::super::{Eventlog, tags};
use super::classes;
use crate::log::{GrowingLog, Piece};
use rtscope_model::{Class, Classes, ClockMap, Event, LossKind};
use std::sync::Arc;

const CAPS: u16 = 3;

fn requested() -> Classes {
    classes(&[Class::Collection, Class::Figures, Class::Heap, Class::Lanes])
}

/// A program: its file, and a buffer per capability.
struct Program {
    log: LogBuilder,
    file: Vec<u8>,
    buffers: Vec<(u64, Vec<u8>)>,
    now: u64,
}

impl Program {
    fn new() -> Program {
        let log = LogBuilder::new();
        let file = log.clone().preamble(7).cut();
        let mut program = Program { log, file, buffers: Vec::new(), now: 100 };
        program.buffers = (0..CAPS).map(|cap| program.opened(cap)).collect();
        program
    }

    fn opened(&mut self, cap: u16) -> (u64, Vec<u8>) {
        self.now += 1;
        (self.now, self.log.unflushed(cap, self.now, |_| {}))
    }

    fn post(&mut self, cap: u16, fill: impl FnOnce(&mut BlockBuilder, u64)) {
        self.now += 10;
        let now = self.now;
        let bytes = self.log.unflushed(cap, now, |block| fill(block, now));
        self.buffers[usize::from(cap)].1.extend(&bytes[24..]);
    }

    /// Writes a buffer to the file and restarts it.
    fn flush(&mut self, cap: u16, to_file: bool) {
        let fresh = self.opened(cap);
        let now = self.now;
        let (_, mut block) = std::mem::replace(&mut self.buffers[usize::from(cap)], fresh);
        let size = block.len() as u32;
        block[10..14].copy_from_slice(&size.to_be_bytes());
        block[14..22].copy_from_slice(&now.to_be_bytes());
        if to_file {
            self.file.extend(block);
        }
    }

    /// A copy of a buffer as a look makes it, `but` bytes short.
    fn copy(&self, growing: &mut Growing, cap: u16, but: usize) {
        let (opened, bytes) = &self.buffers[usize::from(cap)];
        let used = bytes.len().saturating_sub(but).max(24);
        let had = growing.had(cap, *opened) as usize;
        if used < had {
            return;
        }
        let from = had.saturating_sub(8);
        growing.add(Piece { lane: cap, opened: *opened, from: from as u64, bytes: &bytes[from..used] });
    }

    fn open(&self) -> Growing {
        Growing::open(Arc::new(self.file.clone()), "x.eventlog").expect("opens")
    }

    fn look(&self, growing: &mut Growing) -> Vec<Event> {
        growing.read(&self.file, usize::MAX).expect("reads");
        (0..CAPS).for_each(|cap| self.copy(growing, cap, 0));
        growing.events(requested(), ClockMap::LOG_OWN)
    }
}

fn key(event: &Event) -> (u64, u16, String) {
    (event.time.0, event.lane.0, format!("{:?}", event.body))
}

fn sorted(events: &[Event]) -> Vec<(u64, u16, String)> {
    let mut keys: Vec<_> = events.iter().map(key).collect();
    keys.sort();
    keys
}

/// Pseudorandom numbers, so that the tests are the same each time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }
}

#[test]
fn each_event_is_given_once_however_it_is_seen() {
    for seed in 0..200 {
        let mut numbers = Numbers(seed);
        let mut program = Program::new();
        let mut growing = program.open();
        let mut seen = Vec::new();
        for _ in 0..60 {
            let cap = numbers.below(u64::from(CAPS)) as u16;
            match numbers.below(10) {
                0 => program.flush(cap, true),
                1 => {
                    growing.read(&program.file, 1 + numbers.below(200) as usize).expect("reads");
                }
                2 => seen.extend(growing.events(requested(), ClockMap::LOG_OWN)),
                // The file is read first, as a look does.
                3 | 4 => {
                    growing.read(&program.file, usize::MAX).expect("reads");
                    program.copy(&mut growing, cap, numbers.below(30) as usize);
                }
                5 => program.post(cap, |block, now| _ = block.gc_stats(now, 1, now, 2)),
                _ => program.post(cap, |block, now| _ = block.mark(now, tags::GC_START)),
            }
        }
        seen.extend(program.look(&mut growing));
        seen.extend(program.look(&mut growing));
        (0..CAPS).for_each(|cap| program.flush(cap, true));
        let whole = Eventlog::open(Arc::new(program.file.clone()), Vec::new()).expect("opens");
        let expected: Vec<Event> = whole.stream(requested(), ClockMap::LOG_OWN, 1).collect();
        assert_eq!(sorted(&seen), sorted(&expected), "seed {seed}");
        assert!(growing.take_losses(ClockMap::LOG_OWN).is_empty(), "seed {seed}");
    }
}

#[test]
fn a_log_is_taken_in_from_its_end_on_and_gives_what_its_program_is() {
    let mut program = Program::new();
    program.post(0, |block, now| _ = block.mark(now, tags::GC_START));
    program.flush(0, true);
    let mut growing = program.open();
    assert_eq!(growing.facts().version.as_deref(), Some("9.6.6"));
    program.post(0, |block, now| _ = block.mark(now, tags::GC_END));
    assert!(program.look(&mut growing).is_empty());
    let events = program.look(&mut growing);
    assert_eq!(events.iter().map(|event| event.time.0).collect::<Vec<_>>(), [program.now]);
}

#[test]
fn a_log_that_is_taken_in_from_its_start_gives_what_stands_there_once() {
    let mut program = Program::new();
    for cap in [0, 1, 0] {
        program.post(cap, |block, now| _ = block.mark(now, tags::GC_START));
        program.flush(cap, true);
    }
    program.post(0, |block, now| _ = block.mark(now, tags::GC_END));
    let mut growing = Growing::from_start(Arc::new(program.file.clone()), "x.eventlog").expect("opens");
    let mut seen = program.look(&mut growing);
    seen.extend(program.look(&mut growing));
    (0..CAPS).for_each(|cap| program.flush(cap, true));
    let whole = Eventlog::open(Arc::new(program.file.clone()), Vec::new()).expect("opens");
    let expected: Vec<Event> = whole.stream(requested(), ClockMap::LOG_OWN, 1).collect();
    assert!(expected.len() >= 4);
    assert_eq!(sorted(&seen), sorted(&expected));
    assert!(growing.take_losses(ClockMap::LOG_OWN).is_empty());
}

#[test]
fn the_last_bytes_count_only_once_they_were_seen_twice() {
    let mut program = Program::new();
    let mut growing = program.open();
    program.post(0, |block, now| _ = block.gc_stats(now, 1, 77, 2));
    let end = program.buffers[0].1.len() - 1;
    let right = std::mem::replace(&mut program.buffers[0].1[end], 0xaa);
    assert!(program.look(&mut growing).is_empty());
    program.buffers[0].1[end] = right;
    let events = program.look(&mut growing);
    program.flush(0, true);
    let whole = Eventlog::open(Arc::new(program.file.clone()), Vec::new()).expect("opens");
    let expected: Vec<Event> = whole.stream(requested(), ClockMap::LOG_OWN, 1).collect();
    assert_eq!(sorted(&events), sorted(&expected));
    assert!(program.look(&mut growing).is_empty());
}

#[test]
fn what_was_written_out_unseen_is_a_loss_between_what_was_seen() {
    let mut program = Program::new();
    let mut growing = program.open();
    program.post(0, |block, now| _ = block.mark(now, tags::GC_START));
    let before = program.now;
    program.look(&mut growing);
    program.look(&mut growing);
    program.post(0, |block, now| _ = block.mark(now, tags::GC_END));
    // The disk is full: the runtime drops what it could not write.
    program.flush(0, false);
    program.post(0, |block, now| _ = block.mark(now, tags::GC_START));
    program.look(&mut growing);
    let events = program.look(&mut growing);
    assert_eq!(events.len(), 1);
    let losses = growing.take_losses(ClockMap::LOG_OWN);
    let [loss] = losses.as_slice() else { panic!("{losses:?}") };
    let span = (loss.from.unwrap().0, loss.to.unwrap().0);
    assert_eq!((loss.kind, span, loss.source.as_str()), (LossKind::Unwritten, (before, program.now), "x.eventlog"));
    assert!(growing.take_losses(ClockMap::LOG_OWN).is_empty());
}

#[test]
fn damage_in_the_file_or_in_a_buffer_ends_with_the_next_block() {
    let mut program = Program::new();
    let mut growing = program.open();
    program.post(1, |block, now| _ = block.mark(now, tags::GC_START).raw(&[0xee, 0xee, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9]));
    program.look(&mut growing);
    assert_eq!(program.look(&mut growing).len(), 1);
    program.flush(1, true);
    program.file.extend([7; 100]);
    program.post(1, |block, now| _ = block.mark(now, tags::GC_END));
    program.flush(1, true);
    let events = program.look(&mut growing);
    assert_eq!(events.len(), 1, "{events:?}");
    assert_eq!(growing.take_losses(ClockMap::LOG_OWN).len(), 1);
}

#[test]
fn copies_that_a_recorder_makes_are_taken_in_like_memory() {
    let mut program = Program::new();
    let mut growing = program.open();
    let mut seen = Vec::new();
    for round in 0..6 {
        program.post(0, |block, now| _ = block.mark(now, tags::GC_START));
        // Two alternating slots; a slot that ends inside its marker says nothing.
        let old = program.buffers[0].1.clone();
        if round == 3 {
            program.flush(0, true);
            program.post(0, |block, now| _ = block.mark(now, tags::GC_END));
        }
        growing.read(&program.file, usize::MAX).expect("reads");
        for copy in [&old, &program.buffers[0].1, &old[..10].to_vec()] {
            growing.read_copy(0, copy).expect("reads");
        }
        seen.extend(growing.events(requested(), ClockMap::LOG_OWN));
    }
    growing.read_copy(0, &program.buffers[0].1).expect("reads");
    seen.extend(growing.events(requested(), ClockMap::LOG_OWN));
    assert_eq!(seen.len(), 7);
}

#[test]
fn a_block_that_stands_in_the_file_in_part_is_taken_in_as_far_as_it_goes() {
    let mut program = Program::new();
    let mut growing = program.open();
    (0..50).for_each(|_| program.post(0, |block, now| _ = block.mark(now, tags::GC_START)));
    let before = program.file.len();
    program.flush(0, true);
    let mut seen = Vec::new();
    for there in [before + 10, before + 24, before + 31, before + 200, program.file.len() - 13] {
        growing.read(&program.file[..there].to_vec(), usize::MAX).expect("reads");
        seen.extend(growing.events(requested(), ClockMap::LOG_OWN));
    }
    assert_eq!(seen.len(), 48);
    seen.extend(program.look(&mut growing));
    assert_eq!(seen.len(), 50);
    // The next buffer is there before the rest of the previous one: the rest is lost, and arrives too late.
    program.post(0, |block, now| _ = block.mark(now, tags::GC_START));
    let before = program.file.len();
    program.flush(0, true);
    program.post(0, |block, now| _ = block.mark(now, tags::GC_END));
    growing.read(&program.file[..before + 24].to_vec(), usize::MAX).expect("reads");
    program.copy(&mut growing, 0, 0);
    let events = program.look(&mut growing);
    assert_eq!((events.len(), growing.take_losses(ClockMap::LOG_OWN).len()), (1, 1));
    assert!(program.look(&mut growing).is_empty());
}

#[test]
fn a_block_that_was_written_out_between_two_looks_is_given_as_far_as_its_file_goes() {
    let mut program = Program::new();
    let mut growing = program.open();
    (0..50).for_each(|_| program.post(0, |block, now| _ = block.mark(now, tags::GC_START)));
    program.flush(0, true);
    program.post(0, |block, now| _ = block.mark(now, tags::GC_END));
    // The C library holds back the last bytes; the next block is seen in the same look.
    let there = program.file.len() - 13;
    growing.read(&program.file[..there].to_vec(), usize::MAX).expect("reads");
    program.copy(&mut growing, 0, 0);
    let mut seen = growing.events(requested(), ClockMap::LOG_OWN);
    assert_eq!(seen.len(), 48);
    let last = seen.iter().map(|event| event.time).max();
    seen.extend(program.look(&mut growing));
    assert_eq!(seen.len(), 49);
    let losses = growing.take_losses(ClockMap::LOG_OWN);
    assert_eq!(
        losses.iter().map(|loss| (loss.from, loss.to.map(|to| to.0))).collect::<Vec<_>>(),
        [(last, Some(program.now))]
    );
}

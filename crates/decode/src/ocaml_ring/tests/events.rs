//! The meaning and order of events, from either container.

use super::super::builder::{RingBuilder, capture_of};
use super::{all, open, short, stream};
use crate::log::Events as _;
use crate::ocaml_ring::{Rings, Version, VersionSource, phase_name};
use rtscope_model::Runtime::*;
use rtscope_model::{Class, Classes, Counter, LaneId, Phase, Pid, Runtime, Tid, UserEvent};

const V: Version = Version::V5_4;
const NONE: u16 = LaneId::NONE.0;

fn begin(phase: Phase) -> Runtime {
    PhaseBegin(phase)
}

#[test]
fn a_collection_is_the_phases_of_its_domains_in_time_order() {
    let rings = RingBuilder::new(V, 4, 1 << 10).minor(100, 1, &[0]);
    let classes = Classes::NONE.with(Class::Collection).with(Class::Figures);
    let events: Vec<_> = stream(&rings.file(), V, classes).collect();
    let expected = [
        (100, 1, begin(Phase::Wanted)),
        (110, 0, begin(Phase::Follow)),
        (110, 1, begin(Phase::Lead)),
        (111, 0, begin(Phase::Barrier)),
        (111, 1, begin(Phase::Barrier)),
        (120, 0, PhaseEnd(Phase::Barrier)),
        (120, 0, begin(Phase::Minor)),
        (120, 1, PhaseEnd(Phase::Barrier)),
        (120, 1, begin(Phase::Minor)),
        (139, 0, Count(Counter::PromotedBytes, 80)),
        (139, 0, Count(Counter::YoungBytes, 800)),
        (139, 1, Count(Counter::PromotedBytes, 80)),
        (139, 1, Count(Counter::YoungBytes, 800)),
        (140, 0, PhaseEnd(Phase::Minor)),
        (140, 0, begin(Phase::LeaveBarrier)),
        (140, 1, PhaseEnd(Phase::Minor)),
        (140, 1, begin(Phase::LeaveBarrier)),
        (150, 0, PhaseEnd(Phase::LeaveBarrier)),
        (150, 1, PhaseEnd(Phase::LeaveBarrier)),
        (160, 0, PhaseEnd(Phase::Follow)),
        (160, 1, PhaseEnd(Phase::Lead)),
        (160, 1, PhaseEnd(Phase::Wanted)),
    ];
    assert_eq!(short(&events), expected);
}

#[test]
fn every_version_gives_the_same_events_for_the_same_collection() {
    let of = |version: Version| {
        let (events, tally) = all(&RingBuilder::new(version, 2, 1 << 10).minor(100, 1, &[0]).file(), version);
        assert_eq!((tally.count("minor begin"), tally.count("stw_handler end")), (2, 1), "{version}");
        let wanted = |what: &Runtime| matches!(what, PhaseBegin(Phase::Wanted) | PhaseEnd(Phase::Wanted));
        let barrier = |what: &Runtime| matches!(what, PhaseBegin(Phase::Barrier) | PhaseEnd(Phase::Barrier));
        short(&events).into_iter().filter(|(_, _, what)| !wanted(what) && !barrier(what)).collect::<Vec<_>>()
    };
    for version in Version::ALL {
        assert_eq!(of(version), of(Version::V5_4), "{version}");
    }
}

#[test]
fn finer_phases_come_with_their_class_and_keep_their_name() {
    let rings = RingBuilder::new(V, 1, 1 << 10).slot(0, |ring| {
        ring.span(5, 6, "major_mark").span(7, 9, "explicit_gc_full_major").span(10, 11, "explicit_gc_set");
    });
    let details: Vec<_> = stream(&rings.file(), V, Classes::NONE.with(Class::Details)).collect();
    let names = short(&details).into_iter().filter_map(|(time, _, what)| match what {
        PhaseBegin(Phase::Detail(id)) => Some((time, phase_name(id))),
        _ => None,
    });
    assert_eq!(names.collect::<Vec<_>>(), [(5, "major_mark"), (10, "explicit_gc_set")]);
    let pauses: Vec<_> = stream(&rings.file(), V, Classes::NONE.with(Class::Collection).with(Class::Figures)).collect();
    assert_eq!(short(&pauses), [(7, 0, begin(Phase::Explicit)), (9, 0, PhaseEnd(Phase::Explicit))]);
}

#[test]
fn lanes_come_and_go_and_a_slot_is_used_again() {
    let rings = RingBuilder::new(V, 2, 1 << 10)
        .slot(0, |ring| {
            ring.life(1, "ring_start", 77).life(50, "fork_parent", 90).life(99, "ring_stop", 0);
        })
        .slot(1, |ring| {
            ring.life(5, "domain_spawn", 77).counter(6, "minor_allocated", 100).life(7, "domain_terminate", 77);
            ring.life(8, "domain_spawn", 77).counter(9, "minor_allocated", 10).counter(10, "minor_allocated", 20);
        });
    let classes = Classes::NONE.with(Class::Lanes).with(Class::Heap);
    let mut stream = stream(&rings.file(), V, classes);
    let events: Vec<_> = stream.by_ref().collect();
    let allocated = |bytes| Count(Counter::AllocatedBytes, bytes);
    let expected = [
        (1, 0, LaneCreated),
        (5, 1, LaneCreated),
        (6, 1, allocated(100)),
        (7, 1, LaneDeleted),
        (8, 1, LaneCreated),
        (9, 1, allocated(10)),
        (10, 1, allocated(30)),
        (50, 0, Forked { child: Pid(90) }),
    ];
    assert_eq!(short(&events), expected);
    assert!(stream.tally().ended);
}

#[test]
fn heaps_are_sums_over_the_domains_that_live() {
    let rings = RingBuilder::new(V, 3, 1 << 10)
        .slot(0, |ring| {
            ring.heap(10, 100, 60, 7).counter(20, "major_heap_words", 200).heap(40, 300, 50, 0);
        })
        .slot(1, |ring| {
            ring.heap(12, 10, 4, 1).life(30, "domain_terminate", 1);
        });
    let events: Vec<_> = stream(&rings.file(), V, Classes::NONE.with(Class::Heap)).collect();
    let count = |counter, words: u64| Count(counter, 8 * words);
    let expected = [
        (10, NONE, count(Counter::HeapBytes, 107)),
        (10, NONE, count(Counter::LiveBytes, 67)),
        (10, NONE, count(Counter::OldFreeBytes, 40)),
        (10, NONE, count(Counter::LargeBytes, 7)),
        (12, NONE, count(Counter::HeapBytes, 118)),
        (12, NONE, count(Counter::LiveBytes, 72)),
        (12, NONE, count(Counter::OldFreeBytes, 46)),
        (12, NONE, count(Counter::LargeBytes, 8)),
        (20, NONE, count(Counter::HeapBytes, 211)),
        (40, NONE, count(Counter::HeapBytes, 300)),
        (40, NONE, count(Counter::LiveBytes, 50)),
        (40, NONE, count(Counter::OldFreeBytes, 250)),
        (40, NONE, count(Counter::LargeBytes, 0)),
    ];
    assert_eq!(short(&events), expected);
}

#[test]
fn live_bytes_wait_for_all_domains_that_count() {
    let rings = RingBuilder::new(V, 2, 1 << 10)
        .slot(0, |ring| {
            ring.heap(10, 5, 5, 0).heap(20, 7, 7, 0).heap(30, 8, 8, 0).heap(41, 9, 9, 0);
        })
        .slot(1, |ring| {
            ring.heap(11, 1, 1, 0).heap(21, 2, 2, 0);
        });
    let events: Vec<_> = stream(&rings.file(), V, Classes::NONE.with(Class::Heap)).collect();
    let live = short(&events).into_iter().filter_map(|(time, _, what)| match what {
        Count(Counter::LiveBytes, bytes) => Some((time, bytes / 8)),
        _ => None,
    });
    // At 41 the first one counts again: what the second has not posted since 30 is out of date.
    assert_eq!(live.collect::<Vec<_>>(), [(10, 5), (11, 6), (21, 9), (41, 10)]);
}

#[test]
fn user_events_have_their_names_and_our_own_gives_the_thread() {
    let rings = RingBuilder::new(V, 1, 1 << 10).name(0, "app.step").name(3, "rtscope.thread").slot(0, |ring| {
        ring.user(1, "span_begin", 0).user(2, "span_end", 0).user_int(3, 0, -5).user(4, "unit", 2);
        ring.user_int(5, 3, 4711).event(true, 4, 0, 6, &[0x0200_6f6c_6c65_6800]);
    });
    for bytes in [rings.file(), rings.captured(1), capture_of(&rings.file(), 4)] {
        let mut stream = stream(&bytes, V, Classes::NONE.with(Class::User).with(Class::Lanes));
        let events: Vec<_> = stream.by_ref().collect();
        let names = stream.names().clone();
        let shown = short(&events).into_iter().map(|(time, _, what)| match what {
            User(name, posted) => (time, names.get(name).to_owned(), Some(posted)),
            TaskCreated(tid) => (time, tid.to_string(), None),
            other => panic!("{other:?}"),
        });
        let step = |time, posted| (time, "app.step".to_owned(), Some(posted));
        let expected = [
            step(1, UserEvent::Begin),
            step(2, UserEvent::End),
            step(3, UserEvent::Value(-5)),
            (4, "user event 2".to_owned(), Some(UserEvent::Mark)),
            (5, Tid(4711).to_string(), None),
            step(6, UserEvent::Mark),
        ];
        assert_eq!(shown.collect::<Vec<_>>(), expected);
    }
    let lanes: Vec<_> = stream(&rings.file(), V, Classes::NONE.with(Class::Lanes)).collect();
    assert_eq!(short(&lanes), [(5, 0, TaskCreated(Tid(4711)))]);
}

#[test]
fn file_and_captured_stream_give_the_same() {
    let mut rings = RingBuilder::new(V, 3, 1 << 12).name(1, "x");
    for round in 0..20 {
        let (leader, follower) = if round % 3 == 0 { (0, 2) } else { (2, 0) };
        rings = rings.minor(100 * round + 1, leader, &[follower]);
    }
    rings = rings.slot(1, |ring| {
        (0..50).for_each(|step| {
            ring.user_int(37 * step + 2, 1, step as i64);
        });
    });
    let (events, tally) = all(&rings.file(), V);
    assert_eq!((tally.losses.as_slice(), tally.lanes), (&[][..], 3));
    for bytes in [rings.captured(1), rings.captured(7), rings.captured(1000), capture_of(&rings.file(), 50)] {
        assert!(Rings::recognise(&bytes[..64]));
        let (again, other) = all(&bytes, V);
        assert_eq!(short(&again), short(&events));
        assert_eq!(other, tally);
    }
}

#[test]
fn a_ring_that_wraps_is_padded_and_read_over_its_end() {
    // 64 words: 2- and 3-word events reach the end in every possible way.
    let mut rings = RingBuilder::new(V, 1, 64);
    let mut expected = Vec::new();
    for step in 0..500u64 {
        rings = rings.slot(0, |ring| {
            match step % 5 {
                0 => ring.counter(step + 1, "minor_promoted", step),
                _ => ring.begin(step + 1, "stw_handler"),
            };
        });
        expected.push(step + 1);
    }
    let bytes = rings.captured(9);
    let (events, tally) = all(&bytes, V);
    assert_eq!(events.iter().map(|event| event.time.0).collect::<Vec<_>>(), expected);
    assert_eq!(tally.losses, []);
    // The file holds the last of them, and shows how many words are lost.
    let (last, tally) = all(&rings.file(), V);
    let kept = last.len() - 1;
    assert!(kept > 20 && short(&last)[0].2 == Gap, "{kept}");
    assert_eq!(last[1..].iter().map(|event| event.time.0).collect::<Vec<_>>(), expected[500 - kept..]);
    let mut oldest = 0;
    rings.slot(0, |ring| oldest = ring.oldest());
    assert_eq!(tally.losses.iter().map(|loss| loss.count).collect::<Vec<_>>(), [oldest]);
}

#[test]
fn only_what_is_requested_is_given_and_everything_is_counted() {
    let rings = RingBuilder::new(V, 2, 1 << 10).minor(100, 1, &[0]).slot(0, |ring| {
        ring.heap(300, 1, 1, 1);
    });
    let mut none = stream(&rings.file(), V, Classes::NONE);
    assert_eq!(none.by_ref().count(), 0);
    let (_, tally) = all(&rings.file(), V);
    assert_eq!(none.tally(), tally);
    assert_eq!((tally.events(), tally.count("counter minor_allocated")), (32, 2));
    assert_eq!(tally.bytes, 8 * (2 * 22 + 3 * 10));
    assert_eq!((tally.first.map(|time| time.0), tally.last.map(|time| time.0)), (Some(100), Some(300)));
}

#[test]
fn the_caller_or_the_stream_gives_the_version() {
    let rings = RingBuilder::new(V, 2, 1 << 10).minor(100, 1, &[0]);
    let found = open(&rings.file(), None).expect("a version").version();
    assert_eq!((found.to_string().as_str(), found.by), ("5.4 or 5.5", VersionSource::Stream));
    let found = open(&rings.file(), Some(V)).expect("a version").version();
    assert_eq!((found.to_string().as_str(), found.by), ("5.4", VersionSource::Caller));
}

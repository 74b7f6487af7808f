//! Which events a log becomes, and in which order.

use super::super::builder::{Field, LogBuilder};
use super::super::tags::*;
use super::{REPORT, brief, classes, kinds, open, pass, read, small};
use rtscope_model::event::Runtime::{self, *};
use rtscope_model::{BlockedOn, Class, ClockMap, ClockMethod, Counter, GreenThread, LossKind, StopReason, Tid};

#[test]
fn a_collection_comes_out_in_time_order() {
    let (events, tally) = read(small().end(), &[Class::Collection, Class::Figures]);
    let count = |counter, value| Count(counter, value);
    let expected: Vec<(u64, u16, Runtime)> = vec![
        (160, 0, StopRequested { parallel: true }),
        (180, 1, Stopped),
        (200, 0, Stopped),
        (210, 0, WorkBegin),
        (211, 1, WorkBegin),
        (225, 1, WorkEnd),
        (230, 0, WorkEnd),
        (239, 0, Resumed),
        (240, 0, GlobalSync),
        (241, 0, count(Counter::Generation, 1)),
        (241, 0, count(Counter::CopiedBytes, 64)),
        (241, 0, count(Counter::SlopBytes, 0)),
        (241, 0, count(Counter::FragmentationBytes, 0)),
        (241, 0, count(Counter::GcThreads, 2)),
        (241, 0, count(Counter::CopiedMaxBytes, 64)),
        (241, 0, count(Counter::CopiedBalancedBytes, 0)),
        (245, 1, Resumed),
    ];
    assert_eq!(brief(&events), expected);
    assert_eq!(tally.losses, []);
}

#[test]
fn the_tally_is_whole_whatever_classes_were_requested() {
    let whole = read(small().end(), &REPORT).1;
    let none = read(small().end(), &[]).1;
    assert_eq!(whole, none);
    assert_eq!((whole.count(RUN_THREAD), whole.count(BLOCK_MARKER), whole.count(GC_START)), (5, 3, 2));
    assert_eq!(whole.events(), 31);
}

#[test]
fn heap_lanes_and_concurrent_phases_come_out() {
    let log = LogBuilder::new()
        .block(u16::MAX, 1, 99, |block| {
            block.event(2, CAP_CREATE, &[Field::U16(3)]).task_create(3, 99, 3, 4711).task_create(4, 98, 3, 1 << 40);
            block.mark(5, CONC_MARK_BEGIN).event(6, CONC_MARK_END, &[Field::U32(8)]);
            block.event(7, CAP_DISABLE, &[Field::U16(3)]);
        })
        .block(3, 1, 99, |block| {
            block.heap(4, HEAP_ALLOCATED, 5).heap(5, BLOCKS_SIZE, 6);
            block.event(6, MEM_RETURN, &[Field::U32(0), Field::U32(9), Field::U32(8), Field::U32(1)]);
        });
    let (events, _) = read(log.end(), &[Class::Heap, Class::Lanes, Class::Concurrent]);
    let none = u16::MAX;
    let expected: Vec<(u64, u16, Runtime)> = vec![
        (2, 3, LaneCreated),
        (3, 3, TaskCreated(Tid(4711))),
        (4, 3, Count(Counter::AllocatedBytes, 5)),
        (5, 3, Count(Counter::BlocksBytes, 6)),
        (5, none, ConcurrentMarkBegin),
        (6, 3, Count(Counter::ReturnHeldMib, 9)),
        (6, 3, Count(Counter::ReturnNeededMib, 8)),
        (6, 3, Count(Counter::ReturnedMib, 1)),
        (6, none, ConcurrentMarkEnd),
        (7, 3, LaneDisabled),
    ];
    assert_eq!(brief(&events), expected);
}

#[test]
fn spark_counters_come_out_for_their_lane() {
    let counters = [7, 1, 2, 3, 4, 0, 9].map(Field::U64);
    let log = || LogBuilder::new().block(1, 1, 99, |block| _ = block.event(5, SPARK_COUNTERS, &counters));
    let (events, _) = read(log().end(), &[Class::Sparks]);
    let expected = [
        (Counter::SparksCreated, 7),
        (Counter::SparksDud, 1),
        (Counter::SparksOverflowed, 2),
        (Counter::SparksConverted, 3),
        (Counter::SparksCollected, 4),
        (Counter::SparksFizzled, 0),
        (Counter::SparksRemaining, 9),
    ];
    assert_eq!(brief(&events), expected.map(|(counter, value)| (5, 1, Count(counter, value))));
    assert_eq!(read(log().end(), &[Class::Collection, Class::Figures, Class::Heap, Class::GreenEdges]).0, []);
}

#[test]
fn green_edges_are_the_last_stop_before_and_the_first_run_after_a_collection() {
    let (events, _) = read(small().end(), &[Class::GreenEdges]);
    let stop = |thread| ThreadStop(GreenThread(thread), StopReason::Yielded);
    let run = |thread| ThreadRun(GreenThread(thread));
    let expected: Vec<(u64, u16, Runtime)> =
        vec![(150, 0, stop(1)), (170, 1, stop(2)), (260, 0, run(1)), (270, 1, run(2))];
    assert_eq!(brief(&events), expected);
}

#[test]
fn starts_and_wake_ups_of_green_threads_come_with_every_run_only() {
    let log = LogBuilder::new().block(1, 0, 100, |block| {
        block.event(5, CREATE_THREAD, &[Field::U32(7)]).run(10, 6);
        block.event(20, THREAD_WAKEUP, &[Field::U32(7), Field::U16(0)]).stop(30, 6, 7);
        block.event(40, MIGRATE_THREAD, &[Field::U32(7), Field::U16(0)]);
    });
    let (all, _) = read(log.clone().end(), &[Class::Green]);
    let expected: Vec<(u64, u16, Runtime)> = vec![
        (5, 1, ThreadCreated(GreenThread(7))),
        (10, 1, ThreadRun(GreenThread(6))),
        (20, 1, ThreadWoken(GreenThread(7))),
        (30, 1, ThreadStop(GreenThread(6), StopReason::Blocked(BlockedOn::Lock))),
        (40, 1, ThreadMoved(GreenThread(7))),
    ];
    assert_eq!(brief(&all), expected);
    let (edges, _) = read(log.end(), &[Class::GreenEdges]);
    assert_eq!(brief(&edges), [(40, 1, ThreadMoved(GreenThread(7)))]);
}

#[test]
fn green_edges_are_settled_over_the_borders_of_blocks() {
    let log = LogBuilder::new()
        .block(0, 0, 100, |block| {
            block.run(10, 1).stop(20, 1, 3).run(30, 2).stop(40, 2, 7);
        })
        .block(0, 100, 200, |block| {
            block.mark(110, GC_START).mark(120, GC_END);
        })
        .block(0, 200, 300, |block| {
            block.heap(205, HEAP_SIZE, 1);
        })
        .block(0, 300, 400, |block| {
            block.run(310, 3).stop(320, 3, 5).run(330, 4);
        })
        .block(0, 400, 500, |block| {
            block.stop(410, 4, 5).run(420, 5).stop(430, 5, 5).mark(440, GC_START).run(450, 6);
        })
        .block(0, 500, 600, |block| {
            block.run(510, 7).stop(520, 7, 5);
        });
    let (events, _) = read(log.end(), &[Class::GreenEdges]);
    let expected: Vec<(u64, u16, Runtime)> = vec![
        (40, 0, ThreadStop(GreenThread(2), StopReason::Blocked(BlockedOn::Lock))),
        (310, 0, ThreadRun(GreenThread(3))),
        (430, 0, ThreadStop(GreenThread(5), StopReason::Finished)),
        (450, 0, ThreadRun(GreenThread(6))),
    ];
    assert_eq!(brief(&events), expected);
}

#[test]
fn a_sequential_collection_marks_the_edges_of_lanes_that_post_nothing_else() {
    let log = LogBuilder::new()
        .block(0, 0, 100, |block| {
            block.run(10, 1).stop(20, 1, 1).mark(21, REQUEST_SEQ_GC).mark(30, GC_START).mark(50, GC_END).run(60, 1);
        })
        .block(1, 0, 100, |block| {
            block.run(5, 2).stop(25, 2, 3).heap(31, HEAP_ALLOCATED, 7).run(61, 2).stop(70, 2, 3).run(75, 2);
        });
    let (events, _) = read(log.end(), &[Class::GreenEdges]);
    let times: Vec<_> = events.iter().map(|event| (event.time.0, event.lane.0)).collect();
    assert_eq!(times, [(20, 0), (25, 1), (60, 0), (61, 1)]);
}

#[test]
fn the_tracer_s_own_gaps_are_events() {
    let log = LogBuilder::new()
        .block(0, 0, 100, |block| {
            block.run(50, 1);
        })
        .block(1, 0, 1000, |block| {
            block.run(60, 2);
        })
        .block(0, 170, 300, |block| {
            block.stop(180, 1, 3);
        });
    let (events, _) = read(log.end(), &[Class::Tracer]);
    assert_eq!(brief(&events), [(170, 0, TracerWrote { ns: 70 })]);
}

#[test]
fn a_stamp_from_before_the_border_of_blocks_is_put_in_its_place() {
    let log = LogBuilder::new()
        .block(0, 0, 100, |block| {
            block.mark(80, GC_START).mark(90, GC_GLOBAL_SYNC).gc_stats(91, 0, 1, 1);
        })
        .block(0, 900, 1000, |block| {
            block.mark(89, GC_END).heap(950, HEAP_SIZE, 1);
        })
        .block(1, 0, 1000, |block| {
            block.mark(500, GC_IDLE);
        });
    let (events, tally) = read(log.end(), &[Class::Collection, Class::Figures, Class::Tracer]);
    let times: Vec<_> = events.iter().map(|event| event.time.0).collect();
    assert_eq!(times, [80, 89, 90, 91, 91, 91, 91, 91, 91, 91, 500, 900]);
    assert_eq!(tally.losses, []);
}

#[test]
fn a_stamp_past_the_window_is_delivered_late_and_counted() {
    let log = LogBuilder::new().block(0, 0, 5000, |block| {
        for time in 1000..1100 {
            block.mark(time, GC_WORK);
        }
        block.mark(500, GC_IDLE).mark(1200, GC_DONE);
    });
    let (events, tally) = read(log.end(), &[Class::Collection, Class::Figures]);
    assert_eq!(events.len(), 102);
    assert_eq!(kinds(&tally), [LossKind::OutOfOrder]);
    let loss = &tally.losses[0];
    assert_eq!((loss.count, loss.from.map(|time| time.0)), (1, Some(500)));
}

#[test]
fn times_are_converted_to_the_trace_clock() {
    let clock = ClockMap { offset_ns: 1_000_000, error_ns: Some(200), method: ClockMethod::RuntimeStatic };
    let log = open(small().end()).expect("opens");
    let mut stream = log.stream(classes(&[Class::Collection, Class::Figures]), clock, 1);
    assert_eq!(stream.next().map(|event| event.time.0), Some(1_000_160));
}

#[test]
fn what_the_log_gives_of_the_program_is_known_before_the_first_event() {
    let log = small().block(u16::MAX, 500, 600, |block| {
        block.task_create(510, 9, 1, 4712);
        let heap =
            [Field::U32(0), Field::U16(2), Field::U64(0), Field::U64(1 << 20), Field::U64(1 << 20), Field::U64(4096)];
        block.event(520, HEAP_INFO_GHC, &heap);
    });
    let log = open(log.end()).expect("opens");
    let info = log.info();
    assert_eq!((info.version.as_deref(), info.way.as_deref()), (Some("9.6.6"), Some("thr")));
    assert_eq!(
        (info.pids.as_slice(), info.args.as_slice()),
        (&[77][..], &["prog".to_string(), "+RTS".to_string()][..])
    );
    assert_eq!(info.wall_clock.map(|pair| (pair.log.0, pair.realtime_ns)), Some((11, 1_700_000_000_000_000_005)));
    assert_eq!(info.heap.map(|heap| heap.nursery_bytes), Some(1 << 20));
    assert!(log.is_complete());
}

#[test]
fn two_processes_in_one_log_are_reported() {
    let (_, tally) = read(LogBuilder::new().preamble(5).preamble(6).end(), &REPORT);
    assert_eq!(kinds(&tally), [LossKind::MixedProcesses]);
}

#[test]
fn any_number_of_threads_gives_the_same_events() {
    let mut log = LogBuilder::new().preamble(1);
    for number in 0..40u64 {
        let open = 1000 * number;
        log = log.block((number % 3) as u16, open, open + 2900, |block| {
            for step in 0..60 {
                block.run(open + step * 40, 1).stop(open + step * 40 + 20, 1, 3).mark(open + step * 40 + 30, GC_START);
            }
        });
    }
    let log = open(log.end()).expect("opens");
    let list = classes(&REPORT);
    let (one, tally) = pass(&log, list, 1);
    assert_eq!(tally.losses, []);
    assert!(one.len() > 2000);
    for threads in [2, 3, 8] {
        let (many, same) = pass(&log, list, threads);
        assert_eq!((many, same), (one.clone(), tally.clone()), "{threads} threads");
    }
}

#[test]
fn a_stream_that_is_dropped_early_ends_its_threads() {
    let log = open(small().end()).expect("opens");
    let mut stream = log.stream(classes(&REPORT), ClockMap::LOG_OWN, 4);
    assert!(stream.next().is_some());
    drop(stream);
}

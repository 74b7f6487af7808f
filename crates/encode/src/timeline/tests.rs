//! Events of both runtimes, whole and damaged, and the resulting states of lanes.

use super::*;
use crate::Export;
use crate::testing::{Drawing, facts, rt, tables, write};
use rtscope_model::{CausePiece, GreenThread, Loss, Pause, Phase, StopReason};

/// A format that records what is drawn.
struct Remembered {
    timeline: Timeline,
    drawing: Drawing,
}

impl Export for Remembered {
    fn event(&mut self, event: &Event, tables: Tables<'_>) -> io::Result<()> {
        self.timeline.push(event, tables, &mut self.drawing)
    }

    fn segment(&mut self, lane: LaneId, piece: &Segment<Doing>, tables: Tables<'_>) -> io::Result<()> {
        self.timeline.segment(lane, piece, tables, &mut self.drawing)
    }

    fn pause(&mut self, _: &Pause, _: &[CausePiece], _: Tables<'_>) -> io::Result<()> {
        Ok(())
    }

    fn finish(&mut self, _: &[Loss]) -> io::Result<()> {
        tables(|tables| self.timeline.finish(tables, &mut self.drawing))
    }
}

fn drawn(family: &str, events: &[Event]) -> Drawing {
    let mut all = Remembered { timeline: Timeline::new(&facts(family)), drawing: Drawing::default() };
    tables(|tables| write(&mut all, family, events, None, tables)).unwrap();
    all.finish(&[]).unwrap();
    all.drawing
}

fn begin(phase: Phase) -> Runtime {
    Runtime::PhaseBegin(phase)
}

fn end(phase: Phase) -> Runtime {
    Runtime::PhaseEnd(phase)
}

#[test]
fn a_parallel_collection_of_ghc() {
    let green = GreenThread(7);
    let drawing = drawn(
        "ghc",
        &[
            rt(10, 0, Runtime::ThreadRun(green)),
            rt(90, 0, Runtime::ThreadStop(green, StopReason::Yielded)),
            rt(100, 0, Runtime::StopRequested { parallel: true }),
            rt(150, 1, Runtime::Stopped),
            rt(160, 0, Runtime::Stopped),
            rt(165, 1, Runtime::WorkBegin),
            rt(166, 0, Runtime::WorkBegin),
            rt(200, 1, Runtime::WorkIdle),
            rt(210, 1, Runtime::WorkBegin),
            rt(220, 1, Runtime::WorkEnd),
            rt(250, 0, Runtime::WorkEnd),
            rt(260, 0, Runtime::Resumed),
            rt(270, 1, Runtime::Resumed),
        ],
    );
    let expected = [
        "0 program 10-90 self 80",
        "0 . waiting to stop 150-160 self 10",
        "0 . collecting 166-250 self 84",
        "0 collection, leading 100-260 self 66",
    ];
    assert_eq!(drawing.of(Track::Lane(LaneId(0))), expected);
    let expected = [
        "1 waiting to stop 100-150 self 50",
        "1 . collecting 165-220 self 55",
        "1 . release 260-270 self 10",
        "1 collection 150-270 self 55",
    ];
    assert_eq!(drawing.of(Track::Lane(LaneId(1))), expected);
}

#[test]
fn an_arrival_before_its_request_waits_for_the_leader_too() {
    let drawing = drawn(
        "ghc",
        &[
            rt(95, 1, Runtime::Stopped),
            rt(100, 0, Runtime::StopRequested { parallel: true }),
            rt(160, 0, Runtime::Stopped),
            rt(260, 0, Runtime::Resumed),
            rt(270, 1, Runtime::Resumed),
        ],
    );
    assert_eq!(drawing.of(Track::Lane(LaneId(1))), ["1 . release 260-270 self 10", "1 collection 95-270 self 165"]);
}

#[test]
fn a_section_of_ocaml_lies_in_the_program() {
    let drawing = drawn(
        "ocaml",
        &[
            rt(10, 0, begin(Phase::Wanted)),
            rt(20, 0, begin(Phase::Lead)),
            rt(30, 0, begin(Phase::Barrier)),
            rt(40, 1, begin(Phase::Follow)),
            rt(50, 0, end(Phase::Barrier)),
            rt(51, 0, begin(Phase::Minor)),
            rt(60, 0, end(Phase::Minor)),
            rt(61, 0, begin(Phase::LeaveBarrier)),
            rt(70, 0, end(Phase::LeaveBarrier)),
            rt(80, 0, end(Phase::Lead)),
            rt(81, 0, end(Phase::Wanted)),
            rt(90, 1, end(Phase::Follow)),
            rt(100, 0, Runtime::LaneDeleted),
        ],
    );
    let expected = [
        "0 waiting to lead 10-20 self 10",
        "0 . collecting 51-60 self 9",
        "0 . release 70-80 self 10",
        "0 collection, leading 20-80 self 41",
        "0 waiting to lead 80-81 self 1",
        "0 outside collections 81-100 self 19",
    ];
    assert_eq!(drawing.of(Track::Lane(LaneId(0))), expected);
    assert_eq!(drawing.marks, [(Track::Lane(LaneId(0)), Time(100), Mark::Ended)]);
    let expected = [
        "1 waiting to stop 20-40 self 20",
        "1 . release 70-90 self 20",
        "1 collection 40-90 self 30",
        "1 outside collections 90-100 self 10",
    ];
    assert_eq!(drawing.of(Track::Lane(LaneId(1))), expected);
}

#[test]
fn phases_that_are_no_state_of_a_lane_have_a_track_of_their_own() {
    let drawing = drawn(
        "ocaml",
        &[
            rt(10, 0, begin(Phase::Explicit)),
            rt(20, 0, begin(Phase::Detail(7))),
            rt(30, 0, begin(Phase::MajorSlice)),
            rt(40, 0, end(Phase::MajorSlice)),
            rt(50, 0, Runtime::Gap),
            rt(60, 0, end(Phase::Explicit)),
        ],
    );
    let [inner, outer] = &drawing.of(Track::Phases(LaneId(0)))[..] else { panic!("{:?}", drawing.spans) };
    assert!(inner.starts_with("0 . ") && inner.ends_with(" 20-50 self 30"), "{inner}");
    assert_eq!(outer, "0 asked for by the program 10-50 self 10");
    assert!(drawing.of(Track::Lane(LaneId(0))).contains(&"0 major slice 30-40 self 10".to_owned()));
}

#[test]
fn what_was_lost_leaves_nothing_open() {
    let drawing = drawn(
        "ghc",
        &[
            // The end of this collection is missing.
            rt(100, 0, Runtime::StopRequested { parallel: true }),
            rt(160, 0, Runtime::Stopped),
            rt(500, 1, Runtime::StopRequested { parallel: true }),
            rt(510, 0, Runtime::Resumed),
            rt(520, 2, Runtime::WorkBegin),
            rt(530, 1, Runtime::Gap),
            rt(540, 1, Runtime::ThreadRun(GreenThread(1))),
            rt(550, 2, Runtime::WorkEnd),
        ],
    );
    let expected = ["0 collection, leading 100-500 self 400", "0 outside collections 500-540 self 40"];
    assert_eq!(drawing.of(Track::Lane(LaneId(0))), expected);
    // A stop that was requested but not seen is left out, as in the report.
    assert_eq!(
        drawing.of(Track::Lane(LaneId(1))),
        ["1 outside collections 530-540 self 10", "1 program 540-550 self 10"]
    );
    assert_eq!(drawing.of(Track::Lane(LaneId(2))), ["2 outside collections 520-540 self 20"]);
    assert_eq!(drawing.marks, [(Track::Lane(LaneId(1)), Time(530), Mark::Lost)]);
}

#[test]
fn lines_are_of_a_lane_or_of_the_program() {
    use rtscope_model::{Counter, Sample};
    let sample = Event { time: Time(5), lane: LaneId::NONE, body: Body::Sample(Sample::Rss { bytes: 9 }) };
    let events = [
        rt(1, 1, Runtime::Count(Counter::AllocatedBytes, 3)),
        rt(2, 1, Runtime::Count(Counter::HeapBytes, 4)),
        rt(3, 1, Runtime::Count(Counter::Generation, 1)),
        sample,
    ];
    let expected = [
        (Line::Runtime(Counter::AllocatedBytes, LaneId(1)), Time(1), 3),
        (Line::Runtime(Counter::HeapBytes, LaneId::NONE), Time(2), 4),
        (Line::Rss, Time(5), 9),
    ];
    assert_eq!(drawn("ghc", &events).values, expected);
}

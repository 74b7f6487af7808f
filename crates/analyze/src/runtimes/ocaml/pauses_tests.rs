//! Sections as runtimes post them, whole, cut and with gaps, and what is recognised from each.

use super::*;
use crate::testing::Script;
use rtscope_model::LossKind;

fn recognised(script: Script) -> (Vec<Recognised>, Option<Loss>) {
    let (mut recogniser, mut out) = (Recogniser::default(), Vec::new());
    let events = script.events();
    events.iter().for_each(|event| recogniser.push(event, &mut out));
    let loss = recogniser.finish(events.last().map_or(Time(0), |event| event.time), &mut out);
    (out, loss)
}

fn begin(phase: Phase) -> Runtime {
    Runtime::PhaseBegin(phase)
}

fn end(phase: Phase) -> Runtime {
    Runtime::PhaseEnd(phase)
}

/// A minor collection led by lane 0 at `at` and joined by lane 1 at `at + 50`; lane 0 leaves at `at + 200`, lane 1
/// at `left`.
fn minor(script: Script, at: u64, left: u64) -> Script {
    let both = |script: Script, lane: u16, from: u64, to: u64| {
        script.rt(from, lane, begin(Phase::Minor)).rt(to, lane, Runtime::Count(Counter::PromotedBytes, 100)).rt(
            to,
            lane,
            end(Phase::Minor),
        )
    };
    let script = script
        .rt(at, 0, begin(Phase::Lead))
        .rt(at + 10, 0, begin(Phase::Barrier))
        .rt(at + 50, 1, begin(Phase::Follow))
        .rt(at + 60, 0, end(Phase::Barrier));
    let script = both(both(script, 0, at + 61, at + 150), 1, at + 55, at + 180);
    script.rt(at + 200, 0, end(Phase::Lead)).rt(left, 1, end(Phase::Follow))
}

#[test]
fn a_section_is_split_into_stop_work_and_release() {
    let (out, loss) = recognised(minor(Script::default(), 1_000, 1_300));
    let [one] = &out[..] else { panic!("{out:?}") };
    let pause = &one.pause;
    assert_eq!((pause.kind, pause.generation, pause.quality), (PauseKind::Minor, Some(0), PauseQuality::Whole));
    assert_eq!((pause.requested, pause.stopped), (Some(Time(1_000)), Time(1_050)));
    assert_eq!((pause.collected, pause.released), (Time(1_180), Time(1_300)));
    assert_eq!((pause.leader, pause.straggler), (Some(LaneId(0)), Some(LaneId(1))));
    assert_eq!((pause.copied_bytes, pause.gc_threads), (Some(200), Some(2)));
    let works: Vec<_> = pause.lanes.iter().map(|lane| (lane.arrived, lane.work_ns, lane.left)).collect();
    assert_eq!(works, [(None, 89, Some(Time(1_200))), (Some(Time(1_050)), 125, Some(Time(1_300)))]);
    assert_eq!(loss, None);
}

#[test]
fn a_section_without_collections_took_place_even_if_a_lane_has_not_posted_its_leaving() {
    // Lane 1 loses its CPU before it can post that it left; the next request comes first.
    let script = Script::default()
        .rt(1_000, 0, begin(Phase::Lead))
        .rt(1_010, 0, begin(Phase::Barrier))
        .rt(1_050, 1, begin(Phase::Follow))
        .rt(1_060, 0, end(Phase::Barrier))
        .rt(1_100, 0, end(Phase::Lead))
        .rt(5_000, 0, begin(Phase::Lead))
        .rt(5_010, 1, end(Phase::Follow))
        .rt(5_020, 0, end(Phase::Lead));
    let (out, loss) = recognised(script);
    let [first, _] = &out[..] else { panic!("{out:?}") };
    let pause = &first.pause;
    assert_eq!((pause.kind, pause.quality), (PauseKind::Unknown, PauseQuality::Whole));
    assert_eq!((pause.stopped, pause.released), (Time(1_050), Time(5_000)));
    assert_eq!(loss, None);
}

#[test]
fn an_unanswered_request_is_counted_and_nothing_else() {
    let script = Script::default().rt(1_000, 0, begin(Phase::Lead)).rt(1_500, 0, begin(Phase::Lead)).rt(
        1_600,
        0,
        end(Phase::Lead),
    );
    let (out, loss) = recognised(script);
    let loss = loss.expect("one");
    assert_eq!((out.len(), loss.kind, loss.count), (1, LossKind::Unfinished, 1));
    assert_eq!((loss.from, loss.to), (Some(Time(1_000)), Some(Time(1_500))));
}

#[test]
fn the_work_is_done_when_the_first_is_through_the_barrier_after_it() {
    // Lane 1 was the last to collect and lost its CPU before it could post that.
    let script = Script::default()
        .rt(1_000, 0, begin(Phase::Lead))
        .rt(1_050, 1, begin(Phase::Follow))
        .rt(1_060, 0, begin(Phase::Minor))
        .rt(1_070, 0, end(Phase::Minor))
        .rt(1_071, 0, begin(Phase::LeaveBarrier))
        .rt(1_080, 1, begin(Phase::Minor))
        .rt(1_090, 0, end(Phase::LeaveBarrier))
        .rt(1_100, 0, end(Phase::Lead))
        .rt(9_000, 1, end(Phase::Minor))
        .rt(9_001, 1, begin(Phase::LeaveBarrier))
        .rt(9_002, 1, end(Phase::LeaveBarrier))
        .rt(9_010, 1, end(Phase::Follow));
    let (out, _) = recognised(script);
    let pause = &out[0].pause;
    assert_eq!((pause.stopped, pause.collected, pause.released), (Time(1_050), Time(1_090), Time(9_010)));
    assert_eq!((pause.lanes[1].work_ns, pause.lanes[1].work_end), (10, Some(Time(1_090))));
}

#[test]
fn a_lane_that_posts_late_that_it_has_left_is_counted_until_the_next_request() {
    let script = minor(minor(Script::default(), 1_000, 1_520), 1_500, 1_800);
    // Lane 1 posts its leaving after the second request, and arrives after that.
    let (out, _) = recognised(script);
    let spans: Vec<_> = out.iter().map(|one| (one.pause.begin(), one.pause.released, one.pause.quality)).collect();
    let whole = PauseQuality::Whole;
    assert_eq!(spans, [(Time(1_000), Time(1_500), whole), (Time(1_500), Time(1_800), whole)]);
}

#[test]
fn the_greatest_thing_done_names_the_section() {
    let of = |phase| {
        let script = minor(Script::default(), 1_000, 1_300);
        recognised(script.rt(1_182, 1, begin(phase)).rt(1_250, 1, end(phase))).0.swap_remove(0).pause
    };
    let cycle = of(Phase::CycleEnd);
    assert_eq!((cycle.kind, cycle.generation, cycle.collected), (PauseKind::Major, Some(1), Time(1_250)));
    assert_eq!(of(Phase::Compact).kind, PauseKind::Compaction);
    assert_eq!(of(Phase::Resize).kind, PauseKind::Minor);
}

#[test]
fn a_domain_whose_thread_waits_is_reported() {
    let script = Script::default().rt(10, 1, begin(Phase::Condition));
    let (out, _) = recognised(minor(script, 1_000, 1_300).rt(2_000, 1, end(Phase::Condition)));
    assert_eq!(out[0].marks.iter().map(|marks| marks.waited).collect::<Vec<_>>(), [false, true]);
}

#[test]
fn a_gap_makes_what_it_touches_partial_and_nothing_else() {
    let script = minor(minor(minor(Script::default(), 1_000, 1_300), 2_000, 2_300), 3_000, 3_300);
    let (out, _) = recognised(script.rt(2_170, 1, Runtime::Gap));
    let qualities: Vec<_> = out.iter().map(|one| one.pause.quality).collect();
    assert_eq!(qualities, [PauseQuality::Whole, PauseQuality::Partial, PauseQuality::Whole]);
}

#[test]
fn a_stream_that_begins_or_ends_inside_a_section_invents_nothing() {
    let events = minor(Script::default(), 1_000, 1_300).events();
    for from in 0..events.len() {
        for to in from..=events.len() {
            let (mut recogniser, mut out) = (Recogniser::default(), Vec::new());
            events[from..to].iter().for_each(|event| recogniser.push(event, &mut out));
            recogniser.finish(Time(2_000), &mut out);
            let whole = out.iter().filter(|one| one.pause.quality == PauseQuality::Whole).count();
            let complete = from == 0 && to == events.len();
            assert!(whole == 0 || from == 0, "{from} {to}");
            assert!(!complete || whole == 1);
            for one in &out {
                let pause = &one.pause;
                assert!(pause.begin() <= pause.stopped && pause.stopped <= pause.collected);
                assert!(pause.collected <= pause.released);
            }
        }
    }
}

#[test]
fn the_most_lanes_at_a_time_are_what_the_program_ran_with() {
    let mut recogniser = Recogniser::default();
    let script = Script::default()
        .rt(1, 0, Runtime::LaneCreated)
        .rt(2, 1, Runtime::LaneCreated)
        .rt(3, 1, Runtime::LaneDeleted)
        .rt(4, 1, Runtime::LaneCreated)
        .rt(5, 1, Runtime::LaneDeleted);
    script.events().iter().for_each(|event| recogniser.push(event, &mut Vec::new()));
    assert_eq!((recogniser.lanes_on(), recogniser.lanes_in_the_end()), (1, 2));
}

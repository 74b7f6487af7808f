//! Orders and timestamps as GHC 9.0.2 posts them.

use super::*;
use crate::testing::Script;
use rtscope_model::{BlockedOn, Tid};

fn recognise(script: Script, threaded: Option<bool>) -> (Vec<Recognised>, Option<Loss>) {
    let mut recogniser = Recogniser::new(threaded, Some(2));
    let (mut out, mut last) = (Vec::new(), Time(0));
    for event in script.events() {
        last = event.time;
        recogniser.push(&event, &mut out);
    }
    let loss = recogniser.finish(last, &mut out);
    (out, loss)
}

fn one(script: Script) -> Pause {
    let (out, loss) = recognise(script, Some(true));
    assert_eq!((out.len(), loss), (1, None));
    out.into_iter().next().unwrap().pause
}

#[test]
fn a_parallel_collection_has_its_four_moments_and_its_straggler() {
    let pause = one(Script::default().parallel(100, 150, 160, 300));
    assert_eq!((pause.requested, pause.stopped, pause.collected), (Some(Time(100)), Time(160), Time(300)));
    assert_eq!((pause.leader, pause.straggler), (Some(LaneId(0)), Some(LaneId(1))));
    assert_eq!((pause.released, pause.release_basis), (Time(302), ReleaseBasis::LowerBound));
    assert_eq!((pause.generation, pause.kind, pause.copied_bytes), (Some(0), PauseKind::Minor, Some(1000)));
    assert_eq!(pause.lane(LaneId(1)).map(|lane| (lane.arrived, lane.work_ns)), Some((Some(Time(150)), 138)));
    assert_eq!((pause.mode, pause.quality), (PauseMode::Parallel, PauseQuality::Whole));
}

/// Times of a real pause, GHC 9.0.2 `-N2 -l-ag`, log time.
#[test]
fn a_real_collection_of_9_0_2_keeps_its_stamps_although_its_end_is_older_than_its_figures() {
    let script = Script::default()
        .request(1450140, 0, true)
        .begin(1450755, 1)
        .begin(1457571, 0)
        .work(1464041, 1650409, 0)
        .work(1464115, 1649182, 1)
        .rt(1652953, 0, Runtime::Count(Counter::AllocatedBytes, 1073512))
        .rt(1653083, 1, Runtime::Count(Counter::AllocatedBytes, 965096))
        .end(1653934, 0)
        .figures(1654254, 0, 0, 223520)
        .rt(1654745, 0, Runtime::Count(Counter::HeapBytes, 3145728))
        .end(1655371, 1);
    let pause = one(script);
    assert_eq!(pause.time_to_stop_ns(), Some(7431));
    assert_eq!((pause.collect_ns(), pause.release_ns()), (196363, 1437));
}

#[test]
fn figures_just_before_the_leaders_end_belong_to_its_collection() {
    let script =
        Script::default().request(10, 0, true).begin(15, 1).begin(20, 0).figures(49, 0, 1, 77).end(50, 0).end(52, 1);
    let pause = one(script);
    assert_eq!((pause.generation, pause.copied_bytes, pause.kind), (Some(1), Some(77), PauseKind::Major));
}

#[test]
fn a_sequential_collection_posts_no_arrival_and_lists_all_lanes() {
    let script = Script::default()
        .rt(0, 0, Runtime::LaneCreated)
        .rt(0, 1, Runtime::LaneCreated)
        .request(10, 1, false)
        .begin(30, 1)
        .work(31, 40, 1)
        .end(50, 1)
        .figures(51, 1, 0, 5);
    let pause = one(script);
    assert_eq!((pause.mode, pause.leader, pause.straggler), (PauseMode::Sequential, Some(LaneId(1)), None));
    assert_eq!(pause.time_to_stop_ns(), Some(20));
    assert_eq!(pause.lane(LaneId(0)).map(|lane| lane.arrived), Some(None));
}

#[test]
fn an_idle_capability_of_a_parallel_collection_has_no_arrival_and_is_no_straggler() {
    let pause = one(Script::default().rt(0, 2, Runtime::LaneCreated).parallel(100, 150, 160, 300));
    assert_eq!(pause.straggler, Some(LaneId(1)));
    assert_eq!(pause.lane(LaneId(2)).map(|lane| (lane.arrived, lane.left)), Some((None, None)));
}

#[test]
fn a_disabled_lane_takes_no_part() {
    let script = Script::default().rt(0, 2, Runtime::LaneCreated).rt(1, 2, Runtime::LaneDisabled);
    assert_eq!(one(script.parallel(100, 150, 160, 300)).lane(LaneId(2)), None);
}

#[test]
fn the_non_threaded_runtime_has_no_time_to_stop() {
    let script = Script::default().stop(5, 0, 2, StopReason::Yielded).begin(10, 0).work(11, 18, 0).end(20, 0);
    let (out, loss) = recognise(script.figures(21, 0, 0, 9).run(23, 0, 2), Some(false));
    let pause = &out.first().unwrap().pause;
    assert_eq!((out.len(), loss), (1, None));
    assert_eq!((pause.mode, pause.time_to_stop_ns(), pause.requested), (PauseMode::NonThreaded, None, None));
    assert_eq!((pause.begin(), pause.released, pause.release_basis), (Time(10), Time(23), ReleaseBasis::BackAtWork));
    assert_eq!(pause.quality, PauseQuality::Whole);
}

#[test]
fn a_request_that_was_lost_makes_the_pause_partial_and_the_figures_name_the_leader() {
    let script = Script::default().begin(15, 1).begin(20, 0).end(50, 0).end(52, 1).figures(53, 0, 0, 7);
    let (out, _) = recognise(script, Some(true));
    let pause = &out.first().unwrap().pause;
    assert_eq!((pause.leader, pause.stopped, pause.requested), (Some(LaneId(0)), Time(20), None));
    assert_eq!(pause.quality, PauseQuality::Partial);
}

/// Seen in a throttled log: 5 ns, and up to 18 us elsewhere.
#[test]
fn an_arrival_older_than_its_request_belongs_to_it() {
    let script = Script::default()
        .parallel(100, 150, 160, 300)
        .begin(9_995, 1)
        .request(10_000, 0, true)
        .begin(10_060, 0)
        .work(10_061, 10_090, 1)
        .end(10_100, 0)
        .figures(10_101, 0, 0, 1)
        .end(10_103, 1);
    let (out, loss) = recognise(script, Some(true));
    let pause = &out.get(1).unwrap().pause;
    assert_eq!((out.len(), pause.id, loss), (2, 1, None));
    assert_eq!((pause.requested, pause.stopped, pause.straggler), (Some(Time(10_000)), Time(10_060), Some(LaneId(1))));
    assert_eq!(pause.lane(LaneId(1)).and_then(|lane| lane.arrived), Some(Time(9_995)));
    assert_eq!((pause.released, pause.quality), (Time(10_103), PauseQuality::Whole));
}

#[test]
fn with_green_threads_a_lane_is_back_when_it_runs_again() {
    let script = Script::default()
        .run(0, 0, 6)
        .run(0, 1, 7)
        .stop(99, 0, 6, StopReason::Yielded)
        .stop(120, 1, 7, StopReason::Yielded)
        .parallel(100, 150, 160, 300)
        .run(310, 0, 6)
        .run(500, 1, 7);
    let pause = one(script);
    assert_eq!((pause.released, pause.release_basis), (Time(500), ReleaseBasis::BackAtWork));
    assert_eq!(pause.lane(LaneId(0)).and_then(|lane| lane.left), Some(Time(310)));
}

#[test]
fn a_lane_without_work_does_not_hold_the_release() {
    let script = Script::default()
        .run(0, 0, 6)
        .stop(50, 1, 7, StopReason::Blocked(BlockedOn::Lock))
        .stop(99, 0, 6, StopReason::Yielded)
        .parallel(100, 150, 160, 300)
        .run(310, 0, 6)
        .run(9000, 1, 7);
    assert_eq!(one(script).released, Time(310));
}

#[test]
fn a_thread_that_moved_to_another_lane_leaves_nothing_to_go_back_to() {
    let script = Script::default()
        .stop(98, 0, 6, StopReason::Yielded)
        .stop(99, 1, 7, StopReason::Yielded)
        .parallel(100, 150, 160, 300)
        .run(310, 0, 7)
        .run(9000, 1, 8);
    assert_eq!(one(script).released, Time(310));
}

#[test]
fn a_thread_that_was_sent_away_is_not_waited_for_until_the_next_request() {
    let script = Script::default()
        .stop(98, 0, 6, StopReason::Yielded)
        .stop(99, 1, 7, StopReason::Yielded)
        .parallel(100, 150, 160, 300)
        .rt(305, 1, Runtime::ThreadMoved(GreenThread(7)))
        .run(310, 0, 6)
        .request(9000, 0, true);
    let (out, _) = recognise(script, Some(true));
    assert_eq!(out.first().map(|one| one.pause.released), Some(Time(310)));
}

/// Seen in a throttled log: the follower posts its end after the next request.
#[test]
fn a_pause_ends_with_the_next_request_at_the_latest() {
    let script = Script::default()
        .parallel(100, 150, 160, 300)
        .request(301, 0, true)
        .begin(310, 1)
        .begin(320, 0)
        .end(330, 0)
        .figures(331, 0, 0, 1)
        .end(333, 1);
    let (out, _) = recognise(script, Some(true));
    assert_eq!(out.iter().map(|one| one.pause.released).collect::<Vec<_>>(), [Time(301), Time(333)]);
    assert!(out.iter().all(|one| one.pause.quality == PauseQuality::Whole));
    assert_eq!(out.iter().map(|one| one.pause.id).collect::<Vec<_>>(), [0, 1]);
}

#[test]
fn a_concurrent_sync_is_a_pause_although_its_ends_come_twice_and_marking_is_none() {
    let script = Script::default()
        .rt(5, LaneId::NONE.0, Runtime::ConcurrentMarkBegin)
        .rt(90, LaneId::NONE.0, Runtime::ConcurrentMarkEnd)
        .rt(100, LaneId::NONE.0, Runtime::ConcurrentSyncBegin)
        .rt(101, LaneId::NONE.0, Runtime::ConcurrentSyncBegin)
        .rt(140, LaneId::NONE.0, Runtime::ConcurrentSyncEnd)
        .rt(141, LaneId::NONE.0, Runtime::ConcurrentSyncEnd)
        .rt(142, LaneId::NONE.0, Runtime::ConcurrentSweepBegin)
        .rt(190, LaneId::NONE.0, Runtime::ConcurrentSweepEnd);
    let pause = one(script);
    assert_eq!((pause.kind, pause.stopped, pause.released), (PauseKind::ConcurrentSync, Time(100), Time(140)));
    assert_eq!(pause.time_to_stop_ns(), None);
}

#[test]
fn a_collection_cut_off_by_the_end_of_the_log_is_partial() {
    let (out, loss) =
        recognise(Script::default().request(10, 0, true).begin(15, 1).begin(20, 0).work(21, 40, 0), Some(true));
    let pause = &out.first().unwrap().pause;
    assert_eq!((pause.quality, pause.collected, loss), (PauseQuality::Partial, Time(40), None));
}

#[test]
fn a_request_that_nothing_followed_is_a_loss_not_a_pause() {
    let script = Script::default().request(10, 0, true).begin(15, 1).request(50, 0, true).begin(60, 0).end(70, 0);
    let (out, loss) = recognise(script.figures(71, 0, 0, 1), Some(true));
    assert_eq!(out.len(), 1);
    let loss = loss.unwrap();
    assert_eq!((loss.count, loss.from, loss.to), (1, Some(Time(10)), Some(Time(50))));
}

#[test]
fn any_order_of_events_is_survived() {
    let bodies = [
        Runtime::StopRequested { parallel: true },
        Runtime::Stopped,
        Runtime::Resumed,
        Runtime::WorkBegin,
        Runtime::WorkEnd,
        Runtime::Count(Counter::Generation, 1),
        Runtime::ThreadRun(GreenThread(1)),
        Runtime::ThreadStop(GreenThread(1), StopReason::Yielded),
        Runtime::ConcurrentSyncBegin,
        Runtime::ConcurrentSyncEnd,
        Runtime::TaskCreated(Tid(1)),
    ];
    let mut state = 7u64;
    let mut recogniser = Recogniser::new(None, None);
    let mut out = Vec::new();
    for at in 0..50_000u64 {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let body = bodies[(state >> 33) as usize % bodies.len()];
        let lane = LaneId((state >> 60) as u16 % 3);
        recogniser.push(&Event { time: Time(at), lane, body: Body::Runtime(body) }, &mut out);
    }
    recogniser.finish(Time(50_000), &mut out);
    assert!(out.len() > 100);
    for one in &out {
        let pause = &one.pause;
        assert!(
            pause.begin() <= pause.stopped && pause.stopped <= pause.collected && pause.collected <= pause.released
        );
    }
}

#[test]
fn the_end_of_the_program_takes_no_lane_from_those_it_ran_with() {
    let mut recogniser = Recogniser::new(Some(true), Some(2));
    let mut push = |time, lane, what| {
        let event = Event { time: Time(time), lane: LaneId(lane), body: Body::Runtime(what) };
        recogniser.push(&event, &mut Vec::new());
    };
    (0..8).for_each(|lane| push(1, lane, Runtime::LaneCreated));
    push(2, 7, Runtime::LaneDisabled);
    (1..8).for_each(|lane| push(9, lane, Runtime::LaneDeleted));
    assert_eq!((recogniser.lanes_in_the_end(), recogniser.lanes_on()), (7, 1));
}

#[test]
fn a_pause_has_its_figures_also_where_no_lane_has_a_thread_to_go_back_to() {
    let pause =
        one(Script::default().request(10, 0, false).begin(20, 0).work(21, 40, 0).end(50, 0).figures(51, 0, 1, 7));
    assert_eq!((pause.copied_bytes, pause.gc_threads), (Some(7), Some(2)));
}

//! One test per row of the table and per rule. Thread 11 serves lane 0 and thread 12 lane 1, unless a test says
//! otherwise. Times are in microseconds.

use super::*;
use crate::kernel::lane_thread::vote;
use crate::pauses::Recognise;
use crate::runtimes::ghc::pauses::Recogniser;
use crate::testing::{Places, Script, switch, waking};
use Cause::*;
use rtscope_model::{Body, Cpu, LossKind, OffState, Runtime, Sample, Sched, StopReason};

/// A pause requested at 100, with the follower's arrival at 900.
fn stop() -> Script {
    parallel(900, 910)
}

fn parallel(arrived: u64, stopped: u64) -> Script {
    Script::default().parallel(100, arrived, stopped, stopped + 1000)
}

fn us(events: Vec<rtscope_model::Event>) -> Vec<rtscope_model::Event> {
    events.into_iter().map(|event| rtscope_model::Event { time: Time(event.time.0 * 1000), ..event }).collect()
}

struct Setting {
    error_ns: u64,
    kernel: bool,
    losses: Vec<Loss>,
}

impl Default for Setting {
    fn default() -> Self {
        Setting { error_ns: 0, kernel: true, losses: Vec::new() }
    }
}

fn judge_with(script: Script, setting: &Setting) -> (Pause, Vec<CausePiece>) {
    let mut recogniser = Recogniser::new(Some(true), Some(2));
    let mut tracks = Tracks::new(None, &[Tid(11), Tid(12), Tid(13)], &[]);
    let mut counters = Counters::default();
    let mut code = CodeSamples::default();
    let symbols = Places::new().symbols;
    let mut out = Vec::new();
    for event in us(script.events()) {
        match &event.body {
            Body::Runtime(_) => recogniser.push(&event, &mut out),
            Body::Sched(sched) => _ = tracks.push(event.time, sched),
            Body::Sample(sample) => counters.push(event.time, sample),
            Body::Code(sample) => code.push(event.time, sample),
        }
    }
    recogniser.finish(Time(10_000_000), &mut out);
    let last_lane = BTreeMap::new();
    let judge = Judge {
        tracks: &tracks,
        counters: &counters,
        code: &code,
        symbols: &symbols,
        error_ns: setting.error_ns,
        kernel: setting.kernel,
        losses: &setting.losses,
        last_lane: &last_lane,
        own_threads: false,
    };
    let mut recognised = out.into_iter().next().expect("one pause");
    let votes = match setting.kernel {
        true => vote(&recognised.marks, judge.tracks, setting.error_ns),
        false => Votes::default(),
    };
    let pieces = judge.blame(&mut recognised, votes);
    let pause = recognised.pause;
    let waits = pause.time_to_stop_ns().unwrap_or(0) + pause.release_ns();
    assert_eq!(pieces.iter().map(CausePiece::ns).sum::<u64>(), waits, "parts sum to the whole");
    (pause, pieces)
}

/// Causes of the wait for the straggler, with start and end.
fn causes(script: Script) -> Vec<(Cause, u64, u64)> {
    let (pause, pieces) = judge_with(script, &Setting::default());
    let stop = pieces.iter().filter(|piece| piece.to <= pause.stopped && piece.lane == Some(LaneId(1)));
    stop.map(|piece| (piece.cause, piece.from.0 / 1000, piece.to.0 / 1000)).collect()
}

/// Both threads run on their own CPUs; only 11 covers the moment of the request.
fn base(script: Script) -> Script {
    script.k(0, switch(0, 0, OffState::Runnable, 11)).k(0, switch(1, 0, OffState::Runnable, 12))
}

fn out(at: u64, state: OffState, next: u32) -> (u64, Sched) {
    (at, switch(1, 12, state, next))
}

fn back(at: u64, prev: u32) -> (u64, Sched) {
    (at, switch(1, prev, OffState::Runnable, 12))
}

fn with(script: Script, events: &[(u64, Sched)]) -> Script {
    events.iter().fold(script, |script, event| script.k(event.0, event.1))
}

#[test]
fn running() {
    // The leader is off its CPU for a moment, so that the vote is clear.
    let script =
        with(base(stop()), &[(200, switch(0, 11, OffState::Sleeping, 0)), (905, switch(0, 0, OffState::Runnable, 11))]);
    assert_eq!(causes(script), [(Running, 100, 900)]);
}

#[test]
fn host_steal_takes_half_of_a_long_run() {
    let stolen = |ms: u64| Sample::CpuStolen { cpu: Cpu(1), steal_ns: ms * 1_000_000, irq_ns: 0 };
    let script = with(
        base(parallel(50_000, 50_010).sample(50, stolen(0)).sample(60_000, stolen(40))),
        &[(200, switch(0, 11, OffState::Sleeping, 0)), (50_005, switch(0, 0, OffState::Runnable, 11))],
    );
    assert_eq!(causes(script), [(HostSteal, 100, 50_000)]);
}

#[test]
fn preempted_names_the_process() {
    let script = with(base(stop()), &[out(50, OffState::Runnable, 77), back(800, 77)]);
    let (_, pieces) = judge_with(script, &Setting::default());
    let piece = pieces.iter().find(|piece| piece.cause == Preempted).unwrap();
    assert_eq!((piece.who, piece.who_pid, piece.tid), (Some(NameId(77)), Some(77), Some(Tid(12))));
    assert_eq!((piece.from, piece.to, piece.lane), (Time(100_000), Time(800_000), Some(LaneId(1))));
}

#[test]
fn oversubscribed_waits_for_an_own_thread() {
    let script = with(base(stop()), &[out(50, OffState::Runnable, 13), (800, switch(1, 13, OffState::Sleeping, 12))]);
    assert_eq!(causes(script), [(Oversubscribed, 100, 800), (Running, 800, 900)]);
}

#[test]
fn an_idle_cpu_is_no_queue() {
    let idle = |at, cpu| (at, switch(cpu, 77, OffState::Sleeping, 0));
    let script = with(
        base(stop()),
        &[out(50, OffState::Runnable, 13), idle(300, 2), (800, switch(1, 13, OffState::Sleeping, 12))],
    );
    assert_eq!(causes(script), [(Oversubscribed, 100, 300), (IdleCpu, 300, 800), (Running, 800, 900)]);
}

#[test]
fn runnable_while_a_cpu_is_idle() {
    let script = with(base(stop()), &[out(50, OffState::Runnable, 0), back(800, 0)]);
    assert_eq!(causes(script), [(IdleCpu, 100, 800), (Running, 800, 900)]);
}

#[test]
fn throttled_where_the_quota_moved_around_the_wait() {
    let script = with(base(stop()), &[out(50, OffState::Runnable, 0), back(800, 0)]);
    let script = script.quota(40, 0, 0).quota(90, 0, 0).quota(850, 1, 750_000);
    assert_eq!(causes(script), [(Throttled, 100, 800), (Running, 800, 900)]);
}

#[test]
fn throttled_with_a_neighbour_is_still_throttled() {
    let script =
        with(base(stop()), &[out(50, OffState::Runnable, 77), back(800, 77)]).quota(40, 0, 0).quota(850, 1, 750_000);
    let (_, pieces) = judge_with(script, &Setting::default());
    let piece = pieces.iter().find(|piece| piece.cause == Throttled).unwrap();
    assert!(piece.neighbour);
    assert_eq!(piece.who, None, "the quota took it, not the neighbour");
    assert!(pieces.iter().all(|piece| piece.cause != Preempted));
}

#[test]
fn a_quota_that_moved_by_less_than_half_the_wait_does_not_explain_it() {
    let script =
        with(base(stop()), &[out(50, OffState::Runnable, 77), back(800, 77)]).quota(40, 0, 0).quota(850, 1, 300_000);
    assert!(causes(script).contains(&(Preempted, 100, 800)));
}

#[test]
fn an_own_thread_on_the_cpu_rules_the_quota_out() {
    let script = with(base(stop()), &[out(50, OffState::Runnable, 13), (800, switch(1, 13, OffState::Sleeping, 12))]);
    assert!(causes(script.quota(40, 0, 0).quota(850, 1, 750_000)).contains(&(Oversubscribed, 100, 800)));
}

#[test]
fn woken_and_not_yet_running_is_wake_latency_and_keeps_the_holder_of_the_cpu() {
    let script = with(base(stop()), &[out(20, OffState::Sleeping, 77), (150, waking(11, 12, 1)), back(800, 77)]);
    let (_, pieces) = judge_with(script, &Setting::default());
    let piece = pieces.iter().find(|piece| piece.cause == WakeLatency).unwrap();
    assert_eq!((piece.from, piece.to, piece.who), (Time(150_000), Time(800_000), Some(NameId(77))));
}

#[test]
fn an_idle_lane_that_the_leader_had_to_wake_was_asleep() {
    let script = with(base(stop()), &[out(20, OffState::Sleeping, 0), (600, waking(11, 12, 1)), back(700, 0)]);
    assert_eq!(causes(script), [(Asleep, 100, 600), (WakeLatency, 600, 700), (Running, 700, 900)]);
}

#[test]
fn a_call_that_a_device_ends_was_asleep_too() {
    let script = with(base(stop()), &[out(20, OffState::Sleeping, 0), (600, waking(0, 12, 1)), back(700, 0)]);
    assert!(causes(script).contains(&(Asleep, 100, 600)));
}

#[test]
fn uninterruptible_is_blocked_in_the_kernel() {
    let script = with(base(stop()), &[out(50, OffState::Uninterruptible, 0), (600, waking(0, 12, 1)), back(700, 0)]);
    assert_eq!(causes(script).first(), Some(&(BlockedInKernel, 100, 600)));
}

#[test]
fn a_lane_that_a_sibling_handed_over_does_not_blame_the_new_thread_for_the_time_before() {
    let script = with(
        base(stop()),
        &[out(20, OffState::Sleeping, 13), (600, waking(13, 12, 1)), (700, switch(1, 13, OffState::Sleeping, 12))],
    );
    assert_eq!(causes(script), [(HandedOver, 100, 600), (WakeLatency, 600, 700), (Running, 700, 900)]);
}

#[test]
fn a_thread_that_slept_while_it_held_the_lane_is_not_handed_over() {
    // Woken by a sibling, but the lane's green thread stopped while 12 was on its CPU: it slept inside an
    // unsafe call.
    let script = with(
        stop(),
        &[out(20, OffState::Sleeping, 13), (600, waking(13, 12, 1)), (700, switch(1, 13, OffState::Sleeping, 12))],
    );
    let script = base(script).run(10, 1, 7).stop(850, 1, 7, StopReason::Yielded).run(2500, 1, 7);
    assert_eq!(causes(script).first(), Some(&(Asleep, 100, 600)));
}

#[test]
fn no_cause_for_pieces_shorter_than_twice_the_clock_error() {
    let script = with(base(stop()), &[out(20, OffState::Runnable, 77), back(800, 77)]);
    let (_, pieces) = judge_with(script, &Setting { error_ns: 60_000, ..Setting::default() });
    let causes: Vec<_> = pieces.iter().filter(|piece| piece.to <= Time(900_000)).map(|piece| piece.cause).collect();
    assert_eq!(causes, [Preempted, Unknown], "700 us keep their cause, 100 us do not");
}

#[test]
fn a_kernel_loss_voids_causes_only() {
    let loss = Loss {
        source: "kernel".into(),
        kind: LossKind::KernelRecords,
        count: 5,
        from: Some(Time(300_000)),
        to: Some(Time(400_000)),
        note: String::new(),
    };
    let script = with(base(stop()), &[out(50, OffState::Runnable, 77), back(800, 77)]);
    let (pause, pieces) = judge_with(script, &Setting { losses: vec![loss], ..Setting::default() });
    assert_eq!(pieces.first().map(|piece| (piece.cause, piece.who)), Some((Unknown, None)));
    assert_eq!(pause.quality, rtscope_model::PauseQuality::Whole);
}

#[test]
fn what_follows_the_last_arrival_waits_for_the_leader() {
    let script = with(
        base(parallel(200, 900)),
        &[(150, switch(0, 11, OffState::Runnable, 77)), (850, switch(0, 77, OffState::Runnable, 11))],
    );
    let (_, pieces) = judge_with(script, &Setting::default());
    let piece = pieces.iter().find(|piece| piece.cause == Preempted).unwrap();
    assert_eq!((piece.lane, piece.tid, piece.from), (Some(LaneId(0)), Some(Tid(11)), Time(200_000)));
}

#[test]
fn of_two_candidates_only_what_both_share_is_reported() {
    // Both are on a CPU at every event, and off it between events.
    let script = with(
        base(stop()),
        &[
            out(200, OffState::Runnable, 77),
            (300, switch(0, 11, OffState::Runnable, 77)),
            back(700, 77),
            (800, switch(0, 77, OffState::Runnable, 11)),
        ],
    );
    let (pause, pieces) = judge_with(script, &Setting::default());
    assert!(pause.lanes.iter().all(|lane| lane.tid.is_none()));
    let stop: Vec<_> =
        pieces.iter().filter(|piece| piece.to <= Time(900_000)).map(|p| (p.cause, p.from.0 / 1000)).collect();
    assert_eq!(stop, [(Running, 100), (Unknown, 200), (Preempted, 300), (Unknown, 700), (Running, 800)]);
}

#[test]
fn the_cheap_tier_reports_not_scheduled() {
    let own = |cpu, tid| Sched::SwitchIn { cpu: Cpu(cpu), tid: Tid(tid) };
    let script = stop()
        .k(0, own(0, 11))
        .k(0, own(1, 12))
        .k(50, Sched::SwitchOut { cpu: Cpu(1), tid: Tid(12), preempted: true })
        .k(800, own(1, 12));
    assert_eq!(causes(script), [(NotScheduled, 100, 800), (Running, 800, 900)]);
}

#[test]
fn the_last_lane_back_is_blamed_for_the_release() {
    let script = Script::default()
        .stop(90, 0, 6, StopReason::Yielded)
        .stop(120, 1, 7, StopReason::Yielded)
        .parallel(100, 150, 160, 1000)
        .run(1010, 0, 6)
        .run(1900, 1, 7);
    let script = with(
        base(script),
        &[out(50, OffState::Runnable, 77), back(110, 77), out(1005, OffState::Runnable, 77), back(1800, 77)],
    );
    let (pause, pieces) = judge_with(script, &Setting::default());
    assert_eq!(pause.released, Time(1_900_000));
    let release: Vec<_> = pieces.iter().filter(|piece| piece.from >= pause.collected).collect();
    assert!(release.iter().all(|piece| piece.lane == Some(LaneId(1)) && piece.tid == Some(Tid(12))));
    let found: Vec<_> = release.iter().map(|piece| (piece.cause, piece.from.0 / 1000)).collect();
    assert_eq!(found, [(Running, 1000), (Preempted, 1005), (Running, 1800)]);
}

fn sequential() -> Script {
    Script::default()
        .rt(0, 0, Runtime::LaneCreated)
        .rt(0, 1, Runtime::LaneCreated)
        .request(100, 0, false)
        .begin(950, 0)
        .work(955, 1900, 0)
        .end(2000, 0)
        .figures(2001, 0, 0, 9)
}

#[test]
fn of_a_sequential_stop_the_straggler_is_the_last_waker_of_the_leader() {
    let script = with(
        base(sequential().run(10, 1, 7).stop(905, 1, 7, StopReason::Yielded)),
        &[
            (120, switch(0, 11, OffState::Sleeping, 0)),
            out(130, OffState::Runnable, 77),
            back(900, 77),
            (910, waking(12, 11, 0)),
            (930, switch(0, 0, OffState::Runnable, 11)),
            out(940, OffState::Sleeping, 0),
        ],
    );
    let (pause, pieces) = judge_with(script, &Setting::default());
    assert_eq!(pause.straggler, Some(LaneId(1)));
    let waits: Vec<_> =
        pieces.iter().map(|p| (p.cause, p.lane.map(|l| l.0), p.from.0 / 1000, p.confidence)).take(5).collect();
    let (medium, high) = (Confidence::Medium, Confidence::High);
    assert_eq!(waits[0], (Running, Some(1), 100, medium));
    assert_eq!(waits[1], (Preempted, Some(1), 130, medium));
    assert_eq!(waits[2], (Running, Some(1), 900, medium));
    assert_eq!(waits[3], (WakeLatency, Some(0), 910, high));
}

#[test]
fn without_wake_ups_a_sequential_stop_has_no_straggler() {
    let (pause, _) = judge_with(base(sequential()), &Setting::default());
    assert_eq!(pause.straggler, None);
}

#[test]
fn without_kernel_events_counters_decide_with_low_confidence() {
    let counters = Setting { kernel: false, ..Setting::default() };
    let script = parallel(80_000, 80_010).quota(50, 0, 0).quota(90_000, 1, 70_000_000);
    let (_, pieces) = judge_with(script, &counters);
    assert_eq!(pieces.first().map(|piece| (piece.cause, piece.confidence)), Some((Throttled, Confidence::Low)));

    let thread = |involuntary, wait_ms: u64| Sample::Thread {
        tid: Tid(12),
        voluntary: 0,
        involuntary,
        minor_faults: 0,
        major_faults: 0,
        cpu_ns: 0,
        wait_ns: wait_ms * 1_000_000,
    };
    let script = parallel(80_000, 80_010).sample(50, thread(1, 0)).sample(90_000, thread(4, 60));
    let (_, pieces) = judge_with(script, &counters);
    assert_eq!(pieces.first().map(|piece| piece.cause), Some(NotScheduled));

    let (_, pieces) = judge_with(stop().quota(50, 0, 0).quota(9_000, 1, 7_000_000), &counters);
    assert_eq!(pieces.first().map(|piece| piece.cause), Some(Unknown), "too short for a counter");
}

/// The follower is on its CPU from 100 to 900; the leader is off its own, so that the vote is clear.
fn ran() -> Script {
    with(base(stop()), &[(200, switch(0, 11, OffState::Sleeping, 0)), (905, switch(0, 0, OffState::Runnable, 11))])
}

/// Cause and code of the wait for the straggler.
fn coded(script: Script) -> Vec<(Cause, Option<SymbolId>)> {
    let (pause, pieces) = judge_with(script, &Setting::default());
    let stop = pieces.iter().filter(|piece| piece.to <= pause.stopped && piece.lane == Some(LaneId(1)));
    stop.map(|piece| (piece.cause, piece.code)).collect()
}

#[test]
fn on_a_cpu_most_samples_give_the_owner_of_the_code() {
    let at = Places::new();
    let found = |places: &[SymbolId]| {
        let samples = places.iter().zip([300, 400, 500, 600]);
        coded(samples.fold(ran(), |script, (place, time)| script.found(time, 12, *place, 1000)))
    };
    assert_eq!(found(&[at.spin, at.call, at.spin]), [(LateSafepoint, Some(at.spin))]);
    assert_eq!(found(&[at.call, at.spin, at.call, at.libc]), [(ForeignCall, Some(at.call))]);
    assert_eq!(found(&[at.fault]), [(InKernel, Some(at.fault))]);
    assert_eq!(found(&[at.runtime, at.runtime, at.spin]), [(Running, Some(at.runtime))]);
    assert_eq!(found(&[]), [(Running, None)], "no sample, no name");
}

#[test]
fn samples_of_other_threads_and_times_do_not_count() {
    let at = Places::new();
    let script = ran().found(50, 12, at.spin, 1000).found(950, 12, at.spin, 1000).found(300, 11, at.call, 1000);
    assert_eq!(coded(script), [(Running, None)]);
}

#[test]
fn the_kernel_below_foreign_code_is_that_codes_time_but_not_below_the_c_library() {
    let at = Places::new();
    let below = |user| coded(ran().code(300, 12, at.fault, Some(user), rtscope_model::Found::Running { ns: 1000 }));
    assert_eq!(below(at.call), [(ForeignCall, Some(at.call))]);
    assert_eq!(below(at.libc), [(InKernel, Some(at.fault))]);
    assert_eq!(below(at.spin), [(InKernel, Some(at.fault))]);
}

#[test]
fn a_leader_in_the_programs_code_is_no_late_safepoint() {
    let at = Places::new();
    let script = with(
        base(parallel(200, 900)),
        &[(150, switch(0, 11, OffState::Runnable, 77)), (850, switch(0, 77, OffState::Runnable, 11))],
    );
    let (_, pieces) = judge_with(script.found(870, 11, at.spin, 1000), &Setting::default());
    let last = pieces.iter().find(|piece| piece.lane == Some(LaneId(0)) && piece.from == Time(850_000)).unwrap();
    assert_eq!((last.cause, last.code), (Running, Some(at.spin)));
}

/// The follower sleeps from 20 to 600; a timer on its sibling's CPU wakes it.
fn slept(waker: u32) -> Script {
    with(base(stop()), &[out(20, OffState::Sleeping, 0), (600, waking(waker, 12, 1)), back(700, 0)])
}

#[test]
fn a_sleep_elsewhere_than_on_a_lock_is_a_foreign_call() {
    let at = Places::new();
    for waker in [0, 13] {
        let found = coded(slept(waker).waits(20, 12, at.nanosleep));
        assert_eq!(found.first(), Some(&(ForeignCall, Some(at.nanosleep))), "woken by {waker}");
    }
    assert_eq!(coded(slept(11).waits(20, 12, at.futex)).first(), Some(&(Asleep, Some(at.futex))));
    assert_eq!(coded(slept(13).waits(20, 12, at.futex)).first(), Some(&(HandedOver, None)));
    assert_eq!(coded(slept(11)).first(), Some(&(Asleep, None)));
}

#[test]
fn an_idle_lane_that_slept_in_a_call_before_is_still_asleep() {
    let at = Places::new();
    let script = slept(11).waits(20, 12, at.nanosleep).run(5, 1, 7).stop(15, 1, 7, StopReason::ForeignCall);
    assert_eq!(coded(script.run(2500, 1, 7)).first(), Some(&(Asleep, Some(at.nanosleep))));
}

#[test]
fn what_blocks_in_the_kernel_keeps_its_name() {
    let at = Places::new();
    let script = with(base(stop()), &[out(50, OffState::Uninterruptible, 0), (600, waking(0, 12, 1)), back(700, 0)]);
    assert_eq!(coded(script.waits(50, 12, at.fault)).first(), Some(&(BlockedInKernel, Some(at.fault))));
}

#[test]
fn of_two_candidates_the_one_in_the_programs_code_has_to_stop() {
    let at = Places::new();
    let both = |first, second| {
        let script = base(stop()).found(300, 11, first, 1000).found(300, 12, second, 1000);
        let (_, pieces) = judge_with(script, &Setting::default());
        pieces.first().map(|piece| (piece.cause, piece.code))
    };
    assert_eq!(both(at.spin, at.spin), Some((LateSafepoint, Some(at.spin))));
    assert_eq!(both(at.spin, at.fault), Some((LateSafepoint, Some(at.spin))));
    assert_eq!(both(at.call, at.runtime), Some((ForeignCall, Some(at.call))));
    assert_eq!(both(at.call, at.spin), Some((LateSafepoint, Some(at.spin))), "a safe call has no lane");
    assert_eq!(both(at.runtime, at.fault), Some((Unknown, None)));
}

#[test]
fn a_leader_that_lost_its_cpu_before_it_signalled_is_waited_for() {
    let at = Places::new();
    let script = with(
        base(stop()),
        &[(103, switch(0, 11, OffState::Runnable, 77)), (600, switch(0, 77, OffState::Runnable, 11))],
    );
    let script =
        with(script, &[(700, switch(0, 11, OffState::Sleeping, 0)), (905, switch(0, 0, OffState::Runnable, 11))]);
    let (_, pieces) =
        judge_with(script.found(300, 12, at.spin, 1000).found(800, 12, at.spin, 1000), &Setting::default());
    let found: Vec<_> = pieces.iter().map(|p| (p.cause, p.lane.map(|l| l.0), p.from.0 / 1000)).take(4).collect();
    assert_eq!(
        found,
        [(Running, Some(0), 100), (Preempted, Some(0), 103), (Running, Some(0), 600), (LateSafepoint, Some(1), 602)]
    );
}

#[test]
fn a_piece_without_a_sample_is_what_the_rest_of_its_wait_is() {
    let at = Places::new();
    let script = with(ran(), &[out(400, OffState::Runnable, 77), back(600, 77)]).found(300, 12, at.spin, 1000);
    let (_, pieces) = judge_with(script, &Setting::default());
    let found: Vec<_> = pieces.iter().map(|p| (p.cause, p.confidence)).take(3).collect();
    let (medium, high) = (Confidence::Medium, Confidence::High);
    assert_eq!(found, [(LateSafepoint, high), (Preempted, high), (LateSafepoint, medium)]);
}

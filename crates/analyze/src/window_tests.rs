//! A window compared with results: over a whole stream it agrees with them, and for a part of it it holds only what
//! was in that part.

use super::*;
use crate::results::Results;
use crate::testing::{self, Script, switch};
use crate::{Analysis, Context, Tail};
use rtscope_model::manifest::{Kernel, Tier};
use rtscope_model::{Cause, GroupId, LaneId, Loss, LossKind, OffState};

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;

fn context(end: u64) -> Context {
    let kernel = Kernel { tier: Tier::Tracepoints, system_wide: true, ..Kernel::default() };
    Context { kernel: Some(kernel), started: Some(Time(0)), ended: Some(Time(end)), ..testing::context() }
}

fn names() -> Names {
    let mut names = Names::default();
    (1..=100).for_each(|tid| _ = names.intern(&format!("task-{tid}")));
    names
}

/// A collection every 100 ms, from the 30th ms on. For each, thread 12 is off CPU 1 until the given time after the
/// request, while 77 runs there.
fn held(waits_ms: impl Iterator<Item = u64>) -> Script {
    let begin = Script::default()
        .k(0, switch(0, 0, OffState::Runnable, 11))
        .k(0, switch(1, 0, OffState::Runnable, 12))
        .rt(1, 0, Runtime::LaneCreated)
        .rt(1, 1, Runtime::LaneCreated);
    (0..).zip(waits_ms).fold(begin, |script, (number, wait)| {
        let (at, back) = ((number * 100 + 30) * MS, (number * 100 + 30 + wait) * MS);
        script
            .k(at - MS, switch(1, 12, OffState::Runnable, 77))
            .parallel(at, back + 10_000, back + 20_000, back + MS)
            .rt(back + MS + 5, 0, Runtime::Count(Counter::LiveBytes, 1_000 + number))
            .k(back, switch(1, 77, OffState::Sleeping, 12))
    })
}

/// The results of a script, and the figures of a window over its last `seconds`.
fn both(script: Script, seconds: usize, end: u64) -> (Results, WindowFigures) {
    let names = names();
    let (mut analysis, mut live) = (Analysis::new(context(end)), Analysis::new(context(end)));
    let mut window = Window::new(seconds, Totals { at: Time(0), ..Totals::default() });
    let mut next = SECOND;
    for event in script.events() {
        analysis.push(&event, &names, &mut |_| {});
        while event.time.0 >= next {
            window.close(live.standing(Time(next)));
            next += SECOND;
        }
        window.event(&event);
        live.push(&event, &names, &mut |pause| window.pause(pause));
    }
    live.resolve_all(&names, &mut |pause| window.pause(pause));
    window.close(live.standing(Time(end)));
    (analysis.finish(&names, Tail::default(), &mut |_| {}), window.figures(&names))
}

fn near(shown: Option<f64>, expected: Option<f64>) -> bool {
    shown.zip(expected).is_some_and(|(shown, expected)| (shown - expected).abs() < 1e-6)
}

#[test]
fn over_all_of_a_stream_it_equals_the_results() {
    let (results, figures) = both(held((0..50).map(|number| number % 40)), 20, 5 * SECOND);
    assert_eq!((figures.span_ns, figures.at), (5 * SECOND, Time(5 * SECOND)));
    let (shown, pauses) = (&figures.pauses, &results.pauses);
    assert_eq!((shown.count, shown.partial, shown.total_ns), (pauses.count, pauses.partial, pauses.total_ns));
    assert!((shown.per_second - pauses.per_second).abs() < 1e-9);
    for (shown, exact) in [
        (&shown.time_to_stop_ns, &pauses.time_to_stop_ns),
        (&shown.collect_ns, &pauses.collect_ns),
        (&shown.pause_ns, &pauses.pause_ns),
    ] {
        assert_eq!((shown.count, shown.sum, shown.min, shown.max), (exact.count, exact.sum, exact.min, exact.max));
        let (p99, exact) = (shown.p99.unwrap() as f64, exact.p99.unwrap() as f64);
        assert!((p99 / exact - 1.0).abs() < 0.01, "{p99} {exact}");
    }
    assert!(near(figures.productivity_wall, results.productivity.wall), "{:?}", figures.productivity_wall);
    assert!(near(figures.productivity_runtime, results.productivity.runtime_view));
    let worst = figures.worst.unwrap();
    let first = results.causes.first().unwrap();
    assert_eq!((worst.cause, &worst.who, worst.sum_ns), (first.cause, &first.who, first.sum_ns));
    assert!((worst.share - first.share).abs() < 1e-9 && worst.longest_ns == 39 * MS, "{worst:?}");
    let kept = figures.kept.unwrap();
    assert!(near(Some(kept.others), results.kernel.others_held_ns.map(|ns| ns as f64 / 5e9)), "{kept:?}");
    assert_eq!((kept.who.as_deref(), kept.quota, kept.own), (Some("task-77"), 0.0, 0.0));
    let share = |ns: Option<u64>| ns.map(|ns| ns as f64 / 5e9);
    for (shown, lane) in figures.lanes.iter().zip(&results.lanes) {
        assert_eq!((shown.id, &shown.name), (lane.id, &lane.name));
        assert!(near(shown.program, share(lane.mutator_ns)) && near(shown.collect, share(lane.collect_ns)));
        let waits = lane.stop_wait_ns.unwrap_or(0) + lane.release_wait_ns.unwrap_or(0);
        assert!(near(shown.wait, share(Some(waits))), "{shown:?}");
    }
    assert_eq!(figures.lanes.iter().map(|lane| lane.straggler).sum::<u64>(), 50);
    assert_eq!(
        (figures.memory.live_bytes, results.memory.live_bytes.map(|level| level.last)),
        (Some(1_049), Some(1_049))
    );
}

#[test]
fn what_was_before_the_window_is_not_in_it() {
    // Two seconds of long waits, then two of short ones.
    let waits = (0..40).map(|number| if number < 20 { 40 } else { 2 });
    let (_, figures) = both(held(waits), 2, 4 * SECOND);
    // And the last one before, which ended 29 ms before the edge: its cause became known later.
    assert_eq!((figures.span_ns, figures.pauses.count), (2 * SECOND, 21));
    assert_eq!(figures.pauses.time_to_stop_ns.p50.map(|ns| ns / MS), Some(2));
    let worst = figures.worst.unwrap();
    assert_eq!((worst.cause, worst.sum_ns), (Cause::Preempted, (20 * 2 + 40) * MS));
    // What the kernel alone reports covers exactly that time.
    let kept = figures.kept.unwrap();
    assert!((kept.others - 20.0 * 3.0 / 2_000.0).abs() < 1e-6, "{kept:?}");
    assert_eq!(figures.lanes.iter().map(|lane| lane.straggler).sum::<u64>(), 21);
    assert!(figures.productivity_wall > Some(0.9), "{:?}", figures.productivity_wall);
}

#[test]
fn a_silent_stream_has_no_figure_that_it_cannot_have() {
    let mut analysis = Analysis::new(Context { runtime: Default::default(), threaded: None, ..context(0) });
    let mut window = Window::new(5, Totals::default());
    assert_eq!(window.figures(&Names::default()).span_ns, 0);
    window.close(analysis.standing(Time(3 * SECOND)));
    let figures = window.figures(&Names::default());
    assert_eq!((figures.span_ns, figures.pauses.count, figures.pauses.per_second), (3 * SECOND, 0, 0.0));
    assert_eq!((figures.productivity_wall, figures.productivity_runtime, figures.cpus_used), (None, None, None));
    assert!(figures.worst.is_none() && figures.kept.is_none() && figures.throttled.is_none());
    assert_eq!(figures.pauses.time_to_stop_ns.p99, None);
    assert!(figures.lanes.is_empty() && figures.memory == Levels::default());
}

#[test]
fn counters_count_from_their_second_sample_on() {
    let thread = |at: u64, tid: u32, cpu_ns: u64, wait_ns: u64| {
        let tid = Tid(tid);
        let what =
            Sample::Thread { tid, voluntary: 0, involuntary: 0, minor_faults: 0, major_faults: 0, cpu_ns, wait_ns };
        Event { time: Time(at), lane: LaneId::NONE, body: Body::Sample(what) }
    };
    let quota = |group: u16, periods: u64, throttled: u64| {
        let group = GroupId(group);
        let what = Sample::Quota { group, periods, throttled, throttled_ns: throttled * MS };
        Event { time: Time(0), lane: LaneId::NONE, body: Body::Sample(what) }
    };
    let mut analysis = Analysis::new(context(SECOND));
    let mut window = Window::new(5, Totals::default());
    for event in
        [thread(0, 1, 900 * SECOND, 7), thread(1, 1, 901 * SECOND, 7 + SECOND / 2), thread(1, 2, 50 * SECOND, 0)]
    {
        window.event(&event);
    }
    [quota(0, 100, 5), quota(1, 100, 5), quota(0, 110, 5), quota(1, 110, 9)]
        .iter()
        .for_each(|event| analysis.push(event, &names(), &mut |_| {}));
    window.close(analysis.standing(Time(2 * SECOND)));
    let figures = window.figures(&Names::default());
    assert_eq!((figures.cpus_used, figures.cpus_missed), (Some(0.5), Some(0.25)));
    let expected = Throttled { group: 1, periods: 10, throttled: 4, throttled_ns: 4 * MS };
    assert_eq!(figures.throttled, Some(expected));
    // Nothing changes: the group is still there.
    for second in 3..9 {
        window.close(analysis.standing(Time(second * SECOND)));
    }
    let still = window.figures(&Names::default()).throttled.unwrap();
    assert_eq!((still.group, still.throttled), (0, 0));
    // Without a quota there are no periods.
    let (mut analysis, mut window) = (Analysis::new(context(SECOND)), Window::new(5, Totals::default()));
    (0..3).for_each(|_| analysis.push(&quota(0, 0, 0), &names(), &mut |_| {}));
    window.close(analysis.standing(Time(SECOND)));
    assert_eq!(window.figures(&Names::default()).throttled, None);
}

#[test]
fn a_lane_is_shown_until_the_second_in_which_it_ended_is_over() {
    let mut analysis = Analysis::new(context(SECOND));
    let script = held([1, 1].into_iter()).rt(500 * MS, 1, Runtime::LaneDeleted);
    script.events().iter().for_each(|event| analysis.push(event, &names(), &mut |_| {}));
    let mut lanes = |seconds: u64| analysis.standing(Time(seconds * SECOND)).lanes.iter().map(|lane| lane.id).collect();
    let (first, second): (Vec<u16>, Vec<u16>) = (lanes(1), lanes(2));
    assert_eq!((first, second), (vec![0, 1], vec![0]));
}

#[test]
fn the_holders_of_cpus_are_not_reported_where_only_the_own_threads_are_seen() {
    let kernel = Some(Kernel { tier: Tier::OwnSwitches, ..Kernel::default() });
    let mut analysis = Analysis::new(Context { kernel, ..context(SECOND) });
    held([40].into_iter()).events().iter().for_each(|event| analysis.push(event, &names(), &mut |_| {}));
    let standing = analysis.standing(Time(SECOND));
    assert!(standing.held.is_none() && standing.spent.is_some());
}

#[test]
fn a_loss_that_arrives_while_it_runs_takes_its_pauses_out_of_quantiles() {
    let names = names();
    let mut analysis = Analysis::new(context(SECOND));
    let mut window = Window::new(5, Totals::default());
    let loss = |at: u64| Loss {
        source: "eventlog".into(),
        kind: LossKind::Unwritten,
        count: 1,
        from: Some(Time(at)),
        to: Some(Time(at + 1)),
        note: String::new(),
    };
    analysis.lose(loss(231 * MS));
    for event in held([1, 1, 1, 1].into_iter()).events() {
        analysis.push(&event, &names, &mut |pause| window.pause(pause));
    }
    analysis.resolve_all(&names, &mut |pause| window.pause(pause));
    window.close(analysis.standing(Time(SECOND)));
    let figures = window.figures(&names);
    assert_eq!((figures.pauses.count, figures.pauses.partial, figures.pauses.time_to_stop_ns.count), (4, 1, 3));
}

#[test]
fn it_is_bounded_however_long_it_runs() {
    let mut window = Window::new(usize::MAX, Totals::default());
    for second in 1..=2_000 {
        window.close(Totals { at: Time(second * SECOND), ..Totals::default() });
    }
    assert_eq!(window.seconds.len(), SECONDS_MAX);
    assert_eq!(window.figures(&Names::default()).span_ns, SECONDS_MAX as u64 * SECOND);
    for tid in 0..100_000 {
        window.thread(Tid(tid), [1, 1]);
    }
    assert!(window.threads.len() <= THREADS_MAX);
    // Two closes at once: what arrived in between waits for the next one.
    let before = window.seconds.len();
    window.close(Totals { at: Time(2_000 * SECOND), ..Totals::default() });
    assert_eq!(window.seconds.len(), before);
}

#[test]
fn transactions_are_those_of_the_window() {
    let total = |attempts: u64| {
        let outcomes = Some((attempts / 2, attempts / 4));
        Some(StmTotals { from: Time(SECOND / 2), attempts, outcomes })
    };
    let standing = |second: u64, stm| Totals { at: Time(second * SECOND), stm, ..Totals::default() };
    let mut window = Window::new(2, standing(0, total(1_000)));
    window.close(standing(1, total(9_000)));
    let first = window.figures(&Names::default()).transactions.unwrap();
    // Its counts were first read in the middle of that second.
    assert_eq!((first.attempts_per_second, first.commits_per_second), (16_000.0, Some(8_000.0)));
    window.close(standing(2, total(9_400)));
    window.close(standing(3, total(9_800)));
    let last = window.figures(&Names::default()).transactions.unwrap();
    assert_eq!((last.attempts_per_second, last.lost_share), (400.0, Some(0.25)));
    window.close(standing(4, None));
    assert_eq!(window.figures(&Names::default()).transactions, None);
}

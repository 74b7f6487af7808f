//! Green threads and their waits for each other.

use super::*;
use crate::results::{Results, RuleOutcome};
use crate::testing::Script;
use crate::{Analysis, Tail};
use rtscope_model::{Body, Confidence, Names};

const MS: u64 = 1_000_000;
const LOCK: StopReason = StopReason::Blocked(BlockedOn::Lock);

fn fold(script: Script) -> GreenThreads {
    let mut green = GreenThreads { every_event: true, ..GreenThreads::default() };
    let made = |lane: u16| Event { time: Time(0), lane: LaneId(lane), body: Body::Runtime(Runtime::LaneCreated) };
    [made(0), made(1)].iter().chain(&script.events()).for_each(|event| green.event(event));
    green
}

fn wake(script: Script, at: u64, lane: u16, green: u32) -> Script {
    script.rt(at, lane, Runtime::ThreadWoken(GreenThread(green)))
}

/// Threads 1 and 2 pass a lock back and forth: one holds it for 10 ms while the other waits.
fn convoy(rounds: u64) -> Script {
    (0..rounds).fold(Script::default(), |script, round| {
        let at = round * 20 * MS;
        let script = script.run(at + 1, 0, 1).run(at + 1, 1, 2).stop(at + 2, 1, 2, LOCK);
        let script = wake(script, at + 10 * MS, 0, 2).stop(at + 10 * MS + 1, 0, 1, LOCK);
        let script = script.run(at + 10 * MS + 2, 1, 2);
        wake(script, at + 20 * MS - 1, 1, 1).stop(at + 20 * MS, 1, 2, StopReason::Yielded)
    })
}

#[test]
fn a_lane_that_is_idle_while_two_threads_share_a_lock_is_counted_once() {
    let green = fold(convoy(10));
    let contention = &green.contention;
    // The first wait does not count yet: neither thread had waited before.
    let expected = 10 * 20 * MS - 10 * MS;
    assert!(contention.idle.ns().abs_diff(expected) < 10_000, "{}", contention.idle.ns());
    assert_eq!((contention.waits(), contention.black_holes.count), (19, 0));
    let (_, _, from, to) = contention.longest.unwrap();
    assert!(to.since(from).abs_diff(10 * MS) < 10);
    assert_eq!(contention.holders.len(), 2);
}

#[test]
fn waiting_for_work_is_not_waiting_for_a_lock() {
    // Thread 9 hands work to thread 1, which releases no thread; thread 2 runs all the time.
    let script = (0..50).fold(Script::default().run(1, 0, 2), |script, round| {
        let at = 10 + round * 10 * MS;
        let script = script.run(at, 1, 1).stop(at + MS, 1, 1, LOCK);
        let script = script.run(at + 9 * MS, 1, 9);
        wake(script, at + 9 * MS + 10, 1, 1).stop(at + 9 * MS + 20, 1, 9, StopReason::ForeignCall)
    });
    assert_eq!(fold(script).contention.idle.ns(), 0);
}

#[test]
fn a_value_that_another_thread_computes_counts_at_once() {
    let hole = StopReason::Blocked(BlockedOn::BlackHole(Some(GreenThread(1))));
    let script = Script::default().run(1, 0, 1).run(1, 1, 2).stop(MS, 1, 2, hole);
    let green = fold(wake(script, 31 * MS, 0, 2));
    let contention = &green.contention;
    assert_eq!((contention.idle.ns(), contention.black_holes), (30 * MS, GreenWaits { count: 1, ns: 30 * MS }));
    assert_eq!(contention.holders.get(&GreenThread(1)), Some(&(30 * MS)));
}

#[test]
fn a_stopped_world_is_not_idle() {
    let hole = StopReason::Blocked(BlockedOn::BlackHole(None));
    let script = Script::default().run(1, 0, 1).run(1, 1, 2).stop(MS, 1, 2, hole).parallel(
        11 * MS,
        11 * MS + 10,
        11 * MS + 20,
        21 * MS - 1,
    );
    let green = fold(wake(script, 31 * MS, 0, 2));
    assert_eq!(green.contention.idle.ns(), 20 * MS);
}

#[test]
fn sums_show_runs_waits_and_wake_ups() {
    let script = Script::default()
        .rt(1, 0, Runtime::ThreadCreated(GreenThread(5)))
        .run(10, 0, 5)
        .stop(30, 0, 5, LOCK)
        .run(40, 0, 6);
    let script = wake(script, 100, 0, 5).stop(110, 0, 6, StopReason::Finished).run(150, 0, 5).stop(
        200,
        0,
        5,
        StopReason::Finished,
    );
    let values = fold(script).values(1_000).unwrap();
    assert_eq!((values.created, values.finished, values.alive_max), (1, 2, 2));
    assert_eq!((values.slice_ns.count, values.slice_ns.sum), (3, Some(20 + 70 + 50)));
    assert_eq!((values.wake_to_run_ns.count, values.wake_to_run_ns.sum), (1, Some(50)));
    let blocked: Vec<_> = values.blocked.iter().map(|sum| (sum.reason, sum.count, sum.sum_ns)).collect();
    assert_eq!(blocked, [("lock", 1, 70)]);
    let lanes: Vec<_> = values.lanes.iter().map(|lane| (lane.lane, lane.run_ns, lane.share)).collect();
    assert_eq!(lanes, [(0, 140, 0.14), (1, 0, 0.0)]);
}

#[test]
fn without_every_run_nothing_is_known() {
    let mut green = GreenThreads::default();
    convoy(3).events().iter().for_each(|event| green.event(event));
    assert!(!green.known() && green.values(1_000).is_none());
    assert!(!fold(Script::default()).known());
}

#[test]
fn events_in_any_order_are_taken() {
    let script =
        Script::default().stop(5, 0, 1, LOCK).stop(6, 0, 1, LOCK).run(7, 1, 1).run(8, 0, 1).stop(1, 1, 9, LOCK);
    let mut green = fold(wake(script, 9, 7, 9));
    let late = |lane, body| Event { time: Time(0), lane: LaneId(lane), body: Body::Runtime(body) };
    green.event(&late(u16::MAX, Runtime::ThreadRun(GreenThread(4))));
    green.event(&late(0, Runtime::ThreadStop(GreenThread(1), StopReason::Finished)));
    green.event(&late(0, Runtime::ThreadStop(GreenThread(1), StopReason::Finished)));
    assert!(green.values(0).is_some());
}

fn analyse(every_green_event: bool, script: Script) -> Results {
    let runtime = crate::results::ProgramRuntime { family: Some("ghc".into()), ..Default::default() };
    let mut analysis = Analysis::new(Context { every_green_event, runtime, ..Context::default() });
    let script = script.rt(0, 0, Runtime::LaneCreated).rt(0, 1, Runtime::LaneCreated);
    script.events().iter().for_each(|event| analysis.push(event, &Names::default(), &mut |_| {}));
    analysis.finish(&Names::default(), Tail::default(), &mut |_| {})
}

fn outcome(results: &Results) -> RuleOutcome {
    results.checked.iter().find(|rule| rule.id == "blackhole-or-lock").unwrap().outcome
}

#[test]
fn a_convoy_is_a_finding_with_its_cost_and_a_figure_that_shall_fall() {
    let results = analyse(true, convoy(20));
    let finding = results.findings.iter().find(|finding| finding.id == "blackhole-or-lock").unwrap();
    assert_eq!((finding.confidence, outcome(&results)), (Confidence::Medium, RuleOutcome::Found));
    assert!(finding.cost_ns.abs_diff(390 * MS) < 20_000, "{}", finding.cost_ns);
    assert!(finding.claim.starts_with("Capabilities stood idle for 390 ms of 400 ms"), "{}", finding.claim);
    assert!(finding.claim.ends_with("for locks (MVar)."), "{}", finding.claim);
    let texts: Vec<_> = finding.evidence.iter().map(|seen| seen.text.as_str()).collect();
    assert!(texts[0].contains("39 waits for a lock, 390 ms in all"), "{texts:?}");
    assert!(texts[1].contains("waited 10.0 ms for thread"), "{texts:?}");
    let metric = finding.remedies.first().unwrap().metric.as_ref().unwrap();
    assert_eq!(metric.path, "green_threads.idle_while_waiting_ns");
    let idle = results.green_threads.unwrap().idle_while_waiting_ns;
    assert_eq!(idle, finding.cost_ns);
}

#[test]
fn for_black_holes_the_remedy_is_to_evaluate_first() {
    let hole = StopReason::Blocked(BlockedOn::BlackHole(Some(GreenThread(1))));
    let script = (0..12).fold(Script::default().run(1, 0, 1), |script, round| {
        let at = round * 20 * MS + 2;
        let script = script.run(at, 1, 2).stop(at + MS, 1, 2, hole);
        wake(script, at + 20 * MS - 1, 0, 2)
    });
    let results = analyse(true, script);
    let finding = results.findings.first().unwrap();
    assert!(finding.claim.contains("(black holes)"), "{}", finding.claim);
    assert!(finding.evidence.iter().any(|seen| seen.text.contains("Thread 1 is the one that others waited for")));
    assert!(finding.remedies.first().unwrap().text.words.starts_with("Evaluate shared values"));
}

#[test]
fn a_few_waits_are_none_and_without_every_run_the_rule_is_not_checked() {
    let few = analyse(true, convoy(4));
    assert!(few.findings.is_empty() && outcome(&few) == RuleOutcome::Clear);
    let little = analyse(true, convoy(20).run(10_000 * MS, 0, 1));
    assert!(little.findings.is_empty() && outcome(&little) == RuleOutcome::Clear);
    let blind = analyse(false, convoy(20));
    assert_eq!((blind.findings.len(), outcome(&blind)), (0, RuleOutcome::NotAsked));
}

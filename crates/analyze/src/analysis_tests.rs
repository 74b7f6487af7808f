//! Whole recordings, from events to results.

use super::*;
use crate::results::RuleOutcome;
use crate::results::waits::{HolderDoes, Wait, WaitShare, Waits};
use crate::testing::{self, Places, Script, switch};
use rtscope_model::Tid;
use rtscope_model::manifest::Group;
use rtscope_model::{Cause, ClockMap, Counter, Cpu, Doing, LossKind, OffState, Pid, Sample, Sched, WaitKind};

pub(super) const MS: u64 = 1_000_000;

pub(super) fn context(cpus: u16) -> Context {
    Context { cpus_allowed: (0..cpus).collect(), nursery_bytes: Some(16 << 20), ..testing::context() }
}

fn quota(context: Context) -> Context {
    let group = Group {
        path: "/app".into(),
        version: 2,
        quota_cpus: Some(0.5),
        period_ns: Some(100 * MS),
        quota_path: Some("/sys/fs/cgroup/app/cpu.max".into()),
        memory_limit_bytes: None,
    };
    Context { groups: vec![group], ..context }
}

pub(super) fn names() -> Names {
    let mut names = Names::default();
    // The builder names a thread by its number.
    (1..=100).for_each(|tid| _ = names.intern(&format!("task-{tid}")));
    names
}

pub(super) fn analyse(context: Context, script: Script) -> (Results, Vec<BlamedPause>) {
    let names = names();
    let mut analysis = Analysis::new(context);
    let mut pauses = Vec::new();
    for event in script.events() {
        analysis.push(&event, &names, &mut |pause| pauses.push(pause.clone()));
    }
    let results = analysis.finish(&names, Tail::default(), &mut |pause| pauses.push(pause.clone()));
    (results, pauses)
}

/// A collection every 100 ms, `count` times. In each, thread 12 is off CPU 1 from just before the request until 40 ms
/// later, while `taker` runs there.
fn held(count: u64, taker: u32) -> Script {
    let mut script = Script::default()
        .k(0, switch(0, 0, OffState::Runnable, 11))
        .k(0, switch(1, 0, OffState::Runnable, 12))
        .rt(1, 0, Runtime::LaneCreated)
        .rt(1, 1, Runtime::LaneCreated);
    for at in (1..=count).map(|n| n * 100 * MS) {
        script = script
            .k(at - MS, switch(1, 12, OffState::Runnable, taker))
            .parallel(at, at + 40 * MS + 10_000, at + 40 * MS + 20_000, at + 41 * MS)
            .k(at + 40 * MS, switch(1, taker, OffState::Sleeping, 12));
    }
    script
}

/// [`held`], with a quota that explains each wait.
fn throttled(count: u64, taker: u32) -> Script {
    (0..=count * 10 + 10).fold(held(count, taker), |script, tick| {
        let at = tick * 10 * MS;
        let ended = (1..=count).filter(|n| n * 100 * MS + 40 * MS <= at).count() as u64;
        script.quota(at + 1, ended, ended * 41 * MS)
    })
}

pub(super) fn ids(results: &Results) -> Vec<&str> {
    results.findings.iter().map(|finding| finding.id.as_str()).collect()
}

#[test]
fn a_quota_is_found_with_its_cost_and_its_path() {
    let (results, _) = analyse(quota(context(2)), throttled(20, 0));
    assert_eq!(ids(&results), ["cpu-throttled"]);
    let finding = results.findings.first().unwrap();
    assert_eq!(finding.cost_ns, 20 * 41 * MS);
    assert!(finding.claim.contains("0.5 CPUs") && finding.claim.contains("cpu.max"), "{}", finding.claim);
    assert!(finding.remedies.iter().any(|remedy| remedy.flag.as_deref() == Some("+RTS -N1")));
    assert!(
        finding
            .remedies
            .iter()
            .any(|remedy| remedy.flag.as_deref() == Some("echo '200000 100000' > /sys/fs/cgroup/app/cpu.max"))
    );
    let throttled = results.causes.first().unwrap();
    assert_eq!((throttled.cause, throttled.sum_ns), (Cause::Throttled, 20 * 40 * MS));
}

#[test]
fn a_quota_with_a_neighbour_is_still_the_quota() {
    let (results, pauses) = analyse(quota(context(2)), throttled(20, 77));
    assert_eq!(ids(&results), ["cpu-throttled"]);
    assert!(
        pauses.iter().flat_map(|pause| &pause.causes).any(|piece| piece.cause == Cause::Throttled && piece.neighbour)
    );
}

#[test]
fn a_quota_that_runs_out_in_most_periods_comes_before_a_costlier_neighbour() {
    // The counter explains every tenth wait; the neighbour explains the others.
    let ticks = (0..=2_100).step_by(10).fold(held(20, 77), |script, ms| {
        let ended = (1..=20).filter(|n| n % 10 == 0 && n * 100 + 40 <= ms).count() as u64;
        script.quota(ms * MS + 1, ended, ended * 41 * MS)
    });
    let (results, _) = analyse(quota(context(2)), ticks);
    assert_eq!(ids(&results), ["cpu-throttled", "preempted"]);
    let costs: Vec<u64> = results.findings.iter().map(|finding| finding.cost_ns).collect();
    assert_eq!(costs, [2 * 41 * MS, 18 * 41 * MS]);
}

#[test]
fn a_neighbour_is_named() {
    let (results, _) = analyse(context(2), held(20, 77));
    assert_eq!(ids(&results), ["preempted"]);
    let found: Vec<_> = results.checked.iter().filter(|checked| checked.outcome == RuleOutcome::Found).collect();
    assert_eq!(found.iter().map(|checked| (checked.id, &checked.why)).collect::<Vec<_>>(), [("preempted", &None)]);
    let finding = results.findings.first().unwrap();
    assert!(finding.claim.starts_with("task-77 ran"), "{}", finding.claim);
    assert_eq!(finding.cost_ns, 20 * 41 * MS);
    assert_eq!(results.kernel.others_held_ns, Some(20 * 41 * MS));
    assert_eq!(results.stragglers.first().map(|straggler| (straggler.lane, straggler.count)), Some((1, 20)));
    assert_eq!(results.drawing.worst.len(), 10);
    assert!(results.drawing.worst.iter().all(|worst| worst.states.len() == 2));
}

#[test]
fn the_recorder_is_the_tracers_cost_and_no_neighbour() {
    let context = || context(2);
    let script = held(20, 101).k(0, Sched::Fork { parent: Tid(1), child: Tid(101), child_pid: Pid(101) });
    let mut names = names();
    assert_eq!(names.intern("rtscope-kernel"), rtscope_model::NameId(101));
    let mut analysis = Analysis::new(context());
    script.events().iter().for_each(|event| analysis.push(event, &names, &mut |_| {}));
    let results = analysis.finish(&names, Tail::default(), &mut |_| {});
    assert_eq!(ids(&results), ["tracer-disturbance"]);
    assert_eq!(results.tracer.recorder_held_ns, Some(20 * 41 * MS));
    assert_eq!(results.kernel.others_held_ns, Some(0));
}

/// In turn, four per cent of each of two CPUs is taken: 8 % of the wall clock, and little of any lane's time.
#[test]
fn housekeeping_on_every_cpu_is_no_finding() {
    let script = (1..=100).fold(healthy(0), |script, n| {
        let at = n * 10 * MS;
        let taken = |script: Script, at, cpu, tid| {
            let script = script.k(at, switch(cpu, tid, OffState::Runnable, 20));
            script.k(at + 400_000, switch(cpu, 20, OffState::Sleeping, tid))
        };
        let script = taken(taken(script, at, 0, 11), at + MS, 1, 12);
        script.parallel(at + 5 * MS, at + 5 * MS + 3_000, at + 5 * MS + 5_000, at + 5 * MS + 100_000)
    });
    let (results, _) = analyse(context(2), script);
    assert!(results.findings.is_empty(), "{:?}", ids(&results));
}

#[test]
fn siblings_on_one_cpu_are_oversubscribed() {
    let mut context = context(1);
    context.program_tids.push(Tid(13));
    let (results, _) = analyse(context, held(20, 13));
    assert_eq!(ids(&results), ["oversubscribed"]);
    let finding = results.findings.first().unwrap();
    assert!(finding.claim.starts_with("2 capabilities share 1 CPUs"), "{}", finding.claim);
    // Two nanoseconds each until the leader is known to run again.
    assert_eq!(finding.cost_ns, 20 * (40 * MS + 2), "only what lies inside pauses");
}

/// Between short pauses every 100 ms, thread 12 is off CPU 1 in `state` for 60 ms, and nothing runs there.
fn away(state: OffState) -> Results {
    away_of(context(2), state)
}

fn away_of(context: Context, state: OffState) -> Results {
    let script = Script::default()
        .k(0, switch(0, 0, OffState::Runnable, 11))
        .k(0, switch(1, 0, OffState::Runnable, 12))
        .rt(1, 0, Runtime::LaneCreated)
        .rt(1, 1, Runtime::LaneCreated);
    let script = (1..=20).map(|n| n * 100 * MS).fold(script, |script, at| {
        script
            .parallel(at, at + 3_000, at + 5_000, at + 105_000)
            .k(at + 20 * MS, switch(1, 12, state, 0))
            .k(at + 80 * MS, switch(1, 0, OffState::Runnable, 12))
    });
    analyse(context, script).0
}

/// The result of looks: three threads wait for a thing that a running thread holds.
fn looked(kind: WaitKind, looks: u64) -> Option<Waits> {
    let holder = HolderDoes { doing: Doing::Runs, place: Some("Main.spin".into()), ..HolderDoes::default() };
    let wait = Wait {
        kind,
        place: Some("Main.work".into()),
        holder: Some(holder),
        threads_mean: 3.0,
        objects_mean: Some(1.0),
        queue_mean: Some(3.0),
        looks_share: 1.0,
        ..Wait::default()
    };
    let of_kind = WaitShare { kind, holder: Some(Doing::Runs), threads_mean: 3.0, looks_share: 1.0 };
    Some(Waits { looks, kinds: vec![of_kind], by: vec![wait], ..Waits::default() })
}

#[test]
fn lanes_without_work_waiting_for_one_lock_are_a_convoy() {
    let of = |looks| away_of(Context { waits: looked(WaitKind::Lock, looks), ..context(2) }, OffState::Sleeping);
    let results = of(5);
    assert_eq!(ids(&results), ["lock-convoy"]);
    let finding = results.findings.first().unwrap();
    assert_eq!(finding.cost_ns, 19 * 60 * MS / 2, "{}", finding.claim);
    let text = "The average capability had nothing to run for 570 ms of 2.00 s (28 %): threads waited in `Main.work` for the \
                same MVar, and the one that had it was at work in `Main.spin`.";
    assert_eq!(finding.claim.to_string(), text);
    assert_eq!(ids(&of(4)), ["lock-convoy"], "half of the time at least");
    let few = of(1);
    assert!(few.findings.is_empty(), "{:?}", ids(&few));
    let convoy = few.checked.iter().find(|rule| rule.id == "lock-convoy").unwrap();
    assert_eq!(convoy.outcome, RuleOutcome::CouldNotLook);
    assert_eq!(convoy.why.as_deref(), Some("1 look at what threads wait for: record for longer."));
}

#[test]
fn threads_of_one_domain_are_reported_where_cpus_are_free() {
    let of = |cpus, waits| {
        let runtime = crate::results::ProgramRuntime { family: Some("ocaml".into()), ..Default::default() };
        let context = Context { waits, runtime, ..context(cpus) };
        away_of(context, OffState::Sleeping)
    };
    let results = of(4, looked(WaitKind::RuntimeLock, 5));
    let finding = results.findings.iter().find(|finding| finding.id == "domain-lock").unwrap();
    assert!(finding.claim.ends_with("of 2 domains had work."), "{}", finding.claim);
    // Two places in turn: as many threads, and as much time.
    let mut waits = looked(WaitKind::RuntimeLock, 6).unwrap();
    waits.by = ["Main.one", "Main.other"]
        .iter()
        .flat_map(|place| {
            waits.by.iter().map(|wait| Wait { place: Some((*place).into()), looks_share: 0.5, ..wait.clone() })
        })
        .collect();
    let apart = of(4, Some(waits));
    let apart = apart.findings.iter().find(|finding| finding.id == "domain-lock").unwrap();
    assert!(apart.claim.contains("100 % of looks 3.0 waited") && apart.cost_ns == finding.cost_ns, "{}", apart.claim);
    assert_eq!(finding.remedies.len(), 1);
    let none = of(1, looked(WaitKind::RuntimeLock, 5));
    assert!(none.findings.iter().all(|finding| finding.id != "domain-lock"), "{:?}", ids(&none));
}

#[test]
fn a_part_of_the_account_that_no_rule_explains_is_a_finding() {
    let results = away(OffState::Runnable);
    assert_eq!(ids(&results), ["no-cpu"]);
    let finding = results.findings.first().unwrap();
    // One of two lanes; the log ends with the last pause.
    assert_eq!(finding.cost_ns, 19 * 60 * MS / 2, "{}", finding.claim);
    let text = "The average capability had work and no CPU for 570 ms of 2.00 s (28 %), most of it: a CPU was idle.";
    assert_eq!(finding.claim.to_string(), text);
    let results = away(OffState::Uninterruptible);
    assert_eq!(ids(&results), ["kept"]);
    let finding = results.findings.first().unwrap();
    assert!(finding.claim.contains("most of it: blocked in the kernel"), "{}", finding.claim);
}

pub(super) fn healthy(count: u64) -> Script {
    let script =
        Script::default().k(0, switch(0, 0, OffState::Runnable, 11)).k(0, switch(1, 0, OffState::Runnable, 12));
    (1..=count).fold(script, |script, n| {
        let at = n * MS;
        // A kernel thread takes a CPU for 10 us every millisecond: 1 %.
        let script =
            script.k(at, switch(1, 12, OffState::Runnable, 20)).k(at + 10_000, switch(1, 20, OffState::Sleeping, 12));
        let script = script.rt(at, 0, Runtime::Count(Counter::AllocatedBytes, n << 20));
        script.parallel(at + 100_000, at + 103_000, at + 105_000, at + 200_000)
    })
}

#[test]
fn a_healthy_program_has_no_finding() {
    let at = Places::new();
    let stolen = |ms: u64| Sample::CpuStolen { cpu: Cpu(0), steal_ns: ms * MS, irq_ns: 0 };
    let sampled = (1..90).fold(healthy(1000), |script, n| script.found(n * 11 * MS, 12, at.spin, 10 * MS));
    let sampled = sampled.quota(1, 0, 0).quota(999 * MS, 0, 0).sample(1, stolen(0)).sample(999 * MS, stolen(20));
    let context = Context { symbols: at.symbols, nursery_bytes: None, ..quota(context(2)) };
    let (results, pauses) = analyse(context, sampled);
    assert!(results.findings.is_empty(), "{:?}", ids(&results));
    let clear = |id: &&str| results.checked.iter().any(|rule| rule.id == *id && rule.outcome == RuleOutcome::Clear);
    assert!(["cpu-throttled", "preempted", "oversubscribed"].iter().all(clear), "{:?}", results.checked);
    assert_eq!((results.pauses.count, pauses.len()), (1000, 1000));
    let wall = results.productivity.wall.unwrap();
    assert!((0.85..0.95).contains(&wall), "{wall}");
    let runtime_view = results.productivity.runtime_view.unwrap();
    assert!((runtime_view - 0.905).abs() < 0.01, "{runtime_view}");
}

#[test]
fn a_clock_that_does_not_fit_switches_kernel_blame_off_with_the_reason() {
    // All arrivals fall while no thread of the program is on a CPU.
    let script = (0..200).fold(Script::default(), |script, n| {
        let at = n * 10 * MS;
        let script =
            script.k(at, switch(0, 0, OffState::Runnable, 11)).k(at + MS, switch(0, 11, OffState::Sleeping, 0));
        script.parallel(at + 5 * MS, at + 6 * MS, at + 7 * MS, at + 8 * MS)
    });
    let (results, pauses) = analyse(context(2), script);
    assert_eq!((results.kernel.used, results.kernel.sanity), (false, Some(0.0)));
    assert!(results.kernel.notes.iter().any(|note| note.contains("99 %")), "{:?}", results.kernel.notes);
    assert!(results.causes.iter().all(|cause| cause.cause == Cause::Unknown));
    assert_eq!(pauses.len(), 200);
    assert_eq!(results.productivity.wall, None);
}

#[test]
fn an_unjoined_clock_uses_no_kernel_event() {
    let (results, _) = analyse(Context { clock: ClockMap::LOG_OWN, ..context(2) }, held(20, 77));
    assert!(!results.kernel.used);
    assert_eq!(ids(&results), ["standing-still"], "why is not seen");
    let unchecked: Vec<_> =
        results.checked.iter().filter(|checked| checked.why.is_some()).map(|checked| checked.id).collect();
    assert!(["cpu-throttled", "preempted", "oversubscribed"].iter().all(|id| unchecked.contains(id)), "{unchecked:?}");
    assert!(results.kernel.notes.iter().any(|note| note.contains("clock")));
    let evidence: Vec<&str> = results.findings[0].evidence.iter().map(|seen| seen.text.as_str()).collect();
    assert!(evidence.iter().any(|text| text.starts_with("20 pauses, ")), "{evidence:?}");
    let advises =
        |results: &Results, text| results.findings[0].remedies.iter().any(|remedy| remedy.text.words.contains(text));
    assert!(advises(&results, "rtscope tune") && !advises(&results, "as many capabilities"));
    // That two lanes on one CPU are too many needs no kernel events.
    let (results, _) = analyse(Context { clock: ClockMap::LOG_OWN, ..context(1) }, held(20, 77));
    assert!(advises(&results, "as many capabilities as there are CPUs (1)"));
}

#[test]
fn a_loss_of_the_log_makes_the_pauses_it_touches_partial() {
    let loss = Loss {
        source: "0.eventlog".into(),
        kind: LossKind::Damaged,
        count: 9,
        from: Some(Time(250 * MS)),
        to: Some(Time(310 * MS)),
        note: String::new(),
    };
    let (results, _) = analyse(Context { losses: vec![loss], ..context(2) }, held(20, 77));
    assert_eq!((results.pauses.count, results.pauses.partial, results.pauses.pause_ns.count), (20, 1, 19));
    assert_eq!(results.losses.len(), 1);
}

#[test]
fn without_kernel_events_the_quota_is_found_from_counters_with_medium_confidence() {
    let script = throttled(20, 0);
    let (results, _) = {
        let names = names();
        let mut analysis = Analysis::new(quota(context(2)));
        for event in script.events().iter().filter(|event| !matches!(event.body, Body::Sched(_))) {
            analysis.push(event, &names, &mut |_| {});
        }
        (analysis.finish(&names, Tail::default(), &mut |_| {}), ())
    };
    assert_eq!(ids(&results), ["cpu-throttled"]);
    let finding = results.findings.first().unwrap();
    assert_eq!(finding.confidence, rtscope_model::Confidence::Medium);
    assert!(finding.claim.contains("at least"), "{}", finding.claim);
}

#[test]
fn what_overlaps_is_counted_once_on_the_wall() {
    let sync = |script: Script, from, to| {
        let none = LaneId::NONE.0;
        script.rt(from, none, Runtime::ConcurrentSyncBegin).rt(to, none, Runtime::ConcurrentSyncEnd)
    };
    let script = sync(Script::default().parallel(100, 150, 160, 300), 280, 400);
    let (results, _) = analyse(Context { clock: ClockMap::LOG_OWN, ..context(2) }, script);
    assert_eq!((results.pauses.count, results.pauses.total_ns), (2, 300));
}

/// The least program share of any window that starts at a moment of `0..=end - window`, by brute force over the
/// pauses: no unions, no single pass.
fn least_outside(pauses: &[BlamedPause], end: u64, window: u64) -> f64 {
    let spans: Vec<(u64, u64)> =
        pauses.iter().map(|one| (one.pause.begin().0 / MS, one.pause.released.0 / MS)).collect();
    let stopped = |ms: u64| spans.iter().any(|span| (span.0..span.1).contains(&ms));
    let standing: Vec<u64> = (0..end / MS).map(|ms| u64::from(stopped(ms))).collect();
    let worst = standing.windows((window / MS) as usize).map(|some| some.iter().sum::<u64>()).max();
    1.0 - worst.unwrap_or(0) as f64 * MS as f64 / window as f64
}

#[test]
fn utilisation_is_that_of_the_pauses_themselves() {
    let none = LaneId::NONE.0;
    // Whole milliseconds; some of them lie in two pauses at once.
    let script = (0..60u64).fold(Script::default(), |script, n| {
        let at = 100 + n * 50 + n * n % 37;
        let script = script.parallel(at * MS, (at + 1) * MS, (at + 2) * MS, (at + 4 + n % 7) * MS - 2);
        match n % 5 {
            0 => script.rt((at + 3) * MS, none, Runtime::ConcurrentSyncBegin).rt(
                (at + 14) * MS,
                none,
                Runtime::ConcurrentSyncEnd,
            ),
            _ => script,
        }
    });
    let end = 3_400 * MS;
    let context = Context { clock: ClockMap::LOG_OWN, started: Some(Time(0)), ended: Some(Time(end)), ..context(2) };
    let (results, pauses) = analyse(context, script);
    assert_eq!((results.pauses.count, results.mmu.len()), (72, 11));
    for found in &results.mmu {
        let expected = least_outside(&pauses, end, found.window_ns);
        assert!((found.utilization - expected).abs() < 1e-9, "{found:?}: {expected}");
        let longer = results.mmu.iter().filter(|other| other.window_ns >= found.window_ns);
        assert_eq!(longer.map(|other| other.utilization).reduce(f64::min), Some(found.bounded));
    }
    let counted: u64 = results.spectrum.iter().map(|column| column.count).sum();
    let sum: u64 = results.spectrum.iter().map(|column| column.sum_ns).sum();
    assert_eq!((counted, Some(sum)), (72, results.pauses.pause_ns.sum));
}

#[test]
fn a_leader_that_is_late_itself_is_waited_for_too() {
    let script = (1..=10u64).fold(Script::default(), |script, n| {
        let at = n * 100 * MS;
        script.parallel(at, at + 2 * MS, at + 30 * MS, at + 31 * MS)
    });
    let (results, _) = analyse(Context { clock: ClockMap::LOG_OWN, ..context(2) }, script);
    let waited: Vec<_> = results.stragglers.iter().map(|one| (one.lane, one.count, one.sum_ns)).collect();
    assert_eq!(waited, [(0, 0, 10 * 28 * MS), (1, 10, 10 * 2 * MS)]);
    assert_eq!(Some(waited.iter().map(|one| one.2).sum()), results.pauses.time_to_stop_ns.sum);
}

#[test]
fn lane_times_are_reported_where_threads_stay_with_their_lanes() {
    let (results, _) = analyse(context(2), held(20, 77));
    let lanes: Vec<_> =
        results.lanes.iter().map(|lane| (lane.id, lane.tids.clone(), lane.mutator_ns.is_some())).collect();
    assert_eq!(lanes, [(0, vec![11], true), (1, vec![12], true)]);
    let lane = results.lanes.get(1).unwrap();
    assert_eq!((lane.stop_wait_ns, lane.release_wait_ns), (Some(20 * 10_000), Some(20 * 2)));
}

#[test]
fn memory_stays_bounded_over_a_long_stream() {
    let names = names();
    let mut analysis = Analysis::new(context(2));
    let mut peak = 0;
    for event in healthy(30_000).events() {
        analysis.push(&event, &names, &mut |_| {});
        peak = peak.max(analysis.pending.len());
    }
    assert!(peak < 10, "{peak}");
    assert_eq!(analysis.evidence.tracks.forgotten(), 0, "pruned before the bound");
    let results = analysis.finish(&names, Tail::default(), &mut |_| {});
    assert_eq!(results.pauses.count, 30_000);
    assert!(results.drawing.over_time.len() <= 512);
}

#[test]
fn a_pause_waits_for_the_counters_after_it_and_not_for_ever() {
    let names = names();
    let mut analysis = Analysis::new(quota(context(2)));
    let mut pauses = 0;
    let feed = |script: Script, analysis: &mut Analysis, pauses: &mut u64| {
        for event in script.events() {
            analysis.push(&event, &names, &mut |_| *pauses += 1);
        }
    };
    feed(Script::default().quota(1, 0, 0).parallel(MS, 2 * MS, 3 * MS, 4 * MS), &mut analysis, &mut pauses);
    assert_eq!(pauses, 0);
    feed(Script::default().k(100 * MS, Sched::Exit { tid: Tid(99) }), &mut analysis, &mut pauses);
    assert_eq!(pauses, 0);
    feed(Script::default().k(300 * MS, Sched::Exit { tid: Tid(99) }), &mut analysis, &mut pauses);
    assert_eq!(pauses, 1, "the sampler is gone: judged without it");
}

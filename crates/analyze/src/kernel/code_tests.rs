//! Samples in, history and sums out.

use super::*;
use crate::kernel::purposes::Spent;
use crate::testing::Places;
use rtscope_model::PurposeId;
use rtscope_model::{Confidence, Cpu, LaneId};

const MS: u64 = 1_000_000;

fn sample(tid: u32, leaf: SymbolId, what: Found) -> CodeSample {
    CodeSample { tid: Tid(tid), cpu: Cpu(0), leaf, user: None, purpose: None, what }
}

fn running(tid: u32, leaf: SymbolId) -> CodeSample {
    sample(tid, leaf, Found::Running { ns: MS })
}

#[test]
fn the_majority_is_of_kinds_first_and_of_places_then() {
    let at = Places::new();
    let mut symbols = at.symbols.clone();
    let other = symbols.add(Symbol { name: "Main.go".into(), kind: CodeKind::Program, ..Symbol::default() });
    let mut code = CodeSamples::default();
    for (time, place) in [at.spin, at.call, other, at.call, at.spin].into_iter().enumerate() {
        code.push(Time(time as u64), &running(12, place));
    }
    let found = code.majority(Tid(12), Time(0), Time(10), &symbols);
    assert_eq!(found, Some(Majority { kind: CodeKind::Program, symbol: at.spin }));
    assert_eq!(code.majority(Tid(12), Time(5), Time(10), &symbols), None);
    assert_eq!(code.majority(Tid(13), Time(0), Time(10), &symbols), None);
}

#[test]
fn a_primitive_of_the_runtime_keeps_its_lane_like_a_call_into_another_language() {
    let at = Places::new();
    let mut code = CodeSamples::default();
    for (tid, purpose) in [(12, Some("hashing")), (13, Some("scheduling")), (14, None)] {
        let purpose = purpose.and_then(PurposeId::of);
        code.push(Time(1), &CodeSample { purpose, ..running(tid, at.runtime) });
    }
    let kind = |tid| code.majority(Tid(tid), Time(0), Time(10), &at.symbols).map(|found| found.kind);
    assert_eq!([12, 13, 14].map(kind), [CodeKind::Foreign, CodeKind::Runtime, CodeKind::Runtime].map(Some));
}

#[test]
fn an_interrupt_is_the_time_of_the_code_that_it_interrupts() {
    let at = Places::new();
    let mut symbols = at.symbols.clone();
    let source = Some(INTERRUPT.to_owned());
    let handler = Symbol { name: "finish_task_switch".into(), kind: CodeKind::Kernel, source, ..Symbol::default() };
    let handler = symbols.add(handler);
    let interrupted = |user| CodeSample { user, ..running(12, handler) };
    assert_eq!(code_owner(&interrupted(Some(at.spin)), &symbols), (CodeKind::Program, at.spin));
    assert_eq!(code_owner(&interrupted(Some(at.runtime)), &symbols), (CodeKind::Runtime, at.runtime));
    assert_eq!(code_owner(&interrupted(None), &symbols), (CodeKind::Kernel, handler), "nothing shows whose it is");
}

#[test]
fn a_wait_is_found_by_the_switch_that_began_it() {
    let at = Places::new();
    let mut code = CodeSamples::default();
    code.push(Time(MS), &sample(12, at.futex, Found::Waits));
    code.push(Time(2 * MS), &sample(12, at.nanosleep, Found::Waits));
    let leaf = |since| code.waits(Tid(12), Time(since)).map(|sample| sample.leaf);
    assert_eq!(leaf(MS + 2_000), Some(at.futex));
    assert_eq!(leaf(2 * MS - 2_000), Some(at.nanosleep));
    assert_eq!(leaf(3 * MS), None, "another sleep, of which nothing was seen");
}

#[test]
fn history_is_bounded_and_pruning_keeps_the_sample_that_a_long_sleep_began_with() {
    let at = Places::new();
    let mut code = CodeSamples::default();
    for time in 0..HISTORY_MAX as u64 + 10 {
        code.push(Time(time), &running(11, at.spin));
    }
    assert_eq!(code.threads.get(&Tid(11)).map(VecDeque::len), Some(HISTORY_MAX));
    code.push(Time(5), &sample(12, at.nanosleep, Found::Waits));
    code.prune(Time(u64::MAX), |_| true);
    assert!(!code.threads.contains_key(&Tid(11)), "where it ran says nothing about a sleep");
    assert!(code.waits(Tid(12), Time(5)).is_some());
    for tid in 100..100 + THREADS_MAX as u32 * 2 {
        code.push(Time(6), &running(tid, at.spin));
    }
    assert!(code.threads.len() <= THREADS_MAX);
    code.prune(Time(6), |tid| tid != Tid(12));
    assert_eq!(code.waits(Tid(12), Time(5)), None, "it has ended");
    let values = code.values(&at.symbols).unwrap();
    assert_eq!(values.samples, HISTORY_MAX as u64 + 10 + THREADS_MAX as u64 * 2, "sums leave nothing out");
}

fn pause(causes: Vec<CausePiece>) -> BlamedPause {
    let script = crate::testing::Script::default().parallel(0, 8 * MS, 9 * MS, 20 * MS);
    use crate::pauses::Recognise;
    let (mut recogniser, mut out) = (crate::runtimes::ghc::pauses::Recogniser::new(Some(true), Some(2)), Vec::new());
    script.events().iter().for_each(|event| recogniser.push(event, &mut out));
    recogniser.finish(Time(30 * MS), &mut out);
    BlamedPause { pause: out.swap_remove(0).pause, causes, kept_ns: None }
}

fn piece(cause: Cause, lane: u16, tid: u32, (from, to): (u64, u64), code: Option<SymbolId>) -> CausePiece {
    CausePiece {
        cause,
        lane: Some(LaneId(lane)),
        tid: Some(Tid(tid)),
        who: None,
        who_pid: None,
        code,
        neighbour: false,
        from: Time(from),
        to: Time(to),
        confidence: Confidence::High,
    }
}

#[test]
fn waits_for_a_lane_to_stop_are_summed_apart_from_the_leaders() {
    let at = Places::new();
    let mut code = CodeSamples::default();
    [MS, 2 * MS, 3 * MS].iter().for_each(|time| code.push(Time(*time), &running(12, at.spin)));
    code.push(Time(8 * MS + 500_000), &running(11, at.runtime));
    let causes = vec![
        piece(Cause::LateSafepoint, 1, 12, (0, 8 * MS), Some(at.spin)),
        piece(Cause::Running, 0, 11, (8 * MS, 9 * MS), Some(at.runtime)),
    ];
    code.pause(&pause(causes), &at.symbols);
    let stops = &code.stops;
    assert_eq!((stops.lengths.ns, stops.lengths.count, stops.samples), (8 * MS, 1, 3));
    assert_eq!((stops.sampled_ns(CodeKind::Program), stops.share(CodeKind::Program)), (3 * MS, 1.0));
    assert_eq!(stops.top(CodeKind::Program), [(at.spin, 3 * MS)]);
    let waited: Vec<_> =
        code.values(&at.symbols).unwrap().top.iter().map(|place| (place.symbol.clone(), place.waited_ns)).collect();
    assert_eq!(waited, [("Main.spin".to_owned(), 3 * MS), ("scavenge_block".to_owned(), MS)]);
}

#[test]
fn short_waits_need_no_reason_and_a_sleep_in_a_call_counts_by_its_length() {
    let at = Places::new();
    let mut code = CodeSamples::default();
    code.push(Time(50), &running(12, at.spin));
    let short = vec![piece(Cause::LateSafepoint, 1, 12, (0, LATE_MIN_NS - 1), Some(at.spin))];
    code.pause(&pause(short), &at.symbols);
    assert_eq!((code.stops.lengths.ns, code.stops.samples), (0, 0));
    let call = vec![piece(Cause::ForeignCall, 1, 12, (90_000, 8 * MS), Some(at.nanosleep))];
    code.pause(&pause(call), &at.symbols);
    assert_eq!((code.stops.lengths.ns, code.asleep.lengths.ns), (0, 8 * MS - 90_000));
    assert_eq!(code.asleep.top(CodeKind::Foreign), [(at.nanosleep, 8 * MS - 90_000)]);
}

#[test]
fn pieces_of_one_long_wait_count_together() {
    let at = Places::new();
    let mut code = CodeSamples::default();
    let pieces = (0..4).map(|n| (n * 2 * MS, n * 2 * MS + MS / 2));
    let pieces = pieces.map(|range| piece(Cause::Running, 1, 12, range, None));
    code.pause(&pause(pieces.collect()), &at.symbols);
    assert_eq!((code.stops.lengths.ns, code.stops.lengths.count), (2 * MS, 4));
}

#[test]
fn a_collector_thread_that_waits_for_others_does_not_count_for_the_kernel() {
    let at = Places::new();
    let mut symbols = at.symbols.clone();
    let gives_up =
        symbols.add(Symbol { name: "__sched_yield".into(), module: "libc.so.6".into(), ..Symbol::default() });
    let mut code = CodeSamples::default();
    let below = |user| CodeSample { user: Some(user), ..running(12, at.fault) };
    code.push(Time(10 * MS), &below(gives_up));
    let sleeps = Symbol { source: Some("futex".into()), ..at.symbols.get(at.fault).clone() };
    let sleeps = symbols.add(sleeps);
    code.push(Time(10 * MS + 1), &running(12, sleeps));
    let usage = Symbol { source: Some("getrusage".into()), ..at.symbols.get(at.fault).clone() };
    let usage = symbols.add(usage);
    code.push(Time(10 * MS + 2), &running(12, usage));
    code.push(Time(11 * MS), &below(at.runtime));
    code.push(Time(12 * MS), &running(11, at.runtime));
    code.pause(&pause(Vec::new()), &symbols);
    let found = [CodeKind::Kernel, CodeKind::Runtime].map(|kind| code.collects.sampled_ns(kind));
    assert_eq!((code.collects.samples, found[1]), (3, 2 * found[0]));
    assert_eq!(code.collects.lengths.ns, 11 * MS);
}

#[test]
fn samples_of_a_collection_are_inside_and_what_the_cpu_did_keeps_its_sum() {
    let at = Places::new();
    let mut code = CodeSamples::default();
    let blamed = pause(Vec::new());
    let (stopped, collected) = (blamed.pause.stopped.0, blamed.pause.collected.0);
    let copying = PurposeId::of("copying");
    let for_it = |leaf| CodeSample { purpose: copying, ..running(11, leaf) };
    for (time, sample) in [
        (1, running(11, at.spin)),
        (stopped, for_it(at.runtime)),
        (stopped + 1, CodeSample { user: Some(at.runtime), ..for_it(at.fault) }),
        (collected, for_it(at.libc)),
        (collected + 1, for_it(at.runtime)),
        (collected + 2, running(11, at.runtime)),
        (collected + 3, sample(11, at.futex, Found::Waits)),
    ] {
        code.take(Time(time), &sample, &at.symbols);
    }
    code.pause(&blamed, &at.symbols);
    code.pause(&blamed, &at.symbols);
    let all = code.purposes.sums.values().sum::<u64>();
    let of = |inside, kind, in_kernel, purpose: Option<&str>| {
        let spent = Spent { inside, kind, in_kernel, purpose: purpose.and_then(PurposeId::of) };
        code.purposes.sums.get(&spent).copied().unwrap_or(0) * 6 / all
    };
    assert_eq!(of(false, CodeKind::Program, false, None), 1);
    assert_eq!(of(true, CodeKind::Runtime, false, Some("copying-young")), 2, "the C library works for the runtime");
    assert_eq!(of(true, CodeKind::Runtime, true, Some("copying-young")), 1);
    assert_eq!(of(false, CodeKind::Runtime, false, Some("copying")), 1);
    assert_eq!(of(false, CodeKind::Runtime, false, None), 1, "not known is no purpose");
    assert_eq!(code.purposes.list().iter().map(|time| time.ns).sum::<u64>(), all);
}

//! The rules about the program's use of its capabilities, over whole recordings.

use super::collector_tests::{GC, Gc, analyse, context, ids, one, outcome, script};
use crate::recording::Context;
use crate::results::waits::{Wait, WaitShare, Waits};
use crate::results::{Results, RuleOutcome};
use crate::testing::{Places, Script, switch};
use rtscope_model::{
    CodeKind, CodeSample, Confidence, Counter, Cpu, Doing, Found, OffState, Pid, PurposeId, Runtime, Sample, Symbol,
    SymbolId, Tid, WaitKind,
};

const MS: u64 = 1_000_000;

/// One second with a few collections, after which the second lane's thread sleeps.
fn one_at_work() -> Script {
    one_at_work_from(100 * MS)
}

/// [`one_at_work`], where the thread sleeps from `sleeps` on.
fn one_at_work_from(sleeps: u64) -> Script {
    let count = sleeps / (20 * MS);
    let gcs = Gc { every_ns: 10 * MS, count, parallel: true, other_ns: 10_000, ..GC };
    script(gcs).k(sleeps, switch(1, 12, OffState::Sleeping, 0)).rt(999 * MS, 0, Runtime::Count(Counter::HeapBytes, 1))
}

fn sparks(counts: &[(Counter, u64)]) -> Results {
    let counted =
        |script: Script, (counter, count): &(Counter, u64)| script.rt(60 * MS, 0, Runtime::Count(*counter, *count));
    analyse(context(), counts.iter().fold(one_at_work(), counted)).0
}

#[test]
fn what_became_of_most_sparks_shows_why_a_capability_has_nothing_to_run() {
    let results = sparks(&[
        (Counter::SparksCreated, 1_000),
        (Counter::SparksFizzled, 900),
        (Counter::SparksConverted, 60),
        (Counter::SparksOverflowed, 200),
    ]);
    let finding = one(&results, "sparks");
    assert!(finding.claim.contains("75 % of 1,200 sparks fizzled"), "{}", finding.claim);
    assert!((440 * MS..=460 * MS).contains(&finding.cost_ns), "{}: half of 900 ms", finding.cost_ns);
    assert!(finding.evidence[0].text.contains("900 fizzled, 200 overflowed, 60 ran"), "{:?}", finding.evidence);
    assert_eq!(finding.confidence, Confidence::Medium);
    assert!(finding.remedies[0].text.words.contains("parListChunk"));
    let ran = sparks(&[(Counter::SparksCreated, 1_000), (Counter::SparksConverted, 1_000)]);
    let ran = one(&ran, "sparks");
    assert!(
        ran.claim.contains("ran, but had little of the work") && ran.confidence == Confidence::Low,
        "{}",
        ran.claim
    );
}

#[test]
fn a_program_without_sparks_may_be_sequential_on_purpose() {
    for counts in [&[][..], &[(Counter::SparksCreated, 0)], &[(Counter::SparksCreated, 9), (Counter::SparksFizzled, 9)]]
    {
        assert!(ids(&sparks(counts)).is_empty(), "{counts:?}");
    }
    assert_eq!(outcome(&sparks(&[]), "sparks"), RuleOutcome::NotAsked);
    assert_eq!(outcome(&sparks(&[(Counter::SparksCreated, 0)]), "sparks"), RuleOutcome::Clear);
}

#[test]
fn sparks_of_a_program_whose_capabilities_work_are_fine() {
    let both = script(Gc { every_ns: 10 * MS, count: 90, parallel: true, other_ns: 10_000, ..GC });
    let both = both.rt(60 * MS, 0, Runtime::Count(Counter::SparksCreated, 1_000));
    let (results, _) = analyse(context(), both.rt(60 * MS, 0, Runtime::Count(Counter::SparksFizzled, 1_000)));
    assert!(!ids(&results).contains(&"sparks"), "{:?}", ids(&results));
}

/// `count` of a hundred samples at a purpose, all of the one lane at work.
fn at(purpose: &str, count: u64) -> Results {
    at_while(purpose, count, None)
}

/// [`at`] for a program with these waits.
fn at_while(purpose: &str, count: u64, waits: Option<Waits>) -> Results {
    let runtime = (Places::new().runtime, PurposeId::of(purpose));
    analyse(Context { symbols: Places::new().symbols, waits, ..context() }, at_work(runtime, count)).0
}

/// `count` of a hundred samples at a place, all of the one lane at work.
fn at_work(place: (SymbolId, Option<PurposeId>), count: u64) -> Script {
    let places = Places::new();
    let sample = |script: Script, n: u64| {
        let (leaf, purpose) = if n < count { place } else { (places.spin, None) };
        let what = Found::Running { ns: 9 * MS };
        let sample = CodeSample { tid: Tid(11), cpu: Cpu(0), leaf, user: Some(leaf), purpose, what };
        script.code_sample(100 * MS + n * 9 * MS, sample)
    };
    (0..100).fold(one_at_work(), sample)
}

#[test]
fn what_the_runtime_does_for_a_program_is_named_where_it_can_do_without() {
    let results = at("scheduling", 60);
    let finding = one(&results, "overhead");
    assert!(finding.claim.starts_with("The program spent ") && finding.claim.ends_with(" in the runtime: scheduling."));
    assert!(finding.evidence[0].text.contains("60 samples"), "{:?}", finding.evidence);
    assert!((590 * MS..=610 * MS).contains(&finding.cost_ns), "{}: 60 % of the one at work", finding.cost_ns);
    assert_eq!(finding.confidence, Confidence::Medium);
    for (purpose, count) in [("scheduling", 9), ("allocation", 90)] {
        assert!(ids(&at(purpose, count)).is_empty(), "{purpose} {count}");
    }
}

#[test]
fn calls_that_move_a_few_bytes_are_distinguished_from_large_ones_and_from_conversations() {
    let found = |reads: (u64, u64), writes: (u64, u64), slept| {
        let (reads, read_bytes) = reads;
        let (writes, written_bytes) = writes;
        let calls = Sample::Calls { pid: Pid(10), reads, read_bytes, writes, written_bytes };
        let thread = Sample::Thread {
            tid: Tid(11),
            voluntary: slept,
            involuntary: 0,
            minor_faults: 0,
            major_faults: 0,
            cpu_ns: 0,
            wait_ns: 0,
        };
        let script = at_work((Places::new().write, None), 60).sample(998 * MS, calls).sample(998 * MS, thread);
        analyse(Context { symbols: Places::new().symbols, ..context() }, script).0
    };
    let results = found((9, 90), (100_000, 700_000), 400);
    let finding = one(&results, "unbuffered-io");
    assert!(finding.claim.ends_with("a few bytes each: 100,000 writes of 7 B each on average."), "{}", finding.claim);
    assert!((590 * MS..=610 * MS).contains(&finding.cost_ns), "{}", finding.cost_ns);
    assert!(finding.remedies[0].text.words.contains("hSetBuffering"));
    assert!(ids(&found((9, 90), (100_000, 70_000_000), 400)).is_empty(), "large ones");
    assert!(ids(&found((100_000, 700_000), (9, 90_000), 400)).is_empty(), "samples found writes, which are large");
    assert!(ids(&found((9, 90), (100_000, 700_000), 90_000)).is_empty(), "it waits for each answer");
}

/// A run whose samples find the kernel at these calls, so many of a hundred each.
fn at_calls(calls: &[(&str, u64)]) -> Results {
    let mut symbols = Places::new().symbols;
    let places = calls.iter().flat_map(|(call, count)| {
        let source = Some((*call).to_owned());
        let place = symbols.add(Symbol { name: (*call).into(), kind: CodeKind::Kernel, source, ..Symbol::default() });
        std::iter::repeat_n(place, *count as usize)
    });
    let places: Vec<SymbolId> = places.collect();
    let spin = Places::new().spin;
    let sample = |script: Script, n: u64| {
        let leaf = places.get(n as usize).copied().unwrap_or(spin);
        let what = Found::Running { ns: 9 * MS };
        let sample = CodeSample { tid: Tid(11), cpu: Cpu(0), leaf, user: Some(spin), purpose: None, what };
        script.code_sample(100 * MS + n * 9 * MS, sample)
    };
    analyse(Context { symbols, ..context() }, (0..100).fold(one_at_work(), sample)).0
}

#[test]
fn calls_that_a_program_can_avoid_are_named_and_those_that_move_data_are_not() {
    let finding = |calls: &[(&str, u64)]| {
        at_calls(calls).findings.into_iter().find(|finding| finding.id == "overhead").map(|one| one.claim.to_string())
    };
    let asks = finding(&[("newfstatat", 30)]).unwrap();
    assert!(asks.contains("(30 %)") && asks.ends_with("in the kernel: newfstatat."), "{asks}");
    assert_eq!(finding(&[("read", 60)]), None, "a program that reads");
    let seeks = finding(&[("lseek", 3), ("read", 60)]).unwrap();
    assert!(seeks.ends_with("in the kernel: lseek and the kernel: read."), "{seeks}");
    assert_eq!(finding(&[("lseek", 2), ("read", 60)]), None, "it seeks seldom");
}

#[test]
fn threads_that_are_made_for_each_piece_of_work_are_counted() {
    let seen = |made: f64| {
        let waits = Waits { looks: 40, made_per_second: Some(made), ..Waits::default() };
        let results = at_while("scheduling", 60, Some(waits));
        results.findings.into_iter().find(|finding| finding.id == "overhead").unwrap().evidence
    };
    let many = seen(512_000.0);
    assert_eq!(many[1].text, "The program created 512,000 threads a second.");
    assert_eq!(seen(3.0).len(), 1);
}

#[test]
fn threads_that_wait_for_one_change_are_a_herd() {
    let herd = |threads: f64| {
        let kind = WaitKind::Transaction;
        let wait = Wait { kind, threads_mean: threads * 0.5, looks_share: 0.5, ..Wait::default() };
        let results = at_while("transactions", 60, Some(Waits { looks: 40, by: vec![wait], ..Waits::default() }));
        results.findings.into_iter().find(|finding| finding.id == "overhead").unwrap()
    };
    let many = herd(270.0);
    assert!(many.evidence[1].text.starts_with("270 threads waited at a look"), "{:?}", many.evidence);
    assert!(many.remedies[0].text.words.contains("wakes all that wait for it"));
    let few = herd(3.0);
    assert_eq!(few.evidence.len(), 1);
    assert!(few.remedies[0].text.words.contains("readTVarIO"));
}

#[test]
fn a_program_is_not_sequential_on_purpose_where_a_thread_waits_for_the_end_of_the_one_at_work() {
    let found = |kind, holder, looks_share| {
        let kind = WaitShare { kind, holder, threads_mean: 1.0, looks_share };
        let waits = Waits { looks: 20, kinds: vec![kind], ..Waits::default() };
        let results = analyse(Context { waits: Some(waits), ..context() }, one_at_work_from(40 * MS)).0;
        results.findings.into_iter().find(|finding| finding.id == "too-little-parallelism")
    };
    let uneven = found(WaitKind::Child, Some(Doing::Runs), 0.9).unwrap();
    assert!(uneven.claim.contains("1.0 had work on average"), "{}", uneven.claim);
    assert!(uneven.evidence.iter().any(|seen| seen.text.starts_with("At 90 % of looks")), "{:?}", uneven.evidence);
    assert_eq!(found(WaitKind::Child, None, 0.9), None, "who it is is not known");
    assert_eq!(found(WaitKind::Child, Some(Doing::Waits(WaitKind::Time)), 0.9), None);
    assert_eq!(found(WaitKind::Child, Some(Doing::Runs), 0.5), None, "by chance");
    assert_eq!(found(WaitKind::Lock, Some(Doing::Runs), 0.9), None, "its only worker may do everything");
}

#[test]
fn what_ended_threads_left_unevaluated_is_evaluated_by_one() {
    let found = |ended, kinds| {
        let waits = Waits { looks: 20, ended: Some(ended), kinds, ..Waits::default() };
        let results = analyse(Context { waits: Some(waits), ..context() }, one_at_work_from(40 * MS)).0;
        results.findings.into_iter().find(|finding| finding.id == "too-little-parallelism")
    };
    let kind = |kind| vec![WaitShare { kind, holder: None, threads_mean: 1.0, looks_share: 0.5 }];
    let left = found(2, kind(WaitKind::NoWork)).unwrap();
    assert!(left.evidence.iter().any(|seen| seen.text.ends_with("after 2 threads had ended.")), "{:?}", left.evidence);
    assert!(left.remedies[0].text.words.contains("evaluate"), "{:?}", left.remedies);
    assert_eq!(found(1, kind(WaitKind::NoWork)), None, "a helper has ended");
    assert_eq!(found(2, kind(WaitKind::Lock)), None, "one that waits may have work later");
}

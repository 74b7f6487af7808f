//! The rules about the collector's configuration, over whole recordings: found, silent below their thresholds, and
//! their wording.

use crate::analysis::Analysis;
use crate::recording::{Context, Tail};
use crate::results::waits::{Old, Thunks, Waits};
use crate::results::{BlamedPause, Program, Results, RuleOutcome};
use crate::testing::{self, Places, Script, switch};
use rtscope_model::manifest::Group;
use rtscope_model::{
    ClockMap, CodeSample, Confidence, Counter, Cpu, Finding, Found, Names, OffState, PurposeId, Runtime, Tid, Time,
};

const US: u64 = 1_000;
const MS: u64 = 1_000_000;
const KIB: u64 = 1 << 10;

pub(super) fn context() -> Context {
    let (started, ended) = (Some(Time(0)), Some(Time(1_000 * MS)));
    Context { nursery_bytes: Some(256 * KIB), started, ended, ..testing::context() }
}

/// A collection of two lanes; stopping takes 5 us, resuming 2 us.
#[derive(Copy, Clone)]
pub(super) struct Gc {
    pub every_ns: u64,
    pub count: u64,
    pub generation: u64,
    pub collect_ns: u64,
    pub copied: u64,
    /// Time that the second lane's thread worked.
    pub other_ns: u64,
    /// Bytes allocated before each collection.
    pub allocated: u64,
    pub parallel: bool,
}

pub(super) const GC: Gc = Gc {
    every_ns: MS,
    count: 990,
    generation: 0,
    collect_ns: 80 * US,
    copied: KIB,
    other_ns: 0,
    allocated: 256 * KIB,
    parallel: false,
};

/// Threads 11 and 12 on CPUs 0 and 1, with the collections.
pub(super) fn script(gc: Gc) -> Script {
    let first = Script::default()
        .k(0, switch(0, 0, OffState::Runnable, 11))
        .k(0, switch(1, 0, OffState::Runnable, 12))
        .rt(1, 0, Runtime::LaneCreated)
        .rt(1, 1, Runtime::LaneCreated);
    (1..=gc.count).fold(first, |script, n| collection(script, gc, n * gc.every_ns, n))
}

fn collection(script: Script, gc: Gc, at: u64, number: u64) -> Script {
    let (stopped, collected) = (at + 5 * US, at + 5 * US + gc.collect_ns);
    let mut script = script.request(at, 0, gc.parallel);
    if gc.parallel {
        script = script.begin(at + 3 * US, 1).work(stopped + 1, stopped + 1 + gc.other_ns, 1);
    }
    script = script.begin(stopped, 0).work(stopped + 1, collected - 1, 0).end(collected, 0);
    if gc.parallel {
        script = script.end(collected + 2 * US, 1);
    }
    let threads = if gc.parallel { 2 } else { 1 };
    script
        .rt(collected - 2, 0, Runtime::Count(Counter::AllocatedBytes, number * gc.allocated))
        .rt(collected + 1, 0, Runtime::Count(Counter::Generation, gc.generation))
        .rt(collected + 1, 0, Runtime::Count(Counter::CopiedBytes, gc.copied))
        .rt(collected + 1, 0, Runtime::Count(Counter::GcThreads, threads))
        .rt(collected + 1, 0, Runtime::Count(Counter::CopiedMaxBytes, if gc.parallel { gc.copied } else { 0 }))
}

pub(super) fn analyse(context: Context, script: Script) -> (Results, Vec<BlamedPause>) {
    let names = Names::default();
    let mut analysis = Analysis::new(context);
    let mut pauses = Vec::new();
    for event in script.events() {
        analysis.push(&event, &names, &mut |pause| pauses.push(pause.clone()));
    }
    let results = analysis.finish(&names, Tail::default(), &mut |pause| pauses.push(pause.clone()));
    (results, pauses)
}

pub(super) fn ids(results: &Results) -> Vec<&str> {
    results.findings.iter().map(|finding| finding.id.as_str()).collect()
}

/// The only finding.
pub(super) fn one(results: &Results, id: &str) -> Finding {
    assert_eq!(ids(results), [id]);
    results.findings[0].clone()
}

/// A program with the largest allocation area.
fn roomy() -> Context {
    Context { nursery_bytes: Some(64 << 20), ..context() }
}

fn found(gc: Gc) -> Vec<String> {
    found_in(context(), gc)
}

fn found_in(context: Context, gc: Gc) -> Vec<String> {
    let (results, _) = analyse(context, script(gc));
    results.findings.into_iter().map(|finding| finding.id).collect()
}

pub(super) fn outcome(results: &Results, id: &str) -> RuleOutcome {
    results.checked.iter().find(|checked| checked.id == id).unwrap().outcome
}

#[test]
fn a_small_nursery_is_found_with_the_area_that_would_do() {
    let (results, _) = analyse(context(), script(GC));
    let finding = one(&results, "small-nursery");
    assert_eq!(
        finding.cost_ns,
        990 * 85 * US - (990.0 * 1024.0 * 0.4) as u64,
        "without what copying 1 KiB takes at least"
    );
    assert!(finding.claim.contains("990 times a second because the allocation area is 256 KiB"), "{}", finding.claim);
    assert!(finding.evidence[1].text.contains("0.4 %"), "{}", finding.evidence[1].text);
    // 990 per second with 256 KiB: 31 MiB leave eight.
    let flags: Vec<_> = finding.remedies.iter().filter_map(|remedy| remedy.flag.as_deref()).collect();
    assert_eq!(flags, ["+RTS -A16m", "+RTS -A32m"]);
    assert_eq!(finding.remedies[0].metric.as_ref().map(|metric| metric.path.as_str()), Some("pauses.total_ns"));
    assert_eq!(finding.confidence, Confidence::High);
}

#[test]
fn a_small_nursery_is_not_reported_where_a_larger_one_would_not_help() {
    assert!(found(Gc { collect_ns: 40 * US, ..GC }).is_empty(), "4.5 % of the wall clock");
    let copies = Gc { every_ns: 2 * MS, count: 490, copied: 300 * KIB, allocated: 4 << 20, ..GC };
    assert!(
        found(Gc { collect_ns: 180 * US, ..copies }).is_empty(),
        "9 % of the wall clock, but two thirds are copying"
    );
    assert_eq!(found(Gc { allocated: 100 * KIB, ..GC }), ["explicit-gc"], "not due: the program asks for them");
    assert!(found_in(roomy(), Gc { allocated: 64 << 20, ..GC }).is_empty(), "large already");
}

/// Every 10 ms a collection that copies two fifths of the allocated bytes; `old` of 95 are of the old generation,
/// with this time and this many bytes.
fn ageing(old: u64, long: (u64, u64)) -> Results {
    ageing_in(context(), old, long)
}

fn ageing_in(context: Context, old: u64, (collect_ns, copied): (u64, u64)) -> Results {
    let young = Gc { every_ns: 10 * MS, collect_ns: MS, copied: 200 * KIB, allocated: 512 * KIB, count: 0, ..GC };
    let script = (1..=95).fold(script(young), |script, n| {
        let is_old = old > 0 && n % (95 / old) == 0;
        let gc = if is_old { Gc { generation: 1, copied, collect_ns, ..young } } else { young };
        collection(script, gc, n * 10 * MS, n)
    });
    analyse(context, script).0
}

const SHORT: (u64, u64) = (2 * MS, 400 * KIB);
/// Long enough for their own finding.
const LONG: (u64, u64) = (6 * MS, 1_024 * KIB);

#[test]
fn what_follows_from_a_cause_is_no_finding_of_its_own() {
    assert_eq!(ids(&ageing(19, LONG)), ["small-nursery"]);
    let off = Context { rules_off: vec!["small-nursery".to_owned()], ..context() };
    assert_eq!(ids(&ageing_in(off, 19, LONG)), ["long-major-gc"]);
}

#[test]
fn a_small_nursery_explains_what_dies_after_it_got_old() {
    let finding = one(&ageing(19, SHORT), "small-nursery");
    let text = "Collections run 76 times a second because the allocation area is 256 KiB, and find 31 % of it alive: copying \
                what is dead soon after, and 19 collections of the old generation that it fills, took ";
    assert!(finding.claim.contains(text), "{}", finding.claim);
    assert_eq!(finding.cost_ns, 76 * MS + 19 * 2 * MS + 95 * 5 * US);
    // 47 MiB in areas of 4 MiB for two lanes make six collections.
    assert_eq!(finding.remedies[0].flag.as_deref(), Some("+RTS -A4m"));
    let finding = one(&ageing(0, SHORT), "small-nursery");
    assert!(finding.claim.contains("copying what is dead soon after took"), "{}", finding.claim);
    assert_eq!(ids(&ageing(5, SHORT)), ["collecting"], "a larger area may leave as many collections of the old");
}

#[test]
fn the_area_stays_within_a_fifth_of_the_memory_limit() {
    let group = Group {
        path: "/app".into(),
        version: 2,
        quota_cpus: None,
        period_ns: None,
        quota_path: None,
        memory_limit_bytes: Some(100 << 20),
    };
    let (results, _) = analyse(Context { groups: vec![group], ..context() }, script(GC));
    // 20 MiB for two lanes.
    assert_eq!(one(&results, "small-nursery").remedies[0].flag.as_deref(), Some("+RTS -A8m"));
}

#[test]
fn a_small_nursery_is_found_in_a_log_alone() {
    let log = Context { kernel: None, clock: ClockMap::LOG_OWN, ..context() };
    let (results, _) = analyse(log, script(GC));
    assert_eq!(one(&results, "small-nursery").confidence, Confidence::Medium);
    for id in ["remembered-set", "parallel-gc-not-paying"] {
        assert_eq!(outcome(&results, id), RuleOutcome::CouldNotLook, "{id}");
    }
    let (unchecked, _) = analyse(Context { nursery_bytes: None, ..context() }, script(GC));
    assert_eq!(outcome(&unchecked, "small-nursery"), RuleOutcome::CouldNotLook);
}

/// 20 per second of 10 ms each; the other thread has almost nothing to do.
const ONE_WORKS: Gc = Gc {
    every_ns: 50 * MS,
    count: 19,
    collect_ns: 10 * MS,
    copied: 8_000 * KIB,
    other_ns: 100 * US,
    allocated: 64_000 * KIB,
    parallel: true,
    ..GC
};

#[test]
fn collector_threads_without_work_are_found() {
    let (results, _) = analyse(roomy(), script(ONE_WORKS));
    let finding = one(&results, "parallel-gc-not-paying");
    // Half of the time for which one of two threads had no work.
    assert!(finding.cost_ns.abs_diff(19 * 4_950 * US) < 19 * US, "{}", finding.cost_ns);
    assert!(finding.claim.contains("2 threads, but on average 1.0"), "{}", finding.claim);
    assert!(finding.evidence[1].text.contains("copied 100 % of all bytes"), "{}", finding.evidence[1].text);
    assert_eq!(finding.remedies[0].flag.as_deref(), Some("+RTS -qg"));
}

#[test]
fn collector_threads_that_share_the_work_are_left_alone() {
    let (results, _) = analyse(roomy(), script(Gc { other_ns: 3 * MS, ..ONE_WORKS }));
    assert_eq!(ids(&results), ["collecting"], "a fifth of the run");
    assert_eq!(outcome(&results, "parallel-gc-not-paying"), RuleOutcome::Clear);
    assert!(found_in(roomy(), Gc { collect_ns: 4 * MS, ..ONE_WORKS }).is_empty(), "3.7 % of the wall clock");
    assert_eq!(found_in(roomy(), Gc { parallel: false, ..ONE_WORKS }), ["collecting"], "one thread collects");
}

#[test]
fn a_collector_thread_that_waits_for_a_cpu_is_no_idle_one() {
    // Another process takes thread 12's CPU in each collection.
    let taken = (1..=19).fold(script(ONE_WORKS), |script, n| {
        let at = n * 50 * MS + 200 * US;
        script.k(at, switch(1, 12, OffState::Runnable, 77)).k(at + 9 * MS, switch(1, 77, OffState::Sleeping, 12))
    });
    let (results, pauses) = analyse(context(), taken);
    assert_eq!(one(&results, "preempted").cost_ns, 19 * 9 * MS);
    assert_eq!(pauses[0].kept_ns, Some(9 * MS));
}

#[test]
fn only_the_young_are_collected_with_one_thread_where_the_old_pay() {
    let major = Gc { generation: 1, other_ns: 9 * MS, ..ONE_WORKS };
    let both = collection(script(Gc { count: 18, ..ONE_WORKS }), major, 19 * 50 * MS, 19);
    let (results, _) = analyse(context(), both);
    let flags: Vec<_> = results.findings[0].remedies.iter().map(|remedy| remedy.flag.as_deref()).collect();
    assert_eq!(flags, [Some("+RTS -qg1"), Some("+RTS -qg")]);
}

const MAJOR: Gc = Gc {
    every_ns: 250 * MS,
    count: 3,
    generation: 1,
    collect_ns: 40 * MS,
    copied: 20 << 20,
    allocated: 64 << 20,
    ..GC
};

#[test]
fn long_collections_of_the_old_generation_are_found() {
    let roomy = Context { cpus_allowed: vec![0, 1, 2], ..context() };
    let (results, _) = analyse(roomy, script(MAJOR));
    let finding = one(&results, "long-major-gc");
    assert_eq!(finding.cost_ns, 120 * MS);
    assert!(
        finding.claim.starts_with("3 collections of the old generation stopped the program for 120 ms"),
        "{}",
        finding.claim
    );
    assert!(finding.evidence[0].text.contains("1.9 ns per byte"), "{}", finding.evidence[0].text);
    let flags: Vec<_> = finding.remedies.iter().filter_map(|remedy| remedy.flag.as_deref()).collect();
    assert_eq!(flags, ["+RTS -F4", "+RTS --nonmoving-gc"], "a tenth of the run: fewer spare more than shorter ones");
    assert!(finding.remedies[0].text.words.starts_with("Let it grow"));
    let (busy, _) = analyse(context(), script(MAJOR));
    let flags: Vec<_> = busy.findings[0].remedies.iter().filter_map(|remedy| remedy.flag.as_deref()).collect();
    assert_eq!(flags, ["+RTS -F4"], "two capabilities leave no CPU of two to a concurrent collector");
}

#[test]
fn an_old_generation_of_thunks_is_a_leak_and_not_a_large_heap() {
    let found = |thunk_bytes: u64, looks| {
        let place = |place: &str, part| Thunks { place: place.into(), bytes: thunk_bytes / part };
        let thunks = vec![place("Main.step", 2), place("Data.Map.insertWith", 3), place("Main.rare", 6)];
        let old = Some(Old { looks, bytes: 1_000, thunk_bytes, thunks });
        analyse(Context { waits: Some(Waits { old, ..Waits::default() }), ..context() }, script(MAJOR)).0
    };
    let results = found(700, 12);
    let finding = one(&results, "thunk-leak");
    assert!(
        finding.claim.ends_with(", most of them created in `Main.step` and `Data.Map.insertWith`."),
        "{}",
        finding.claim
    );
    assert_eq!((finding.cost_ns, finding.confidence), (3 * 40 * MS, Confidence::High));
    assert!(
        finding.claim.contains(": 70 % of the old objects that they copy are unevaluated thunks"),
        "{}",
        finding.claim
    );
    assert_eq!(ids(&found(300, 12)), ["long-major-gc"], "a lazy structure holds some");
    assert_eq!(ids(&found(700, 4)), ["long-major-gc"], "few looks");
}

#[test]
fn a_single_long_one_is_found_however_long_the_recording() {
    let long = Context { ended: Some(Time(60_000 * MS)), cpus_allowed: vec![0, 1, 2], ..context() };
    let gc = Gc { count: 1, collect_ns: 120 * MS, copied: 60 << 20, ..MAJOR };
    let (results, _) = analyse(long.clone(), script(gc));
    let finding = one(&results, "long-major-gc");
    assert!(finding.claim.starts_with("1 collection of") && finding.share < 0.01, "{}", finding.claim);
    assert_eq!(finding.remedies[0].flag.as_deref(), Some("+RTS --nonmoving-gc"), "what is felt is its length");
    assert!(ids(&analyse(long, script(Gc { collect_ns: 90 * MS, ..gc })).0).is_empty());
}

#[test]
fn a_collection_of_the_old_that_did_not_copy_has_another_name() {
    assert!(found(Gc { collect_ns: 10 * MS, ..MAJOR }).is_empty(), "3 % of the wall clock");
    let short = Gc { every_ns: 10 * MS, count: 99, collect_ns: 2 * MS, copied: 1 << 20, ..MAJOR };
    assert_eq!(found(short), ["collecting"], "often, but none is long");
    let (results, _) = analyse(context(), script(Gc { copied: 1 << 20, ..MAJOR }));
    assert_eq!(ids(&results), ["collecting"]);
}

/// Every 10 ms a collection of 2 ms that copies almost nothing.
const WALKS: Gc = Gc { every_ns: 10 * MS, count: 99, collect_ns: 2 * MS, copied: 10 * KIB, allocated: 1 << 20, ..GC };

#[test]
fn time_that_copying_does_not_explain_is_likely_the_remembered_set() {
    let (results, _) = analyse(context(), script(WALKS));
    let finding = one(&results, "remembered-set");
    assert_eq!(finding.confidence, Confidence::Medium);
    assert_eq!(finding.cost_ns, 99 * (2 * MS - 100 * US - 10 * KIB * 6));
    assert!(finding.claim.contains("likely"), "{}", finding.claim);
    assert!(finding.evidence[0].text.contains("195 ns per byte"), "{}", finding.evidence[0].text);
    assert_eq!(finding.remedies[0].flag.as_deref(), Some("+RTS -A4m"));
}

#[test]
fn a_frequent_walk_is_no_small_nursery() {
    let often = Gc { every_ns: 2 * MS, count: 490, collect_ns: 400 * US, ..WALKS };
    assert_eq!(found(often), ["remembered-set"]);
}

#[test]
fn the_remembered_set_is_not_reported_where_copying_explains_the_time() {
    assert!(found(Gc { collect_ns: 600 * US, ..WALKS }).is_empty(), "4.4 % of the wall clock");
    assert_eq!(found(Gc { copied: 500 * KIB, ..WALKS }), ["small-nursery"], "4 ns per byte");
    // Slow, but twice the bytes take twice the time.
    let slow = (1..=99).fold(script(Gc { count: 0, ..WALKS }), |script, n| {
        let gc = Gc { copied: n * KIB, collect_ns: n * 40 * US, ..WALKS };
        collection(script, gc, n * 10 * MS, n)
    });
    assert_eq!(ids(&analyse(context(), slow).0), ["collecting"]);
}

#[test]
fn a_collection_that_waits_for_a_cpu_walks_nothing() {
    let taken = (1..=99).fold(script(WALKS), |script, n| {
        let at = n * 10 * MS + 100 * US;
        script.k(at, switch(0, 11, OffState::Runnable, 77)).k(at + 1_800 * US, switch(0, 77, OffState::Sleeping, 11))
    });
    let (results, _) = analyse(context(), taken);
    assert_eq!(ids(&results), ["preempted"]);
}

/// [`WALKS`] with two samples in each collection; `purposes` says how many have which purpose.
fn sampled(purposes: &[(&str, usize)]) -> Results {
    let at = Places::new();
    let each = purposes.iter().flat_map(|(id, count)| std::iter::repeat_n(PurposeId::of(id), *count));
    let script = each.zip(2..).fold(script(WALKS), |script, (purpose, n)| {
        let what = Found::Running { ns: 10 * MS };
        let sample = CodeSample { tid: Tid(11), cpu: Cpu(0), leaf: at.runtime, user: Some(at.runtime), purpose, what };
        script.code_sample(n / 2 * 10 * MS + 500 * US + n % 2 * MS, sample)
    });
    let command = ["./mill", "100"].map(str::to_owned).into();
    let program = Some(Program { command, ..Program::default() });
    analyse(Context { symbols: at.symbols, program, ..context() }, script).0
}

#[test]
fn collections_report_what_they_work_on() {
    for (purpose, id, text) in [
        ("stacks", "stacks", "Collections scanned stacks of threads for 120 ms of 1.00 s (12 %): each"),
        ("finalisers", "weak-pointers", "Weak pointers and finalizers took 120 ms"),
        ("mutable-objects", "remembered-set", ": each visits what was written to in the old generation"),
    ] {
        let results = sampled(&[(purpose, 120), ("copying", 78)]);
        let finding = one(&results, id);
        assert!(finding.claim.contains(text), "{}", finding.claim);
        assert!(finding.cost_ns.abs_diff(120 * MS) < MS, "{id}: {}", finding.cost_ns);
        assert_eq!(finding.confidence, Confidence::High);
        let larger = finding.remedies.iter().any(|remedy| remedy.flag.as_deref() == Some("+RTS -A4m"));
        assert_eq!(larger, id != "weak-pointers", "what has a finalizer outlives any area");
    }
}

#[test]
fn survivors_are_no_remembered_set() {
    let results = sampled(&[("copying", 198)]);
    let finding = one(&results, "survivors");
    assert!(finding.claim.contains("(20 %): 1.0 % of what the program allocates outlives"), "{}", finding.claim);
    assert!(finding.evidence[0].text.starts_with("198 of 198 samples"), "{}", finding.evidence[0].text);
    let flags: Vec<_> = finding.remedies.iter().map(|remedy| remedy.flag.as_deref()).collect();
    assert_eq!(flags, [Some("+RTS -A4m"), Some("rtscope tune -- ./mill 100")]);
}

#[test]
fn a_collector_that_no_rule_explains_is_a_finding() {
    let results = sampled(&[("collection-control", 150), ("roots", 48)]);
    let finding = one(&results, "collecting");
    let most = "most of it for starting and ending collections (76 %) and scanning roots (24 %).";
    assert!(finding.claim.contains(most), "{}", finding.claim);
    // A tenth is the normal cost of allocation.
    assert!(found(Gc { collect_ns: 900 * US, copied: 100 * KIB, ..WALKS }).is_empty());
}

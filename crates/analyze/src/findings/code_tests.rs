//! What the rules about code, the kernel, the host and the recorder report for whole recordings, and when they
//! are silent.

use super::tests::{MS, analyse, context, healthy, ids};
use super::*;
use crate::results::RuleOutcome;
use crate::testing::{Places, Script, switch, waking};
use rtscope_model::{
    Cause, CodeSample, Confidence, Cpu, Finding, Found, OffState, PurposeId, RuntimeInfo, Sample, SymbolId, Tid, Trend,
};

fn sampled(script: Script) -> (Results, Vec<BlamedPause>) {
    // Without the size of the allocation area nothing is reported about what triggered collections.
    analyse(Context { symbols: Places::new().symbols, nursery_bytes: None, ..context(2) }, script)
}

/// A collection every 100 ms, `count` times. The leader sleeps while it waits 40 ms for thread 12, which is in
/// `place` and sampled every 10 ms.
fn late(count: u64, place: SymbolId) -> Script {
    let script =
        Script::default().k(0, switch(0, 0, OffState::Runnable, 11)).k(0, switch(1, 0, OffState::Runnable, 12));
    (1..=count).map(|n| n * 100 * MS).fold(script, |script, at| {
        let script = script
            .k(at + MS, switch(0, 11, OffState::Sleeping, 0))
            .parallel(at, at + 40 * MS, at + 40 * MS + 20_000, at + 41 * MS)
            .k(at + 40 * MS + 10_000, waking(12, 11, 0))
            .k(at + 40 * MS + 12_000, switch(0, 0, OffState::Runnable, 11));
        [5, 15, 25, 35].iter().fold(script, |script, ms| script.found(at + ms * MS, 12, place, 10 * MS))
    })
}

fn only<'r>(results: &'r Results, id: &str) -> &'r Finding {
    assert_eq!(ids(results), [id]);
    results.findings.first().unwrap()
}

/// Each remedy names a figure that it should lower.
fn remedies_can_be_measured(finding: &Finding) {
    assert!(!finding.remedies.is_empty());
    for remedy in &finding.remedies {
        assert!(remedy.metric.as_ref().is_some_and(|metric| metric.should == Trend::Fall), "{}", remedy.text);
    }
}

#[test]
fn code_without_a_safepoint_is_named_with_its_module() {
    let (results, _) = sampled(late(20, Places::new().spin));
    let finding = only(&results, "late-safepoint");
    assert_eq!((finding.cost_ns, finding.confidence), (20 * 40 * MS, Confidence::High));
    assert!(finding.claim.starts_with("`Main.spin` ran on"), "{}", finding.claim);
    assert!(finding.evidence.iter().any(|seen| seen.text.contains("80 of 80 samples")), "{:?}", finding.evidence);
    assert!(finding.remedies.first().unwrap().text.words.contains("module Main "));
    remedies_can_be_measured(finding);
    let cause = results.causes.first().unwrap();
    assert_eq!((cause.cause, cause.code.as_deref()), (Cause::LateSafepoint, Some("Main.spin")));
    let place = results.code.as_ref().unwrap().top.first().unwrap().clone();
    assert_eq!((place.symbol.as_str(), place.waited_ns), ("Main.spin", 800 * MS));
}

#[test]
fn waits_too_short_to_be_hit_each_are_estimated_from_those_that_were() {
    // A wait of 4 ms every 40 ms; samples hit every fifth.
    let at = Places::new();
    let script =
        Script::default().k(0, switch(0, 0, OffState::Runnable, 11)).k(0, switch(1, 0, OffState::Runnable, 12));
    let script = (1..=100).fold(script, |script, n| {
        let from = n * 40 * MS;
        let script = script
            .k(from + 10_000, switch(0, 11, OffState::Sleeping, 0))
            .parallel(from, from + 4 * MS, from + 4 * MS + 20_000, from + 5 * MS)
            .k(from + 4 * MS + 10_000, waking(12, 11, 0))
            .k(from + 4 * MS + 12_000, switch(0, 0, OffState::Runnable, 11));
        if n % 5 == 0 { script.found(from + 2 * MS, 12, at.spin, 20 * MS) } else { script }
    });
    let (results, _) = sampled(script);
    assert_eq!(only(&results, "late-safepoint").cost_ns, 100 * 4 * MS);
    let late = results.causes.iter().find(|cause| cause.cause == Cause::LateSafepoint).unwrap();
    assert_eq!(late.sum_ns, 20 * 4 * MS, "only what was hit is called so piece by piece");
}

/// One CPU for both threads: the leader wants it back while the straggler runs on.
#[test]
fn a_leader_that_waits_for_late_code_is_not_oversubscribed_too() {
    let at = Places::new();
    let script =
        Script::default().k(0, switch(0, 0, OffState::Runnable, 11)).k(0, switch(1, 0, OffState::Runnable, 12));
    let script = (1..=20).map(|n| n * 100 * MS).fold(script, |script, from| {
        script
            .k(from - MS, switch(1, 12, OffState::Runnable, 0))
            .k(from + MS, switch(0, 11, OffState::Runnable, 12))
            .found(from + 10 * MS, 12, at.spin, 10 * MS)
            .parallel(from, from + 40 * MS, from + 40 * MS + 20_000, from + 41 * MS)
            .k(from + 40 * MS + 10_000, switch(0, 12, OffState::Sleeping, 11))
            .k(from + 40 * MS + 10_000, switch(1, 0, OffState::Runnable, 12))
    });
    let (results, _) = sampled(script);
    assert_eq!(ids(&results), ["late-safepoint"]);
}

#[test]
fn a_late_runtime_or_nothing_sampled_is_no_late_safepoint() {
    let (results, _) = sampled(late(20, Places::new().runtime));
    assert_eq!(ids(&results), ["standing-still"], "no rule says why");
    let (results, _) = analyse(context(2), late(0, SymbolId(0)));
    let rule = results.checked.iter().find(|rule| rule.id == "late-safepoint").unwrap();
    assert_eq!(rule.outcome, RuleOutcome::CouldNotLook);
    assert!(rule.why.as_ref().unwrap().contains("not sampled"), "{:?}", rule.why);
}

#[test]
fn too_many_lanes_explain_one_that_spins_in_the_runtime_and_none_that_may_be_in_a_loop() {
    let crowded = |place| {
        let context = Context { symbols: Places::new().symbols, nursery_bytes: None, ..context(1) };
        analyse(context, late(20, place)).0
    };
    // 10 us of each lie after the last sampled lane has stopped.
    assert_eq!(only(&crowded(Places::new().runtime), "oversubscribed").cost_ns, 20 * (40 * MS + 10_002));
    only(&crowded(SymbolId(0)), "standing-still");
    only(&crowded(Places::new().spin), "late-safepoint");
}

#[test]
fn a_foreign_call_that_keeps_its_lane_is_named() {
    let (results, _) = sampled(late(20, Places::new().call));
    let finding = only(&results, "unsafe-foreign-call");
    assert_eq!((finding.cost_ns, finding.confidence), (20 * 40 * MS, Confidence::High));
    assert!(finding.claim.starts_with("`c_busy`, called from Haskell, kept its capability"), "{}", finding.claim);
    assert!(finding.remedies.first().unwrap().flag.as_ref().unwrap().contains("ccall safe \"c_busy\""));
    remedies_can_be_measured(finding);
}

/// A runtime of which only the protocol is known.
struct Plain;

static PLAIN: RuntimeInfo = RuntimeInfo {
    id: "plain-of-a-test",
    name: "Plain",
    language: rtscope_model::runtime::UNKNOWN.language,
    lane: ("lane", "lanes"),
    log: "log",
    ..rtscope_model::runtime::UNKNOWN
};

impl runtimes::Support for Plain {
    fn info(&self) -> &'static RuntimeInfo {
        &PLAIN
    }

    fn recogniser(&self, context: &Context) -> Box<dyn crate::pauses::Recognise> {
        let mut like_ghc = context.clone();
        like_ghc.runtime.family = Some("ghc".into());
        runtimes::of(&like_ghc).recogniser(&like_ghc)
    }
}

#[test]
fn a_runtime_without_rules_of_its_own_is_given_no_flag_of_another() {
    runtimes::register(&Plain);
    let at = Places::new();
    let runtime = crate::results::ProgramRuntime { family: Some(PLAIN.id.into()), ..Default::default() };
    let plain = Context { symbols: at.symbols, runtime, nursery_bytes: None, ..context(2) };
    let (results, _) = analyse(plain, late(20, at.call));
    let finding = only(&results, "unsafe-foreign-call");
    assert!(
        finding.claim.starts_with("`c_busy`, called from the program's language, kept its lane"),
        "{}",
        finding.claim
    );
    assert!(finding.remedies.iter().all(|remedy| remedy.flag.is_none() && !remedy.text.alternative));
    remedies_can_be_measured(finding);
    assert!(results.checked.iter().all(|rule| findings::RULES.iter().any(|general| general.id == rule.id)));
}

/// The straggler is taken off its CPU in the middle of the call; only the first half is sampled.
#[test]
fn a_call_on_a_cpu_that_no_sample_hit_did_not_sleep() {
    let at = Places::new();
    let script =
        Script::default().k(0, switch(0, 0, OffState::Runnable, 11)).k(0, switch(1, 0, OffState::Runnable, 12));
    let script = (1..=20).map(|n| n * 100 * MS).fold(script, |script, from| {
        script
            .k(from + MS, switch(0, 11, OffState::Sleeping, 0))
            .parallel(from, from + 40 * MS, from + 40 * MS + 20_000, from + 41 * MS)
            .found(from + 10 * MS, 12, at.call, 10 * MS)
            .k(from + 20 * MS, switch(1, 12, OffState::Runnable, 77))
            .k(from + 21 * MS, switch(1, 77, OffState::Sleeping, 12))
            .k(from + 40 * MS + 10_000, waking(12, 11, 0))
            .k(from + 40 * MS + 12_000, switch(0, 0, OffState::Runnable, 11))
    });
    let (results, _) = sampled(script);
    let finding = only(&results, "unsafe-foreign-call");
    assert_eq!((finding.cost_ns, finding.confidence), (20 * 39 * MS, Confidence::High));
    assert!(finding.claim.starts_with("`c_busy`, called from Haskell"), "{}", finding.claim);
}

/// GHC 9.0's leader spins while it waits: both threads are on a CPU all the time.
#[test]
fn samples_distinguish_the_thread_that_is_waited_for_from_a_leader_that_spins() {
    let at = Places::new();
    let script =
        Script::default().k(0, switch(0, 0, OffState::Runnable, 11)).k(0, switch(1, 0, OffState::Runnable, 12));
    let script = (1..=20).map(|n| n * 100 * MS).fold(script, |script, from| {
        let script = script.parallel(from, from + 40 * MS, from + 40 * MS + 20_000, from + 41 * MS);
        [5, 15, 25, 35].iter().fold(script, |script, ms| {
            script.found(from + ms * MS, 12, at.call, 10 * MS).found(from + (ms + 1) * MS, 11, at.runtime, 10 * MS)
        })
    });
    let (results, _) = sampled(script);
    let finding = only(&results, "unsafe-foreign-call");
    assert_eq!(finding.cost_ns, 20 * 40 * MS);
    assert_eq!(results.causes.first().map(|cause| cause.cause), Some(Cause::ForeignCall));
}

#[test]
fn a_foreign_call_that_sleeps_is_recognised_by_where_in_the_kernel() {
    let at = Places::new();
    let script =
        Script::default().k(0, switch(0, 0, OffState::Runnable, 11)).k(0, switch(1, 0, OffState::Runnable, 12));
    let script = (1..=20).map(|n| n * 100 * MS).fold(script, |script, from| {
        script
            .k(from - 20 * MS, switch(1, 12, OffState::Sleeping, 0))
            .waits(from - 20 * MS, 12, at.nanosleep)
            .parallel(from, from + 40 * MS, from + 40 * MS + 20_000, from + 41 * MS)
            .k(from + 39 * MS, waking(0, 12, 1))
            .k(from + 39 * MS + 10_000, switch(1, 0, OffState::Runnable, 12))
    });
    let (results, _) = sampled(script);
    let finding = only(&results, "unsafe-foreign-call");
    assert_eq!((finding.cost_ns, finding.confidence), (20 * 39 * MS, Confidence::Medium));
    assert!(finding.claim.contains("slept in `do_nanosleep` and kept its capability"), "{}", finding.claim);
}

#[test]
fn collections_that_the_kernel_works_for_are_reported_with_their_faults() {
    let at = Places::new();
    let faults = |count| Sample::Thread {
        tid: Tid(12),
        voluntary: 0,
        involuntary: 0,
        minor_faults: count,
        major_faults: 0,
        cpu_ns: 0,
        wait_ns: 0,
    };
    let collected = |place, resident: Option<u64>| {
        let script =
            Script::default().k(0, switch(0, 0, OffState::Runnable, 11)).k(0, switch(1, 0, OffState::Runnable, 12));
        let script = (1..=20).map(|n| n * 100 * MS).fold(script, |script, from| {
            let script = script.parallel(from, from + 3_000, from + 5_000, from + 40 * MS);
            let script =
                [10, 20, 30].iter().fold(script, |script, ms| script.found(from + ms * MS, 12, place, 10 * MS));
            script.found(from + 20 * MS, 11, at.runtime, 10 * MS)
        });
        let script = resident.into_iter().fold(script, |script, bytes| script.sample(1, Sample::Rss { bytes }));
        sampled(script.sample(1, faults(0)).sample(2_000 * MS, faults(90_000)))
    };
    let (results, _) = collected(at.fault, None);
    assert_eq!(ids(&results), ["blocked-in-kernel", "collecting"], "600 of 800 ms; the rest is a tenth of the run");
    let finding = results.findings.first().unwrap();
    assert!((599 * MS..=600 * MS).contains(&finding.cost_ns), "not more than samples found: {}", finding.cost_ns);
    assert!(finding.claim.contains("most of it for page faults"), "{}", finding.claim);
    assert!(finding.evidence.iter().any(|seen| seen.text.contains("90000 page faults")), "{:?}", finding.evidence);
    remedies_can_be_measured(finding);
    let back = collected(at.fault, Some(30_000 * 4096)).0;
    let finding = back.findings.first().unwrap();
    assert_eq!(
        (finding.id.as_str(), finding.cost_ns / MS),
        ("blocked-in-kernel", 399),
        "a third is the memory that it needs"
    );
    for case in [(at.fault, Some(90_000 * 4096)), (at.runtime, None)] {
        assert!(!ids(&collected(case.0, case.1).0).contains(&"blocked-in-kernel"));
    }
}

#[test]
fn lanes_blocked_in_the_kernel_count_without_a_sample() {
    let script =
        Script::default().k(0, switch(0, 0, OffState::Runnable, 11)).k(0, switch(1, 0, OffState::Runnable, 12));
    let script = (1..=20).map(|n| n * 100 * MS).fold(script, |script, at| {
        script
            .k(at - MS, switch(1, 12, OffState::Uninterruptible, 0))
            .parallel(at, at + 40 * MS, at + 40 * MS + 20_000, at + 41 * MS)
            .k(at + 39 * MS, waking(0, 12, 1))
            .k(at + 39 * MS, switch(1, 0, OffState::Runnable, 12))
    });
    let (results, _) = sampled(script.found(1, 11, Places::new().runtime, 10 * MS));
    assert_eq!(only(&results, "blocked-in-kernel").cost_ns, 20 * 39 * MS);
}

#[test]
fn what_the_host_takes_is_averaged_over_the_programs_cpus() {
    let with = |ms: u64| {
        let stolen = |cpu, ms: u64| Sample::CpuStolen { cpu: Cpu(cpu), steal_ns: ms * MS, irq_ns: MS };
        let script = healthy(1000).sample(1, stolen(0, 500)).sample(1, stolen(1, 0)).sample(1, stolen(7, 0));
        let ends = [(0, 500 + ms), (1, ms / 2), (7, 900)];
        sampled(ends.iter().fold(script, |script, (cpu, ms)| script.sample(999 * MS, stolen(*cpu, *ms)))).0
    };
    let results = with(200);
    let finding = only(&results, "host-steal");
    assert_eq!((finding.cost_ns, finding.confidence), (150 * MS, Confidence::Medium));
    assert!(finding.claim.contains("for 150 ms of 999 ms on each (15 %)"), "{}", finding.claim);
    assert!(finding.evidence.first().unwrap().text.contains("300 ms stolen from the 2 CPUs"));
    remedies_can_be_measured(finding);
    assert!(with(40).findings.is_empty());
}

#[test]
fn a_log_that_takes_long_to_write_is_the_tracers_cost() {
    let with = |ms: u64| {
        let wrote = |script: Script, n: u64| script.rt(n * 50 * MS, 0, Runtime::TracerWrote { ns: ms * MS });
        sampled((1..20).fold(healthy(1000), wrote)).0
    };
    let results = with(10);
    let finding = only(&results, "tracer-disturbance");
    assert_eq!((finding.cost_ns, finding.confidence), (19 * 10 * MS, Confidence::High));
    assert!(finding.claim.contains("capabilities wrote their event logs"), "{}", finding.claim);
    remedies_can_be_measured(finding);
    assert!(with(1).findings.is_empty());
}

#[test]
fn what_the_runtime_does_to_post_events_is_the_tracers_cost_whatever_function_does_it() {
    let at = Places::new();
    let with = |purpose: &str, leaf| {
        let what = Found::Running { ns: 10 * MS };
        let purpose = PurposeId::of(purpose);
        let sample = CodeSample { tid: Tid(11), cpu: Cpu(0), leaf, user: Some(at.runtime), purpose, what };
        sampled((1..40).fold(healthy(1000), |script, n| script.code_sample(n * 20 * MS, sample))).0
    };
    let results = with("log-writing", at.runtime);
    let finding = only(&results, "tracer-disturbance");
    assert_eq!((finding.cost_ns, finding.confidence), (39 * 10 * MS / 2, Confidence::Medium));
    assert!(finding.claim.contains("the runtime posted events"), "{}", finding.claim);
    // The log itself shows a write.
    assert!(!ids(&with("log-writing", at.fault)).contains(&"tracer-disturbance"));
    assert!(!ids(&with("statistics", at.runtime)).contains(&"tracer-disturbance"));
}

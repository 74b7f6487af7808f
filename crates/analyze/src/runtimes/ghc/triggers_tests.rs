//! Why collections were requested, and the findings that follow.

use super::*;
use crate::recording::start::Start;
use crate::results::{ProgramRuntime, Results, RuleOutcome};
use crate::testing::{Script, switch};
use crate::{Analysis, Tail};
use rtscope_model::manifest::{Binary, Kernel, Tier};
use rtscope_model::{ClockMap, ClockMethod, Confidence, Names, OffState, Pid};

const MS: u64 = 1_000_000;
const MIB: u64 = 1 << 20;

/// GHC with an allocation area of 16 MiB, without a kernel view.
fn context(flags: &[&str]) -> Context {
    let args = ["prog", "+RTS"].into_iter().chain(flags.iter().copied()).map(String::from).collect();
    Context {
        program_pid: Some(Pid(10)),
        program_tids: vec![Tid(11), Tid(12), Tid(13)],
        runtime: crate::results::ProgramRuntime { family: Some("ghc".into()), args, ..Default::default() },
        threaded: Some(true),
        generations: Some(2),
        nursery_bytes: Some(16 * MIB),
        ..Context::default()
    }
}

/// [`context`] with a kernel view.
fn seen(flags: &[&str]) -> Context {
    let clock = ClockMap { offset_ns: 0, error_ns: Some(500), method: ClockMethod::RuntimeStatic };
    let kernel = Some(Kernel { tier: Tier::Tracepoints, ..Kernel::default() });
    Context { clock, kernel, cpus_allowed: vec![0, 1], ..context(flags) }
}

/// A collection of `ms` at `at`; `lanes` is what two lanes have allocated since the start.
fn collection(script: Script, at: u64, ms: u64, generation: u64, lanes: [u64; 2]) -> Script {
    let (stopped, end) = (at + 20_000, at + ms * MS);
    lanes
        .iter()
        .enumerate()
        .fold(script, |script, (lane, bytes)| {
            script.rt(end - 1_000, lane as u16, Runtime::Count(Counter::AllocatedBytes, *bytes))
        })
        .request(at, 0, true)
        .begin(at + 10_000, 1)
        .begin(stopped, 0)
        .work(stopped + 1, end - 2_000, 0)
        .end(end, 0)
        .figures(end + 1, 0, generation, 1_000)
        .end(end + 2, 1)
}

/// Collections of 20 ms at a fixed distance with `bytes` allocated on each lane between two, and the one at the end
/// of the program.
fn regular(count: u64, apart_ms: u64, generation: u64, bytes: u64) -> Script {
    let script = Script::default().rt(0, 0, Runtime::LaneCreated).rt(0, 1, Runtime::LaneCreated);
    let all = (1..=count)
        .fold(script, |script, n| collection(script, n * apart_ms * MS, 20, generation, [n * bytes, n * bytes]));
    let last = [count * bytes + 17, count * bytes];
    collection(all, count * apart_ms * MS + 50 * MS, 5, 1, last)
}

fn analyse(context: Context, script: Script) -> Results {
    let mut names = Names::default();
    (1..=100).for_each(|tid| _ = names.intern(&format!("task-{tid}")));
    let mut analysis = Analysis::new(context);
    script.events().iter().for_each(|event| analysis.push(event, &names, &mut |_| {}));
    analysis.finish(&names, Tail::default(), &mut |_| {})
}

fn found<'r>(results: &'r Results, id: &str) -> Option<&'r rtscope_model::Finding> {
    results.findings.iter().find(|finding| finding.id == id)
}

#[test]
fn collections_by_a_timer_are_found_with_their_period_and_not_the_last_one() {
    let results = analyse(context(&[]), regular(10, 100, 1, MIB));
    let finding = found(&results, "explicit-gc").unwrap();
    assert_eq!((finding.cost_ns, finding.confidence), (10 * (20 * MS + 2), Confidence::Medium));
    for text in ["10 that its allocation does not explain", "about every 100 ms", "20.0 ms each"] {
        assert!(finding.claim.contains(text), "{}", finding.claim);
    }
    assert!(finding.evidence.iter().any(|seen| seen.text.contains("2.0 MiB") && seen.text.contains("16 MiB")));
    assert!(found(&results, "idle-gc").is_none());
    assert!(finding.remedies.iter().all(|remedy| remedy.metric.as_ref().unwrap().path == "pauses.total_ns"));
}

#[test]
fn full_allocation_areas_and_large_objects_explain_a_collection() {
    // Half an area on each lane: large objects could make as many bytes.
    for bytes in [15 * MIB, 8 * MIB, 4 * MIB] {
        let results = analyse(context(&[]), regular(10, 100, 1, bytes));
        assert!(results.findings.iter().all(|found| !found.id.ends_with("-gc")), "{bytes}: {:?}", results.findings);
        assert!(results.checked.iter().any(|rule| rule.id == "explicit-gc" && rule.outcome == RuleOutcome::Clear));
    }
    assert!(found(&analyse(context(&["-AL2m"]), regular(10, 100, 1, MIB)), "explicit-gc").is_none());
    assert!(found(&analyse(context(&["-hT"]), regular(10, 100, 1, MIB)), "explicit-gc").is_none());
}

/// Minor collections after a full area of lane 0, and between each two a major one when each lane has allocated
/// `between` MiB.
fn busy(minors: u64, full: [u64; 2], between: u64) -> Script {
    let mut sums = [0, 0];
    let mut script = Script::default().rt(0, 0, Runtime::LaneCreated).rt(0, 1, Runtime::LaneCreated);
    for n in 1..=minors {
        sums = [sums[0] + full[0] * MIB, sums[1] + full[1] * MIB];
        script = collection(script, n * 100 * MS, 1, 0, sums);
        sums = [sums[0] + between * MIB, sums[1] + between * MIB];
        script = collection(script, (n * 100 + 50) * MS, 20, 1, sums);
    }
    collection(script, (minors * 100 + 90) * MS, 1, 1, sums)
}

#[test]
fn where_large_objects_do_not_trigger_one_lane_s_area_decides() {
    // 6 MiB on each of two lanes: 12 MiB of large objects could trigger it, but no full area.
    let requested = analyse(context(&[]), busy(12, [15, 3], 6));
    assert_eq!(found(&requested, "explicit-gc").map(|finding| finding.cost_ns), Some(12 * (20 * MS + 2)));
    assert!(found(&analyse(context(&[]), busy(12, [15, 3], 9)), "explicit-gc").is_none());
    // If minor ones do not follow a full area either, large objects trigger them.
    assert!(found(&analyse(context(&[]), busy(12, [7, 7], 6)), "explicit-gc").is_none());
    assert!(found(&analyse(context(&[]), busy(5, [15, 3], 6)), "explicit-gc").is_none());
}

#[test]
fn near_the_heap_limit_nothing_is_judged() {
    let limit = regular(10, 100, 1, MIB).rt(1, 0, Runtime::Count(Counter::HeapLimitBytes, 100 * MIB)).rt(
        2,
        0,
        Runtime::Count(Counter::HeapBytes, 90 * MIB),
    );
    let results = analyse(context(&[]), limit);
    let ids: Vec<_> = results.findings.iter().map(|finding| finding.id.as_str()).collect();
    assert_eq!(ids, ["collecting"]);
}

#[test]
fn without_the_size_of_the_allocation_area_the_rules_are_not_checked() {
    let results = analyse(Context { nursery_bytes: None, ..context(&[]) }, regular(10, 100, 1, MIB));
    for id in ["idle-gc", "explicit-gc"] {
        let rule = results.checked.iter().find(|rule| rule.id == id).unwrap();
        assert_eq!(rule.outcome, RuleOutcome::CouldNotLook);
        assert!(rule.why.as_ref().unwrap().contains("allocation area"));
    }
}

#[test]
fn a_major_collection_after_a_rest_is_the_runtime_s_own() {
    let results = analyse(context(&[]), regular(5, 450, 1, 10_000));
    let finding = found(&results, "idle-gc").unwrap();
    assert_eq!((finding.cost_ns, finding.confidence), (5 * (20 * MS + 2), Confidence::Medium));
    assert!(finding.claim.contains("5 times because the program was idle"), "{}", finding.claim);
    assert_eq!(finding.remedies.first().unwrap().flag.as_deref(), Some("+RTS -I0"));
    assert!(found(&results, "explicit-gc").is_none());
    // Too few, minor, too early, switched off.
    assert!(analyse(context(&[]), regular(2, 450, 1, 10_000)).findings.is_empty());
    assert!(found(&analyse(context(&[]), regular(5, 450, 0, 10_000)), "idle-gc").is_none());
    assert!(found(&analyse(context(&["-I1.5"]), regular(5, 450, 1, 10_000)), "idle-gc").is_none());
    assert!(found(&analyse(context(&["-I0"]), regular(5, 450, 1, 10_000)), "explicit-gc").is_some());
}

#[test]
fn what_a_program_allocated_before_it_rested_does_not_matter_where_the_kernel_shows_the_rest() {
    // Without the kernel it may have been awake until it asked.
    let without = analyse(context(&[]), regular(5, 450, 1, 3 * MIB));
    assert!(without.findings.is_empty(), "{:?}", without.findings);
    let rests = |awake: bool| {
        let script = regular(5, 450, 1, 3 * MIB).k(1, switch(0, 0, OffState::Runnable, 11));
        let script = script.k(1, switch(1, 0, OffState::Runnable, 12));
        (1..=5).map(|n| n * 450 * MS).fold(script, |script, at| {
            let slept = if awake { at - 10 * MS } else { at - 300 * MS };
            let script =
                script.k(slept, switch(0, 11, OffState::Sleeping, 0)).k(slept, switch(1, 12, OffState::Sleeping, 0));
            script.k(at - MS, switch(0, 0, OffState::Runnable, 11)).k(at - MS, switch(1, 0, OffState::Runnable, 12))
        })
    };
    let rested = analyse(seen(&[]), rests(false));
    assert_eq!(found(&rested, "idle-gc").map(|finding| finding.confidence), Some(Confidence::High));
    assert!(found(&rested, "explicit-gc").is_none());
    let awake = analyse(seen(&[]), rests(true));
    assert!(found(&awake, "explicit-gc").is_some() && found(&awake, "idle-gc").is_none(), "{:?}", awake.findings);
}

#[test]
fn a_rest_explains_a_collection_after_much_allocation_and_a_burst_does_not() {
    let rests = |burst_ns: u64| {
        let script = regular(5, 450, 1, 12 * MIB).k(1, switch(0, 0, OffState::Runnable, 11));
        let script = script.k(1, switch(1, 0, OffState::Runnable, 12));
        (1..=5).map(|n| n * 450 * MS).fold(script, |script, at| {
            let (slept, woke) = (at - 300 * MS, at - burst_ns);
            let script =
                script.k(slept, switch(0, 11, OffState::Sleeping, 0)).k(slept, switch(1, 12, OffState::Sleeping, 0));
            script.k(woke, switch(0, 0, OffState::Runnable, 11)).k(woke, switch(1, 0, OffState::Runnable, 12))
        })
    };
    assert!(found(&analyse(seen(&[]), rests(50_000)), "idle-gc").is_some());
    assert!(analyse(seen(&[]), rests(15 * MS)).findings.is_empty());
}

#[test]
fn what_arrives_while_the_idle_program_is_collected_is_reported() {
    let script = regular(5, 450, 1, 10_000)
        .k(1, switch(0, 0, OffState::Runnable, 11))
        .k(1, switch(1, 0, OffState::Runnable, 12));
    let script = (1..=5).map(|n| n * 450 * MS).fold(script, |script, at| {
        let script = script.k(at - 300 * MS, switch(0, 11, OffState::Sleeping, 0));
        let script = script.k(at - 300 * MS, switch(1, 12, OffState::Sleeping, 0));
        let script =
            script.k(at - MS, switch(0, 0, OffState::Runnable, 11)).k(at - MS, switch(1, 0, OffState::Runnable, 12));
        // Something from outside wakes thread 13, which has no other part in this.
        let script = script.k(at + 5 * MS, crate::testing::waking(77, 13, 1));
        script
            .k(at + 21 * MS, switch(2, 0, OffState::Runnable, 13))
            .k(at + 22 * MS, switch(2, 13, OffState::Sleeping, 0))
    });
    let results = analyse(seen(&[]), script);
    let finding = found(&results, "idle-gc").unwrap();
    let text = "During 5 of them something woke the program and had to wait, up to 15.0 ms.";
    assert!(finding.evidence.iter().any(|seen| seen.text == text), "{:?}", finding.evidence);
}

#[test]
fn the_runtime_s_flags_are_read_as_it_reads_them() {
    let flags = |text: &str| {
        let binary =
            Binary { family: Some("ghc".into()), with_rtsopts: Some("-N2 -I0.02".into()), ..Binary::default() };
        let start = Start { binary: Some(binary), environment: vec![("GHCRTS".into(), "-AL4m".into())] };
        let runtime = ProgramRuntime { args: text.split(' ').map(String::from).collect(), ..context(&[]).runtime };
        Flags::of(Context { start, runtime, ..context(&[]) }.options())
    };
    let read = flags("p");
    assert_eq!((read.idle_ns, read.large_bytes), (Some(20 * MS), Some(4 * MIB)), "of the link and the environment");
    let read = flags("p -I9 +RTS -I0.5 -AL64m -A4m -Iw30 -RTS -I7 -hT");
    assert_eq!((read.idle_ns, read.large_bytes, read.census), (Some(500 * MS), Some(64 * MIB), false));
    assert!(flags("p +RTS -hT --RTS -I0").census);
    for (text, expected) in [("1k", Some(1024)), ("2", Some(2)), ("x", None), ("-1m", None), ("1.5g", Some(3 << 29))] {
        assert_eq!(bytes(text), expected, "{text}");
    }
}

//! `parallel-gc-not-paying`: collections use several threads, but most of them have nothing to do.
//!
//! A list has one end at which copying can start, and a collection that copies almost nothing is over before a second
//! thread is awake; yet all capabilities take part, spin for work, and copy with the care that sharing needs. If the
//! threads together did hardly more work than the clock shows, one of them would have been as fast.
//!
//! Cost: the idle threads' share of the time of such collections. Only collections whose threads had their CPUs
//! nearly all the time count, and a wait for a CPU counts as work.

use crate::collector::collections::{CollectionTotals, Parallel};
use crate::findings::{Cost, Facts, Need, PAUSED, Rule, Says, Verdict, evidence, oversubscribed};
use rtscope_model::units::{duration, percent};
use rtscope_model::{Confidence, Evidence, Remedy};

/// Mean number of threads at work below which one is enough: a single thread copies about a fifth faster, because it
/// needs no atomic operations.
const SPEEDUP_MIN: f64 = 1.2;

pub static RULE: Rule = Rule {
    id: "parallel-gc-not-paying",
    explains: &["collecting"],
    order: 130,
    needs: Some(&Need { name: "scheduling events", optional: false, missing: no_waits }),
    yields_to: &["small-nursery", "cpu-throttled", "oversubscribed", "explicit-gc", "idle-gc"],
    share_min: 0.05,
    why: "less is not worth a flag",
    check,
    ..Rule::BLANK
};

fn no_waits(facts: &Facts<'_>) -> Option<String> {
    (facts.held.is_none() && facts.lanes > 1).then(|| {
        "without scheduling events of the kernel an idle collector thread looks like one that waits for a CPU."
            .to_owned()
    })
}

fn check(facts: &Facts<'_>) -> Option<Verdict> {
    facts.held?;
    // If collector threads outnumber the CPUs they wait for CPUs: see `oversubscribed`.
    if oversubscribed::more_lanes_than_cpus(facts).is_some() {
        return None;
    }
    let idle: Vec<&Parallel> = kinds(facts).into_iter().filter(|kind| does_not_pay(kind)).collect();
    let sum = |figure: fn(&Parallel) -> u64| idle.iter().map(|kind| figure(kind)).sum::<u64>();
    let (collect_ns, work_ns) = (sum(|kind| kind.collect_ns), sum(|kind| kind.work_ns));
    let threads = idle.iter().map(|kind| kind.threads_max).max().unwrap_or(0);
    let what = format!(
        "Collections use {threads} threads, but on average {:.1} of them had work: over {} of collecting the others' \
         share of idle time is ",
        work_ns as f64 / collect_ns.max(1) as f64,
        duration(collect_ns)
    );
    let verdict = Verdict::new(Cost::Time(sum(|kind| kind.lost_ns)), Confidence::High, what).says(Says::Bracketed);
    Some(verdict.seen(seen(facts, &idle)).remedies(remedies(facts, threads)))
}

fn kinds<'a>(facts: &Facts<'a>) -> [&'a Parallel; 2] {
    let of = |kind: &'a CollectionTotals| &kind.parallel;
    [of(&facts.collections.minor), of(&facts.collections.major)]
}

fn does_not_pay(kind: &Parallel) -> bool {
    kind.speedup().is_some_and(|speedup| speedup < SPEEDUP_MIN)
}

fn seen(facts: &Facts<'_>, idle: &[&Parallel]) -> Vec<Evidence> {
    let mut seen: Vec<Evidence> = idle
        .iter()
        .map(|kind| {
            let text = format!(
                "{} collections with up to {} threads, which had their CPUs nearly all the time: {} on the clock, {} \
                 of work by all threads together; the time range is the one that lost most.",
                kind.count,
                kind.threads_max,
                duration(kind.collect_ns),
                duration(kind.work_ns)
            );
            evidence(text, kind.longest)
        })
        .collect();
    let (busiest, all) = (facts.collections.busiest_bytes, facts.collections.parallel_bytes);
    if all > 0 {
        let share = percent(busiest as f64 / all as f64);
        seen.push(facts.overall(format!("The busiest thread of each copied {share} of all bytes.")));
    }
    seen
}

fn remedies(facts: &Facts<'_>, threads: u32) -> Vec<Remedy> {
    let [minor, major] = kinds(facts);
    let young = does_not_pay(minor) && major.count > 0 && !does_not_pay(major);
    let young = young.then(|| {
        Remedy::new("Collect the young generation with one thread; those of the old one have work for several.")
            .option("-qg1")
    });
    let alone =
        Remedy::new("Collect with one thread: it does not share, so it copies faster, and the other CPUs are free.")
            .option("-qg");
    let two = (threads > 2).then(|| Remedy::or("collect with two.").option("-qn2"));
    let falls = |remedy: Remedy| {
        let verify = "Record again with the same work: the time in pauses falls, and with it the CPU time.";
        remedy.falls(PAUSED).verify(verify)
    };
    [young, Some(alone), two].into_iter().flatten().map(falls).collect()
}

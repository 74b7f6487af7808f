//! `parallel-gc-not-paying`: collections use several threads, but most of them have
//! nothing to do.
//!
//! A list has one end at which copying can start, and a collection that copies next to
//! nothing is over before a second thread is awake; yet all capabilities take part, spin
//! for work, and copy with the care that sharing needs. Where the threads together did
//! hardly more work than the clock shows, one of them would have been as fast.
//!
//! Cost: the idle threads' share of the time of such collections. Only collections whose
//! threads had their CPUs for nearly all of it count, and a wait for a CPU counts as work.

use super::{Cost, Facts, Rule, Runtimes, Verdict, evidence, oversubscribed};
use crate::collector::collections::{Kind, Parallel, undisturbed};
use crate::results::BlamedPause;
use rtscope_model::runtimes::GHC;
use rtscope_model::units::{duration, percent};
use rtscope_model::{Confidence, Evidence, Metric, Names, PauseMode, Remedy};

const SHARE_MIN: f64 = 0.05;
/// Threads at work, on average, below which one would do: copying for one thread alone is
/// about a fifth faster, because it needs no atomic operations.
const SPEEDUP_MIN: f64 = 1.2;
/// Shorter collections are not worth a sentence of their own.
const INSTANCE_NS_MIN: u64 = 1_000_000;

pub(super) struct ParallelGcNotPaying;

impl Rule for ParallelGcNotPaying {
    fn id(&self) -> &'static str {
        "parallel-gc-not-paying"
    }

    fn runtimes(&self) -> Runtimes {
        Runtimes::Only(&GHC)
    }

    fn blind(&self, facts: &Facts<'_>) -> Option<String> {
        let used = facts.held.is_some();
        (!used && facts.lanes > 1).then(|| {
            "without scheduling events of the kernel an idle collector thread looks like one that waits for a CPU."
                .to_owned()
        })
    }

    fn check(&self, facts: &Facts<'_>) -> Option<Verdict> {
        facts.held?;
        // Collector threads that outnumber the CPUs wait for CPUs: `oversubscribed`.
        if oversubscribed::more_lanes_than_cpus(facts).is_some() {
            return None;
        }
        let idle: Vec<&Parallel> = kinds(facts).into_iter().filter(|kind| does_not_pay(kind)).collect();
        let cost_ns = idle.iter().map(|kind| kind.lost_ns).sum();
        if facts.share(cost_ns) < SHARE_MIN {
            return None;
        }
        Some(Verdict {
            confidence: Confidence::High,
            cost: Cost::Time(cost_ns),
            evidence: seen(facts, &idle),
            remedies: remedies(facts, idle.iter().map(|kind| kind.threads_max).max().unwrap_or(2)),
        })
    }

    fn summary(&self, facts: &Facts<'_>, verdict: &Verdict) -> String {
        let idle = || kinds(facts).into_iter().filter(|kind| does_not_pay(kind));
        let collect_ns: u64 = idle().map(|kind| kind.collect_ns).sum();
        let work_ns: u64 = idle().map(|kind| kind.work_ns).sum();
        let threads = idle().map(|kind| kind.threads_max).max().unwrap_or(0);
        format!(
            "Collections use {threads} threads, but on average {:.1} of them had work: over {} of collecting the others' share \
             of idle time is {} ({} of {}).",
            work_ns as f64 / collect_ns.max(1) as f64,
            duration(collect_ns),
            duration(verdict.cost_ns()),
            percent(facts.share(verdict.cost_ns())),
            duration(facts.span_ns)
        )
    }

    fn yields_to(&self) -> &'static [&'static str] {
        &["small-nursery", "cpu-throttled", "oversubscribed", "explicit-gc", "idle-gc"]
    }

    fn instance(&self, blamed: &BlamedPause, _: &Names) -> Option<String> {
        let pause = &blamed.pause;
        let threads = u64::from(pause.gc_threads?);
        let collect_ns = pause.collect_ns();
        let work_ns = pause.lanes.iter().fold(blamed.kept_ns?, |sum, part| sum.saturating_add(part.work_ns));
        let shows = pause.mode == PauseMode::Parallel
            && threads > 1
            && collect_ns >= INSTANCE_NS_MIN
            && work_ns as f64 / collect_ns as f64 <= SPEEDUP_MIN
            && undisturbed(blamed);
        shows.then(|| {
            format!(
                "{threads} threads collected for {}, and together had work for {} of it.",
                duration(collect_ns),
                duration(work_ns)
            )
        })
    }
}

fn kinds<'a>(facts: &Facts<'a>) -> [&'a Parallel; 2] {
    let of = |kind: &'a Kind| &kind.parallel;
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
                "{} collections with up to {} threads, which had their CPUs nearly all the time: {} on the clock, {} of work by all threads \
                 together; the time range is the one that lost most.",
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
        let text = format!("The busiest thread of each copied {} of all bytes.", percent(busiest as f64 / all as f64));
        seen.push(evidence(text, Some((facts.started, facts.end))));
    }
    seen
}

fn remedies(facts: &Facts<'_>, threads: u32) -> Vec<Remedy> {
    let [minor, major] = kinds(facts);
    let metric = || Metric::falls("pauses.total_ns");
    let verify = "Record again with the same work: the time in pauses falls, and with it the CPU time.".to_owned();
    let mut remedies = Vec::new();
    if does_not_pay(minor) && major.count > 0 && !does_not_pay(major) {
        remedies.push(Remedy {
            text: "Collect the young generation with one thread; those of the old one have work for several.".into(),
            flag: Some("+RTS -qg1".into()),
            verify: verify.clone(),
            metric: metric(),
        });
    }
    remedies.push(Remedy {
        text: "Collect with one thread: it does not share, so it copies faster, and the other CPUs are free.".into(),
        flag: Some("+RTS -qg".into()),
        verify: verify.clone(),
        metric: metric(),
    });
    if threads > 2 {
        remedies.push(Remedy {
            text: "Or collect with two.".into(),
            flag: Some("+RTS -qn2".into()),
            verify,
            metric: metric(),
        });
    }
    remedies
}

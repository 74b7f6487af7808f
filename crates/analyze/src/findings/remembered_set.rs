//! `remembered-set`: collections of the young take time that copying does not explain.
//!
//! A collection of the young also looks through what may point into it: arrays of
//! pointers in the old generation that were written to, the whole table of stable
//! pointers, every changed reference, the stacks of threads that ran. No event says so,
//! so this is said as likely, by elimination: the threads had their CPUs, and the time
//! neither comes from copying nor follows it.
//!
//! Cost: what goes beyond the time that collections of so few bytes take at most (see
//! `collections`), without what threads were kept off their CPUs.

use super::{Cost, Facts, Rule, Runtimes, Verdict, evidence, small_nursery};
use crate::collector::collections::{Point, undisturbed, usual_ns};
use crate::results::BlamedPause;
use rtscope_model::runtimes::GHC;
use rtscope_model::units::{bytes, duration, percent};
use rtscope_model::{Confidence, Evidence, Metric, Names, PauseKind, Remedy};

const SHARE_MIN: f64 = 0.05;
/// Less than half of the collecting is left unexplained by accident: a cold cache, slow
/// memory.
const SHARE_OF_COLLECT_MIN: f64 = 0.5;
/// Shorter collections are not worth a sentence of their own.
const INSTANCE_NS_MIN: u64 = 1_000_000;

pub(super) struct RememberedSet;

impl Rule for RememberedSet {
    fn id(&self) -> &'static str {
        "remembered-set"
    }

    fn runtimes(&self) -> Runtimes {
        Runtimes::Only(&GHC)
    }

    fn blind(&self, facts: &Facts<'_>) -> Option<String> {
        facts.held.is_none().then(|| {
            "without scheduling events of the kernel a collection that waits for a CPU looks like one that works."
                .to_owned()
        })
    }

    fn check(&self, facts: &Facts<'_>) -> Option<Verdict> {
        facts.held?;
        let minor = &facts.collections.minor;
        let cost_ns = minor.beyond_ns;
        let most = cost_ns as f64 >= minor.collect_ns as f64 * SHARE_OF_COLLECT_MIN;
        let (least, copied_most) = facts.collections.least_and_most()?;
        if facts.share(cost_ns) < SHARE_MIN || !most || follows_copying(least, copied_most) {
            return None;
        }
        Some(Verdict {
            confidence: Confidence::Medium,
            cost: Cost::Time(cost_ns),
            evidence: seen(facts, least, copied_most),
            remedies: remedies(facts),
        })
    }

    fn summary(&self, facts: &Facts<'_>, verdict: &Verdict) -> String {
        let minor = &facts.collections.minor;
        format!(
            "Collections of the young took {} of {} ({}) longer than the {} they copied each explain: likely they look through \
             large arrays of pointers that change, many stable pointers, changed references or the stacks of many threads.",
            duration(verdict.cost_ns()),
            duration(facts.span_ns),
            percent(facts.share(verdict.cost_ns())),
            bytes(minor.copied_bytes / minor.count.max(1))
        )
    }

    fn yields_to(&self) -> &'static [&'static str] {
        &["blocked-in-kernel", "host-steal", "explicit-gc"]
    }

    fn instance(&self, blamed: &BlamedPause, _: &Names) -> Option<String> {
        let pause = &blamed.pause;
        let copied = pause.copied_bytes?;
        let collect_ns = pause.collect_ns().saturating_sub(blamed.kept_ns?);
        let shows = pause.kind == PauseKind::Minor
            && collect_ns >= INSTANCE_NS_MIN
            && collect_ns >= usual_ns(copied).saturating_mul(2)
            && undisturbed(blamed);
        shows.then(|| {
            format!(
                "The collection took {} and copied only {}: likely it looked through arrays, references or stacks.",
                duration(collect_ns),
                bytes(copied)
            )
        })
    }
}

/// Whether time grows with bytes so that what is left at no bytes is less than half.
fn follows_copying(least: Point, most: Point) -> bool {
    let (bytes_more, ns_more) =
        (most.copied_bytes.saturating_sub(least.copied_bytes), most.collect_ns.saturating_sub(least.collect_ns));
    // Where all copy about the same amount nothing can be said.
    if bytes_more < least.copied_bytes / 2 || bytes_more == 0 {
        return false;
    }
    let by_copying_ns = ns_more as f64 / bytes_more as f64 * most.copied_bytes as f64;
    by_copying_ns > most.collect_ns as f64 / 2.0
}

fn seen(facts: &Facts<'_>, least: Point, most: Point) -> Vec<Evidence> {
    let minor = &facts.collections.minor;
    let all = Some((facts.started, facts.end));
    vec![
        evidence(
            format!(
                "{} collections of the young took {} on CPUs and copied {}: {:.0} ns per byte, where copying takes 1 or 2.",
                minor.count,
                duration(minor.collect_ns),
                bytes(minor.copied_bytes),
                minor.collect_ns as f64 / minor.copied_bytes.max(1) as f64
            ),
            all,
        ),
        evidence(
            format!(
                "The time does not follow the bytes: the quarter that copied least ({}) took {}, the quarter that copied most \
                 ({}) took {} (medians).",
                bytes(least.copied_bytes),
                duration(least.collect_ns),
                bytes(most.copied_bytes),
                duration(most.collect_ns)
            ),
            all,
        ),
        evidence(format!("The longest took {} to collect.", duration(minor.longest_ns)), minor.longest),
    ]
}

fn remedies(facts: &Facts<'_>) -> Vec<Remedy> {
    let mut remedies = Vec::new();
    if let Some(larger) = small_nursery::larger(facts) {
        remedies.push(Remedy {
            text: format!(
                "Collect the young less often: what is looked through is looked through once per collection, so an allocation \
                 area of {} for each capability leaves about {:.0} walks a second.",
                bytes(larger),
                small_nursery::per_second(facts) * facts.context.nursery_bytes.unwrap_or(0) as f64 / larger.max(1) as f64
            ),
            flag: Some(small_nursery::flag(larger)),
            verify: "Record again: the time of collections falls with their number.".into(),
            metric: Metric::falls("pauses.collect_ns.sum"),
        });
    }
    remedies.push(Remedy {
        text: "Where large mutable arrays hold numbers, use unboxed ones: they hold no pointers and are not looked through. Else \
               freeze arrays that change no more. Free stable pointers that are needed no more: each collection walks all of them."
            .into(),
        flag: None,
        verify: "Record again: nanoseconds per copied byte fall.".into(),
        metric: Metric::falls("pauses.collect_ns.sum"),
    });
    remedies
}

//! `remembered-set`: minor collections scan old objects that have changed, and stable names.
//!
//! A minor collection also scans what may point into the young generation: arrays of pointers in the old generation
//! that were written to, every changed reference, the whole table of stable names and pointers. Cost: the time for
//! which samples found collections at this work. Without samples no event shows it, and it is reported as likely, by
//! elimination: the threads had their CPUs, and the time neither comes from copying nor correlates with it. Cost
//! then: the time beyond what collections of so few bytes take at most (see `collections`), without the time in which
//! threads were kept off their CPUs.

use super::small_nursery;
use crate::collector::collections::CopyPoint;
use crate::findings::collected::{Collecting, measured};
use crate::findings::nodes::CollectionWork;
use crate::findings::{COLLECT, Cost, Facts, Need, Rule, Verdict, evidence};
use rtscope_model::units::{bytes, duration};
use rtscope_model::{Confidence, Evidence, Remedy};

/// Less than half of the collecting may stay unexplained by accident: a cold cache, slow memory.
const SHARE_OF_COLLECT_MIN: f64 = 0.5;
/// What samples show about it.
static LOOKED_THROUGH: CollectionWork = CollectionWork {
    purposes: &["mutable-objects", "stable-names"],
    what: "Collections looked through what may point to young objects for ",
    because: |facts| {
        let ns = |purpose| Collecting::of(facts).map_or(0, |collecting| collecting.summed(&[purpose]).ns);
        match ns("stable-names") > ns("mutable-objects") {
            true => ": each walks all stable names and pointers.".to_owned(),
            false => {
                ": each visits what was written to in the old generation since the one before: mutable arrays, references, and values \
                      that were evaluated late.".to_owned()
            }
        }
    },
    remedies,
};

pub static RULE: Rule = Rule {
    id: "remembered-set",
    explains: &["collecting"],
    order: 140,
    needs: Some(&Need { name: "scheduling events", optional: false, missing: no_waits }),
    yields_to: &["blocked-in-kernel", "host-steal", "explicit-gc", "stacks", "weak-pointers"],
    share_min: 0.05,
    also: ", and where no samples show it half of the collecting of the young",
    why: "a cold cache makes copying slower, too",
    check,
    ..Rule::BLANK
};

fn no_waits(facts: &Facts<'_>) -> Option<String> {
    facts.held.is_none().then(|| {
        "without scheduling events of the kernel a collection that waits for a CPU looks like one that works."
            .to_owned()
    })
}

fn check(facts: &Facts<'_>) -> Option<Verdict> {
    LOOKED_THROUGH.verdict(facts).or_else(|| by_elimination(facts))
}

fn by_elimination(facts: &Facts<'_>) -> Option<Verdict> {
    if facts.held.is_none() || measured(facts, LOOKED_THROUGH.purposes).is_some() {
        return None;
    }
    let minor = &facts.collections.minor;
    let (least, most) = facts.collections.least_and_most()?;
    let half = minor.beyond_ns as f64 >= minor.collect_ns as f64 * SHARE_OF_COLLECT_MIN;
    if !half || follows_copying(least, most) {
        return None;
    }
    let verdict = Verdict::new(Cost::Time(minor.beyond_ns), Confidence::Medium, "Collections of the young took ");
    let copied = bytes(minor.copied_bytes / minor.count.max(1));
    let verdict = verdict.then(format!(
        " longer than the {copied} they copied each explain: likely they look through large arrays of pointers that change, \
         many stable pointers, changed references or the stacks of many threads."
    ));
    Some(verdict.seen(seen(facts, least, most)).remedies(remedies(facts)))
}

/// Whether time grows with bytes such that less than half remains at zero bytes.
fn follows_copying(least: CopyPoint, most: CopyPoint) -> bool {
    let (bytes_more, ns_more) =
        (most.copied_bytes.saturating_sub(least.copied_bytes), most.collect_ns.saturating_sub(least.collect_ns));
    // If all copy about the same amount, nothing can be concluded.
    if bytes_more < least.copied_bytes / 2 || bytes_more == 0 {
        return false;
    }
    let by_copying_ns = ns_more as f64 / bytes_more as f64 * most.copied_bytes as f64;
    by_copying_ns > most.collect_ns as f64 / 2.0
}

fn seen(facts: &Facts<'_>, least: CopyPoint, most: CopyPoint) -> [Evidence; 3] {
    let minor = &facts.collections.minor;
    [
        facts.overall(format!(
            "{} collections of the young took {} on CPUs and copied {}: {:.0} ns per byte, where copying takes 1 or 2.",
            minor.count,
            duration(minor.collect_ns),
            bytes(minor.copied_bytes),
            minor.collect_ns as f64 / minor.copied_bytes.max(1) as f64
        )),
        facts.overall(format!(
            "The time does not follow the bytes: the quarter that copied least ({}) took {}, the quarter that copied \
             most ({}) took {} (medians).",
            bytes(least.copied_bytes),
            duration(least.collect_ns),
            bytes(most.copied_bytes),
            duration(most.collect_ns)
        )),
        evidence(format!("The longest took {} to collect.", duration(minor.longest_ns)), minor.longest),
    ]
}

fn remedies(facts: &Facts<'_>) -> Vec<Remedy> {
    let larger = small_nursery::larger(facts).map(|larger| {
        let nursery = facts.context.nursery_bytes.unwrap_or(0);
        let text = format!(
            "Collect the young less often: what is looked through is looked through once per collection, so an \
             allocation area of {} for each capability leaves about {:.0} walks a second.",
            bytes(larger),
            facts.minors_per_second() * nursery as f64 / larger.max(1) as f64
        );
        let remedy = Remedy::new(text).set(small_nursery::flag(larger)).falls(COLLECT);
        remedy.shows("the time of collections falls with their number")
    });
    let unboxed = Remedy::new(
        "Where large mutable arrays hold numbers, use unboxed ones: they hold no pointers and are not looked through. \
         Else freeze arrays that change no more. Free stable pointers that are needed no more: each collection walks \
         all of them.",
    );
    larger.into_iter().chain([unboxed.falls(COLLECT).shows("nanoseconds per copied byte fall")]).collect()
}

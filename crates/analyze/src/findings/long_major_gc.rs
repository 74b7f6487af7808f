//! `long-major-gc`: collections of the old generation copy much live data while the world stands still.
//!
//! Cost: their collect phases, without the time in which threads were kept off their CPUs, and no more than copying
//! so many bytes takes (see `collections`): the excess, page faults for instance, is reported elsewhere. The
//! threshold is a twentieth of the wall clock, or one collection of a tenth of a second: a person, or a client with a
//! deadline, notices such a wait however seldom it comes.

use super::{COLLECT, Cost, Facts, Need, Rule, Verdict, evidence};
use rtscope_model::runtime::Change;
use rtscope_model::units::{bytes, duration};
use rtscope_model::{Evidence, Remedy};

const LONG_NS: u64 = 100_000_000;
/// They have to take this long on average: the cost of many short ones comes from how often the old generation is
/// collected, not from how much is alive.
const MEAN_NS_MIN: u64 = 5_000_000;
/// A collection that takes more than this multiple of the usual time per byte was not busy copying.
const SHARE_OF_USUAL_MAX: u64 = 2;

/// CPUs that a program leaves idle if another thread can work all the time; averages are not exact.
const SPARE_MIN: f64 = 0.9;

pub(super) static RULE: Rule = Rule {
    id: "long-major-gc",
    explains: &["collecting"],
    order: 120,
    needs: Some(&Need { name: "events of the heap", optional: false, missing: no_generations }),
    yields_to: &["idle-gc", "explicit-gc", "thunk-leak"],
    share_min: 0.05,
    long_ns: Some(LONG_NS),
    also: " by ones of 5 ms",
    why: "a collection of a tenth of a second is noticed however seldom it comes",
    check,
    ..Rule::BLANK
};

fn no_generations(facts: &Facts<'_>) -> Option<String> {
    let none = facts.sums.count > 0 && facts.collections.major.count == 0 && facts.context.generations.is_none();
    none.then(|| "the log has no events of the heap (class g): what is a major collection is not known.".to_owned())
}

fn check(facts: &Facts<'_>) -> Option<Verdict> {
    let major = &facts.collections.major;
    let long = major.longest_ns >= LONG_NS || major.collect_ns >= major.count.saturating_mul(MEAN_NS_MIN);
    let copying = major.copying_ns.saturating_mul(SHARE_OF_USUAL_MAX) >= major.collect_ns;
    if !copying || !long {
        return None;
    }
    let what = format!("{} of the old generation stopped the program for ", collections(major.count));
    let verdict = Verdict::new(Cost::Time(major.copying_ns), facts.sure_with_kernel(), what).then(format!(
        ", up to {} at a time, to copy {} each.",
        duration(major.longest_ns),
        bytes(major.copied_bytes / major.count.max(1))
    ));
    Some(verdict.longest(major.longest_ns).seen(seen(facts)).remedies(remedies(facts)))
}

fn collections(count: u64) -> String {
    if count == 1 { "1 collection".to_owned() } else { format!("{count} collections") }
}

fn seen(facts: &Facts<'_>) -> Vec<Evidence> {
    let major = &facts.collections.major;
    let per_byte = major.collect_ns as f64 / major.copied_bytes.max(1) as f64;
    let mut seen = vec![
        facts.overall(format!(
            "{}, {} copied in all at {per_byte:.1} ns per byte.",
            collections(major.count),
            bytes(major.copied_bytes)
        )),
        evidence(format!("The longest took {} to collect.", duration(major.longest_ns)), major.longest),
    ];
    if let Some(live) = facts.lines.levels(facts.end).live_bytes {
        let text = format!("Up to {} were alive after one, {} on average.", bytes(live.max), bytes(live.mean as u64));
        seen.push(evidence(text, None));
    }
    seen
}

/// Whether the program leaves a CPU idle on average, as far as is known.
fn leaves_a_cpu(facts: &Facts<'_>) -> bool {
    let Some((account, cpus)) = facts.account.zip(facts.context.cpus_available()) else { return true };
    let on_cpus: u64 = ["program", "collecting"].iter().filter_map(|id| account.part(id)).map(|part| part.ns).sum();
    cpus - on_cpus as f64 / account.wall_ns.max(1) as f64 >= SPARE_MIN
}

fn remedies(facts: &Facts<'_>) -> Vec<Remedy> {
    let live = facts.lines.levels(facts.end).live_bytes.map_or(0, |live| live.max);
    let more = match live {
        0 => String::new(),
        live => format!(" ({} more of memory at this size)", bytes(live.saturating_mul(2))),
    };
    let has_cpu = |change: &&Change| !change.needs_cpu || leaves_a_cpu(facts);
    let mut changes: Vec<_> = facts.runtime.knobs.old_heap.iter().filter(has_cpu).collect();
    if facts.share(facts.collections.major.copying_ns) >= RULE.share_min {
        // If they take much time, fewer of them save more than shorter ones, which need a CPU and slow the
        // others down.
        changes.sort_by_key(|change| change.option.is_none() || change.falls.path != COLLECT.path);
    }
    changes.iter().enumerate().map(|(place, change)| change.remedy(&more, place == 0)).collect()
}

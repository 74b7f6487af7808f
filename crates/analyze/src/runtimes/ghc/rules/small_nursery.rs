//! `small-nursery`: the allocation area is so small that the world stops all the time, or that short-lived data is
//! promoted before it dies.
//!
//! A collection is due whenever a lane has used up its area, however little of it is alive, so doubling the area
//! halves the collections. Cost: the fixed part of each collection, whatever it copies. Of the waits, those without a
//! cause that another rule names. Of the work, what samples found at work that each collection repeats. Without
//! kernel events or samples, it follows from how long collections took and what they copied: see [`by_bytes`].
//!
//! Data that outlives its area is copied, copied once more, and then fills the old generation, which is collected
//! once it has grown by a factor. So frequent major collections may mean that the area is too small, too. That is
//! certain in two cases. If there are none, nothing was promoted: what was copied died soon after. If larger areas
//! would leave fewer than half as many collections of any kind as there are major ones now, at least half of these
//! disappear. Then the cost is all of both, except the share of copying that is needed anyway because the data lives
//! for good; but not if finalizers keep dead data alive.
//!
//! Silent if allocation does not explain the collections, and if the area is large already.

use crate::findings::collected::measured;
use crate::findings::nodes::tune;
use crate::findings::{Cost, Facts, Need, PAUSED, Rule, Verdict, scaled};
use rtscope_model::units::{bytes, counted, duration, percent, rate};
use rtscope_model::{Evidence, Remedy, Setting};

/// Collections per second: with fewer, 5 % of the wall clock are collections of half a millisecond, which is not the
/// cost of stopping and starting.
const PER_SECOND_MIN: f64 = 100.0;
/// Copied bytes as a share of allocated bytes. What survives one collection is copied again in the next, so above
/// this copying is the larger part of the work.
const SURVIVAL_MAX: f64 = 0.10;
/// Least and most that copying takes, nanoseconds per byte. See `collections`.
const BYTE_NS: [f64; 2] = [0.4, 6.0];
/// If major collections copied this many bytes, their time shows how fast copying is.
const COPIED_MIN: u64 = 16 << 20;
/// Work that each collection repeats, however little young data is alive and whatever the program retains; including
/// the kernel's work for collectors that wait for each other.
const EACH_TIME: [&str; 11] = [
    "roots",
    "stable-names",
    "threads",
    "block-allocation",
    "heap-sizing",
    "collection-control",
    "statistics",
    "waiting-for-collectors",
    "stopping",
    "kernel:sched_yield",
    "kernel:futex",
];
/// Major collections per collection of any kind that larger areas would leave.
const OLD_FOR_EACH_LEFT: f64 = 2.0;
/// How often permanent data is copied, whatever the area: twice until it is old, and about twice by collections of a
/// generation that doubles until it holds the data.
const COPIES_OF_THE_LIVING: u64 = 4;
/// Target for collections per second.
const PER_SECOND_AIM: f64 = 8.0;
/// A larger area saves little, and its memory fits in no cache.
const NURSERY_MAX: u64 = 64 << 20;
/// This avoids most collections, and costs the program's own use of caches less.
const NURSERY_MODEST: u64 = 16 << 20;
/// Share of a memory limit that all areas together may take.
const MEMORY_SHARE_MAX: u64 = 5;
const MIB: u64 = 1 << 20;

pub static RULE: Rule = Rule {
    id: "small-nursery",
    explains: &["collecting", "standing-still"],
    order: 150,
    needs: Some(&Need { name: "events of the heap", optional: false, missing: no_sizes }),
    // A collector without a CPU makes the others wait and spin in each collection.
    yields_to: &[
        "remembered-set",
        "stacks",
        "weak-pointers",
        "thunk-leak",
        "explicit-gc",
        "idle-gc",
        "oversubscribed",
        "cpu-throttled",
        "preempted",
        "host-steal",
    ],
    share_min: 0.05,
    also: ", from 100 collections a second, or where what dies soon gets old",
    why: "fewer do not come from a small area",
    check,
    ..Rule::BLANK
};

fn no_sizes(facts: &Facts<'_>) -> Option<String> {
    let known = facts.context.nursery_bytes.is_some() && facts.allocated_bytes().is_some();
    (!known).then(|| "the log has no events of the heap (class g).".to_owned())
}

fn check(facts: &Facts<'_>) -> Option<Verdict> {
    let minor = &facts.collections.minor;
    let nursery = facts.context.nursery_bytes?;
    let allocated = facts.allocated_bytes()?;
    let due = minor.count as f64 * nursery as f64 / 2.0 <= allocated;
    let larger = larger(facts).filter(|_| due)?;
    let little = minor.copied_bytes as f64 <= allocated * SURVIVAL_MAX;
    let fixed = Fixed::of(facts, little);
    let ageing = cost_of_ageing(facts, allocated, larger).filter(|cost_ns| !little && *cost_ns > fixed.ns());
    let verdict = match ageing {
        Some(cost_ns) => ages(facts, nursery, cost_ns),
        None if facts.minors_per_second() >= PER_SECOND_MIN => stops(facts, nursery, &fixed, little),
        None => return None,
    };
    let seen = seen(facts, nursery, allocated, &fixed);
    Some(verdict.seen(seen).remedies(remedies(facts, nursery, larger)))
}

/// The fixed cost of the collections.
struct Fixed {
    waited_ns: u64,
    worked_ns: u64,
}

impl Fixed {
    fn of(facts: &Facts<'_>, little: bool) -> Fixed {
        let waited_ns = match facts.held {
            Some(_) => facts.waited_unnamed_ns(),
            None => facts.collections.minor.waited_ns,
        };
        Fixed { waited_ns, worked_ns: measured(facts, &EACH_TIME).unwrap_or_else(|| by_bytes(facts, little)) }
    }

    fn ns(&self) -> u64 {
        self.waited_ns.saturating_add(self.worked_ns)
    }
}

/// Work of minor collections other than copying, for each no more than such a collection takes: any excess is
/// reported elsewhere. Major collections, which do little else, show how fast copying is. Without them copying counts
/// at its least cost if little survives, and at its most if much does.
fn by_bytes(facts: &Facts<'_>, little: bool) -> u64 {
    let (minor, major) = (&facts.collections.minor, &facts.collections.major);
    let [least, most] = BYTE_NS;
    let byte_ns = match major.copied_bytes >= COPIED_MIN {
        true => (major.collect_ns as f64 / major.copied_bytes as f64).clamp(least, most),
        false if little => least,
        false => most,
    };
    minor.copying_ns.saturating_sub((minor.copied_bytes as f64 * byte_ns) as u64)
}

/// The verdict that there are too many collections, whatever they copy.
fn stops(facts: &Facts<'_>, nursery: u64, fixed: &Fixed, little: bool) -> Verdict {
    let minor = &facts.collections.minor;
    let each = copied_share(facts).map(|_| bytes(minor.copied_bytes / minor.count.max(1)));
    let each = each.map_or(String::new(), |each| format!(", and copy {each} each"));
    let what = format!(
        "Collections run {} times a second because the allocation area is {}{each}: stopping the program for them took ",
        rate(facts.minors_per_second()),
        bytes(nursery),
    );
    let rest = if little { "." } else { ", without copying." };
    let verdict = Verdict::new(Cost::Time(fixed.ns()), facts.sure_with_kernel(), what).then(rest);
    verdict.explaining("standing-still", fixed.waited_ns).explaining("collecting", fixed.worked_ns)
}

/// Bytes copied by minor collections as a share of allocated bytes. `None`: with many collector threads some releases
/// of GHC count copied bytes several times.
fn copied_share(facts: &Facts<'_>) -> Option<f64> {
    let share = facts.collections.minor.copied_bytes as f64 / facts.allocated_bytes()?.max(1.0);
    (share <= 1.0).then_some(share)
}

/// The verdict that collections copy data that would have died in a larger area.
fn ages(facts: &Facts<'_>, nursery: u64, cost_ns: u64) -> Verdict {
    let old = match facts.collections.major.count {
        0 => "copying what is dead soon after".to_owned(),
        count => format!(
            "copying what is dead soon after, and {} of the old generation that it fills,",
            counted(count, "collection", "collections")
        ),
    };
    let alive = copied_share(facts).map_or("much".to_owned(), percent);
    let what = format!(
        "Collections run {} times a second because the allocation area is {}, and find {alive} of it alive: {old} took ",
        rate(facts.minors_per_second()),
        bytes(nursery),
    );
    Verdict::new(Cost::Time(cost_ns), facts.sure_with_kernel(), what).covering(&["survivors", "long-major-gc"])
}

/// Purposes of handling weak pointers, and the smallest share of the run for which they count.
const FINALIZED: [&str; 2] = ["weak-pointers", "finalisers"];
const FINALIZED_MIN: f64 = 0.05;

/// Time of collections that larger areas would avoid, including copying, where that is certain.
fn cost_of_ageing(facts: &Facts<'_>, allocated: f64, larger: u64) -> Option<u64> {
    let (minor, major) = (&facts.collections.minor, &facts.collections.major);
    let left = allocated / (larger as f64 * facts.lanes.max(1) as f64);
    let copied = minor.copied_bytes.saturating_add(major.copied_bytes);
    let living = facts.lines.levels(facts.end).live_bytes.map_or(0, |live| live.max);
    let dead = copied.saturating_sub(living.saturating_mul(COPIES_OF_THE_LIVING));
    // Data that a finalizer waits for outlives any area.
    let finalized = measured(facts, &FINALIZED).is_some_and(|ns| facts.share(ns) >= FINALIZED_MIN);
    let rare = major.count > 0 && (major.count as f64) < left * OLD_FOR_EACH_LEFT;
    let copying = scaled(minor.copying_ns.saturating_add(major.copying_ns), dead, copied);
    (!finalized && !rare).then(|| minor.waited_ns.saturating_add(major.waited_ns).saturating_add(copying))
}

/// The area that leaves a few collections per second; `None` if that is less than twice the current size.
pub(super) fn larger(facts: &Facts<'_>) -> Option<u64> {
    let nursery = facts.context.nursery_bytes?;
    let wanted = (nursery as f64 * facts.minors_per_second() / PER_SECOND_AIM).min(NURSERY_MAX as f64) as u64;
    let larger = wanted.max(MIB).checked_next_power_of_two()?.min(NURSERY_MAX).min(affordable(facts));
    (larger >= nursery.saturating_mul(2)).then_some(larger)
}

/// The largest power of two that the memory limit allows for each lane.
fn affordable(facts: &Facts<'_>) -> u64 {
    let limit = facts.context.groups.iter().filter_map(|group| group.memory_limit_bytes).min();
    let each = limit.map_or(u64::MAX, |limit| limit / MEMORY_SHARE_MAX / facts.lanes.max(1) as u64);
    each.checked_ilog2().map_or(0, |exponent| 1 << exponent)
}

/// The option that sets it.
pub(super) fn flag(bytes: u64) -> Setting {
    Setting::option(format!("-A{}m", bytes / MIB))
}

fn seen(facts: &Facts<'_>, nursery: u64, allocated: f64, fixed: &Fixed) -> [Evidence; 2] {
    let minor = &facts.collections.minor;
    let count = minor.count.max(1);
    let copied = |share| {
        format!(
            "copied {} on average, {} of what had been allocated, and ",
            bytes(minor.copied_bytes / count),
            percent(share)
        )
    };
    let copied = copied_share(facts).map(copied).unwrap_or_default();
    [
        facts.overall(format!(
            "{} of the young, {} a second, and {} of the old; the program allocates {} a second into areas of {}.",
            counted(minor.count, "collection", "collections"),
            rate(facts.minors_per_second()),
            facts.collections.major.count,
            bytes((allocated * 1e9 / facts.span_ns.max(1) as f64) as u64),
            bytes(nursery)
        )),
        facts.overall(format!(
            "Each of the young {copied}cost {} to stop, collect and go on, without copying.",
            duration(fixed.ns() / count)
        )),
    ]
}

/// A modest area first.
fn remedies(facts: &Facts<'_>, nursery: u64, larger: u64) -> Vec<Remedy> {
    let modest = larger.min(NURSERY_MODEST.max(nursery.saturating_mul(2)));
    let sizes: &[u64] = if modest < larger { &[modest, larger] } else { &[larger] };
    let each = sizes.iter().enumerate().map(|(number, size)| remedy(facts, nursery, *size, number == 0));
    each.chain([tune()]).collect()
}

fn remedy(facts: &Facts<'_>, nursery: u64, size: u64, first: bool) -> Remedy {
    let text = format!(
        "{} each capability a larger allocation area: {} each, {} for all; at this rate of allocation {} collections a \
         second would remain. A larger area fits no cache, which slows some programs down: measure.",
        if first { "Give" } else { "give" },
        bytes(size),
        bytes(size.saturating_mul(facts.lanes.max(1) as u64)),
        rate(facts.minors_per_second() * nursery as f64 / size as f64),
    );
    let remedy = if first { Remedy::new(text) } else { Remedy::or(text) };
    remedy.set(flag(size)).falls(PAUSED).shows("collections a second and the time in pauses fall")
}

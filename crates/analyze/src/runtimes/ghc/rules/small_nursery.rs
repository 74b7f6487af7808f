//! `small-nursery`: the allocation area is so small that the world stops all the time.
//!
//! Cost: what the collections of the young took to stop, to collect and to go on, without
//! copying, and of each no more than such a one takes (see `collections`): what goes
//! beyond has another name. A collection is due whenever a lane has used up its area, however little
//! of it is alive, so twice the area is half the collections. Held back where much is
//! alive (then each collection has work to do and a larger area gives it more), where
//! allocation does not explain the collections, and where the area is large already.

use crate::findings::{Cost, Facts, Need, PAUSED, Rule, Verdict};
use rtscope_model::units::{bytes, duration, percent};
use rtscope_model::{Evidence, Remedy, Setting};

/// Collections a second: at fewer, 5 % of the wall clock are collections of half a
/// millisecond, which do not come from stopping and starting.
const PER_SECOND_MIN: f64 = 100.0;
/// Bytes copied, of those allocated. What survives one collection is copied again in the
/// next, so at more than this copying is the larger part of the work.
const SURVIVAL_MAX: f64 = 0.10;
/// Collections a second to aim at.
const PER_SECOND_AIM: f64 = 8.0;
/// Beyond this an area saves little and its memory is not in any cache.
const NURSERY_MAX: u64 = 64 << 20;
/// Share of a memory limit that all areas together may take.
const MEMORY_SHARE_MAX: u64 = 5;
const MIB: u64 = 1 << 20;

pub static RULE: Rule = Rule {
    id: "small-nursery",
    explains: &["collecting", "standing-still"],
    order: 150,
    needs: Some(&SIZES),
    yields_to: &["remembered-set", "stacks", "weak-pointers", "explicit-gc"],
    share_min: 0.05,
    also: ", from 100 collections a second",
    why: "fewer do not come from a small area",
    check,
    ..Rule::BLANK
};

static SIZES: Need = Need { name: "events of the heap", optional: false, missing: no_sizes };

fn no_sizes(facts: &Facts<'_>) -> Option<String> {
    let known = facts.context.nursery_bytes.is_some() && facts.allocated_bytes().is_some();
    (!known).then(|| "the log has no events of the heap (class g).".to_owned())
}

fn check(facts: &Facts<'_>) -> Option<Verdict> {
    let minor = &facts.collections.minor;
    let nursery = facts.context.nursery_bytes?;
    let allocated = facts.allocated_bytes()?;
    let due = minor.count as f64 * nursery as f64 / 2.0 <= allocated;
    let little = minor.copied_bytes as f64 <= allocated * SURVIVAL_MAX;
    if !due || !little || facts.minors_per_second() < PER_SECOND_MIN {
        return None;
    }
    let larger = larger(facts)?;
    let what = format!(
        "The allocation area of {} is used up {:.0} times a second: stopping the world for collections that copy {} \
         each took ",
        bytes(nursery),
        facts.minors_per_second(),
        bytes(minor.copied_bytes / minor.count.max(1))
    );
    let verdict = Verdict::new(Cost::Time(minor.fixed_ns), facts.sure_with_kernel(), what);
    Some(verdict.seen(seen(facts, nursery, allocated)).remedies([remedy(facts, nursery, larger)]))
}

/// The area that leaves some collections a second; `None` where that is not at least
/// twice what it is.
pub(super) fn larger(facts: &Facts<'_>) -> Option<u64> {
    let nursery = facts.context.nursery_bytes?;
    let wanted = (nursery as f64 * facts.minors_per_second() / PER_SECOND_AIM).min(NURSERY_MAX as f64) as u64;
    let larger = wanted.max(MIB).checked_next_power_of_two()?.min(NURSERY_MAX).min(affordable(facts));
    (larger >= nursery.saturating_mul(2)).then_some(larger)
}

/// The largest power of two that the memory limit leaves to each lane.
fn affordable(facts: &Facts<'_>) -> u64 {
    let limit = facts.context.groups.iter().filter_map(|group| group.memory_limit_bytes).min();
    let each = limit.map_or(u64::MAX, |limit| limit / MEMORY_SHARE_MAX / facts.lanes.max(1) as u64);
    each.checked_ilog2().map_or(0, |exponent| 1 << exponent)
}

/// What sets it.
pub(super) fn flag(bytes: u64) -> Setting {
    Setting::option(format!("-A{}m", bytes / MIB))
}

fn seen(facts: &Facts<'_>, nursery: u64, allocated: f64) -> [Evidence; 2] {
    let minor = &facts.collections.minor;
    let count = minor.count.max(1);
    [
        facts.overall(format!(
            "{} collections of the young, {:.0} a second; the program allocates {} a second into areas of {}.",
            minor.count,
            facts.minors_per_second(),
            bytes((allocated * 1e9 / facts.span_ns.max(1) as f64) as u64),
            bytes(nursery)
        )),
        facts.overall(format!(
            "Each copied {} on average, {} of what had been allocated, and cost {} to stop, collect and go on.",
            bytes(minor.copied_bytes / count),
            percent(minor.copied_bytes as f64 / allocated.max(1.0)),
            duration(minor.fixed_ns / count)
        )),
    ]
}

fn remedy(facts: &Facts<'_>, nursery: u64, larger: u64) -> Remedy {
    let text = format!(
        "Give each capability a larger allocation area: {} each, {} for all; at this rate of allocation about {:.0} \
         collections a second are left. It is rounded up to a power of two and goes up to {}, or a fifth of the \
         memory limit for all: more saves little. A larger area fits no cache, which costs some programs a few \
         per cent: measure.",
        bytes(larger),
        bytes(larger.saturating_mul(facts.lanes.max(1) as u64)),
        (facts.minors_per_second() * nursery as f64 / larger as f64).max(1.0),
        bytes(NURSERY_MAX)
    );
    Remedy::new(text).set(flag(larger)).falls(PAUSED).shows("collections a second and the time in pauses fall")
}

//! `memory-limit`: the old generation is collected because the heap is near its limit (`-M`).
//!
//! Without a limit the old generation is collected when it has grown to twice its live data, by copying. From 30 % of
//! a limit on, the runtime compacts in place, which takes twice as long; and if the rest of the limit is less than
//! the live data, the next collection comes correspondingly earlier. Cost: the part of these collections that a
//! higher limit would avoid, without the time in which threads were kept off their CPUs.

use super::seen::{ALLOCATION, triggers};
use crate::findings::{COLLECT, Cost, Facts, Rule, Verdict};
use rtscope_model::Remedy;
use rtscope_model::units::{bytes, counted, duration, rate};

/// Memory that a copied heap needs, as a multiple of its live data: it grows to twice that first.
const NEEDS: u64 = 4;
/// The share of the limit from which the runtime compacts, and the time of copying as a share of compacting.
const COMPACTS_FROM: f64 = 0.3;
const COPYING: f64 = 0.5;
/// If less can be avoided, other things matter more.
const SPARED_MIN: f64 = 0.5;
/// Fewer collections are not caused by a nearby limit.
const COUNT_MIN: u64 = 5;
const MIB: u64 = 1 << 20;

pub static RULE: Rule = Rule {
    id: "memory-limit",
    explains: &["collecting"],
    order: 115,
    needs: Some(&ALLOCATION),
    yields_to: &["explicit-gc", "idle-gc"],
    share_min: 0.05,
    also: ", where a higher limit spares half of such collections",
    why: "collecting now and then costs every program some",
    check,
    ..Rule::BLANK
};

fn check(facts: &Facts<'_>) -> Option<Verdict> {
    let limit = triggers(facts).limit_bytes?;
    // Another collector was requested; it ignores the limit.
    let requested = facts.context.runtime.own_args().iter().any(|arg| ["-c", "-xn", "--nonmoving-gc"].contains(arg));
    if requested {
        return None;
    }
    let live = facts.lines.levels(facts.end).live_bytes?;
    let major = &facts.collections.major;
    let spared = spared(limit as f64, live.mean);
    if spared < SPARED_MIN || major.count < COUNT_MIN {
        return None;
    }
    let (alive, cost_ns) = (live.mean as u64, (major.collect_ns as f64 * spared) as u64);
    let young = facts.context.nursery_bytes.unwrap_or(0).saturating_mul(facts.lanes.max(1) as u64);
    let what = format!(
        "The heap may take {} (-M), and {} are alive: because of that, {} of the old generation took ",
        bytes(limit),
        bytes(alive),
        counted(major.count, "collection", "collections")
    );
    let needed = live.max.saturating_mul(NEEDS).saturating_add(young);
    let seen = facts.overall(format!(
        "{} of the old generation a second, {} each; up to {} were alive after one. With {} it could be copied.",
        rate(major.count as f64 * 1e9 / facts.span_ns.max(1) as f64),
        duration(major.collect_ns / major.count),
        bytes(live.max),
        bytes(needed)
    ));
    let raise = needed.div_ceil(MIB);
    let remedies = [
        Remedy::new(format!("Raise the limit, where that much memory is there: {}.", bytes(raise * MIB)))
            .option(format!("-M{raise}m"))
            .falls(COLLECT),
        Remedy::or("keep less alive: below 30 % of the limit the runtime copies.").falls(COLLECT),
    ];
    let verdict = Verdict::new(Cost::Time(cost_ns), facts.sure_with_kernel(), what).then(" more than they had to.");
    Some(verdict.covering(&["long-major-gc", "copy-reserve"]).seen([seen]).remedies(remedies))
}

/// The share of the old generation's collection time that a higher limit would avoid.
fn spared(limit: f64, alive: f64) -> f64 {
    let compacts = alive > limit * COMPACTS_FROM;
    // It may grow by the amount of live data: when compacted, within the rest of the limit, else within the rest of
    // its half.
    let room = if compacts { limit } else { limit / 2.0 };
    let earlier = ((room - alive).max(0.0) / alive.max(1.0)).min(1.0);
    1.0 - earlier * if compacts { COPYING } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::spared;

    #[test]
    fn a_limit_costs_what_compacting_does_and_what_comes_earlier() {
        assert_eq!(spared(1_000.0, 200.0), 0.0, "copied as it would be");
        assert_eq!(spared(1_000.0, 400.0), 0.5, "compacted");
        assert_eq!(spared(1_000.0, 800.0), 0.875, "a quarter of the room is left");
        assert_eq!(spared(100.0, 800.0), 1.0);
    }
}

//! `memory-limit`: collections of the old generation come because the heap is near its limit (`-M`).
//!
//! Without a limit the old generation is collected when it has grown to twice what was alive, by copying. From 30 % of a
//! limit on the runtime compacts in its place, which takes twice as long, and where the rest of the limit is less than what
//! is alive, the next collection comes the earlier. Cost: the part of these collections that a higher limit would spare,
//! without what threads were kept off their CPUs.

use super::seen::{ALLOCATION, triggers};
use crate::findings::{COLLECT, Cost, Facts, Rule, Verdict};
use rtscope_model::Remedy;
use rtscope_model::units::{bytes, counted, duration, rate};

/// What the heap needs where it is copied, of what is alive: it grows to twice that first.
const NEEDS: u64 = 4;
/// From this share of the limit on the runtime compacts, and how long copying takes, of that.
const COMPACTS_FROM: f64 = 0.3;
const COPYING: f64 = 0.5;
/// With less to be spared, other things count more.
const SPARED_MIN: f64 = 0.5;
/// Fewer collections do not come from a limit that is near.
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
    // Asked for, another collector works whatever the limit is.
    let asked = facts.context.runtime.own_args().iter().any(|arg| ["-c", "-xn", "--nonmoving-gc"].contains(arg));
    if asked {
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

/// Of the time of collections of the old generation, what a higher limit would spare.
fn spared(limit: f64, alive: f64) -> f64 {
    let compacts = alive > limit * COMPACTS_FROM;
    // It may grow by what is alive; compacted, by the rest of the limit, else by the rest of its half.
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

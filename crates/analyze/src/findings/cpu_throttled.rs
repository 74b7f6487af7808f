//! `cpu-throttled`: a CPU quota stopped the program's threads.
//!
//! Cost: wall-clock time in which at least one thread of the program was runnable and a quota kept it off the CPU,
//! inside and outside pauses, each moment once. Without kernel events: the larger of the pause waits that the
//! counters explain and the throttled time divided by the CPUs it was summed over, which is a lower bound. A quota
//! that never runs out costs nothing, so a hundredth of the wall clock is enough to report.

use super::needs::log_alone;
use super::spelled::limit;
use super::{Cost, Facts, Need, Rule, STOP, Verdict, evidence, longest};
use crate::results::Throttled;
use rtscope_model::manifest::Group;
use rtscope_model::units::{cpus, duration};
use rtscope_model::{Cause, Confidence, Evidence, Figure, GroupId, Remedy, Setting};

pub(super) static RULE: Rule = Rule {
    id: "cpu-throttled",
    explains: &["standing-still", "no-cpu"],
    order: 10,
    needs: Some(&Need { name: "control groups and their counters", optional: false, missing: no_quotas }),
    share_min: 0.01,
    why: "a quota that does not run out costs exactly nothing",
    check,
    ..Rule::BLANK
};

/// Not the time to stop: even a single lane is mostly stopped between the request and the start of a collection, as
/// the truth suite showed.
const PRODUCTIVITY: Figure =
    Figure { path: "productivity.wall", shows: "the program runs for more of the time that it could" };
const THROTTLED: Figure = Figure { shows: "the throttled periods stop growing and this finding is gone", ..STOP };

fn no_quotas(facts: &Facts<'_>) -> Option<String> {
    let why = match (&facts.context.kernel, &facts.context.groups[..]) {
        (None, _) => return Some(log_alone(facts, "quotas")),
        (Some(_), []) => "no control group over the program could be seen.",
        _ if facts.quotas.is_empty() && facts.context.quota_cpus().is_some() => {
            "a quota is set, but its counters were not recorded."
        }
        _ => return None,
    };
    Some(why.to_owned())
}

fn check(facts: &Facts<'_>) -> Option<Verdict> {
    let total = worst_group(facts)?;
    let paused = facts.paused_ns(Cause::Throttled);
    let (cost_ns, confidence, at_least) = match facts.held {
        Some(held) => (held.quota.ns(), Confidence::High, ""),
        None => (paused.max(counted_ns(facts, total)), Confidence::Medium, "at least "),
    };
    let group = facts.context.groups.get(usize::from(total.group));
    let quota = match group {
        Some(group @ Group { quota_cpus: Some(quota), .. }) => limit::named(group, *quota),
        Some(group) => format!("A CPU quota ({})", group.path),
        None => "A CPU quota".to_owned(),
    };
    let what = format!("{quota} held the program off its CPUs for {at_least}");
    let verdict = Verdict::new(Cost::Time(cost_ns), confidence, what)
        .then(compared_with_collections(facts))
        .seen(seen(facts, total, paused))
        .remedies(remedies(facts, GroupId(total.group), group.and_then(|group| group.quota_cpus)));
    // It ran out in at least half of its periods.
    Some(verdict.first(total.throttled.saturating_mul(2) >= total.periods))
}

/// For comparison: what collections, and waiting for them, took.
fn compared_with_collections(facts: &Facts<'_>) -> String {
    let (stop, collect) = (facts.sums.stop_sum_ns(), facts.sums.collect_sum_ns);
    // What collections took has the quota in it, too: shorter than the wait to stop, it shows how little they need.
    if collect == 0 || stop <= collect {
        return ".".to_owned();
    }
    format!(
        "; waiting for all to stop cost {}, {:.1} times the collections themselves ({}).",
        duration(stop),
        stop as f64 / collect as f64,
        duration(collect)
    )
}

/// The group that was throttled longest.
fn worst_group<'a>(facts: &'a Facts<'_>) -> Option<&'a Throttled> {
    let throttled = facts.quotas.iter().filter(|total| total.throttled > 0 || total.throttled_ns > 0);
    throttled.max_by_key(|total| total.throttled_ns)
}

/// Throttled time is summed over the run queues of all CPUs.
fn counted_ns(facts: &Facts<'_>, total: &Throttled) -> u64 {
    let queues = facts.context.cpus_allowed.len().max(1) as u64;
    (total.throttled_ns / queues).min(facts.span_ns)
}

fn seen(facts: &Facts<'_>, total: &Throttled, paused: u64) -> Vec<Evidence> {
    let mut seen = vec![facts.overall(format!(
        "It ran out in {} of {} periods; its counter of throttled time grew by {} (summed over CPUs).",
        total.throttled,
        total.periods,
        duration(total.throttled_ns)
    ))];
    seen.extend(longest(facts, Cause::Throttled, " because of the quota"));
    if let Some(held) = facts.held {
        let inside = held.quota.in_pauses_ns;
        let text = format!(
            "{} of it fell into pauses, {} outside, where it delays the program's own work; pauses lasted {} longer because \
             of it.",
            duration(inside),
            duration(held.quota.ns().saturating_sub(inside)),
            duration(paused)
        );
        seen.push(evidence(text, held.quota.pieces.longest));
        let neighbour = &held.quota_with_neighbour;
        if neighbour.ns() * 20 > held.quota.ns() {
            let text = format!(
                "Another process ran on the CPU during {} of it; the quota would have stopped the program without it, \
                 too.",
                duration(neighbour.ns())
            );
            seen.push(evidence(text, neighbour.pieces.longest));
        }
    }
    seen
}

fn remedies(facts: &Facts<'_>, group: GroupId, quota: Option<f64>) -> Vec<Remedy> {
    let (lanes, (one, noun)) = (facts.lanes, facts.runtime.lane);
    if lanes <= 1 {
        let wanted = quota.map_or(1.0, |quota| (quota * 2.0).clamp(1.0, f64::from(u16::MAX)));
        let limit = Setting::CpuLimit { group, cpus: wanted };
        // Without a runtime's log it is not known how many there are.
        if lanes == 0 {
            let fewer =
                "Start it with the flags that fit the limit: more threads at work than it feeds stop each other.";
            let raise = Remedy::or("raise the CPU limit.").set(limit).falls(THROTTLED);
            return vec![Remedy::new(fewer).set(Setting::rtscope(["run"])).falls(THROTTLED), raise];
        }
        let text =
            format!("Raise the CPU limit: one {one} alone uses more than it gives, and no flag makes it do with less.");
        return vec![Remedy::new(text).set(limit).falls(THROTTLED)];
    }
    let mut remedies = Vec::new();
    let fits = quota.map_or(1, |quota| quota.floor().max(1.0) as usize).min(lanes);
    if fits < lanes {
        let what = quota.map_or("the quota".to_owned(), |quota| format!("{} CPUs", cpus(quota)));
        let text = format!(
            "Use no more {noun} than the quota feeds: {lanes} {noun} share {what}, and each collection has to wait for \
             the one that is throttled."
        );
        remedies.push(Remedy::new(text).set(facts.runtime.lanes_flag(fits)).rises(PRODUCTIVITY));
    }
    let text = format!("raise the CPU limit to the {lanes} CPUs that {lanes} {noun} use.");
    remedies.push(Remedy::or(text).set(Setting::CpuLimit { group, cpus: lanes as f64 }).falls(THROTTLED));
    remedies.extend(facts.runtime.sequential_flag().map(|flag| {
        Remedy::new("If both must stay, collect with one thread, so that collections use less of the quota.")
            .set(flag)
            .falls(STOP)
            .verify("Record again and compare the sum of collection and stopping times.")
    }));
    remedies
}

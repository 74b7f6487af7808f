//! `cpu-throttled`: a CPU quota stopped the program's threads.
//!
//! Cost: wall-clock time in which at least one thread of the program wanted a
//! CPU and a quota kept it off, inside and outside of pauses, each moment once.
//! Without kernel events: the larger of the pause waits that the counters
//! explain and the throttled time divided by the CPUs it was summed over, which
//! is a lower bound. A quota that never runs out costs nothing, so a hundredth
//! of the wall clock is enough to report.

use super::{Cost, Facts, Rule, STOP, Verdict, evidence, log_alone, longest};
use crate::kernel::samples::QuotaTotal;
use crate::results::BlamedPause;
use rtscope_model::manifest::Group;
use rtscope_model::units::{cpus, duration, percent};
use rtscope_model::{Cause, Confidence, Evidence, GroupId, Metric, Names, Remedy};

const SHARE_MIN: f64 = 0.01;
pub(super) const ID: &str = "cpu-throttled";

/// Whether the quota ran out in at least half of its periods.
pub(super) fn limits(facts: &Facts<'_>) -> bool {
    worst_group(facts).is_some_and(|(_, total)| total.throttled.saturating_mul(2) >= total.periods)
}

pub(super) struct CpuThrottled;

impl Rule for CpuThrottled {
    fn id(&self) -> &'static str {
        ID
    }

    fn blind(&self, facts: &Facts<'_>) -> Option<String> {
        if facts.context.kernel.is_none() {
            return Some(log_alone(facts, "quotas"));
        }
        let why = if facts.context.groups.is_empty() {
            "no control group over the program could be seen."
        } else if facts.quotas.is_empty() && facts.context.quota_cpus().is_some() {
            "a quota is set, but its counters were not recorded."
        } else {
            return None;
        };
        Some(why.to_owned())
    }

    fn check(&self, facts: &Facts<'_>) -> Option<Verdict> {
        let (group, total) = worst_group(facts)?;
        let paused = facts.paused_ns(Cause::Throttled);
        let (cost_ns, confidence) = match facts.held {
            Some(held) => (held.quota.ns(), Confidence::High),
            None => (paused.max(counted_ns(facts, &total)), Confidence::Medium),
        };
        if facts.share(cost_ns) < SHARE_MIN {
            return None;
        }
        Some(Verdict {
            confidence,
            cost: Cost::Time(cost_ns),
            evidence: seen(facts, group, &total, paused),
            remedies: remedies(facts, group),
        })
    }

    fn summary(&self, facts: &Facts<'_>, verdict: &Verdict) -> String {
        let quota = match worst_group(facts).and_then(|(group, _)| facts.context.groups.get(usize::from(group.0))) {
            Some(Group { quota_cpus: Some(quota), path, quota_path, .. }) => {
                format!("The CPU quota of {} CPUs ({})", cpus(*quota), quota_path.as_ref().unwrap_or(path))
            }
            Some(group) => format!("A CPU quota ({})", group.path),
            None => "A CPU quota".to_owned(),
        };
        let at_least = if facts.held.is_some() { "" } else { "at least " };
        let mut claim = format!(
            "{quota} held the program off its CPUs for {at_least}{} of {} ({})",
            duration(verdict.cost_ns()),
            duration(facts.span_ns),
            percent(facts.share(verdict.cost_ns()))
        );
        let (stop, collect) = (facts.sums.stop_sum_ns(), facts.sums.collect_sum_ns());
        if collect > 0 && stop > collect {
            let times = stop as f64 / collect as f64;
            claim += &format!(
                "; waiting for lanes to stop cost {}, {times:.1} times the collections themselves ({})",
                duration(stop),
                duration(collect)
            );
        } else if collect > 0 {
            claim += &format!("; the collections themselves took {}", duration(collect));
        }
        claim + "."
    }

    fn instance(&self, blamed: &BlamedPause, _: &Names) -> Option<String> {
        let throttled = blamed.causes.iter().filter(|piece| piece.cause == Cause::Throttled);
        let ns: u64 = throttled.clone().map(|piece| piece.ns()).sum();
        let longest = throttled.max_by_key(|piece| piece.ns())?;
        let lane = longest.lane.map_or(String::new(), |lane| format!(" for lane {lane}"));
        let neighbour = if longest.neighbour { "; another process ran on its CPU meanwhile" } else { "" };
        Some(format!("The world waited {}{lane} while a CPU quota was used up{neighbour}.", duration(ns)))
    }
}

/// The group that was throttled longest.
fn worst_group(facts: &Facts<'_>) -> Option<(GroupId, QuotaTotal)> {
    let throttled = facts.quotas.iter().filter(|(_, total)| total.throttled > 0 || total.throttled_ns > 0);
    throttled.max_by_key(|(_, total)| total.throttled_ns).copied()
}

/// Throttled time is summed over the run queues of all CPUs.
fn counted_ns(facts: &Facts<'_>, total: &QuotaTotal) -> u64 {
    let queues = facts.context.cpus_allowed.len().max(1) as u64;
    (total.throttled_ns / queues).min(facts.span_ns)
}

fn seen(facts: &Facts<'_>, group: GroupId, total: &QuotaTotal, paused: u64) -> Vec<Evidence> {
    let path = facts.context.groups.get(usize::from(group.0)).map_or("", |group| group.path.as_str());
    let mut seen = vec![evidence(
        format!(
            "The quota of {path} ran out in {} of {} periods; its counter of throttled time grew by {} (summed over CPUs).",
            total.throttled,
            total.periods,
            duration(total.throttled_ns)
        ),
        Some((facts.started, facts.end)),
    )];
    seen.extend(longest(facts, Cause::Throttled, " because of the quota"));
    if let Some(held) = facts.held {
        let inside = held.quota.in_pauses_ns();
        seen.push(evidence(
            format!(
                "{} of it fell while the world stood still, {} outside, where it delays the program's own work; lanes were \
                 waited for {} because of it, release included.",
                duration(inside),
                duration(held.quota.ns().saturating_sub(inside)),
                duration(paused)
            ),
            held.quota.longest,
        ));
        if held.quota_with_neighbour.ns() * 20 > held.quota.ns() {
            seen.push(evidence(
                format!(
                    "Another process ran on the CPU during {} of it; the quota would have stopped the program without it, too.",
                    duration(held.quota_with_neighbour.ns())
                ),
                held.quota_with_neighbour.longest,
            ));
        }
    }
    seen
}

fn remedies(facts: &Facts<'_>, group: GroupId) -> Vec<Remedy> {
    let quota = facts.context.groups.get(usize::from(group.0)).and_then(|group| group.quota_cpus);
    let verify = "Record again: the throttled periods stop growing and this finding is gone.";
    let noun = facts.runtime.lane.1;
    let mut remedies = Vec::new();
    if facts.lanes > 1 {
        let fits = quota.map_or(1, |quota| quota.floor().max(1.0) as usize).min(facts.lanes);
        if fits < facts.lanes {
            let what = quota.map_or("the quota".to_owned(), |quota| format!("{} CPUs", cpus(quota)));
            remedies.push(Remedy {
                text: format!(
                    "Use no more {noun} than the quota feeds: {} {noun} share {what}, and each collection has to wait for the \
                     one that is throttled.",
                    facts.lanes
                ),
                flag: facts.runtime.lanes_flag(fits),
                verify: "Record again: more of the busy lane time is the program's own.".into(),
                // Not the time to stop: a single lane, too, is mostly stopped between the
                // request and the start of a collection, as the truth suite showed.
                metric: Metric::rises("productivity.wall"),
            });
        }
        let lanes = facts.lanes;
        remedies.push(Remedy {
            text: format!("Or raise the CPU limit to the {lanes} CPUs that {lanes} {noun} use."),
            flag: Some(limit(facts, group, lanes as f64)),
            verify: verify.into(),
            metric: Metric::falls(STOP),
        });
        remedies.extend(facts.runtime.sequential_flag().map(|flag| Remedy {
            text: "If both must stay, collect with one thread, so that collections use less of the quota.".into(),
            flag: Some(flag),
            verify: "Record again and compare the sum of collection and stopping times.".into(),
            metric: Metric::falls(STOP),
        }));
    } else {
        let wanted = quota.map_or(1.0, |quota| (quota * 2.0).clamp(1.0, f64::from(u16::MAX)));
        remedies.push(Remedy {
            text: "Raise the CPU limit.".into(),
            flag: Some(limit(facts, group, wanted)),
            verify: verify.into(),
            metric: Metric::falls(STOP),
        });
    }
    remedies
}

/// The setting that gives the group `wanted` CPUs.
fn limit(facts: &Facts<'_>, group: GroupId, wanted: f64) -> String {
    let Some(group) = facts.context.groups.get(usize::from(group.0)) else {
        return format!("cpu limit: {}", cpus(wanted));
    };
    let period_us = group.period_ns.unwrap_or(100_000_000) / 1_000;
    let quota_us = (wanted * period_us as f64) as u64;
    match (group.version, &group.quota_path) {
        (2, Some(path)) => format!("echo '{quota_us} {period_us}' > {path}"),
        (_, Some(path)) => format!("echo {quota_us} > {path}"),
        (_, None) => format!("cpu limit: {}", cpus(wanted)),
    }
}

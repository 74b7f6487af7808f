//! `idle-domain`: a domain without work is woken for every collection.
//!
//! A domain that waits (in `Domain.join`, on a condition, a lock, input) takes part in every collection through its
//! backup thread, which has to be woken, to stop and to leave. Cost: the time that collections waited for such a
//! domain when it was the last to stop or to leave. If the idle domains alone make the domains too many for the CPUs,
//! a busy domain is late because an idle one's thread had its CPU: then that counts, too. A fiftieth of the wall
//! clock is enough: an idle domain gives nothing in return.

use super::seen::sections;
use super::small_minor_heap;
use crate::findings::oversubscribed::more_lanes_than_cpus;
use crate::findings::{Cost, Facts, PAUSED, Rule, Verdict, evidence};
use crate::runtimes::ocaml::lane_costs::One;
use rtscope_model::units::{counted, duration};
use rtscope_model::{Evidence, LaneId, Remedy};

/// A domain that is idle in a smaller share of its collections has its own work.
const IDLE_SHARE_MIN: f64 = 0.8;
/// With fewer collections nothing is reported.
const PAUSES_MIN: u64 = 20;

pub static RULE: Rule = Rule {
    id: "idle-domain",
    explains: &["collecting", "standing-still", "no-cpu"],
    order: 40,
    yields_to: &["cpu-throttled", "preempted", "short-lived-domains", "oversubscribed", "unsafe-foreign-call"],
    share_min: 0.02,
    also: ", of domains that are idle in four of five collections, from twenty on",
    why: "an idle domain gives nothing for it",
    check,
    ..Rule::BLANK
};

fn check(facts: &Facts<'_>) -> Option<Verdict> {
    let idle = idle(facts);
    let waited_ns: u64 = idle.iter().map(|(_, one)| one.idle_ns).sum();
    let crowding = crowding(facts);
    let sibling_ns = facts.held.filter(|_| crowding).map_or(0, |held| held.sibling.in_pauses_ns);
    let late_ns = if crowding { sections(facts).lane_costs.late.ns } else { 0 };
    let queued_ns = sibling_ns.saturating_add(late_ns);
    let cost = Cost::Time(waited_ns.max(queued_ns).min(facts.span_ns));
    let mut seen: Vec<_> = idle.iter().map(took_part).collect();
    if sibling_ns > 0 {
        let text = format!(
            "{} on {} CPUs, of which {}: meanwhile busy ones competed for a CPU with the program's own threads during {}.",
            counted(facts.lanes as u64, "domain", "domains"),
            more_lanes_than_cpus(facts).unwrap_or(0),
            counted(idle.len() as u64, "is idle", "are idle"),
            duration(queued_ns)
        );
        seen.push(evidence(text, None));
    }
    let subject = match &idle[..] {
        [(lane, _)] => format!("Domain {lane} had nothing to do and was"),
        all => format!("{} had nothing to do and were", counted(all.len() as u64, "domain", "domains")),
    };
    let collections = counted(idle.iter().map(|(_, one)| one.idle).max().unwrap_or(0), "collection", "collections");
    let what = format!("{subject} woken for {collections}, which waited for that ");
    Some(Verdict::new(cost, facts.sure_with_kernel(), what).seen(seen).remedies(remedies(facts, &idle)))
}

fn took_part((lane, one): &(LaneId, &One)) -> Evidence {
    let text = format!(
        "Domain {lane} was idle in {} of its {} collections; they waited {} for it to stop or to leave, {} each.",
        one.idle,
        one.pauses,
        duration(one.idle_ns),
        duration(one.idle_ns / one.idle.max(1))
    );
    evidence(text, one.longest)
}

/// Whether the CPUs suffice for the busy domains, but not for all domains.
pub(super) fn crowding(facts: &Facts<'_>) -> bool {
    let busy = facts.lanes.saturating_sub(idle(facts).len());
    more_lanes_than_cpus(facts).is_some_and(|cpus| busy <= cpus)
}

/// Domains that are idle in nearly all collections, the most costly first.
fn idle<'a>(facts: &Facts<'a>) -> Vec<(LaneId, &'a One)> {
    let mostly = |one: &One| one.pauses >= PAUSES_MIN && one.idle as f64 >= one.pauses as f64 * IDLE_SHARE_MIN;
    let mut idle: Vec<_> = sections(facts).lane_costs.lanes().filter(|(_, one)| mostly(one)).collect();
    idle.sort_by_key(|(_, one)| std::cmp::Reverse(one.idle_ns));
    idle
}

fn remedies(facts: &Facts<'_>, idle: &[(LaneId, &One)]) -> Vec<Remedy> {
    let main = idle.iter().any(|(lane, _)| *lane == LaneId(0));
    let text = if main {
        "Let the main domain do a share of the work instead of waiting in `Domain.join`, and spawn one domain less."
    } else {
        "Spawn no domain that mostly waits: let a thread of a working domain (`Thread.create`) do what it does, or end \
         it while there is nothing to do."
    };
    let larger = small_minor_heap::larger(facts);
    [Remedy::new(text).falls(PAUSED)].into_iter().chain(larger.map(small_minor_heap::Larger::or_less_often)).collect()
}

//! `short-lived-domains`: a domain is started for each small piece of work, and its end stops all others.
//!
//! A domain that ends gives up its minor heap, so all minor heaps are emptied: a collection in which the world
//! stands still, whatever was allocated. Cost: the time of collections, in proportion to those that ends of domains
//! account for; this includes waiting until all had stopped and had resumed. Starting a thread comes on top and is
//! not counted.

use super::seen::sections;
use crate::findings::{Cost, Facts, PAUSED, Rule, Verdict};
use rtscope_model::Remedy;
use rtscope_model::units::{counted, duration};

/// Every program ends some domains.
const ENDED_MIN: u64 = 100;

pub static RULE: Rule = Rule {
    id: "short-lived-domains",
    explains: &["collecting", "standing-still"],
    order: 55,
    share_min: 0.05,
    also: ", of a hundred domains that ended",
    why: "every program ends the domains that it starts",
    check,
    ..Rule::BLANK
};

fn check(facts: &Facts<'_>) -> Option<Verdict> {
    let ended = &sections(facts).lives.ended;
    if ended.count < ENDED_MIN {
        return None;
    }
    let of_ends = (ended.count as f64 / facts.sums.count.max(1) as f64).min(1.0);
    let [waited_ns, collected_ns] =
        [facts.sums.waited_ns, facts.sums.collect_sum_ns].map(|ns| (ns as f64 * of_ends) as u64);
    let (domains, mean) = (counted(ended.count, "domain", "domains"), duration(ended.mean_ns()));
    let what = format!("{domains} lived for {mean} on average, and the end of each stopped all others, for ");
    let seen = format!(
        "{domains} ended, and the program stopped {}: a domain that ends has every minor heap emptied. That took {} for each.",
        counted(facts.sums.count, "time", "times"),
        duration(waited_ns.saturating_add(collected_ns) / ended.count)
    );
    let pool = Remedy::new(
        "Start as many domains as there are CPUs once, and give them work through a queue (domainslib, moonpool).",
    );
    let verdict = Verdict::new(Cost::Time(waited_ns.saturating_add(collected_ns)), facts.sure_with_kernel(), what);
    let verdict = verdict.explaining("standing-still", waited_ns).explaining("collecting", collected_ns);
    Some(verdict.seen([facts.overall(seen)]).remedies([pool.falls(PAUSED).shows("the program stops less often")]))
}

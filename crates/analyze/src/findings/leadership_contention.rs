//! `leadership-contention`: lanes with full young heaps wait for the one collection that
//! is open, and nothing kept its lanes off the CPU.
//!
//! Cost: wall-clock time in which some lane waited to lead, without the part that late
//! releases explain. A tenth of the wall clock is felt.

use super::late_release::inferred;
use super::{Cost, Facts, Rule, Runtimes, Verdict, evidence, late_release, small_minor_heap};
use crate::results::BlamedPause;
use rtscope_model::runtimes::OCAML;
use rtscope_model::units::{duration, percent};
use rtscope_model::{Confidence, Names};

const SHARE_MIN: f64 = 0.10;
/// Domains told by name.
const LANES_NAMED: usize = 4;

pub(super) struct LeadershipContention;

impl Rule for LeadershipContention {
    fn id(&self) -> &'static str {
        "leadership-contention"
    }

    fn runtimes(&self) -> Runtimes {
        Runtimes::Only(&OCAML)
    }

    fn blind(&self, _: &Facts<'_>) -> Option<String> {
        None
    }

    fn check(&self, facts: &Facts<'_>) -> Option<Verdict> {
        let cost_ns = facts.leadership.wall_ns().saturating_sub(facts.answers.late_release().ns);
        if facts.share(cost_ns) < SHARE_MIN {
            return None;
        }
        let mut lanes: Vec<_> = facts.leadership.lanes().collect();
        lanes.sort_by_key(|(_, waited)| std::cmp::Reverse(waited.ns));
        let one = |(lane, waited): &(_, crate::runtimes::ocaml::leadership::Waited)| {
            format!("domain {lane} {} in {} waits", duration(waited.ns), waited.count)
        };
        let told: Vec<_> = lanes.iter().take(LANES_NAMED).map(one).collect();
        let seen = vec![evidence(
            format!("To lead a collection waited {}{}.", told.join(", "), inferred(facts)),
            facts.leadership.longest().map(|(_, from, to)| (from, to)),
        )];
        let sure = if facts.leadership.inferred() { Confidence::Low } else { Confidence::Medium };
        let remedies =
            small_minor_heap::remedy_crowded(facts, "Collect less often: give each domain a larger minor heap");
        Some(Verdict {
            confidence: sure,
            cost: Cost::Time(cost_ns),
            evidence: seen,
            remedies: remedies.into_iter().collect(),
        })
    }

    fn summary(&self, facts: &Facts<'_>, verdict: &Verdict) -> String {
        format!(
            "Domains whose minor heap was full waited for another collection to end before they could begin theirs, for {} of {} \
             ({}).",
            duration(verdict.cost_ns()),
            duration(facts.span_ns),
            percent(facts.share(verdict.cost_ns()))
        )
    }

    fn yields_to(&self) -> &'static [&'static str] {
        &[
            late_release::ID,
            "idle-domain",
            "cpu-throttled",
            "preempted",
            "oversubscribed",
            "unsafe-foreign-call",
            "fork-pause",
        ]
    }

    fn instance(&self, _: &BlamedPause, _: &Names) -> Option<String> {
        None
    }
}

//! `idle-gc`: major collections that the runtime starts because the program has been
//! idle for a while (`-I`, 0.3 s).
//!
//! Cost: these pauses on the wall clock, each from its request until the last lane is
//! back. Nothing is lost while nothing is asked of the program, but whatever comes in
//! meanwhile waits, and the CPU time is spent again after each burst of work. A
//! hundredth of the wall clock in at least three of them is more than housekeeping.

use super::{Cost, Facts, PAUSED, Rule, Runtimes, Verdict, evidence};
use crate::results::BlamedPause;
use rtscope_model::runtimes::GHC;
use rtscope_model::units::{bytes, duration, percent};
use rtscope_model::{Confidence, Metric, Names, Remedy};

const COUNT_MIN: u64 = 3;
const SHARE_MIN: f64 = 0.01;

pub(super) struct IdleGc;

impl Rule for IdleGc {
    fn id(&self) -> &'static str {
        "idle-gc"
    }

    fn runtimes(&self) -> Runtimes {
        Runtimes::Only(&GHC)
    }

    fn blind(&self, facts: &Facts<'_>) -> Option<String> {
        super::explicit_gc::blind_to_allocation(facts)
    }

    fn check(&self, facts: &Facts<'_>) -> Option<Verdict> {
        let idle = facts.triggers.idle();
        if idle.count < COUNT_MIN || facts.share(idle.ns) < SHARE_MIN {
            return None;
        }
        let delay = duration(facts.triggers.idle_delay_ns().unwrap_or_default());
        let mut seen = vec![evidence(
            format!(
                "{} major collections came when no thread of the program had done anything for {delay} (+RTS -I); it had \
                 allocated {} since the collection before, on average.",
                idle.count,
                bytes(idle.mean_allocated_bytes())
            ),
            Some((facts.started, facts.end)),
        )];
        let live = facts.triggers.live_bytes_max();
        let through =
            if live > 0 { format!("; each goes through the live data, up to {}", bytes(live)) } else { String::new() };
        let text =
            format!("The longest took {}, {} on average{through}.", duration(idle.ns_max()), duration(idle.mean_ns()));
        seen.push(evidence(text, idle.longest));
        seen.extend(facts.held.map(|_| {
            let text = match idle.came_in {
                0 => {
                    format!("Nothing came in during them this time; what does waits up to {}.", duration(idle.ns_max()))
                }
                count => format!(
                    "During {count} of them something woke the program and had to wait, up to {}.",
                    duration(idle.waited_ns_max)
                ),
            };
            evidence(text, None)
        }));
        let confidence = if idle.quiet == idle.count { Confidence::High } else { Confidence::Medium };
        Some(Verdict { confidence, cost: Cost::Time(idle.ns), evidence: seen, remedies: remedies() })
    }

    fn summary(&self, facts: &Facts<'_>, verdict: &Verdict) -> String {
        let idle = facts.triggers.idle();
        format!(
            "The runtime collected {} times because the program was idle, {} each: {} of {} ({}), in which work that comes \
             in waits.",
            idle.count,
            duration(idle.mean_ns()),
            duration(verdict.cost_ns()),
            duration(facts.span_ns),
            percent(facts.share(verdict.cost_ns()))
        )
    }

    fn instance(&self, _: &BlamedPause, _: &Names) -> Option<String> {
        // One pause does not tell why it was asked for: that takes the ones before it.
        None
    }
}

fn remedies() -> Vec<Remedy> {
    vec![
        Remedy {
            text:
                "Switch the idle collection off. Finalizers then run, and memory goes back to the system, at the next \
                   major collection that allocation asks for."
                    .into(),
            flag: Some("+RTS -I0".into()),
            verify: "Record again: the collections after idle times are gone and the sum of pauses falls.".into(),
            metric: Metric::falls(PAUSED),
        },
        Remedy {
            text: "Or leave at least a minute between two of them.".into(),
            flag: Some("+RTS -Iw60".into()),
            verify: "Record again: there is at most one a minute.".into(),
            metric: Metric::falls(PAUSED),
        },
    ]
}

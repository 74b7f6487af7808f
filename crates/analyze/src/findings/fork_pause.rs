//! `fork-pause`: a lane makes a copy of the process, and the others wait for it to stop.
//!
//! The kernel copies the page tables of the whole process meanwhile, so the wait grows with
//! its memory: tens of milliseconds for a gigabyte. Cost: what collections waited for the
//! lane that copied. A fiftieth of the wall clock, or one of twenty milliseconds: a client
//! notices that, however seldom it comes.

use super::{Facts, Family, Rule, Verdict, evidence, family};
use crate::results::BlamedPause;
use rtscope_model::units::{bytes, counted, duration, percent};
use rtscope_model::{Confidence, Metric, Names, Remedy};

const SHARE_MIN: f64 = 0.02;
const LONG_NS: u64 = 20_000_000;

pub(super) struct ForkPause;

impl Rule for ForkPause {
    fn id(&self) -> &'static str {
        "fork-pause"
    }

    fn families(&self) -> &'static [Family] {
        family::OCAML
    }

    fn blind(&self, _: &Facts<'_>) -> Option<String> {
        None
    }

    fn check(&self, facts: &Facts<'_>) -> Option<Verdict> {
        let waits = facts.answers.fork_waits();
        let longest_ns = waits.longest.map_or(0, |(from, to)| to.since(from));
        if facts.share(waits.ns) < SHARE_MIN && longest_ns < LONG_NS {
            return None;
        }
        let memory = facts
            .lines
            .levels(facts.end)
            .rss_bytes
            .map_or(String::new(), |rss| format!(" of up to {}", bytes(rss.max)));
        let text = format!(
            "The program copied its process{memory} {}; collections waited for that {}, {} at the longest.",
            counted(facts.answers.forked(), "time", "times"),
            counted(waits.count, "time", "times"),
            duration(longest_ns)
        );
        Some(Verdict {
            confidence: Confidence::High,
            cost_ns: waits.ns,
            evidence: vec![evidence(text, waits.longest)],
            remedies: vec![
                Remedy {
                    text: "Start processes early, before the heap has grown, and let them wait for work.".into(),
                    flag: None,
                    verify: "Record again: no collection waits for a copy of the process.".into(),
                    metric: Metric::falls("pauses.time_to_stop_ns.max"),
                },
                Remedy {
                    text: "Or start programs with `Unix.create_process`, which copies no page tables.".into(),
                    flag: None,
                    verify: "Record again: no collection waits for a copy of the process.".into(),
                    metric: Metric::falls("pauses.time_to_stop_ns.max"),
                },
            ],
        })
    }

    fn summary(&self, facts: &Facts<'_>, verdict: &Verdict) -> String {
        format!(
            "Collections waited for a domain that was copying the process (fork), for {} of {} ({}).",
            duration(verdict.cost_ns),
            duration(facts.span_ns),
            percent(facts.share(verdict.cost_ns))
        )
    }

    fn instance(&self, _: &BlamedPause, _: &Names) -> Option<String> {
        None
    }
}

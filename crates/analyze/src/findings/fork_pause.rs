//! `fork-pause`: a lane makes a copy of the process, and the others wait for it to stop.
//!
//! The kernel copies the page tables of the whole process meanwhile, so the wait grows with
//! its memory: tens of milliseconds for a gigabyte. Cost: what collections waited for the
//! lane that copied; in a program with one domain, what the copying took by itself, as
//! samples of its code tell. A fiftieth of the wall clock, or one of twenty milliseconds: a
//! client notices that, however seldom it comes.

use super::{Cost, Facts, Rule, Runtimes, Verdict, blind_to_runners, evidence};
use crate::results::{BlamedPause, Forks};
use rtscope_model::runtimes::OCAML;
use rtscope_model::units::{bytes, counted, duration, percent};
use rtscope_model::{CodeKind, Confidence, Metric, Names, Remedy, Symbol};

const SHARE_MIN: f64 = 0.02;
const LONG_NS: u64 = 20_000_000;

pub(super) struct ForkPause;

impl Rule for ForkPause {
    fn id(&self) -> &'static str {
        "fork-pause"
    }

    fn runtimes(&self) -> Runtimes {
        Runtimes::Only(&OCAML)
    }

    fn blind(&self, facts: &Facts<'_>) -> Option<String> {
        blind_to_runners(facts)
    }

    fn check(&self, facts: &Facts<'_>) -> Option<Verdict> {
        let waits = facts.answers.fork_waits();
        let longest_ns = waits.longest.map_or(0, |(from, to)| to.since(from));
        let cost_ns = if facts.lanes > 1 { waits.ns } else { copying_ns(facts).unwrap_or(0) };
        if facts.answers.forked() == 0 || (facts.share(cost_ns) < SHARE_MIN && longest_ns < LONG_NS) {
            return None;
        }
        let memory = facts
            .lines
            .levels(facts.end)
            .rss_bytes
            .map_or(String::new(), |rss| format!(" of up to {}", bytes(rss.max)));
        let copied =
            format!("The program copied its process{memory} {}", counted(facts.answers.forked(), "time", "times"));
        let text = if facts.lanes > 1 {
            format!(
                "{copied}; collections waited for that {}, {} at the longest.",
                counted(waits.count, "time", "times"),
                duration(longest_ns)
            )
        } else {
            let each = duration(cost_ns / facts.answers.forked().max(1));
            format!("{copied}, {each} each in the kernel; it has one domain, which did nothing else meanwhile.")
        };
        Some(Verdict {
            confidence: Confidence::High,
            cost: Cost::Time(cost_ns),
            evidence: vec![evidence(text, waits.longest)],
            remedies: remedies(facts),
        })
    }

    fn summary(&self, facts: &Facts<'_>, verdict: &Verdict) -> String {
        let who = if facts.lanes > 1 {
            "Collections waited for a domain that was"
        } else {
            "The program stood still while the kernel was"
        };
        format!(
            "{who} copying the process (fork), for {} of {} ({}).",
            duration(verdict.cost_ns()),
            duration(facts.span_ns),
            percent(facts.share(verdict.cost_ns()))
        )
    }

    fn instance(&self, _: &BlamedPause, _: &Names) -> Option<String> {
        None
    }
}

fn remedies(facts: &Facts<'_>) -> Vec<Remedy> {
    // With one domain nobody waits for it to stop: its own time is what is lost.
    let (verify, metric) = match facts.lanes {
        0 | 1 => ("Record again: the copying takes no time any more.", "forks.copying_ns"),
        _ => ("Record again: no collection waits for a copy of the process.", "forks.waited_ns"),
    };
    let texts = [
        "Start processes early, before the heap has grown, and let them wait for work.",
        "Or start programs with `Unix.create_process`, which copies no page tables.",
    ];
    let remedy =
        |text: &str| Remedy { text: text.into(), flag: None, verify: verify.into(), metric: Metric::falls(metric) };
    texts.map(remedy).into()
}

/// What starting processes came to; `None` where kernel events do not tell.
pub(super) fn forks(facts: &Facts<'_>) -> Option<Forks> {
    facts.held?;
    let (count, waited_ns) = (facts.answers.forked(), facts.answers.fork_waits().ns);
    Some(Forks { count, waited_ns, copying_ns: copying_ns(facts) })
}

/// CPU time in the kernel's copying of a process.
fn copying_ns(facts: &Facts<'_>) -> Option<u64> {
    let door = |symbol: &Symbol| matches!(symbol.source.as_deref(), Some("fork" | "vfork" | "clone" | "clone3"));
    let copies = |symbol: &Symbol| symbol.kind == CodeKind::Kernel && door(symbol);
    Some(facts.code?.running_ns(facts.symbols, copies))
}

//! `long-major-gc`: collections of the old generation copy much live data while the
//! world stands still.
//!
//! Cost: their collect phases, without what threads were kept off their CPUs, and no
//! more than copying so many bytes takes (see `collections`): what goes beyond, page
//! faults for instance, has another name. A twentieth of the wall clock, or one that
//! takes a tenth of a second: that is a wait which a person, or a client with a
//! deadline, notices, however seldom it comes.

use super::{Cost, Facts, Rule, Verdict, evidence};
use crate::collector::collections::usual_ns;
use crate::results::BlamedPause;
use rtscope_model::runtimes::OCAML;
use rtscope_model::units::{bytes, duration, percent};
use rtscope_model::{Confidence, Evidence, Metric, Names, PauseKind, Remedy};

const SHARE_MIN: f64 = 0.05;
const LONG_NS: u64 = 100_000_000;
/// On average they have to take this long: what many short ones cost comes from how often
/// the old generation is collected, not from how much is alive.
const MEAN_NS_MIN: u64 = 5_000_000;
/// Shorter ones in which nothing else is to be said are not worth a sentence.
const INSTANCE_NS_MIN: u64 = 5_000_000;
/// A collection that takes more than this per byte was not busy copying.
const SHARE_OF_USUAL_MAX: u64 = 2;

pub(super) struct LongMajorGc;

impl Rule for LongMajorGc {
    fn id(&self) -> &'static str {
        "long-major-gc"
    }

    fn blind(&self, facts: &Facts<'_>) -> Option<String> {
        let major = &facts.collections.major;
        (facts.sums.count() > 0 && major.count == 0 && facts.context.generations.is_none())
            .then(|| "the log has no events of the heap (class g): what is a major collection is not known.".to_owned())
    }

    fn check(&self, facts: &Facts<'_>) -> Option<Verdict> {
        let major = &facts.collections.major;
        let cost_ns = major.copying_ns;
        let one_is_long = major.longest_ns >= LONG_NS;
        let felt = facts.share(cost_ns) >= SHARE_MIN && major.collect_ns >= major.count.saturating_mul(MEAN_NS_MIN);
        let copying = cost_ns.saturating_mul(SHARE_OF_USUAL_MAX) >= major.collect_ns;
        if !copying || !(felt || one_is_long) {
            return None;
        }
        let confidence = if facts.held.is_some() { Confidence::High } else { Confidence::Medium };
        Some(Verdict { confidence, cost: Cost::Time(cost_ns), evidence: seen(facts), remedies: remedies(facts) })
    }

    fn summary(&self, facts: &Facts<'_>, verdict: &Verdict) -> String {
        let major = &facts.collections.major;
        format!(
            "{} of the old generation stopped the world for {} of {} ({}), up to {} at a time, to copy {} each.",
            collections(major.count),
            duration(verdict.cost_ns()),
            duration(facts.span_ns),
            percent(facts.share(verdict.cost_ns())),
            duration(major.longest_ns),
            bytes(major.copied_bytes / major.count.max(1))
        )
    }

    fn yields_to(&self) -> &'static [&'static str] {
        &["idle-gc", "explicit-gc"]
    }

    fn instance(&self, blamed: &BlamedPause, _: &Names) -> Option<String> {
        let pause = &blamed.pause;
        let (copied, collect_ns) = (pause.copied_bytes?, pause.collect_ns());
        let shows = pause.kind == PauseKind::Major
            && collect_ns >= INSTANCE_NS_MIN
            && collect_ns <= usual_ns(copied).saturating_mul(SHARE_OF_USUAL_MAX)
            && collect_ns.saturating_mul(2) >= pause.released.since(pause.begin())
            && blamed.kept_ns.unwrap_or(0).saturating_mul(2) <= collect_ns;
        shows.then(|| {
            format!("A collection of the old generation copied {} in {}.", bytes(copied), duration(collect_ns))
        })
    }
}

fn collections(count: u64) -> String {
    if count == 1 { "1 collection".to_owned() } else { format!("{count} collections") }
}

fn seen(facts: &Facts<'_>) -> Vec<Evidence> {
    let major = &facts.collections.major;
    let per_byte = major.collect_ns as f64 / major.copied_bytes.max(1) as f64;
    let mut seen = vec![
        evidence(
            format!(
                "{}, {} copied in all at {per_byte:.1} ns per byte.",
                collections(major.count),
                bytes(major.copied_bytes)
            ),
            Some((facts.started, facts.end)),
        ),
        evidence(format!("The longest took {} to collect.", duration(major.longest_ns)), major.longest),
    ];
    if let Some(live) = facts.lines.levels(facts.end).live_bytes {
        let text = format!("Up to {} were alive after one, {} on average.", bytes(live.max), bytes(live.mean as u64));
        seen.push(evidence(text, None));
    }
    seen
}

fn remedies(facts: &Facts<'_>) -> Vec<Remedy> {
    let live = facts.lines.levels(facts.end).live_bytes.map_or(0, |live| live.max);
    let more = if live > 0 {
        format!(" ({} more of memory at this size)", bytes(live.saturating_mul(2)))
    } else {
        String::new()
    };
    if *facts.runtime == OCAML {
        return vec![Remedy {
            text: "Let the old heap grow further before it is collected: fewer cycles, and fewer stops at their ends."
                .into(),
            flag: Some("OCAMLRUNPARAM=o=200".into()),
            verify: "Record again: fewer stops of generation 1, less time in pauses.".into(),
            metric: Metric::falls("pauses.collect_ns.sum"),
        }];
    }
    vec![
        Remedy {
            text: "Collect the old generation beside the program: only the stops at its two ends are left. It needs a CPU of its \
                   own meanwhile, and a few per cent of throughput."
                .into(),
            flag: Some("+RTS --nonmoving-gc".into()),
            verify: "Record again: the longest pauses are a few milliseconds.".into(),
            metric: Metric::falls("pauses.pause_ns.max"),
        },
        Remedy {
            text: "Keep large data that no longer changes in a compact region (package `ghc-compact`), or outside the heap: it \
                   is then copied no more."
                .into(),
            flag: None,
            verify: "Record again: bytes copied by collections of the old generation fall.".into(),
            metric: Metric::falls("pauses.collect_ns.sum"),
        },
        Remedy {
            text: format!("Or let it grow further before it is collected: half as many collections, each as long as before{more}."),
            flag: Some("+RTS -F4".into()),
            verify: "Record again: fewer collections of the old generation, less time in pauses.".into(),
            metric: Metric::falls("pauses.collect_ns.sum"),
        },
    ]
}

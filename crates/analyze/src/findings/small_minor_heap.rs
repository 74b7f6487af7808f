//! `small-minor-heap`: the minor heap is so small that OCaml collects all the time.
//!
//! Each domain has a minor heap of the same size, and one that is full stops every domain.
//! Cost: what minor collections took to stop, to collect and to go on, without copying, and
//! of each no more than such a one takes (see `collections`): what goes beyond has another
//! name. Held back where collections are few, where a minor heap is large already, and where
//! much survives one of ordinary size. In one much smaller than the default most of what
//! survives does so because the collection comes early: there copying counts, too.

use super::{Cost, Facts, PAUSED, Rule, Runtimes, Verdict, evidence};
use crate::results::BlamedPause;
use rtscope_model::runtimes::OCAML;
use rtscope_model::units::{bytes, duration, percent};
use rtscope_model::{Confidence, Metric, Names, Remedy};

const SHARE_MIN: f64 = 0.05;
/// Of one as large as the default or larger: a larger one yet may fit the cache less.
const SHARE_MIN_ORDINARY: f64 = 0.25;
/// Collections a second.
const PER_SECOND_MIN: f64 = 200.0;
/// Bytes promoted, of those allocated.
const SURVIVAL_MAX: f64 = 0.10;
/// Collections a second to aim at.
const PER_SECOND_AIM: f64 = 50.0;
/// In words, as the flag takes it: what fits no cache costs most programs more than the
/// collections that it saves.
const WORDS_MAX: u64 = 1 << 20;
/// Where each collection costs a time slice, collections are what counts.
const WORDS_MAX_CROWDED: u64 = 8 << 20;
const WORDS_MIN: u64 = 256 << 10;
const WORD_BYTES: u64 = 8;

pub(super) struct SmallMinorHeap;

impl Rule for SmallMinorHeap {
    fn id(&self) -> &'static str {
        "small-minor-heap"
    }

    fn runtimes(&self) -> Runtimes {
        Runtimes::Only(&OCAML)
    }

    fn blind(&self, _: &Facts<'_>) -> Option<String> {
        None
    }

    fn check(&self, facts: &Facts<'_>) -> Option<Verdict> {
        let minor = &facts.collections.minor;
        let allocated = facts.allocation.per_second(facts.span_ns)? * facts.span_ns as f64 / 1e9;
        let little = minor.copied_bytes as f64 <= allocated * SURVIVAL_MAX;
        // What survives only because the heap is so small would be dead in a larger one.
        let tiny = facts.allocation.young_bytes_max() < WORDS_MIN * WORD_BYTES / 2;
        let cost_ns = if little { minor.fixed_ns } else { minor.fixed_ns.max(minor.copying_ns) };
        let felt = facts.share(cost_ns) >= if tiny { SHARE_MIN } else { SHARE_MIN_ORDINARY };
        if !(little || tiny) || per_second(facts) < PER_SECOND_MIN || !felt {
            return None;
        }
        let remedy = remedy(facts, "Give each domain a larger minor heap")?;
        let text = format!(
            "{} minor collections, {:.0} a second, of up to {} a domain; each promoted {} on average and cost {} to stop, collect \
             and go on.",
            minor.count,
            per_second(facts),
            bytes(facts.allocation.young_bytes_max()),
            bytes(minor.copied_bytes / minor.count.max(1)),
            duration(minor.fixed_ns / minor.count.max(1))
        );
        Some(Verdict {
            confidence: Confidence::High,
            cost: Cost::Time(cost_ns),
            evidence: vec![evidence(text, Some((facts.started, facts.end)))],
            remedies: vec![remedy],
        })
    }

    fn summary(&self, facts: &Facts<'_>, verdict: &Verdict) -> String {
        format!(
            "A minor heap of {} is full {:.0} times a second: collections, which promote {} of it on average, took {} of {} ({}).",
            bytes(facts.allocation.young_bytes_max()),
            per_second(facts),
            promoted(facts),
            duration(verdict.cost_ns()),
            duration(facts.span_ns),
            percent(facts.share(verdict.cost_ns()))
        )
    }

    fn yields_to(&self) -> &'static [&'static str] {
        &["late-release", "idle-domain", "cpu-throttled", "preempted", "oversubscribed"]
    }

    /// Their number is what costs: no single pause shows it.
    fn instance(&self, _: &BlamedPause, _: &Names) -> Option<String> {
        None
    }
}

/// Share of what was allocated that was still alive when it was collected.
fn promoted(facts: &Facts<'_>) -> String {
    let allocated = facts.allocation.per_second(facts.span_ns).unwrap_or(0.0) * facts.span_ns as f64 / 1e9;
    percent(facts.collections.minor.copied_bytes as f64 / allocated.max(1.0))
}

fn per_second(facts: &Facts<'_>) -> f64 {
    facts.collections.minor.count as f64 / (facts.span_ns.max(1) as f64 / 1e9)
}

/// A larger minor heap, where that would be at least twice what it is.
pub(super) fn remedy(facts: &Facts<'_>, why: &str) -> Option<Remedy> {
    let now = facts.allocation.young_bytes_max() / WORD_BYTES;
    sized(facts, why, (now as f64 * per_second(facts) / PER_SECOND_AIM) as u64, WORDS_MAX)
}

/// The same where collections are in each other's way: by what domains would allocate if
/// nothing stopped them.
pub(super) fn remedy_crowded(facts: &Facts<'_>, why: &str) -> Option<Remedy> {
    let rate = facts.leadership.unimpeded_bytes_per_second()?;
    sized(facts, why, (rate / PER_SECOND_AIM) as u64 / WORD_BYTES, WORDS_MAX_CROWDED)
}

fn sized(facts: &Facts<'_>, why: &str, wanted: u64, most: u64) -> Option<Remedy> {
    let now = facts.allocation.young_bytes_max() / WORD_BYTES;
    let words = wanted.clamp(WORDS_MIN, most).checked_next_power_of_two()?;
    (words >= now.saturating_mul(2)).then(|| Remedy {
        text: format!(
            "{why}: {} each, {} for all. Much more fits no cache, which costs some programs more than it saves: measure.",
            bytes(words * WORD_BYTES),
            bytes(words.saturating_mul(WORD_BYTES).saturating_mul(facts.lanes.max(1) as u64))
        ),
        flag: Some(format!("OCAMLRUNPARAM=s={}", spelled(words))),
        verify: "Record again: collections a second and the time in which one is open fall.".into(),
        metric: Metric::falls(PAUSED),
    })
}

/// As the runtime takes it: `256k`, `8M`.
fn spelled(words: u64) -> String {
    if words >= 1 << 20 { format!("{}M", words >> 20) } else { format!("{}k", words >> 10) }
}

//! `small-minor-heap`: the minor heap is so small that OCaml collects all the time.
//!
//! Each domain has a minor heap of the same size, and a full one stops every domain. Cost: the time of minor
//! collections to stop, to collect and to resume, without copying, and for each no more than such a collection takes
//! (see `collections`): any excess is reported elsewhere. Silent if collections are few, if a minor heap is large
//! already, and if much survives a collection of an ordinary one. In a heap much smaller than the default most
//! survivors survive only because the collection comes early: there copying counts, too.

use super::seen::sections;
use crate::findings::{Cost, Facts, PAUSED, Rule, Verdict};
use rtscope_model::units::{bytes, duration, percent};
use rtscope_model::{Confidence, Remedy};

/// For heaps of the default size or larger: an even larger one may fit the cache less well.
const SHARE_MIN_ORDINARY: f64 = 0.25;
/// Collections per second.
const PER_SECOND_MIN: f64 = 200.0;
/// Promoted bytes as a share of allocated bytes.
const SURVIVAL_MAX: f64 = 0.10;
/// Target for collections per second.
const PER_SECOND_AIM: f64 = 50.0;
/// In words, as the flag takes it: a heap that fits in no cache costs most programs more than the collections that
/// it saves.
const WORDS_MAX: u64 = 1 << 20;
/// Where each collection costs a time slice, collections matter more.
const WORDS_MAX_CROWDED: u64 = 8 << 20;
const WORDS_MIN: u64 = 256 << 10;
const WORD_BYTES: u64 = 8;

pub static RULE: Rule = Rule {
    id: "small-minor-heap",
    explains: &["collecting", "standing-still"],
    order: 160,
    yields_to: &["short-lived-domains", "idle-domain", "cpu-throttled", "preempted", "oversubscribed"],
    share_min: 0.05,
    also: " of one below half of the default size, else 25 %; from 200 collections a second",
    why: "a minor heap that is larger than the default may fit the cache less",
    check,
    ..Rule::BLANK
};

fn check(facts: &Facts<'_>) -> Option<Verdict> {
    let minor = &facts.collections.minor;
    let allocated = facts.allocated_bytes()?;
    let little = minor.copied_bytes as f64 <= allocated * SURVIVAL_MAX;
    let young = facts.allocation.young_bytes_max;
    // Data that survives only because the heap is so small would be dead in a larger one.
    let tiny = tiny(facts);
    let cost_ns = if little { minor.fixed_ns } else { minor.fixed_ns.max(minor.copying_ns) };
    if !(little || tiny) || facts.minors_per_second() < PER_SECOND_MIN || !saves(facts, cost_ns) {
        return None;
    }
    let remedy = larger(facts)?.remedy(Remedy::new, "Give each domain a larger minor heap");
    let seen = facts.overall(format!(
        "{} minor collections, {:.0} a second, of up to {} a domain; each promoted {} on average and cost {} to stop, \
         collect and go on.",
        minor.count,
        facts.minors_per_second(),
        bytes(young),
        bytes(minor.copied_bytes / minor.count.max(1)),
        duration(minor.fixed_ns / minor.count.max(1))
    ));
    // Share of allocated bytes that were still alive when they were collected.
    let promoted = percent(minor.copied_bytes as f64 / allocated.max(1.0));
    let what = format!(
        "Minor collections run {:.0} times a second because the minor heap is {}, and promote {promoted} of it on \
         average: they took ",
        facts.minors_per_second(),
        bytes(young)
    );
    Some(Verdict::new(Cost::Time(cost_ns), Confidence::High, what).seen([seen]).remedies([remedy]))
}

/// Whether a larger heap is worth its cost in cache misses: enough is saved by fewer collections, or it fits anyway.
pub(super) fn saves(facts: &Facts<'_>, cost_ns: u64) -> bool {
    tiny(facts) || facts.share(cost_ns) >= SHARE_MIN_ORDINARY
}

/// Whether the heap is less than half of the default.
fn tiny(facts: &Facts<'_>) -> bool {
    facts.allocation.young_bytes_max < WORDS_MIN * WORD_BYTES / 2
}

/// The sentence before the environment variable.
const OWN_SIZE: &str = " It was not started with one so small: where the program sets it (`Gc.set`), change it there.";

/// A larger minor heap for each of the domains.
pub(super) struct Larger {
    words: u64,
    domains: u64,
    /// Whether no setting from outside made it as small as it is.
    by_the_program: bool,
}

impl Larger {
    /// The remedy, worded as the first one.
    pub fn less_often(self) -> Remedy {
        self.remedy(Remedy::new, "Collect less often: give each domain a larger minor heap")
    }

    /// The remedy, worded as an alternative.
    pub fn or_less_often(self) -> Remedy {
        self.remedy(Remedy::or, "collect less often: give each domain a larger minor heap")
    }

    fn remedy(self, remedy: fn(String) -> Remedy, why: &str) -> Remedy {
        let each = self.words * WORD_BYTES;
        let text = format!(
            "{why}: {} each, {} for all. Much more fits no cache, which costs some programs more than it saves: \
             measure.{}",
            bytes(each),
            bytes(each.saturating_mul(self.domains)),
            if self.by_the_program { OWN_SIZE } else { "" }
        );
        remedy(text)
            .option(format!("s={}", spelled(self.words)))
            .falls(PAUSED)
            .shows("collections a second and the time in which one is open fall")
    }
}

/// A larger heap, if it would be at least twice the current size.
pub(super) fn larger(facts: &Facts<'_>) -> Option<Larger> {
    let now = facts.allocation.young_bytes_max / WORD_BYTES;
    sized(facts, (now as f64 * facts.minors_per_second() / PER_SECOND_AIM) as u64, WORDS_MAX)
}

/// A larger heap for collections that obstruct each other: sized by what domains would allocate if nothing
/// stopped them.
pub(super) fn larger_crowded(facts: &Facts<'_>) -> Option<Larger> {
    let rate = sections(facts).leadership.unimpeded_bytes_per_second()?;
    sized(facts, (rate / PER_SECOND_AIM) as u64 / WORD_BYTES, WORDS_MAX_CROWDED)
}

fn sized(facts: &Facts<'_>, wanted: u64, most: u64) -> Option<Larger> {
    let now = facts.allocation.young_bytes_max / WORD_BYTES;
    let words = wanted.clamp(WORDS_MIN, most).checked_next_power_of_two()?;
    (words >= now.saturating_mul(2)).then_some(Larger {
        words,
        domains: facts.lanes.max(1) as u64,
        by_the_program: tiny(facts) && !is_set(facts),
    })
}

/// Whether the program was started with a size, or its start is not known.
fn is_set(facts: &Facts<'_>) -> bool {
    let context = facts.context;
    let variable = context.start.variable(facts.runtime);
    context.program.is_none() || facts.runtime.spelling.split(variable).any(|word| word.starts_with("s="))
}

/// Spells a size as the runtime takes it: `256k`, `8M`.
fn spelled(words: u64) -> String {
    if words >= 1 << 20 { format!("{}M", words >> 20) } else { format!("{}k", words >> 10) }
}

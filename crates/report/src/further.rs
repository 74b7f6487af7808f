//! Figures of sparks, phases of a concurrent collector, allocation areas and user events, and their wording.

use super::units;
use rtscope_analyze::results::{Concurrent, Distribution, Nursery, Promotion, Results, SparkCounts, UserEvents};

/// Sparks that the program offered; `None` if it offered none.
pub fn offered(sparks: &SparkCounts) -> Option<u64> {
    Some(sparks.offered()).filter(|all| *all > 0)
}

/// The fates of sparks: name, meaning and number.
pub fn fates(sparks: &SparkCounts) -> [(&'static str, &'static str, u64); 6] {
    [
        ("converted", "ran in parallel", sparks.converted),
        ("fizzled", "evaluated by another thread before they ran", sparks.fizzled),
        ("overflowed", "thrown away because the pool was full", sparks.overflowed),
        ("duds", "were evaluated already when they were offered", sparks.dud),
        ("collected", "no longer needed", sparks.collected),
        ("left", "still in the pool at the last collection", sparks.remaining),
    ]
}

/// Sparks of all lanes whose end the runtime did not count: GHC forgets those of a pool that is full at a collection.
/// Means nothing for a single lane, because a spark ends where it runs.
pub fn uncounted(all: &SparkCounts) -> u64 {
    let ends = [all.converted, all.collected, all.fizzled, all.remaining];
    all.created.saturating_sub(ends.into_iter().fold(0, u64::saturating_add))
}

/// The phases of a concurrent collector, each with its name in singular and plural.
pub fn phases(concurrent: &Concurrent) -> [(&'static str, &'static str, Distribution); 3] {
    [
        ("mark", "marks", concurrent.mark_ns),
        ("stop after a mark", "stops after marks", concurrent.sync_ns),
        ("sweep", "sweeps", concurrent.sweep_ns),
    ]
}

/// How much of a concurrent collector's work was not concurrent.
pub fn in_pauses(concurrent: &Concurrent) -> String {
    match concurrent.in_pauses_ns {
        0 => "nothing of marks and sweeps inside pauses".into(),
        ns => format!("{} of marks and sweeps inside pauses", units::duration(ns)),
    }
}

/// The size of the allocation areas, and how much of them was used.
pub fn nursery(nursery: &Nursery, lane: &str) -> String {
    let mut text = format!("{} for each {lane}", units::bytes(nursery.bytes));
    if let Some(used) = nursery.used {
        let collections = units::counted(nursery.collections, "collection", "collections");
        let room = if nursery.pooled { "in the pool" } else { "in one" };
        text.push_str(&format!("; {collections} for want of room {room}, with {} of all used", units::percent(used)));
    }
    if nursery.pooled {
        text.push_str("; in pieces from a common pool: above 100 % is more than an equal share");
    }
    text
}

/// The share of promoted data: "3.1 % of 1.2 GiB of young data were promoted".
pub fn promotion(promotion: &Promotion) -> String {
    let share = units::percent(promotion.share);
    match promotion.young_bytes {
        Some(young) => format!("{share} of {} of young data were promoted", units::bytes(young)),
        None => format!("{share} of young data were promoted, as far as was seen"),
    }
}

/// User spans by name, including names of which no span was seen completely.
pub fn user_spans(results: &Results) -> impl Iterator<Item = &UserEvents> {
    results.user.iter().filter(|one| one.spans_ns.count > 0 || one.cut > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_spark_that_was_offered_is_counted_once() {
        let counts = SparkCounts {
            created: 70,
            converted: 40,
            overflowed: 20,
            dud: 10,
            collected: 5,
            fizzled: 24,
            remaining: 1,
        };
        assert_eq!(offered(&counts), Some(100));
        assert_eq!(fates(&counts).map(|(_, _, count)| count).iter().sum::<u64>(), 100);
        assert_eq!(offered(&SparkCounts::default()), None);
        assert_eq!(uncounted(&counts), 0);
        assert_eq!(uncounted(&SparkCounts { created: 4_166, ..counts }), 4_096);
    }

    #[test]
    fn pools_differ_from_separate_areas() {
        let of = |pooled| nursery(&Nursery { bytes: 4 << 20, pooled, collections: 1, used: Some(0.5) }, "capability");
        assert_eq!(
            of(false),
            "4.0 MiB for each capability; 1 collection for want of room in one, with 50 % of all used"
        );
        assert!(
            of(true).contains("room in the pool") && of(true).ends_with("more than an equal share"),
            "{}",
            of(true)
        );
        let none = Nursery { bytes: 4 << 20, pooled: false, collections: 0, used: None };
        assert_eq!(nursery(&none, "capability"), "4.0 MiB for each capability");
    }
}

//! The words of the figures that stand below the first screen: sparks, phases of
//! a concurrent collector, allocation areas. Shared by the text and the page.

use super::units;
use rtscope_analyze::results::{Concurrent, Distribution, Nursery, Results, SparkCounts};

/// Sparks that the program offered; `None` where it offered none.
pub fn offered(sparks: &SparkCounts) -> Option<u64> {
    let all = sparks.created.saturating_add(sparks.dud).saturating_add(sparks.overflowed);
    (all > 0).then_some(all)
}

/// What became of sparks: each fate, what it means, and how many met it.
pub fn fates(sparks: &SparkCounts) -> [(&'static str, &'static str, u64); 6] {
    [
        ("converted", "ran in parallel", sparks.converted),
        ("fizzled", "evaluated by somebody else before they ran", sparks.fizzled),
        ("overflowed", "thrown away because the pool was full", sparks.overflowed),
        ("duds", "were evaluated already when they were offered", sparks.dud),
        ("collected", "nobody needed them any more", sparks.collected),
        ("left", "still in the pool at the last collection", sparks.remaining),
    ]
}

/// "1,300 offered, 900 ran in parallel (69 %); 200 fizzled, …".
pub fn sparks(results: &Results) -> Option<String> {
    let sparks = &results.sparks.as_ref()?.all;
    let all = offered(sparks)?;
    let ran = sparks.converted;
    let others = fates(sparks).into_iter().filter(|(name, _, count)| *name != "converted" && *count > 0);
    let others: Vec<_> = others.map(|(name, _, count)| format!("{} {name}", units::count(count))).collect();
    let colon = if others.is_empty() { "" } else { "; " };
    Some(format!(
        "{} offered, {} ran in parallel ({}){colon}{}",
        units::count(all),
        units::count(ran),
        units::percent_of(ran, all),
        others.join(", ")
    ))
}

/// The phases of a concurrent collector by their names.
pub fn phases(concurrent: &Concurrent) -> [(&'static str, &'static str, Distribution); 3] {
    [
        ("mark", "marks", concurrent.mark_ns),
        ("stop behind a mark", "stops behind marks", concurrent.sync_ns),
        ("sweep", "sweeps", concurrent.sweep_ns),
    ]
}

/// "12 marks in 340 ms (longest 45.0 ms); …".
pub fn concurrent(results: &Results) -> Option<String> {
    let concurrent = results.concurrent.as_ref()?;
    let phase = |(one, many, d): (&str, &str, Distribution)| {
        let what = units::counted(d.count, one, many);
        match d.sum {
            Some(sum) => format!("{what} in {} (longest {})", units::duration(sum), units::duration_or_dash(d.max)),
            None => what,
        }
    };
    Some(format!("{}; {}", phases(concurrent).map(phase).join("; "), in_pauses(concurrent)))
}

/// How much of a concurrent collector's work was not concurrent.
pub fn in_pauses(concurrent: &Concurrent) -> String {
    match concurrent.in_pauses_ns {
        0 => "nothing of marks and sweeps inside pauses".into(),
        ns => format!("{} of marks and sweeps inside pauses", units::duration(ns)),
    }
}

/// What the areas are, and what was used of them.
pub fn nursery(nursery: &Nursery) -> String {
    let mut text = format!("{} for each lane", units::bytes(nursery.bytes));
    if let Some(used) = nursery.used {
        let came = units::counted(nursery.collections, "collection", "collections");
        text.push_str(&format!("; {came} for want of room in one, with {} of all used", units::percent(used)));
    }
    if nursery.pooled {
        text.push_str("; in pieces from a common pool: above 100 % is more than a lane's share");
    }
    text
}

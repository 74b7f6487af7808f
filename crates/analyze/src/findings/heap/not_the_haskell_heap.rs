//! `not-the-haskell-heap`: the memory that grows is none of GHC's runtime.
//!
//! Cost: what lies outside the heap, mapped files aside, beyond what lay there at the first
//! look. Without looks: how far the memory that stayed resident is above the whole heap.

use super::super::{Cost, Facts, Rule, Runtimes, Verdict, evidence};
use super::{Lasted, frees};
use crate::results::BlamedPause;
use rtscope_model::heap::{Heap, Part};
use rtscope_model::runtimes::GHC;
use rtscope_model::units::{bytes, percent};
use rtscope_model::{Confidence, Evidence, Names, Remedy};

/// Of the resident memory.
const SHARE_MIN: f64 = 0.2;

/// Without looks: the memory at the end is so many times its mean. It would be twice for what
/// grows steadily from nothing.
const GROWS: f64 = 1.25;

pub(in super::super) struct NotTheHaskellHeap;

impl Rule for NotTheHaskellHeap {
    fn id(&self) -> &'static str {
        "not-the-haskell-heap"
    }

    fn runtimes(&self) -> Runtimes {
        Runtimes::Only(&GHC)
    }

    fn blind(&self, facts: &Facts<'_>) -> Option<String> {
        let levels = facts.lines.levels(facts.end);
        let lines = levels.rss_bytes.is_some() && levels.heap_bytes.is_some();
        (!lines && facts.heaps.is_empty()).then(|| {
            "the log does not say how large the heap is (class g), or the resident memory was not sampled.".to_owned()
        })
    }

    fn optional(&self) -> bool {
        true
    }

    fn check(&self, facts: &Facts<'_>) -> Option<Verdict> {
        let outside = Outside::of(facts)?;
        if outside.grown as f64 <= SHARE_MIN * outside.rss as f64 {
            return None;
        }
        let cost = Cost::Memory { bytes: outside.grown, of: outside.rss };
        let confidence = if outside.looked { Confidence::High } else { Confidence::Medium };
        Some(Verdict { confidence, cost, evidence: seen(facts, &outside), remedies: remedies() })
    }

    fn summary(&self, facts: &Facts<'_>, verdict: &Verdict) -> String {
        let Some(outside) = Outside::of(facts) else { return String::new() };
        let cost = verdict.cost_bytes();
        format!(
            "{} of {} resident ({}) came outside the Haskell heap: malloc, foreign code, stacks or mappings.",
            bytes(cost),
            bytes(outside.rss),
            percent(cost as f64 / outside.rss.max(1) as f64)
        )
    }

    fn instance(&self, _: &BlamedPause, _: &Names) -> Option<String> {
        None
    }
}

/// What lies outside.
struct Outside {
    grown: u64,
    rss: u64,
    heap: u64,
    /// The heap was looked at.
    looked: bool,
}

impl Outside {
    fn of(facts: &Facts<'_>) -> Option<Outside> {
        let Some(first) = facts.heaps.first() else { return Outside::by_lines(facts) };
        let before = if facts.heaps.len() > 1 { outside(first) } else { 0 };
        let lasted = Lasted::of(facts, |heap| outside(heap).saturating_sub(before))?;
        Some(Outside { grown: lasted.bytes, rss: lasted.rss_bytes(), heap: lasted.heap.heap_bytes, looked: true })
    }

    /// The heap need not be resident as a whole: this is the least that lies outside.
    fn by_lines(facts: &Facts<'_>) -> Option<Outside> {
        let levels = facts.lines.levels(facts.end);
        let (rss, heap) = (levels.rss_bytes?, levels.heap_bytes?);
        // What was taken once and stays is no growth.
        if (rss.last as f64) < GROWS * rss.mean {
            return None;
        }
        // What was resident through the whole second half; memory that is given back again
        // and again was not.
        let middle = facts.end.minus(facts.end.since(facts.started) / 2);
        let stayed = facts.lines.rss_stayed(middle)?;
        Some(Outside { grown: stayed.saturating_sub(heap.max), rss: rss.last, heap: heap.max, looked: false })
    }
}

fn outside(heap: &Heap) -> u64 {
    heap.part_bytes(Part::NotHeap)
}

fn seen(facts: &Facts<'_>, outside: &Outside) -> Vec<Evidence> {
    let range = Some((facts.started, facts.end));
    let mut seen = vec![evidence(
        format!("The runtime's heap is {}; {} were resident.", bytes(outside.heap), bytes(outside.rss)),
        range,
    )];
    if let (Some(first), Some(last)) = (facts.heaps.first(), facts.heaps.last()) {
        let text = format!(
            "Outside the heap lay {} at the first look and {} at the last.",
            bytes(self::outside(first)),
            bytes(self::outside(last))
        );
        seen.push(evidence(text, first.time.zip(last.time)));
    }
    seen
}

fn remedies() -> Vec<Remedy> {
    vec![
        frees(
            "Look at foreign code and at what is allocated with malloc (`mallocBytes`, `newArray`, C libraries): a heap profiler for \
             C shows who allocates; tie it to a finalizer (`mallocForeignPtrBytes`, `newForeignPtr finalizerFree`).",
            None,
            "Record again: what lies outside the heap does not grow.",
        ),
        frees(
            "If it is not lost but kept by malloc: fewer arenas.",
            Some("MALLOC_ARENA_MAX=2"),
            "Record again: less lies outside the heap.",
        ),
    ]
}

//! `not-the-haskell-heap`: the growing memory does not belong to GHC's runtime.
//!
//! Cost: memory outside the heap, without mapped files, beyond what was there at the first look. Without looks: how
//! far the memory that stayed resident exceeds the whole heap.

use super::{FIGURE, Lasted, RSS};
use crate::findings::{Cost, Facts, Need, Rule, Verdict, evidence, sure};
use rtscope_model::heap::{Heap, Part};
use rtscope_model::units::bytes;
use rtscope_model::{Evidence, Remedy, Setting};

/// Without looks: the memory at the end is this multiple of its mean. The ratio is two for steady growth
/// from nothing.
const GROWS: f64 = 1.25;

pub static RULE: Rule = Rule {
    id: "not-the-haskell-heap",
    order: 250,
    needs: Some(&SIZES),
    share_min: 0.2,
    why: "libraries and stacks take some in every program",
    check,
    ..FIGURE
};

static SIZES: Need =
    Need { name: "looks at the heap, or its size and the resident memory", optional: true, missing: no_sizes };

fn no_sizes(facts: &Facts<'_>) -> Option<String> {
    let levels = facts.lines.levels(facts.end);
    let lines = levels.rss_bytes.is_some() && levels.heap_bytes.is_some();
    (!lines && facts.heaps.is_empty()).then(|| {
        "the log does not say how large the heap is (class g), or the resident memory was not sampled.".to_owned()
    })
}

fn check(facts: &Facts<'_>) -> Option<Verdict> {
    let outside = Outside::of(facts)?;
    if outside.grown as f64 <= RULE.share_min * outside.rss as f64 {
        return None;
    }
    let verdict = Verdict::new(Cost::Memory { bytes: outside.grown, of: outside.rss }, sure(outside.looked), "")
        .then(" came outside the Haskell heap: malloc, foreign code, stacks or mappings.");
    Some(verdict.seen(seen(facts, &outside)).remedies(remedies()))
}

/// Memory outside the heap.
struct Outside {
    grown: u64,
    rss: u64,
    heap: u64,
    /// Whether there were looks at the heap.
    looked: bool,
}

impl Outside {
    fn of(facts: &Facts<'_>) -> Option<Outside> {
        let Some(first) = facts.heaps.first() else { return Outside::by_lines(facts) };
        let before = if facts.heaps.len() > 1 { outside(first) } else { 0 };
        let lasted = Lasted::of(facts, |heap| outside(heap).saturating_sub(before))?;
        Some(Outside { grown: lasted.bytes, rss: lasted.rss_bytes(), heap: lasted.heap.heap_bytes, looked: true })
    }

    /// The heap need not be entirely resident: this is a lower bound of the memory outside.
    fn by_lines(facts: &Facts<'_>) -> Option<Outside> {
        let levels = facts.lines.levels(facts.end);
        let (rss, heap) = (levels.rss_bytes?, levels.heap_bytes?);
        // Memory that was taken once and stays is no growth.
        if (rss.last as f64) < GROWS * rss.mean {
            return None;
        }
        // Memory that was resident through the whole second half; memory that is returned repeatedly was not.
        let middle = facts.end.minus(facts.end.since(facts.started) / 2);
        let stayed = facts.lines.rss_stayed(middle)?;
        Some(Outside { grown: stayed.saturating_sub(heap.max), rss: rss.last, heap: heap.max, looked: false })
    }
}

fn outside(heap: &Heap) -> u64 {
    heap.part_bytes(Part::NotHeap)
}

fn seen(facts: &Facts<'_>, outside: &Outside) -> Vec<Evidence> {
    let (heap, rss) = (bytes(outside.heap), bytes(outside.rss));
    let mut seen = vec![facts.overall(format!("The runtime's heap is {heap}; {rss} were resident."))];
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

fn remedies() -> [Remedy; 2] {
    [
        Remedy::new(
            "Look at foreign code and at what is allocated with malloc (`mallocBytes`, `newArray`, C libraries): a \
             heap profiler for C shows who allocates; tie it to a finalizer (`mallocForeignPtrBytes`, `newForeignPtr \
             finalizerFree`).",
        )
        .falls(RSS)
        .shows("what lies outside the heap does not grow"),
        Remedy::new("If it is not lost but kept by malloc: fewer arenas.")
            .set(Setting::variables([("MALLOC_ARENA_MAX", "2")]))
            .falls(RSS)
            .shows("less lies outside the heap"),
    ]
}

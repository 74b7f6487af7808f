//! `block-fragmentation`: free blocks in megablocks that something retains.
//!
//! Cost: free blocks in megablocks that hold something, beyond what the next major collection copies into. The
//! runtime refills them before it takes new megablocks, but the system does not get them back.

use super::{FIGURE, Lasted, RSS, frees, verdict};
use crate::findings::{Facts, Rule, Verdict};
use rtscope_model::heap::{Heap, Part, mark_word};
use rtscope_model::units::{bytes, counted, percent};
use rtscope_model::{Evidence, Remedy};
use std::collections::BTreeMap;

/// The cost lies in megablocks with at least this many of their 256 blocks free.
const SPARSE: usize = 128;

pub static RULE: Rule = Rule {
    id: "block-fragmentation",
    order: 220,
    yields_to: &["pinned-retention", "large-objects"],
    share_min: 0.2,
    bytes_min: 64 << 20,
    why: "a heap breathes: free blocks come and go with collections, and a small one has as many after any peak",
    check,
    ..FIGURE
};

fn check(facts: &Facts<'_>) -> Option<Verdict> {
    let lasted = &Lasted::of(facts, |heap| heap.part_bytes(Part::BlockFragmentation))?;
    let levels = &lasted.heap.fragmentation;
    let holders = keepers(lasted.heap);
    let by = holders.first().map_or(String::new(), |(what, _)| format!(", most of them kept by {what}"));
    let what = format!("{} megablocks hold what {} could{by}: ", levels.megablocks, levels.megablocks_needed);
    let verdict = verdict(lasted, lasted.bytes, what, " are free blocks between used ones that no collection needs.");
    Some(verdict.seen(seen(lasted)).remedies(remedies()))
}

/// What occupies megablocks that are at least half free: in words, with the number of these megablocks that hold it,
/// most first.
fn keepers(heap: &Heap) -> Vec<(&'static str, u64)> {
    let is_free = |mark: char| matches!(mark, '.' | ',' | '=' | ' ');
    let mut sums: BTreeMap<&'static str, u64> = BTreeMap::new();
    for megablock in &heap.megablocks {
        if megablock.blocks.chars().filter(|mark| is_free(*mark)).count() < SPARSE {
            continue;
        }
        let mut here: Vec<&str> = megablock.blocks.chars().filter(|mark| !is_free(*mark)).map(mark_word).collect();
        here.sort_unstable();
        here.dedup();
        here.into_iter().for_each(|what| *sums.entry(what).or_default() += 1);
    }
    let mut sums: Vec<_> = sums.into_iter().collect();
    sums.sort_by_key(|(what, count)| (std::cmp::Reverse(*count), *what));
    sums
}

fn seen(lasted: &Lasted<'_>) -> Vec<Evidence> {
    let heap = lasted.heap;
    let levels = &heap.fragmentation;
    let mut seen = vec![lasted.evidence(format!(
        "{} hold something and have {} of free blocks; packed, {} would do.",
        counted(levels.megablocks, "megablock", "megablocks"),
        bytes(levels.block_bytes),
        levels.megablocks_needed
    ))];
    if levels.kept_by_one > 0 {
        seen.push(lasted.evidence(format!(
            "{} of them are kept by a single group of blocks each, with {} free.",
            levels.kept_by_one,
            bytes(levels.kept_by_one_bytes)
        )));
    }
    let keepers = keepers(heap);
    if !keepers.is_empty() {
        let kept: Vec<String> = keepers.iter().take(3).map(|(what, count)| format!("{what} in {count}")).collect();
        seen.push(lasted.evidence(format!("In the megablocks that are half free and more lie: {}.", kept.join(", "))));
    }
    let reserve = heap.part_bytes(Part::CopyReserve);
    seen.push(lasted.evidence(format!(
        "Another {} of free memory, {}, are what the next major collection copies into, and not counted.",
        bytes(reserve),
        percent(reserve as f64 / lasted.rss_bytes().max(1) as f64)
    )));
    seen
}

fn remedies() -> [Remedy; 2] {
    [
        frees(
            "Allocate together what lives long: load it before the program's work begins, or copy it after a peak, so \
             that it does not lie one block here and one there.",
            "fewer megablocks hold something",
        ),
        Remedy::or(
            "keep less that cannot be moved: unpinned short byte strings, chunks below 3 KiB instead of large objects.",
        )
        .falls(RSS)
        .shows("collections pack what they may move"),
    ]
}

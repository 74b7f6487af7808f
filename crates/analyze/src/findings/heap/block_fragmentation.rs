//! `block-fragmentation`: free blocks in megablocks that something keeps.
//!
//! Cost: free blocks in megablocks that hold something, beyond what the next major
//! collection copies into. The runtime fills them again before it takes new megablocks, but
//! the system does not get them back.

use super::super::{Facts, Family, Rule, Verdict, family};
use super::{Lasted, blind, frees, of_resident, part};
use crate::results::BlamedPause;
use rtscope_model::heap::{Heap, Part, mark_word};
use rtscope_model::units::{bytes, counted, percent};
use rtscope_model::{Evidence, Names, Remedy};
use std::collections::BTreeMap;

/// Of the resident memory.
const SHARE_MIN: f64 = 0.2;
/// A small heap has as much of it after any peak.
const BYTES_MIN: u64 = 64 << 20;
/// Megablocks with so many of their 256 blocks free are what costs.
const SPARSE: usize = 128;

pub(in super::super) struct BlockFragmentation;

impl Rule for BlockFragmentation {
    fn id(&self) -> &'static str {
        "block-fragmentation"
    }

    fn families(&self) -> &'static [Family] {
        family::GHC
    }

    fn blind(&self, facts: &Facts<'_>) -> Option<String> {
        blind(facts)
    }

    fn optional(&self) -> bool {
        true
    }

    fn check(&self, facts: &Facts<'_>) -> Option<Verdict> {
        let lasted =
            Lasted::of(facts, free_bytes).filter(|lasted| lasted.share() >= SHARE_MIN && lasted.bytes >= BYTES_MIN)?;
        Some(lasted.verdict(lasted.bytes, seen(&lasted), remedies()))
    }

    fn summary(&self, facts: &Facts<'_>, verdict: &Verdict) -> String {
        let Some(lasted) = Lasted::of(facts, free_bytes) else { return String::new() };
        let levels = &lasted.heap.fragmentation;
        let holders = keepers(lasted.heap);
        let by = holders.first().map_or(String::new(), |(what, _)| format!(", most of them kept by {what}"));
        format!(
            "{} megablocks hold what {} could{by}: {} are free blocks between used ones that no collection needs.",
            levels.megablocks,
            levels.megablocks_needed,
            of_resident(&lasted, verdict.cost_bytes())
        )
    }

    fn yields_to(&self) -> &'static [&'static str] {
        &["pinned-retention", "large-objects"]
    }

    fn instance(&self, _: &BlamedPause, _: &Names) -> Option<String> {
        None
    }
}

fn free_bytes(heap: &Heap) -> u64 {
    part(heap, Part::BlockFragmentation)
}

/// What lies in megablocks that are half free and more: words for it, with how many of
/// these megablocks hold it, the most first.
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
        let told: Vec<String> = keepers.iter().take(3).map(|(what, count)| format!("{what} in {count}")).collect();
        seen.push(lasted.evidence(format!("In the megablocks that are half free and more lie: {}.", told.join(", "))));
    }
    let reserve = part(heap, Part::CopyReserve);
    seen.push(lasted.evidence(format!(
        "Another {} of free memory, {}, are what the next major collection copies into, and not counted.",
        bytes(reserve),
        percent(reserve as f64 / lasted.rss_bytes().max(1) as f64)
    )));
    seen
}

fn remedies() -> Vec<Remedy> {
    vec![
        frees(
            "Allocate together what lives long: load it before the program's work begins, or copy it after a peak, so that it \
             does not lie one block here and one there.",
            None,
            "Record again: fewer megablocks hold something, and less is resident.",
        ),
        frees(
            "Or keep less that cannot be moved: unpinned short byte strings, chunks below 3 KiB instead of large objects.",
            None,
            "Record again: collections pack what they may move.",
        ),
    ]
}

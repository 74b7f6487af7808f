//! `pinned-retention`: live pinned objects keep the blocks that they lie in, with all that
//! is dead there.
//!
//! Cost: dead bytes in blocks that something holds, and what of the free memory the runtime
//! keeps because of them: it keeps free blocks in proportion to blocks in use, so dead ones
//! are paid for more than once.

use super::super::{Facts, Family, Rule, Verdict, family};
use super::{Lasted, blind, frees, of_resident, part};
use crate::results::BlamedPause;
use rtscope_model::heap::{Heap, Holder, Part};
use rtscope_model::units::{bytes, count, percent};
use rtscope_model::{Evidence, Names, Remedy};

/// Of the resident memory.
const SHARE_MIN: f64 = 0.1;
/// Holders that are named.
const NAMED: usize = 2;

pub(in super::super) struct PinnedRetention;

impl Rule for PinnedRetention {
    fn id(&self) -> &'static str {
        "pinned-retention"
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
        let lasted = Lasted::of(facts, dead_bytes)?;
        let cost = with_free(lasted.heap, lasted.bytes);
        let felt = cost as f64 >= SHARE_MIN * lasted.rss_bytes() as f64;
        felt.then(|| lasted.verdict(cost, seen(&lasted, cost), remedies()))
    }

    fn summary(&self, facts: &Facts<'_>, verdict: &Verdict) -> String {
        let Some(lasted) = Lasted::of(facts, dead_bytes) else { return String::new() };
        let heap = lasted.heap;
        let names: Vec<String> = named(heap).map(|holder| format!("`{}`", holder.name)).collect();
        format!(
            "{} of pinned objects are dead and cannot be freed: live ones, held by {}, lie between them. That costs {}.",
            bytes(lasted.bytes),
            names.join(" and "),
            of_resident(&lasted, verdict.cost_bytes())
        )
    }

    fn instance(&self, _: &BlamedPause, _: &Names) -> Option<String> {
        None
    }
}

/// Dead bytes of blocks in which something lives.
fn dead_bytes(heap: &Heap) -> u64 {
    heap.holders.iter().map(|holder| holder.kept_dead_bytes).sum()
}

/// With the free memory that is kept for them.
fn with_free(heap: &Heap, dead_bytes: u64) -> u64 {
    let free = part(heap, Part::BlockFragmentation) + part(heap, Part::FreeMegablocks);
    let used = part(heap, Part::Live) + part(heap, Part::ObjectFragmentation) + part(heap, Part::Slop);
    let share = dead_bytes as f64 / used.max(dead_bytes).max(1) as f64;
    dead_bytes + (free as f64 * share) as u64
}

fn named(heap: &Heap) -> impl Iterator<Item = &Holder> {
    heap.holders.iter().filter(|holder| holder.kept_dead_bytes > 0).take(NAMED)
}

fn seen(lasted: &Lasted<'_>, cost: u64) -> Vec<Evidence> {
    let heap = lasted.heap;
    let pinned = &heap.pinned;
    let (objects, live) = (pinned.objects.unwrap_or(0), pinned.live_objects.unwrap_or(0));
    let mut seen = vec![lasted.evidence(format!(
        "{} of {} pinned objects live; they fill {} ({}) of {} in blocks.",
        count(live),
        count(objects),
        bytes(pinned.live_bytes.unwrap_or(0)),
        percent(pinned.live_bytes.unwrap_or(0) as f64 / pinned.block_bytes.max(1) as f64),
        bytes(pinned.block_bytes)
    ))];
    seen.extend(named(heap).map(|holder| {
        lasted.evidence(format!(
            "`{}` holds {} with {} pointers and keeps {} of dead neighbours.",
            holder.name,
            bytes(holder.live_bytes),
            count(holder.count),
            bytes(holder.kept_dead_bytes)
        ))
    }));
    if let Some(free) = cost.checked_sub(lasted.bytes).filter(|free| *free > 0) {
        let text =
            format!("{} of free memory are kept in proportion to the blocks that the dead ones fill.", bytes(free));
        seen.push(lasted.evidence(text));
    }
    seen
}

fn remedies() -> Vec<Remedy> {
    vec![
        frees(
            "Keep long-lived small byte strings unpinned: `ShortByteString` (or `Text`, or a `ByteArray` that is not pinned) \
             where they are stored, `ByteString` where they pass through.",
            None,
            "Record again: fewer dead pinned bytes, and less is resident.",
        ),
        frees(
            "Or copy what is kept, in one go, after the rest is dropped (`Data.ByteString.copy`): the copies then lie in blocks \
             of their own.",
            None,
            "Record again: more of each pinned block lives.",
        ),
    ]
}

//! `pinned-retention`: live pinned objects retain the blocks that they lie in, with everything that is dead there.
//!
//! Cost: dead bytes in blocks that something retains, and the part of the free memory that the runtime keeps because
//! of them: it keeps free blocks in proportion to blocks in use, so dead ones cost more than once.

use super::{FIGURE, Lasted, RSS, frees, verdict};
use crate::findings::{Facts, Rule, Verdict};
use rtscope_model::heap::{Heap, Part, PinHolder};
use rtscope_model::units::{bytes, count, percent};
use rtscope_model::{Evidence, Remedy};

/// Number of holders that are named.
const NAMED: usize = 2;

pub static RULE: Rule = Rule {
    id: "pinned-retention",
    order: 200,
    share_min: 0.1,
    why: "less is what any program with byte strings has",
    check,
    ..FIGURE
};

fn check(facts: &Facts<'_>) -> Option<Verdict> {
    // Dead bytes of blocks with live objects.
    let dead = |heap: &Heap| heap.holders.iter().map(|holder| holder.kept_dead_bytes).sum();
    let lasted = &Lasted::of(facts, dead)?;
    let cost = with_free(lasted.heap, lasted.bytes);
    let names: Vec<String> = named(lasted.heap).map(|holder| format!("`{}`", holder.name)).collect();
    let what = format!(
        "{} of pinned objects are dead and cannot be freed: live ones, held by {}, lie between them. That costs ",
        bytes(lasted.bytes),
        names.join(" and ")
    );
    Some(verdict(lasted, cost, what, ".").seen(seen(lasted, cost)).remedies(remedies()))
}

/// Adds the free memory that is kept because of them.
fn with_free(heap: &Heap, dead_bytes: u64) -> u64 {
    let free = heap.part_bytes(Part::BlockFragmentation) + heap.part_bytes(Part::FreeMegablocks);
    let used = heap.part_bytes(Part::Live) + heap.part_bytes(Part::ObjectFragmentation) + heap.part_bytes(Part::Slop);
    let share = dead_bytes as f64 / used.max(dead_bytes).max(1) as f64;
    dead_bytes + (free as f64 * share) as u64
}

fn named(heap: &Heap) -> impl Iterator<Item = &PinHolder> {
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

fn remedies() -> [Remedy; 2] {
    [
        frees(
            "Keep long-lived small byte strings unpinned: `ShortByteString` (or `Text`, or a `ByteArray` that is not \
             pinned) where they are stored, `ByteString` where they pass through.",
            "fewer dead pinned bytes",
        ),
        Remedy::or(
            "copy what is kept, in one go, after the rest is dropped (`Data.ByteString.copy`): the copies then lie in \
             blocks of their own.",
        )
        .falls(RSS)
        .shows("more of each pinned block lives"),
    ]
}

//! `pinned-retention`: live pinned objects keep the blocks that they lie in, with all that
//! is dead there.
//!
//! Cost: dead bytes in blocks that something holds, and what of the free memory the runtime
//! keeps because of them: it keeps free blocks in proportion to blocks in use, so dead ones
//! are paid for more than once.

use super::{Figure, Lasted, frees, of_resident};
use rtscope_model::heap::{Heap, Holder, Part};
use rtscope_model::units::{bytes, count, percent};
use rtscope_model::{Evidence, Remedy};

/// Holders that are named.
const NAMED: usize = 2;

pub(in super::super) struct PinnedRetention;

impl Figure for PinnedRetention {
    const ID: &'static str = "pinned-retention";
    const SHARE_MIN: f64 = 0.1;

    fn bytes(heap: &Heap) -> u64 {
        dead_bytes(heap)
    }

    fn cost(heap: &Heap, dead_bytes: u64) -> u64 {
        with_free(heap, dead_bytes)
    }

    fn claim(lasted: &Lasted<'_>, cost: u64) -> String {
        let heap = lasted.heap;
        let names: Vec<String> = named(heap).map(|holder| format!("`{}`", holder.name)).collect();
        format!(
            "{} of pinned objects are dead and cannot be freed: live ones, held by {}, lie between them. That costs {}.",
            bytes(lasted.bytes),
            names.join(" and "),
            of_resident(lasted, cost)
        )
    }

    fn seen(lasted: &Lasted<'_>, cost: u64) -> Vec<Evidence> {
        seen(lasted, cost)
    }

    fn remedies(_: &Lasted<'_>) -> Vec<Remedy> {
        remedies()
    }
}

/// Dead bytes of blocks in which something lives.
fn dead_bytes(heap: &Heap) -> u64 {
    heap.holders.iter().map(|holder| holder.kept_dead_bytes).sum()
}

/// With the free memory that is kept for them.
fn with_free(heap: &Heap, dead_bytes: u64) -> u64 {
    let free = heap.part_bytes(Part::BlockFragmentation) + heap.part_bytes(Part::FreeMegablocks);
    let used = heap.part_bytes(Part::Live) + heap.part_bytes(Part::ObjectFragmentation) + heap.part_bytes(Part::Slop);
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

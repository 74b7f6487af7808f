//! `copy-reserve`: a copying collection needs as much free memory as it copies, and the runtime keeps that memory
//! between collections.
//!
//! Cost: free memory up to the amount that the next major collection copies. It is no waste as long as the heap is
//! collected by copying; other collectors do without it.

use super::{FIGURE, Lasted, RSS, verdict};
use crate::findings::{Facts, Rule, Verdict};
use rtscope_model::heap::{Heap, Part};
use rtscope_model::units::{bytes, counted};
use rtscope_model::{Evidence, Figure, Remedy};

pub static RULE: Rule = Rule {
    id: "copy-reserve",
    order: 240,
    share_min: 0.25,
    bytes_min: 64 << 20,
    why: "the runtime keeps it by design; less is not worth another collector",
    check,
    ..FIGURE
};

fn check(facts: &Facts<'_>) -> Option<Verdict> {
    let lasted = &Lasted::of(facts, |heap| heap.part_bytes(Part::CopyReserve))?;
    let objects = bytes(moved(lasted.heap));
    let rest =
        format!(" are free and kept so that the next major collection can copy {objects} of live objects into them.");
    Some(verdict(lasted, lasted.bytes, "", rest).seen(seen(lasted)).remedies(remedies()))
}

/// Bytes that a collection of all generations copies.
fn moved(heap: &Heap) -> u64 {
    heap.kinds.iter().filter(|kind| kind.kind == "small").filter_map(|kind| kind.used_bytes).sum()
}

fn seen(lasted: &Lasted<'_>) -> Vec<Evidence> {
    let heap = lasted.heap;
    let majors = heap.runtime.generations.last().map_or(0, |oldest| oldest.collections);
    vec![
        lasted.evidence(format!(
            "{} of objects are copied by a major collection; {} of free memory are held.",
            bytes(moved(heap)),
            bytes(
                heap.part_bytes(Part::CopyReserve)
                    + heap.part_bytes(Part::BlockFragmentation)
                    + heap.part_bytes(Part::FreeMegablocks)
            )
        )),
        lasted.evidence(format!("{} of the oldest generation so far.", counted(majors, "collection", "collections"))),
    ]
}

fn remedies() -> [Remedy; 4] {
    let no_reserve = Figure { shows: "no copy reserve, and less is resident", ..RSS };
    [
        Remedy::new("Collect the old generation in place: the non-moving collector copies nothing of it.")
            .option("--nonmoving-gc")
            .falls(no_reserve),
        Remedy::or("compact instead of copying: slower collections, no second copy.").option("-c").falls(no_reserve),
        Remedy::or("collect the old generation more often, before it has grown to twice what lives.")
            .option("-F1.2")
            .falls(RSS),
        Remedy::or(
            "put data that no longer changes into a compact region (package `ghc-compact`): it is not copied any more.",
        )
        .falls(RSS)
        .shows("less is copied"),
    ]
}

//! `copy-reserve`: a copying collection needs as much free memory as it copies, and the
//! runtime keeps it between collections.
//!
//! Cost: free memory up to what the next major collection copies. It is no waste as long as
//! the heap is collected by copying; other collectors do without.

use super::{Figure, Lasted, frees, of_resident};
use rtscope_model::heap::{Heap, Part};
use rtscope_model::units::{bytes, counted};
use rtscope_model::{Evidence, Remedy};

pub(in super::super) struct CopyReserve;

impl Figure for CopyReserve {
    const ID: &'static str = "copy-reserve";
    const SHARE_MIN: f64 = 0.25;
    /// Less memory than this is not worth another collector.
    const BYTES_MIN: u64 = 64 << 20;

    fn bytes(heap: &Heap) -> u64 {
        reserve(heap)
    }

    fn claim(lasted: &Lasted<'_>, cost: u64) -> String {
        format!(
            "{} are free and kept so that the next major collection can copy {} of live objects into them.",
            of_resident(lasted, cost),
            bytes(moved(lasted.heap))
        )
    }

    fn seen(lasted: &Lasted<'_>, _: u64) -> Vec<Evidence> {
        seen(lasted)
    }

    fn remedies(_: &Lasted<'_>) -> Vec<Remedy> {
        remedies()
    }
}

fn reserve(heap: &Heap) -> u64 {
    heap.part_bytes(Part::CopyReserve)
}

/// What a collection of all generations copies.
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

fn remedies() -> Vec<Remedy> {
    vec![
        frees(
            "Collect the old generation in place: the non-moving collector copies nothing of it.",
            Some("+RTS --nonmoving-gc"),
            "Record again: no copy reserve, and less is resident.",
        ),
        frees(
            "Or compact instead of copying: slower collections, no second copy.",
            Some("+RTS -c"),
            "Record again: no copy reserve, and less is resident.",
        ),
        frees(
            "Or collect the old generation more often, before it has grown to twice what lives.",
            Some("+RTS -F1.2"),
            "Record again: less is resident.",
        ),
        frees(
            "Or put data that no longer changes into a compact region (package `ghc-compact`): it is not copied any more.",
            None,
            "Record again: less is copied.",
        ),
    ]
}

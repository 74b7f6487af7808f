//! `memory-not-returned`: whole megablocks that hold nothing and that the system has not got
//! back.
//!
//! Cost: free megablocks beyond what the next major collection copies into, and those that
//! were given back and are still counted as resident. The latter the system takes when it
//! needs them: lazy return is no real use, which is said.

use super::{Figure, Lasted, frees, of_resident};
use rtscope_model::heap::{Heap, Part};
use rtscope_model::units::bytes;
use rtscope_model::{Evidence, Remedy};

pub(in super::super) struct MemoryNotReturned;

impl Figure for MemoryNotReturned {
    const ID: &'static str = "memory-not-returned";
    const SHARE_MIN: f64 = 0.25;
    /// A small heap has as much of it after any peak.
    const BYTES_MIN: u64 = 64 << 20;
    const YIELDS_TO: &'static [&'static str] = &["pinned-retention"];

    fn bytes(heap: &Heap) -> u64 {
        free_bytes(heap)
    }

    fn claim(lasted: &Lasted<'_>, cost: u64) -> String {
        let cost = of_resident(lasted, cost);
        if is_lazy(lasted) {
            return format!(
                "{cost} were given back to the system, which takes them only when it needs them: they are counted, not used."
            );
        }
        format!("{cost} are megablocks that hold nothing and that the runtime keeps after a peak.")
    }

    fn seen(lasted: &Lasted<'_>, _: u64) -> Vec<Evidence> {
        seen(lasted)
    }

    fn remedies(lasted: &Lasted<'_>) -> Vec<Remedy> {
        remedies(lasted)
    }
}

fn free_bytes(heap: &Heap) -> u64 {
    heap.part_bytes(Part::FreeMegablocks)
}

/// More of it is given back than kept.
fn is_lazy(lasted: &Lasted<'_>) -> bool {
    lasted.heap.fragmentation.returned_resident_bytes.saturating_mul(2) >= free_bytes(lasted.heap)
}

fn seen(lasted: &Lasted<'_>) -> Vec<Evidence> {
    let levels = &lasted.heap.fragmentation;
    vec![
        lasted.evidence(format!(
            "{} are free megablocks that the runtime keeps, {} were given back and are still resident.",
            bytes(levels.free_megablock_bytes),
            bytes(levels.returned_resident_bytes)
        )),
        lasted.evidence(format!(
            "{} live then; the next major collection needs {} to copy into, which are not counted.",
            bytes(lasted.heap.part_bytes(Part::Live)),
            bytes(lasted.heap.part_bytes(Part::CopyReserve))
        )),
    ]
}

fn remedies(lasted: &Lasted<'_>) -> Vec<Remedy> {
    let eager = frees(
        "Give memory back at once: what the system counts is then what the runtime has. Taking it again costs page faults.",
        Some("+RTS --disable-delayed-os-memory-return"),
        "Record again: less is resident.",
    );
    let sooner = frees(
        "Keep less beyond what lives: the old generation is collected more often.",
        Some("+RTS -F1.2"),
        "Record again: less is resident.",
    );
    if is_lazy(lasted) { vec![eager, sooner] } else { vec![sooner, eager] }
}

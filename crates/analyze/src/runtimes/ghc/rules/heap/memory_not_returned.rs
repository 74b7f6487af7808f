//! `memory-not-returned`: whole megablocks that hold nothing and were not returned to the system.
//!
//! Cost: free megablocks beyond what the next major collection copies into, and those that were returned but still
//! count as resident. The system takes the latter when it needs them: lazily returned memory is not really used, and
//! the finding says so.

use super::{FIGURE, Lasted, RSS, verdict};
use crate::findings::{Facts, Rule, Verdict};
use rtscope_model::heap::Part;
use rtscope_model::units::bytes;
use rtscope_model::{Evidence, Remedy};

pub static RULE: Rule = Rule {
    id: "memory-not-returned",
    order: 230,
    yields_to: &["pinned-retention"],
    share_min: 0.25,
    bytes_min: 64 << 20,
    why: "the runtime keeps it by design, and a small heap has as much of it after any peak",
    check,
    ..FIGURE
};

fn check(facts: &Facts<'_>) -> Option<Verdict> {
    let lasted = &Lasted::of(facts, |heap| heap.part_bytes(Part::FreeMegablocks))?;
    let rest = if is_lazy(lasted) {
        " were given back to the system, which takes them only when it needs them: they are counted, not used."
    } else {
        " are megablocks that hold nothing and that the runtime keeps after a peak."
    };
    Some(verdict(lasted, lasted.bytes, "", rest).seen(seen(lasted)).remedies(remedies(lasted)))
}

/// Whether more of it was returned than kept.
fn is_lazy(lasted: &Lasted<'_>) -> bool {
    lasted.heap.fragmentation.returned_resident_bytes.saturating_mul(2) >= lasted.heap.part_bytes(Part::FreeMegablocks)
}

fn seen(lasted: &Lasted<'_>) -> [Evidence; 2] {
    let levels = &lasted.heap.fragmentation;
    [
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

fn remedies(lasted: &Lasted<'_>) -> [Remedy; 2] {
    let eager = "Give memory back at once: what the system counts is then what the runtime has. Taking it again costs \
                 page faults.";
    let eager = Remedy::new(eager).option("--disable-delayed-os-memory-return").falls(RSS);
    let sooner = Remedy::new("Keep less beyond what lives: the old generation is collected more often.");
    let sooner = sooner.option("-F1.2").falls(RSS);
    if is_lazy(lasted) { [eager, sooner] } else { [sooner, eager] }
}

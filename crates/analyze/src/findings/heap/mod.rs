//! What rules about memory have in common: looks at the heap, what of a figure lasted from
//! one look to the next, and when nobody looked. Owns that a figure which was seen in one
//! look only does not count where there are more: what the next collection frees costs
//! nothing for long.

mod block_fragmentation;
mod copy_reserve;
mod large_objects;
mod memory_not_returned;
mod not_the_haskell_heap;
mod pinned_retention;
#[cfg(test)]
mod tests;

pub(super) use block_fragmentation::BlockFragmentation;
pub(super) use copy_reserve::CopyReserve;
pub(super) use large_objects::LargeObjects;
pub(super) use memory_not_returned::MemoryNotReturned;
pub(super) use not_the_haskell_heap::NotTheHaskellHeap;
pub(super) use pinned_retention::PinnedRetention;

use super::{Cost, Facts, Verdict, evidence};
use rtscope_model::heap::{Heap, Part};
use rtscope_model::units::bytes;
use rtscope_model::{Confidence, Evidence, Metric, Remedy, Time};

/// Where the resident memory stands in `report --json`: at the end a program has given up
/// what it held, so that its mean is what tells.
const RSS_MEAN: &str = "memory.rss_bytes.mean";

/// A figure that lasted.
struct Lasted<'a> {
    /// The look at which it is told: the later one of the two that saw it.
    heap: &'a Heap,
    bytes: u64,
    /// From the look before to this one; `None`: there was only one.
    range: Option<(Time, Time)>,
}

impl<'a> Lasted<'a> {
    /// The most of `figure` that two looks in a row saw, or the only look.
    fn of(facts: &Facts<'a>, figure: impl Fn(&Heap) -> u64) -> Option<Lasted<'a>> {
        let mut sure = facts.heaps.iter().filter(|heap| is_sure(heap)).peekable();
        let first = sure.peek().copied()?;
        let mut most = Lasted { heap: first, bytes: 0, range: None };
        let (mut before, mut last) = sure.next().map(|heap| (heap, figure(heap)))?;
        let mut alone = true;
        for heap in sure {
            let bytes = figure(heap);
            if last.min(bytes) > most.bytes {
                most = Lasted { heap, bytes: last.min(bytes), range: before.time.zip(heap.time) };
            }
            (before, last, alone) = (heap, bytes, false);
        }
        if alone {
            most.bytes = last;
        }
        (most.bytes > 0).then_some(most)
    }

    fn share(&self) -> f64 {
        self.bytes as f64 / self.rss_bytes().max(1) as f64
    }

    fn rss_bytes(&self) -> u64 {
        self.heap.rss_bytes.unwrap_or(self.heap.heap_bytes)
    }

    /// The yes of a rule that says `bytes` of what is resident.
    fn verdict(&self, bytes: u64, evidence: Vec<Evidence>, remedies: Vec<Remedy>) -> Verdict {
        let cost = Cost::Memory { bytes, of: self.rss_bytes() };
        let confidence = if self.range.is_some() { Confidence::High } else { Confidence::Medium };
        Verdict { confidence, cost, evidence, remedies }
    }

    fn evidence(&self, text: String) -> Evidence {
        evidence(text, self.range)
    }
}

/// Whether its figures are of one moment.
fn is_sure(heap: &Heap) -> bool {
    let moved = heap.scan.as_ref().and_then(|scan| scan.collections_of_oldest).unwrap_or(0);
    heap.unsettled_megablocks == 0 && moved == 0 && !heap.in_collection
}

/// Resident bytes of a part.
fn part(heap: &Heap, part: Part) -> u64 {
    heap.ledger.iter().filter(|line| line.part == part).map(|line| line.bytes).sum()
}

/// Why nobody can say.
fn blind(facts: &Facts<'_>) -> Option<String> {
    facts.heaps.is_empty().then(|| "nobody looked at the heap: record with `--heap-every 1s`.".to_owned())
}

/// "105 MiB of 158 MiB resident".
fn of_resident(lasted: &Lasted<'_>, cost: u64) -> String {
    format!("{} of {} resident", bytes(cost), bytes(lasted.rss_bytes()))
}

/// One that makes less memory resident.
fn frees(text: &str, flag: Option<&str>, verify: &str) -> Remedy {
    Remedy { text: text.into(), flag: flag.map(str::to_owned), verify: verify.into(), metric: Metric::falls(RSS_MEAN) }
}

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

pub(super) use not_the_haskell_heap::NotTheHaskellHeap;

use super::{Cost, Facts, Rule, Runtimes, Verdict, evidence};
use crate::results::BlamedPause;
use rtscope_model::heap::Heap;
use rtscope_model::runtimes::GHC;
use rtscope_model::units::bytes;
use rtscope_model::{Confidence, Evidence, Metric, Names, Remedy, Time};
use std::marker::PhantomData;

pub(super) const PINNED_RETENTION: OfHeap<pinned_retention::PinnedRetention> = OfHeap(PhantomData);
pub(super) const LARGE_OBJECTS: OfHeap<large_objects::LargeObjects> = OfHeap(PhantomData);
pub(super) const BLOCK_FRAGMENTATION: OfHeap<block_fragmentation::BlockFragmentation> = OfHeap(PhantomData);
pub(super) const MEMORY_NOT_RETURNED: OfHeap<memory_not_returned::MemoryNotReturned> = OfHeap(PhantomData);
pub(super) const COPY_RESERVE: OfHeap<copy_reserve::CopyReserve> = OfHeap(PhantomData);

/// A figure of a look at the heap that should not be much.
pub(super) trait Figure: Sync {
    /// The rule's stable name.
    const ID: &'static str;
    /// Reported from this share of the resident memory,
    const SHARE_MIN: f64;
    /// and from so many bytes.
    const BYTES_MIN: u64 = 0;
    /// See [`Rule::yields_to`].
    const YIELDS_TO: &'static [&'static str] = &[];
    /// The figure.
    fn bytes(heap: &Heap) -> u64;
    /// What it costs.
    fn cost(_: &Heap, bytes: u64) -> u64 {
        bytes
    }
    /// What is said of it, what was seen, what to do.
    fn claim(lasted: &Lasted<'_>, cost: u64) -> String;
    /// See `claim`.
    fn seen(lasted: &Lasted<'_>, cost: u64) -> Vec<Evidence>;
    /// See `claim`.
    fn remedies(lasted: &Lasted<'_>) -> Vec<Remedy>;
}

/// The rule about a figure.
pub(super) struct OfHeap<F>(PhantomData<F>);

impl<F: Figure> OfHeap<F> {
    fn lasted<'a>(facts: &Facts<'a>) -> Option<(Lasted<'a>, u64)> {
        let lasted = Lasted::of(facts, F::bytes)?;
        let cost = F::cost(lasted.heap, lasted.bytes);
        let felt = cost as f64 >= F::SHARE_MIN * lasted.rss_bytes() as f64 && cost >= F::BYTES_MIN;
        felt.then_some((lasted, cost))
    }
}

impl<F: Figure> Rule for OfHeap<F> {
    fn id(&self) -> &'static str {
        F::ID
    }

    fn runtimes(&self) -> Runtimes {
        Runtimes::Only(&GHC)
    }

    fn blind(&self, facts: &Facts<'_>) -> Option<String> {
        facts.heaps.is_empty().then(|| "nobody looked at the heap: record with `--heap-every 1s`.".to_owned())
    }

    fn optional(&self) -> bool {
        true
    }

    fn check(&self, facts: &Facts<'_>) -> Option<Verdict> {
        let (lasted, cost) = Self::lasted(facts)?;
        let confidence = if lasted.range.is_some() { Confidence::High } else { Confidence::Medium };
        let (evidence, remedies) = (F::seen(&lasted, cost), F::remedies(&lasted));
        Some(Verdict { confidence, cost: Cost::Memory { bytes: cost, of: lasted.rss_bytes() }, evidence, remedies })
    }

    fn summary(&self, facts: &Facts<'_>, _: &Verdict) -> String {
        Self::lasted(facts).map_or(String::new(), |(lasted, cost)| F::claim(&lasted, cost))
    }

    fn yields_to(&self) -> &'static [&'static str] {
        F::YIELDS_TO
    }

    fn instance(&self, _: &BlamedPause, _: &Names) -> Option<String> {
        // Memory is no matter of one pause.
        None
    }
}

/// Where the resident memory stands in `report --json`: at the end a program has given up
/// what it held, so that its mean is what tells.
const RSS_MEAN: &str = "memory.rss_bytes.mean";

/// A figure that lasted.
pub(super) struct Lasted<'a> {
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

    fn rss_bytes(&self) -> u64 {
        self.heap.rss_bytes.unwrap_or(self.heap.heap_bytes)
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

/// "105 MiB of 158 MiB resident".
fn of_resident(lasted: &Lasted<'_>, cost: u64) -> String {
    format!("{} of {} resident", bytes(cost), bytes(lasted.rss_bytes()))
}

/// One that makes less memory resident.
fn frees(text: &str, flag: Option<&str>, verify: &str) -> Remedy {
    Remedy { text: text.into(), flag: flag.map(str::to_owned), verify: verify.into(), metric: Metric::falls(RSS_MEAN) }
}

//! What rules about memory share: looks at the heap, what part of a figure lasted from one look to the next, and why
//! they are blind. Owns that a figure seen in only one of several looks does not count: what the next collection
//! frees does not cost anything for long.

pub mod block_fragmentation;
pub mod copy_reserve;
pub mod large_objects;
pub mod memory_not_returned;
pub mod not_the_haskell_heap;
pub mod pinned_retention;
#[cfg(test)]
mod tests;

use crate::findings::{COST_MIN_BYTES, Cost, Facts, Need, Rule, Says, Verdict, evidence, sure};
use rtscope_model::heap::Heap;
use rtscope_model::{Evidence, Figure, Remedy, Time};

/// What rules about a figure of a look at the heap share.
const FIGURE: Rule = Rule { needs: Some(&LOOKS), bytes_min: COST_MIN_BYTES, ..Rule::BLANK };

static LOOKS: Need = Need { name: "looks at the heap (`--heap-every`)", optional: true, missing: no_looks };

/// At its end a program has released its memory, so the mean is what counts.
const RSS: Figure = Figure { path: "memory.rss_bytes.mean", shows: "less is resident" };

fn no_looks(facts: &Facts<'_>) -> Option<String> {
    facts.heaps.is_empty().then(|| "there are no heap snapshots: record with `--heap-every 1s`.".to_owned())
}

/// The verdict on `bytes` of a figure that lasted.
fn verdict(lasted: &Lasted<'_>, bytes: u64, what: impl Into<String>, rest: impl Into<String>) -> Verdict {
    let cost = Cost::Memory { bytes, of: lasted.rss_bytes() };
    Verdict::new(cost, sure(lasted.range.is_some()), what).says(Says::Amount).then(rest)
}

/// A figure that lasted.
pub struct Lasted<'a> {
    /// The look that reports it: the later one of the two that saw it.
    heap: &'a Heap,
    bytes: u64,
    /// From the previous look to this one; `None`: there was only one.
    range: Option<(Time, Time)>,
}

impl<'a> Lasted<'a> {
    /// The largest value of `figure` that two successive looks saw, or the only look.
    fn of(facts: &Facts<'a>, figure: impl Fn(&Heap) -> u64) -> Option<Lasted<'a>> {
        let sure = facts.heaps.iter().filter(|heap| is_sure(heap)).map(|heap| (heap, figure(heap)));
        let sure: Vec<(&Heap, u64)> = sure.collect();
        let both = |(&(before, last), &(heap, bytes)): (&(&'a Heap, u64), &(&'a Heap, u64))| Lasted {
            heap,
            bytes: last.min(bytes),
            range: before.time.zip(heap.time),
        };
        let most = match sure[..] {
            [(heap, bytes)] => Some(Lasted { heap, bytes, range: None }),
            // Of equal ones the first.
            _ => sure.iter().zip(sure.iter().skip(1)).map(both).rev().max_by_key(|lasted| lasted.bytes),
        };
        most.filter(|most| most.bytes > 0)
    }

    fn rss_bytes(&self) -> u64 {
        self.heap.rss_bytes.unwrap_or(self.heap.heap_bytes)
    }

    fn evidence(&self, text: String) -> Evidence {
        evidence(text, self.range)
    }
}

/// Whether its figures belong to one moment.
fn is_sure(heap: &Heap) -> bool {
    let moved = heap.scan.as_ref().and_then(|scan| scan.collections_of_oldest).unwrap_or(0);
    heap.unsettled_megablocks == 0 && moved == 0 && !heap.in_collection
}

/// A remedy that makes less memory resident, and also lets another recording show `what`.
fn frees(text: &str, what: &str) -> Remedy {
    Remedy::new(text).falls(RSS).shows(&format!("{what}, and less is resident"))
}

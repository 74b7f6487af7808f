//! Snapshots of the heap as reports show them: abridged, without their maps. Owns the choice of keys; the snapshots
//! themselves belong to [`rtscope_model::heap`].

use rtscope_model::Time;
use rtscope_model::heap::{Entry, Fragmentation, Heap, HeapLine, PinHolder, Pinned};
use serde::{Serialize, Serializer};

/// Entries of a list in a report.
const FIRST: usize = 10;

#[derive(Serialize)]
struct Short<'a> {
    time_ns: Option<Time>,
    of: &'a str,
    rss_bytes: Option<u64>,
    heap_bytes: u64,
    ledger: &'a [HeapLine],
    unexplained_bytes: Option<i64>,
    fragmentation: &'a Fragmentation,
    pinned: &'a Pinned,
    holders: &'a [PinHolder],
    census: &'a [Entry],
    doubts: &'a [String],
}

/// Writes abridged snapshots.
///
/// # Errors
/// Those of the serializer.
pub fn in_short<S: Serializer>(heaps: &[Heap], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(heaps.iter().map(|heap| Short {
        time_ns: heap.time,
        of: &heap.of,
        rss_bytes: heap.rss_bytes,
        heap_bytes: heap.heap_bytes,
        ledger: &heap.ledger,
        unexplained_bytes: heap.unexplained_bytes,
        fragmentation: &heap.fragmentation,
        pinned: &heap.pinned,
        holders: first(&heap.holders),
        census: first(&heap.census),
        doubts: &heap.doubts,
    }))
}

fn first<T>(list: &[T]) -> &[T] {
    list.get(..FIRST).unwrap_or(list)
}

/// The snapshot with the largest resident memory; of equal ones the first.
pub fn peak(heaps: &[Heap]) -> Option<&Heap> {
    heaps.iter().rev().max_by_key(|heap| heap.rss_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_is_the_first_that_was_largest() {
        let heap = |at, rss| Heap { time: Some(Time(at)), rss_bytes: rss, ..Heap::default() };
        let heaps = [heap(1, None), heap(2, Some(5)), heap(3, Some(9)), heap(4, Some(9))];
        assert_eq!(peak(&heaps).and_then(|heap| heap.time), Some(Time(3)));
        assert_eq!(peak(&[]), None);
    }
}

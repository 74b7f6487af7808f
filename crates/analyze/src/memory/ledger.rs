//! Where the resident memory is, as far as it was seen: for a GHC program from its last snapshot, for an OCaml
//! program from its own counters, which its domains post at the end of a major cycle, combined with what the kernel
//! counts. Owns that the lines do not overlap and add up to the resident memory.

use crate::folds::{End, Fold};
use crate::results::{LedgerLine, MemoryLedger, Results};
use rtscope_model::heap::Heap;
use rtscope_model::{Body, Class, Classes, Counter, Event, LaneId, Runtime, Sample, Time};
use std::collections::BTreeMap;

/// Figures at the end of a cycle.
#[derive(Copy, Clone, Debug)]
struct CycleFigures {
    time: Time,
    live: u64,
    free: u64,
    large: u64,
    young: u64,
    /// Resident memory at the nearest sample.
    rss: Option<(Time, u64)>,
}

#[derive(Default)]
pub struct Ledger {
    rss: Option<(Time, u64)>,
    live: u64,
    free: u64,
    /// The largest size seen of each domain's young heap.
    young: BTreeMap<LaneId, u64>,
    last: Option<CycleFigures>,
}

impl Ledger {
    fn count(&mut self, event: &Event, counter: Counter, value: u64) {
        match counter {
            Counter::YoungBytes => {
                let young = self.young.entry(event.lane).or_default();
                *young = value.max(*young);
            }
            Counter::LiveBytes => self.live = value,
            Counter::OldFreeBytes => self.free = value,
            // The last of the three; only OCaml posts it.
            Counter::LargeBytes => {
                let young = self.young.values().fold(0, |sum: u64, young| sum.saturating_add(*young));
                let (time, live, free) = (event.time, self.live, self.free);
                self.last = Some(CycleFigures { time, live, free, large: value, young, rss: self.rss });
            }
            _ => {}
        }
    }

    /// Of the samples before and after the end of a cycle, the nearer one counts.
    fn sampled(&mut self, time: Time, bytes: u64) {
        self.rss = Some((time, bytes));
        let Some(last) = &mut self.last else { return };
        let nearer = match last.rss {
            None => true,
            Some((before, _)) => before < last.time && time.since(last.time) < last.time.since(before),
        };
        if nearer {
            last.rss = Some((time, bytes));
        }
    }

    /// The lines; `None`: nothing is known. `heaps` are the snapshots, in time order.
    pub fn lines(&self, heaps: &[Heap]) -> Option<MemoryLedger> {
        heaps.last().map(of_snapshot).or_else(|| self.last.and_then(of_counters))
    }
}

impl Fold for Ledger {
    fn classes(&self) -> Classes {
        Classes::NONE.with(Class::Figures).with(Class::Heap).with(Class::Lanes)
    }

    fn samples(&self) -> bool {
        true
    }

    fn event(&mut self, event: &Event) {
        match event.body {
            Body::Sample(Sample::Rss { bytes }) => self.sampled(event.time, bytes),
            Body::Runtime(Runtime::Count(counter, value)) => self.count(event, counter, value),
            Body::Runtime(Runtime::LaneDeleted) => _ = self.young.remove(&event.lane),
            _ => {}
        }
    }

    fn result(&mut self, end: &End<'_>, results: &mut Results) {
        results.ledger = self.lines(&end.context.heaps).unwrap_or_default();
    }
}

fn line(line: &str, bytes: u64, how: &str) -> LedgerLine {
    LedgerLine { line: line.into(), bytes: signed(bytes), how: how.into() }
}

fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

fn of_snapshot(heap: &Heap) -> MemoryLedger {
    let mut lines: Vec<_> = heap.ledger.iter().map(|listed| line(&listed.line, listed.bytes, &listed.how)).collect();
    if let Some(bytes) = heap.unexplained_bytes {
        let how = "resident memory less all lines".into();
        lines.push(LedgerLine { line: "not explained".into(), bytes, how });
    }
    MemoryLedger { time: heap.time, rss_bytes: heap.rss_bytes, lines }
}

fn of_counters(counted: CycleFigures) -> Option<MemoryLedger> {
    let (_, rss) = counted.rss?;
    let pools = "the domains' counters at the end of a major cycle";
    let mut lines = vec![
        line("alive in pools of small blocks", counted.live.saturating_sub(counted.large), pools),
        line("free in pools of small blocks (fragmentation)", counted.free, "pool words less live words of pools"),
        line("large blocks", counted.large, pools),
        line(
            "minor heaps",
            counted.young,
            "the most that each domain's held at a collection: what lies beyond was never touched",
        ),
    ];
    let listed = lines.iter().fold(0_i64, |sum, line| sum.saturating_add(line.bytes));
    let rest = signed(rss).saturating_sub(listed);
    let (name, how) = if rest < 0 {
        ("of these not in memory", "resident memory less the lines above: it is smaller than they are")
    } else {
        ("not the heap: code, stacks, malloc", "resident memory less the lines above")
    };
    lines.push(LedgerLine { line: name.into(), bytes: rest, how: how.into() });
    lines.retain(|line| line.bytes != 0);
    Some(MemoryLedger { time: Some(counted.time), rss_bytes: Some(rss), lines })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rtscope_model::heap;

    fn event(at: u64, lane: LaneId, body: Body) -> Event {
        Event { time: Time(at), lane, body }
    }

    fn count(at: u64, lane: LaneId, counter: Counter, value: u64) -> Event {
        event(at, lane, Body::Runtime(Runtime::Count(counter, value)))
    }

    fn rss(at: u64, bytes: u64) -> Event {
        event(at, LaneId::NONE, Body::Sample(Sample::Rss { bytes }))
    }

    fn cycle(at: u64, live: u64, free: u64, large: u64) -> [Event; 3] {
        let counters = [(Counter::LiveBytes, live), (Counter::OldFreeBytes, free), (Counter::LargeBytes, large)];
        counters.map(|(counter, value)| count(at, LaneId::NONE, counter, value))
    }

    fn bytes(ledger: &MemoryLedger) -> Vec<i64> {
        ledger.lines.iter().map(|line| line.bytes).collect()
    }

    #[test]
    fn counters_and_the_kernel_s_figure_give_one_sum() {
        let mut ledger = Ledger::default();
        let young = |at, lane, value| count(at, LaneId(lane), Counter::YoungBytes, value);
        [rss(1, 900), young(2, 0, 20), young(3, 0, 10), young(3, 1, 5), young(4, 2, 99)]
            .iter()
            .for_each(|event| ledger.event(event));
        ledger.event(&event(5, LaneId(2), Body::Runtime(Runtime::LaneDeleted)));
        cycle(10, 300, 50, 100).iter().for_each(|event| ledger.event(event));
        let found = ledger.lines(&[]).unwrap();
        assert_eq!((found.rss_bytes, bytes(&found)), (Some(900), vec![200, 50, 100, 25, 525]));
        // The first sample after the cycle is nearer than the one before it; the second is not.
        ledger.event(&rss(12, 500));
        ledger.event(&rss(13, 700));
        let found = ledger.lines(&[]).unwrap();
        assert_eq!(
            (found.time, found.rss_bytes, bytes(&found)),
            (Some(Time(10)), Some(500), vec![200, 50, 100, 25, 125])
        );
    }

    #[test]
    fn a_heap_that_is_not_all_in_memory_is_reported_so() {
        let mut ledger = Ledger::default();
        cycle(10, 300, 0, 100).iter().for_each(|event| ledger.event(event));
        assert_eq!(ledger.lines(&[]), None, "the memory was not sampled");
        ledger.event(&rss(99, 250));
        let found = ledger.lines(&[]).unwrap();
        assert_eq!(bytes(&found), [200, 100, -50]);
        assert!(found.lines[2].line.contains("not in memory"));
        cycle(100, u64::MAX, u64::MAX, u64::MAX).iter().for_each(|event| ledger.event(event));
        assert!(ledger.lines(&[]).is_some());
    }

    #[test]
    fn a_snapshot_shows_more_than_counters() {
        let line = |bytes| heap::HeapLine { line: "x".into(), bytes, ..heap::HeapLine::default() };
        let heap = |at, unexplained| Heap {
            time: Some(Time(at)),
            rss_bytes: Some(7),
            ledger: vec![line(5), line(4)],
            unexplained_bytes: unexplained,
            ..Heap::default()
        };
        let mut ledger = Ledger::default();
        ledger.event(&rss(1, 9));
        let found = ledger.lines(&[heap(5, None), heap(6, Some(-2))]).unwrap();
        assert_eq!((found.time, bytes(&found)), (Some(Time(6)), vec![5, 4, -2]));
    }
}

//! The figures below the first screen, of every recorded log: each is computed a second time here, in the
//! simplest way, from the raw events or from the pauses.

use rtscope_analyze::results::{BlamedPause, Results, SparkCounts};
use rtscope_model::PauseQuality;
use rtscope_read::input;
use rtscope_read::pipeline::{Options, analyse};
use std::collections::BTreeMap;
use std::path::Path;
use xtask::corpus;
use xtask::raw_log::RawLog;

const GC_STATS_GHC: u16 = 53;
const HEAP_ALLOCATED: u16 = 49;
const SPARK_COUNTERS: u16 = 34;
const CONC_MARK: [u16; 2] = [200, 201];
const CONC_SYNC_BEGIN: u16 = 202;
const CONC_SWEEP: [u16; 2] = [204, 205];

fn report(log: &Path) -> (Results, Vec<BlamedPause>) {
    let mut pauses = Vec::new();
    let options = Options { threads: 2, ..Options::new(log) };
    let input = input::open(log, None).unwrap();
    let (results, _) = analyse(&input, &options, &mut |pause, _, _| pauses.push(pause.clone())).unwrap();
    (results, pauses)
}

/// Runs `check` on every log of the corpus.
fn each(mut check: impl FnMut(&str, &Results, &[BlamedPause], &RawLog<'_>)) {
    let all = corpus::all().unwrap();
    assert!(all.len() >= 15, "{} logs", all.len());
    for (name, log, _) in all {
        let bytes = std::fs::read(&log).unwrap();
        let raw = RawLog::read(&bytes).unwrap();
        let (results, pauses) = report(&log);
        check(&name, &results, &pauses, &raw);
    }
}

fn u64_at(payload: &[u8], at: usize) -> u64 {
    u64::from_be_bytes(payload[at..at + 8].try_into().unwrap())
}

/// The union of the given pauses, in order.
fn union(pauses: &[BlamedPause]) -> Vec<(u64, u64)> {
    let mut spans: Vec<(u64, u64)> = pauses.iter().map(|one| (one.pause.begin().0, one.pause.released.0)).collect();
    spans.sort_unstable();
    let mut joined: Vec<(u64, u64)> = Vec::new();
    for span in spans {
        match joined.last_mut() {
            Some(last) if span.0 <= last.1 => last.1 = last.1.max(span.1),
            _ => joined.push(span),
        }
    }
    joined
}

/// Time in `spans` between `from` and `to`.
fn inside(spans: &[(u64, u64)], from: u64, to: u64) -> u64 {
    spans.iter().map(|span| span.1.min(to).saturating_sub(span.0.max(from))).sum()
}

#[test]
fn utilisation_holds_for_every_window_that_begins_or_ends_with_a_pause() {
    each(|name, results, pauses, _| {
        let spans = union(pauses);
        let (start, end) = (results.started.0, results.started.0 + results.span_ns);
        assert!(results.mmu.len() >= 3, "{name}: {:?}", results.mmu);
        for found in &results.mmu {
            let window = found.window_ns;
            let starts =
                spans.iter().flat_map(|span| [span.0, span.1.saturating_sub(window)]).chain([start, end - window]);
            let fits = starts.filter(|from| *from >= start && from + window <= end);
            let worst = fits.map(|from| inside(&spans, from, from + window)).max().unwrap();
            let expected = 1.0 - worst as f64 / window as f64;
            assert!((found.utilization - expected).abs() < 1e-9, "{name}: {found:?}, not {expected}");
            assert!(found.bounded <= found.utilization, "{name}: {found:?}");
        }
    });
}

#[test]
fn the_spectrum_holds_each_whole_pause_once() {
    each(|name, results, pauses, _| {
        let whole = pauses.iter().filter(|one| one.pause.quality == PauseQuality::Whole);
        let lengths: Vec<u64> = whole.map(|one| one.pause.released.since(one.pause.begin())).collect();
        for column in &results.spectrum {
            let inside = || lengths.iter().filter(|ns| (column.from_ns..column.to_ns).contains(ns));
            let found = (inside().count() as u64, inside().sum::<u64>());
            assert_eq!((column.count, column.sum_ns), found, "{name}: {column:?}");
        }
        let counted: u64 = results.spectrum.iter().map(|column| column.count).sum();
        assert_eq!(counted, lengths.len() as u64, "{name}");
    });
}

#[test]
fn lanes_allocated_what_their_last_counters_say() {
    each(|name, results, _, raw| {
        let mut last: BTreeMap<u16, u64> = BTreeMap::new();
        for event in raw.events.iter().filter(|event| event.tag == HEAP_ALLOCATED) {
            let bytes = last.entry(event.cap).or_default();
            *bytes = (*bytes).max(u64_at(event.payload, 4));
        }
        let found: BTreeMap<u16, u64> =
            results.lanes.iter().filter_map(|lane| Some((lane.id, lane.allocated_bytes?))).collect();
        assert_eq!(found, last, "{name}");
        let rate = last.values().sum::<u64>() as f64 / (results.span_ns as f64 / 1e9);
        assert!((results.allocation_bytes_per_second.unwrap() / rate - 1.0).abs() < 1e-9, "{name}");
    });
}

/// Bytes that lanes allocated between one collection's figures and the next's.
fn allocated_between(raw: &RawLog<'_>) -> Vec<BTreeMap<u16, u64>> {
    let mut events: Vec<_> =
        raw.events.iter().filter(|event| [HEAP_ALLOCATED, GC_STATS_GHC].contains(&event.tag)).collect();
    events.sort_by_key(|event| event.time);
    let (mut now, mut all) = (BTreeMap::new(), Vec::new());
    for event in events {
        match event.tag {
            HEAP_ALLOCATED => _ = now.insert(event.cap, u64_at(event.payload, 4)),
            _ => all.push(now.clone()),
        }
    }
    let between =
        |pair: &[BTreeMap<u16, u64>]| pair[1].iter().map(|(cap, bytes)| (*cap, bytes - pair[0][cap])).collect();
    all.windows(2).map(between).collect()
}

#[test]
fn nursery_use_is_what_lanes_allocated_before_full_ones_asked() {
    let mut full = 0;
    each(|name, results, _, raw| {
        let nursery = results.nursery.unwrap();
        assert!(!nursery.pooled, "{name}: {nursery:?}");
        let mut asked = allocated_between(raw);
        asked.retain(|lanes| lanes.values().any(|bytes| bytes * 4 >= nursery.bytes * 3));
        assert_eq!(nursery.collections, asked.len() as u64, "{name}");
        let share = |bytes: u64| bytes as f64 / nursery.bytes as f64;
        for lane in &results.lanes {
            let own: Vec<f64> = asked.iter().map(|lanes| share(lanes[&lane.id])).collect();
            let mean = own.iter().sum::<f64>() / own.len() as f64;
            let min = own.iter().copied().reduce(f64::min);
            assert_eq!(lane.nursery_use.map(|used| used.min), min, "{name}");
            assert!(lane.nursery_use.is_none_or(|used| (used.mean - mean).abs() < 1e-9), "{name}: {lane:?}, {mean}");
        }
        full += asked.len();
    });
    assert!(full > 100, "{full} collections for want of room in the whole corpus");
}

#[test]
fn sparks_are_the_sums_of_each_lanes_last_counters() {
    each(|name, results, _, raw| {
        let mut last: BTreeMap<u16, (u64, &[u8])> = BTreeMap::new();
        for event in raw.events.iter().filter(|event| event.tag == SPARK_COUNTERS) {
            let latest = last.entry(event.cap).or_insert((0, event.payload));
            if event.time >= latest.0 {
                *latest = (event.time, event.payload);
            }
        }
        assert_eq!(results.sparks.is_some(), !last.is_empty(), "{name}");
        assert!(results.sparks.is_some() || !name.contains("all-classes"), "{name}");
        let Some(sparks) = &results.sparks else { return };
        let sum = |number: usize| last.values().map(|(_, payload)| u64_at(payload, number * 8)).sum::<u64>();
        let expected = SparkCounts {
            created: sum(0),
            dud: sum(1),
            overflowed: sum(2),
            converted: sum(3),
            collected: sum(4),
            fizzled: sum(5),
            remaining: sum(6),
        };
        assert_eq!(sparks.all, expected, "{name}");
        let SparkCounts { created, converted, collected, fizzled, remaining, .. } = sparks.all;
        assert_eq!(created, converted + collected + fizzled + remaining, "{name}: each spark has one fate");
    });
}

#[test]
fn phases_of_the_concurrent_collector_are_all_there() {
    each(|name, results, pauses, raw| {
        let count = |tag: u16| raw.events.iter().filter(|event| event.tag == tag).count() as u64;
        let Some(concurrent) = results.concurrent else {
            assert_eq!(count(CONC_MARK[0]) + count(CONC_SWEEP[0]), 0, "{name}");
            return;
        };
        assert!(name.contains("non-moving"), "{name}");
        assert_eq!(concurrent.sweep_ns.count, count(CONC_SWEEP[1]), "{name}");
        // GHC 9 posts both ends of a stop twice.
        assert_eq!(concurrent.sync_ns.count * 2, count(CONC_SYNC_BEGIN), "{name}");
        let spans = union(pauses);
        let phases = |tags: [u16; 2]| {
            let times = |tag: u16| {
                let mut times: Vec<u64> = raw.events.iter().filter(|e| e.tag == tag).map(|e| e.time).collect();
                times.sort_unstable();
                times
            };
            times(tags[0]).into_iter().zip(times(tags[1])).collect::<Vec<(u64, u64)>>()
        };
        let (marks, sweeps) = (phases(CONC_MARK), phases(CONC_SWEEP));
        let sum = |all: &[(u64, u64)]| all.iter().map(|span| span.1 - span.0).sum::<u64>();
        assert_eq!(concurrent.sweep_ns.sum, Some(sum(&sweeps)), "{name}");
        assert!(concurrent.mark_ns.sum <= Some(sum(&marks)), "{name}");
        let met: u64 = marks.iter().chain(&sweeps).map(|span| inside(&spans, span.0, span.1)).sum();
        assert_eq!(concurrent.in_pauses_ns, met, "{name}");
    });
}

//! The rules about memory, over hand-made looks at a heap: found, silent below their thresholds, one name for
//! one cause.

use crate::analysis::Analysis;
use crate::recording::{Context, Tail};
use crate::results::{Results, RuleOutcome};
use rtscope_model::heap::{Fragmentation, Generation, Heap, HeapLine, Large, Part, PinHolder, Pinned, Scan};
use rtscope_model::{Confidence, Finding, Names, Time};

const MIB: u64 = 1 << 20;

/// A heap with this many MiB in each part; all of it is resident.
fn heap(seconds: u64, parts: &[(Part, u64)]) -> Heap {
    let line =
        |(part, mib): &(Part, u64)| HeapLine { line: "x".into(), part: *part, bytes: mib * MIB, how: "y".into() };
    let rss: u64 = parts.iter().map(|(_, mib)| mib * MIB).sum();
    Heap {
        time: Some(Time(seconds * 1_000_000_000)),
        rss_bytes: Some(rss),
        heap_bytes: rss,
        ledger: parts.iter().map(line).collect(),
        scan: Some(Scan { collections_of_oldest: Some(0), ..Scan::default() }),
        ..Heap::default()
    }
}

fn analyse(heaps: Vec<Heap>) -> Results {
    let runtime = crate::results::ProgramRuntime { family: Some("ghc".into()), ..Default::default() };
    let (started, ended) = (Some(Time(0)), Some(Time(10_000_000_000)));
    let context = Context { runtime, heaps, started, ended, ..Context::default() };
    Analysis::new(context).finish(&Names::default(), Tail::default(), &mut |_| {})
}

fn ids(heaps: &[Heap]) -> Vec<String> {
    analyse(heaps.to_vec()).findings.into_iter().map(|finding| finding.id).collect()
}

fn first(heaps: &[Heap]) -> Finding {
    analyse(heaps.to_vec()).findings.into_iter().next().expect("a finding")
}

fn stripped(seconds: u64) -> Heap {
    let parts = [
        (Part::Live, 11),
        (Part::ObjectFragmentation, 120),
        (Part::BlockFragmentation, 40),
        (Part::FreeMegablocks, 260),
    ];
    let holder =
        |name: &str| PinHolder { name: name.into(), count: 100_000, live_bytes: 3 * MIB, kept_dead_bytes: 60 * MIB };
    let pinned = Pinned {
        block_bytes: 123 * MIB,
        objects: Some(1_000_000),
        live_objects: Some(100_000),
        live_bytes: Some(3 * MIB),
        ..Pinned::default()
    };
    Heap { pinned, holders: vec![holder("PS"), holder("PlainPtr")], ..heap(seconds, &parts) }
}

#[test]
fn no_look_is_reported_and_nothing_is_found() {
    let results = analyse(Vec::new());
    let checked = results.checked.iter().find(|checked| checked.id == "pinned-retention").unwrap();
    assert_eq!(checked.outcome, RuleOutcome::NotAsked);
    assert!(results.findings.is_empty());
}

#[test]
fn dead_pinned_bytes_come_first_with_the_free_memory_that_is_kept_for_them() {
    let found = first(&[stripped(1), stripped(2)]);
    assert_eq!((found.id.as_str(), found.confidence), ("pinned-retention", Confidence::High));
    let dead_share = 120.0 / 131.0;
    let cost = found.cost_bytes.unwrap() as f64 / MIB as f64;
    assert!((cost - (120.0 + 300.0 * dead_share)).abs() < 1.0, "{cost}");
    assert!(found.claim.contains("120 MiB") && found.claim.contains("`PS` and `PlainPtr`"), "{}", found.claim);
    // Memory kept because of dead pinned bytes is reported under that name only.
    assert_eq!(ids(&[stripped(1), stripped(2)]), ["pinned-retention"]);
}

#[test]
fn what_one_look_found_does_not_count_where_there_are_more() {
    let healthy = |seconds| heap(seconds, &[(Part::Live, 300)]);
    assert_eq!(ids(&[healthy(1), stripped(2), healthy(3)]), Vec::<String>::new());
    assert_eq!(first(&[stripped(1)]).confidence, Confidence::Medium);
    // A look during which a collection took place does not count.
    let mut moved = stripped(3);
    moved.scan = Some(Scan { collections_of_oldest: Some(1), ..Scan::default() });
    assert_eq!(ids(&[healthy(1), stripped(2), moved]), Vec::<String>::new());
    // Nor does a look inside a collection.
    let inside = Heap { in_collection: true, ..stripped(3) };
    assert_eq!(ids(&[healthy(1), stripped(2), inside]), Vec::<String>::new());
}

#[test]
fn free_blocks_between_used_ones_are_reported_with_what_keeps_them() {
    let sparse = |seconds| {
        let mark = |marks: &str| rtscope_model::heap::Megablock { address: 0, blocks: marks.into() };
        let blocks = format!("====L{}", ".".repeat(251));
        let levels = Fragmentation { megablocks: 300, megablocks_needed: 100, ..Fragmentation::default() };
        let parts = [(Part::Live, 100), (Part::BlockFragmentation, 200)];
        Heap { fragmentation: levels, megablocks: vec![mark(&blocks)], ..heap(seconds, &parts) }
    };
    let found = first(&[sparse(1), sparse(2)]);
    assert_eq!((found.id.as_str(), found.cost_bytes), ("block-fragmentation", Some(200 * MIB)));
    assert!(
        found.claim.contains("300 megablocks hold what 100 could") && found.claim.contains("large object"),
        "{}",
        found.claim
    );
    let dense = |seconds| heap(seconds, &[(Part::Live, 300), (Part::BlockFragmentation, 50)]);
    assert!(ids(&[dense(1), dense(2)]).is_empty());
}

#[test]
fn kept_memory_and_lazily_returned_memory_are_distinguished() {
    let kept = |seconds, returned: u64| {
        let levels = Fragmentation {
            free_megablock_bytes: (200 - returned) * MIB,
            returned_resident_bytes: returned * MIB,
            ..Fragmentation::default()
        };
        Heap { fragmentation: levels, ..heap(seconds, &[(Part::Live, 100), (Part::FreeMegablocks, 200)]) }
    };
    let found = first(&[kept(1, 0), kept(2, 0)]);
    assert_eq!(found.id, "memory-not-returned");
    assert!(found.claim.contains("the runtime keeps after a peak"), "{}", found.claim);
    let found = first(&[kept(1, 190), kept(2, 190)]);
    assert!(found.claim.contains("only when it needs them"), "{}", found.claim);
    assert!(found.remedies[0].flag.as_deref().unwrap().contains("--disable-delayed-os-memory-return"));
}

#[test]
fn a_copy_reserve_is_reported_where_it_is_much() {
    let copied = |seconds, mib| {
        let generation = Generation { generation: 1, collections: 7, ..Generation::default() };
        let mut heap = heap(seconds, &[(Part::Live, mib), (Part::CopyReserve, mib)]);
        heap.runtime.generations = vec![generation];
        heap
    };
    let found = first(&[copied(1, 200), copied(2, 200)]);
    assert_eq!((found.id.as_str(), found.cost_bytes), ("copy-reserve", Some(200 * MIB)));
    assert!(found.remedies.iter().any(|remedy| remedy.flag.as_deref() == Some("+RTS --nonmoving-gc")));
    assert!(ids(&[copied(1, 50), copied(2, 50)]).is_empty());
}

#[test]
fn growth_outside_the_heap_is_no_matter_of_the_heap() {
    let outside = |seconds, mib| heap(seconds, &[(Part::Live, 20), (Part::NotHeap, mib)]);
    let found = first(&[outside(1, 5), outside(2, 150), outside(3, 300)]);
    assert_eq!((found.id.as_str(), found.cost_bytes), ("not-the-haskell-heap", Some(145 * MIB)));
    // Memory that was there from the start does not grow.
    assert!(ids(&[outside(1, 300), outside(2, 300), outside(3, 301)]).is_empty());
}

#[test]
fn without_a_look_only_what_grows_to_the_end_is_reported() {
    use crate::testing::Script;
    use rtscope_model::{Counter, Runtime, Sample};
    let found = |sizes: [u64; 5]| {
        let second = |at: usize| at as u64 * 1_000_000_000;
        let script = Script::default().rt(1, 0, Runtime::Count(Counter::HeapBytes, 20 * MIB));
        let script = (0..)
            .zip(sizes)
            .fold(script, |script, (at, mib)| script.sample(second(at) + 2, Sample::Rss { bytes: mib * MIB }));
        let (started, ended) = (Some(Time(0)), Some(Time(5_000_000_000)));
        let runtime = crate::results::ProgramRuntime { family: Some("ghc".into()), ..Default::default() };
        let context = Context { runtime, started, ended, ..Context::default() };
        let mut analysis = Analysis::new(context);
        script.events().iter().for_each(|event| analysis.push(event, &Names::default(), &mut |_| {}));
        let results = analysis.finish(&Names::default(), Tail::default(), &mut |_| {});
        results.findings.into_iter().map(|finding| finding.id).collect::<Vec<_>>()
    };
    assert_eq!(found([20, 60, 100, 140, 180]), ["not-the-haskell-heap"]);
    assert!(found([100, 100, 100, 100, 101]).is_empty());
    // Taken and returned repeatedly, and taken just before the program ended.
    assert!(found([20, 180, 20, 20, 180]).is_empty());
    assert!(found([180, 180, 20, 20, 180]).is_empty());
}

#[test]
fn slices_of_large_buffers_are_reported() {
    let sliced = |seconds, shown_bytes| {
        let large = Large {
            objects: 300,
            bytes: 300 * MIB,
            sliced: 290,
            sliced_bytes: 290 * MIB,
            shown_bytes,
            holder: Some("BS".into()),
        };
        Heap { large, ..heap(seconds, &[(Part::Live, 310)]) }
    };
    let found = first(&[sliced(1, 4096), sliced(2, 4096)]);
    assert_eq!(found.id, "large-objects");
    assert!(found.claim.contains("`BS`") && found.claim.contains("4.0 KiB"), "{}", found.claim);
    assert!(ids(&[sliced(1, 290 * MIB), sliced(2, 290 * MIB)]).is_empty());
}

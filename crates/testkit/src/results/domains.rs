//! An OCaml program that posts what it does.

use super::base::{Fixture, MS, SECOND, START, dist};
use super::programs::healthy;
use rtscope_analyze::results::*;

fn domain(id: u16) -> Lane {
    let thread = |tid, role, score| LaneThread { tid, role, found: "birth", score };
    Lane {
        id,
        name: format!("domain {id}"),
        tids: vec![4101 + u32::from(id) * 2, 4102 + u32::from(id) * 2],
        mutator_ns: Some(2_400 * MS),
        collect_ns: Some(310 * MS),
        stop_wait_ns: Some(40 * MS),
        release_wait_ns: Some(22 * MS),
        leadership_wait_ns: Some(95 * MS),
        leadership_inferred: id == 1,
        slice_ns: Some(61 * MS),
        life_ns: Some(2_990 * MS),
        threads: vec![
            thread(4101 + u32::from(id) * 2, "own", Some(0.999)),
            thread(4102 + u32::from(id) * 2, "other", None),
        ],
        allocated_bytes: Some(812_000_000),
        allocation_bytes_per_second: Some(271_000_000.0),
        ..Lane::default()
    }
}

/// A ledger from the runtime's counters.
fn ledger() -> MemoryLedger {
    let line = |line: &str, mib: i64| LedgerLine { line: line.into(), bytes: mib << 20, how: "counters".into() };
    let lines = vec![
        line("alive in pools of small blocks", 31),
        line("free in pools of small blocks (fragmentation)", 12),
        line("minor heaps", 8),
        line("of these not in memory", -2),
    ];
    MemoryLedger { time: Some(START.plus(2 * SECOND)), rss_bytes: Some(49 << 20), lines }
}

/// User events with the same `name` for everything.
pub fn user(name: &str) -> UserEvents {
    UserEvents { name: name.into(), ..UserEvents::default() }
}

/// A counter whose rates are unknown for a while.
fn counter(name: &'static str, per_second: u64) -> CounterLine {
    let value = |n: u64| (!(70..82).contains(&n) && n < 150).then_some(per_second / (1 + n % 3));
    let points = (0..=150).map(|n| (START.plus(n * SECOND / 50), value(n))).collect();
    CounterLine { name, unit: "bytes/s", points }
}

/// Two domains with spans of a solver; the reader started late.
pub fn domains() -> Fixture {
    let mut fixture = healthy();
    fixture.name = "domains";
    let results = &mut fixture.results;
    results.source.path = "solver.rtscope".into();
    results.runtime =
        ProgramRuntime { family: Some("ocaml".into()), version: Some("5.4.1".into()), way: None, args: Vec::new() };
    results.lanes = (0..2).map(domain).collect();
    results.nursery = None;
    results.ledger = ledger();
    results.slices = Some(dist(130, 122 * MS, [31_000, 900_000, MS, 2 * MS, 4 * MS, 4_200_000]));
    results.promotion = Some(Promotion { young_bytes: None, promoted_bytes: None, share: 0.0312 });
    results.counters =
        vec![counter("allocation_bytes_per_second", 540_000_000), counter("promotion_bytes_per_second", 17_000_000)];
    let solve = UserEvents {
        spans_ns: dist(400, 4_700 * MS, [2 * MS, 11 * MS, 21 * MS, 29 * MS, 33 * MS, 33_100_000]),
        longest_at: Some(START.plus(1_204 * MS)),
        in_pauses_ns: Some(610 * MS),
        cut: 3,
        ..user("solve")
    };
    let values = UserValues { count: 400, min: -2, max: 397, last: 12, mean: 198.5 };
    results.user =
        vec![solve, UserEvents { values: Some(values), ..user("depth") }, UserEvents { marks: 40, ..user("restart") }];
    fixture
}

//! A recording with heap snapshots: a small version of the article's program, whose list of byte
//! strings shrinks to a tenth that keeps all blocks.

use super::base::{Fixture, MS, START};
use super::programs::healthy;
use rtscope_analyze::results::{LedgerLine, MemoryLedger};
use rtscope_model::heap::{Entry, Fragmentation, Heap, HeapLine, Part, PinHolder, Pinned, SCHEMA, WorstGroup};

const MIB: u64 = 1 << 20;

pub fn heaps() -> Fixture {
    let mut fixture = healthy();
    fixture.name = "heaps";
    let results = &mut fixture.results;
    results.source.path = "strings.rtscope".into();
    results.heaps = vec![snapshot(200, 40, 10, -1), snapshot(1_000, 300, 180, 3), snapshot(2_800, 210, 190, 0)];
    results.heaps_left_out = 12;
    let line = |line: &HeapLine| LedgerLine {
        line: line.line.clone(),
        bytes: i64::try_from(line.bytes).unwrap(),
        how: line.how.clone(),
    };
    let last = &results.heaps[2];
    let lines = last.ledger.iter().map(line).collect();
    results.ledger = MemoryLedger { time: last.time, rss_bytes: last.rss_bytes, lines };
    fixture
}

fn snapshot(at: u64, mib: u64, dead: u64, unexplained: i64) -> Heap {
    let line =
        |line: &str, part, mib: u64| HeapLine { line: line.into(), part, bytes: mib * MIB, how: "blocks".into() };
    let holder =
        |name: &str, kept| PinHolder { name: name.into(), count: 20_000, live_bytes: MIB, kept_dead_bytes: kept };
    Heap {
        schema: SCHEMA.into(),
        of: "process 4101".into(),
        time: Some(START.plus(at * MS)),
        rss_bytes: Some(mib * MIB + unexplained.unsigned_abs() * MIB),
        heap_bytes: mib * MIB,
        unexplained_bytes: Some(unexplained * MIB as i64),
        ledger: vec![
            line("objects that collections move of generation 1", Part::Live, mib - dead - 5),
            line("pinned objects, dead, in blocks that are still held", Part::ObjectFragmentation, dead),
            line("program, libraries and other mapped files", Part::MappedFiles, 5),
        ],
        fragmentation: Fragmentation { object_bytes: Some(dead * MIB), megablocks: mib, ..Fragmentation::default() },
        pinned: Pinned {
            blocks: 3,
            worst: vec![WorstGroup { address: 0x42_0010_0000, live_bytes: 8, dead_bytes: 4088, holder: None }],
            ..Pinned::default()
        },
        holders: vec![
            holder("base_GHCziForeignPtr_PlainPtr_con_info", dead * MIB / 2),
            holder("\u{1b}[31mevil", 0),
            holder("main_Main_held_info", 4096),
        ],
        census: vec![Entry {
            name: "ghc-prim_GHCziTypes_ZC_con_info".into(),
            kind: "CONSTR".into(),
            count: 9,
            bytes: 216,
        }],
        doubts: vec!["Blocks changed while they were read.".into()],
        ..Heap::default()
    }
}

//! Looks at a heap that grows, is thinned out and is partly returned.

use super::base::{MS, SECOND};
use rtscope_model::Time;
use rtscope_model::heap::{BlockKind, Heap, HeapLine, Megablock, Part};

const MEGABLOCK: u64 = 1 << 20;

/// Five looks: pairs of a kind of megablock and its count.
pub fn heaps(started: Time) -> Vec<Heap> {
    let looks: [&[(&str, u64)]; 5] = [
        &[("n", 1), (",", 3)],
        &[("9999ooo9", 12), ("no", 1), (",", 6)],
        &[("9999ooo9", 12), ("oo99ooo9", 24), ("no.", 2), (",", 2)],
        &[("11.1...1", 24), ("..2..oo.", 6), ("n...", 2), ("\0", 40), (".....0..", 3)],
        &[("11.1...1", 12), ("\0", 90), ("Cm?xaL35", 2)],
    ];
    (0..).zip(looks).map(|(index, look)| heap(Time(started.0 + 100 * MS + index * SECOND / 2), look)).collect()
}

fn heap(time: Time, look: &[(&str, u64)]) -> Heap {
    let mut megablocks = Vec::new();
    let mut slot = 0x4200 << 4;
    for (pattern, count) in look {
        for _ in 0..*count {
            slot += 1;
            let head = if *pattern == "," { "" } else { "====" };
            if *pattern != "\0" {
                let blocks = head.chars().chain(pattern.chars().cycle()).take(256).collect();
                megablocks.push(Megablock { address: slot * MEGABLOCK, blocks });
            }
        }
    }
    let heap_bytes = megablocks.len() as u64 * MEGABLOCK;
    let blocks = |wanted: &dyn Fn(char) -> bool| {
        megablocks.iter().map(|one| one.blocks.chars().filter(|mark| wanted(*mark)).count() as u64).sum::<u64>()
    };
    let kind = |word: &str, blocks: u64| BlockKind {
        kind: word.into(),
        generation: None,
        blocks,
        block_bytes: blocks * 4096,
        used_bytes: None,
    };
    let kinds = vec![
        kind("pinned", blocks(&|mark| mark.is_ascii_digit())),
        kind("small", blocks(&|mark| mark == 'o')),
        kind("free", blocks(&|mark| mark == '.')),
    ];
    let line = |line: &str, part, bytes| HeapLine { line: line.into(), part, bytes, how: "</script>".into() };
    let ledger = vec![
        line("<b>alive</b>", Part::Live, heap_bytes / 4),
        line("also", Part::Live, 12_345),
        line("dead", Part::ObjectFragmentation, heap_bytes / 8),
        line("elsewhere", Part::NotHeap, 3 * MEGABLOCK),
    ];
    Heap {
        of: "process </script><script>alert(1)</script>".into(),
        compiler: Some("9.0.2".into()),
        time: Some(time),
        rss_bytes: Some(heap_bytes + 3 * MEGABLOCK),
        heap_bytes,
        kinds,
        ledger,
        megablocks,
        ..Heap::default()
    }
}

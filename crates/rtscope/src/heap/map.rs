//! The map of a heap on a terminal: one character for each block, a line for each quarter of
//! a megablock. Megablocks in a row that look alike as a whole are told once.

use crate::style::Style;
use rtscope_model::heap::{Heap, Megablock, mark_word};
use std::fmt::Write;

/// Blocks on a line.
const ROW: usize = 64;

/// The map.
pub(super) fn text(heap: &Heap, style: &Style) -> String {
    let mut out = String::new();
    let mut rest = heap.megablocks.as_slice();
    while let Some(first) = rest.first() {
        let alike = rest.iter().take_while(|other| is_plain(first) && other.blocks == first.blocks).count().max(1);
        let _ = write!(out, "{:#x}", first.address);
        if alike > 1 {
            let _ = writeln!(out, "  {alike} megablocks of {}", word(first));
        } else {
            let _ = writeln!(out);
            let marks: Vec<char> = first.blocks.chars().collect();
            for row in marks.chunks(ROW) {
                let _ = writeln!(out, "  {}", row.iter().collect::<String>());
            }
        }
        rest = rest.get(alike..).unwrap_or_default();
    }
    let _ = writeln!(out, "\n{}", legend(style));
    out
}

/// Whether it is of one kind, descriptors aside.
fn is_plain(megablock: &Megablock) -> bool {
    let mut kinds = megablock.blocks.chars().filter(|mark| *mark != '=');
    let first = kinds.next();
    kinds.all(|kind| Some(kind) == first)
}

fn word(megablock: &Megablock) -> &'static str {
    megablock.blocks.chars().find(|mark| *mark != '=').map_or("nothing", mark_word)
}

fn legend(_: &Style) -> &'static str {
    "n nursery, a/o objects that move (generation 0/older), L large, 0-9 pinned (how full, in tenths), C compact,\n\
     m non-moving, x code, ? the runtime's own, . free, = descriptors; a line is 64 blocks of 4 KiB"
}

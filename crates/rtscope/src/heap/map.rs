//! The map of a heap on a terminal: one character for each block, a line for each quarter of
//! a megablock. Megablocks in a row that look alike as a whole are told once.

use crate::style::Style;
use rtscope_heap::descriptor::BLOCK;
use rtscope_heap::map::{Cell, Kind};
use rtscope_heap::{Megablock, Survey};
use std::fmt::Write;

/// Blocks on a line.
const ROW: usize = 64;

/// The map.
pub(super) fn text(survey: &Survey, style: &Style) -> String {
    let mut out = String::new();
    let mut rest = survey.megablocks.as_slice();
    while let Some(first) = rest.first() {
        let alike = rest.iter().take_while(|other| is_plain(first) && marks(other) == marks(first)).count().max(1);
        let _ = write!(out, "{:#x}", first.address);
        if alike > 1 {
            let _ = writeln!(out, "  {alike} megablocks of {}", word(first));
        } else {
            let _ = writeln!(out);
            for row in first.cells.chunks(ROW) {
                let _ = writeln!(out, "  {}", row.iter().map(mark).collect::<String>());
            }
        }
        rest = rest.get(alike..).unwrap_or_default();
    }
    let _ = writeln!(out, "\n{}", legend(style));
    out
}

fn marks(megablock: &Megablock) -> String {
    megablock.cells.iter().map(mark).collect()
}

/// Whether it is of one kind, descriptors aside.
fn is_plain(megablock: &Megablock) -> bool {
    let mut kinds = megablock.cells.iter().map(|cell| cell.kind).filter(|kind| *kind != Kind::Descriptors);
    let first = kinds.next();
    kinds.all(|kind| Some(kind) == first)
}

fn word(megablock: &Megablock) -> &'static str {
    megablock.cells.iter().map(|cell| cell.kind).find(|kind| *kind != Kind::Descriptors).map_or("nothing", Kind::word)
}

/// A block's mark; pinned ones say in tenths how full they are.
fn mark(cell: &Cell) -> char {
    match cell.kind {
        Kind::Descriptors => '=',
        Kind::Nursery => 'n',
        Kind::Small => {
            if cell.generation == 0 {
                'a'
            } else {
                'o'
            }
        }
        Kind::Large => 'L',
        Kind::Pinned => char::from(b'0' + (cell.used_bytes() * 9 / BLOCK) as u8),
        Kind::Compact => 'C',
        Kind::NonMoving => 'm',
        Kind::Executable => 'x',
        Kind::Other => '?',
        Kind::Free | Kind::FreeMegablock => '.',
        Kind::Returned => ' ',
    }
}

fn legend(_: &Style) -> &'static str {
    "n nursery, a/o objects that move (generation 0/older), L large, 0-9 pinned (how full, in tenths), C compact,\n\
     m non-moving, x code, ? the runtime's own, . free, = descriptors; a line is 64 blocks of 4 KiB"
}

//! The map of a heap as squares, which `--map`, `--svg` and the page draw. Owns which kinds of blocks are
//! distinguished and their names, the order of megablocks by address, and how several blocks become one square.
//! Accepts any document; refuses to lay out and to colour.

use rtscope_model::heap::{Heap, mark_word};
use rtscope_model::units::{self, counted};

/// Bytes of a block and of a megablock.
pub(crate) const BLOCK: u64 = 4096;
pub(crate) const MEGABLOCK: u64 = 1 << 20;
/// Blocks of a megablock.
pub(crate) const BLOCKS: usize = 256;
/// Squares of this many blocks or more leave out descriptors (4 blocks of 256).
const COARSE: u64 = 8;

rtscope_model::listed! {
    /// Kinds of blocks that pictures distinguish, in the order of legends.
    #[derive(Copy, Clone, Eq, PartialEq, Debug)]
    #[repr(u8)]
    pub(crate) enum SquareKind {
        Nursery,
        Young,
        Old,
        Large,
        Pinned,
        Compact,
        NonMoving,
        Code,
        Other,
        Descriptors,
        Free,
        FreeMegablock,
        Returned,
    }
}

/// Mark, code and class of each kind.
const LOOKS: [(char, char, &str); KINDS] = [
    ('n', 'n', "h-nursery"),
    ('a', 'y', "h-young"),
    ('o', 'o', "h-old"),
    ('L', 'l', "h-large"),
    ('9', 'p', "h-pinned"),
    ('C', 'c', "h-compact"),
    ('m', 'm', "h-nonmoving"),
    ('x', 'x', "h-code"),
    ('?', 'r', "h-other"),
    ('=', 'd', "h-descriptors"),
    ('.', 'f', "h-free"),
    (',', 'g', "h-freemb"),
    (' ', 'z', "h-returned"),
];

pub(crate) const KINDS: usize = SquareKind::ALL.len();

impl SquareKind {
    /// Its mark in a document; for pinned blocks, the mark of a completely live one.
    pub(crate) fn mark(self) -> char {
        LOOKS[self as usize].0
    }

    /// Its letter in the page's script.
    pub(crate) fn code(self) -> char {
        LOOKS[self as usize].1
    }

    /// What it is, in words.
    pub(crate) fn words(self) -> &'static str {
        mark_word(self.mark())
    }

    /// Its class in style sheets.
    pub(crate) fn class(self) -> &'static str {
        LOOKS[self as usize].2
    }
}

/// A block, or several drawn as one.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub(crate) struct Square {
    pub kind: SquareKind,
    /// For pinned blocks, the share that lives, 0 to 9; see [`rtscope_model::heap::pinned_grade`].
    pub grade: u8,
}

impl Square {
    fn of(mark: char) -> Square {
        let kind = match mark {
            '0'..='9' => return Square { kind: SquareKind::Pinned, grade: mark as u8 - b'0' },
            mark => SquareKind::ALL.into_iter().find(|kind| kind.mark() == mark).unwrap_or(SquareKind::Other),
        };
        Square { kind, grade: 0 }
    }

    /// Its mark in a document.
    pub(crate) fn mark(self) -> char {
        if self.kind == SquareKind::Pinned { char::from(b'0' + self.grade.min(9)) } else { self.kind.mark() }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Tile {
    /// Its address in megablocks.
    pub slot: u64,
    pub squares: [Square; BLOCKS],
}

impl Tile {
    pub(crate) fn address(&self) -> u64 {
        self.slot * MEGABLOCK
    }
}

/// The megablocks of a heap, by address and without duplicates.
#[derive(Clone, Debug, Default)]
pub(crate) struct Picture {
    pub tiles: Vec<Tile>,
    /// Blocks of each kind, in the order of [`SquareKind::ALL`].
    pub blocks: [u64; KINDS],
    /// Whether grades are shares of live bytes; else they are shares of used bytes.
    pub lives: bool,
}

impl Picture {
    /// The picture of `heap`. Missing marks count as the runtime's own blocks; marks beyond a megablock do not count.
    pub(crate) fn of(heap: &Heap) -> Picture {
        let tile = |megablock: &rtscope_model::heap::Megablock| {
            let mut squares = [Square { kind: SquareKind::Other, grade: 0 }; BLOCKS];
            for (square, mark) in squares.iter_mut().zip(megablock.blocks.chars()) {
                *square = Square::of(mark);
            }
            Tile { slot: megablock.address / MEGABLOCK, squares }
        };
        let mut tiles: Vec<Tile> = heap.megablocks.iter().map(tile).collect();
        tiles.sort_by_key(|tile| tile.slot);
        tiles.dedup_by_key(|tile| tile.slot);
        let mut blocks = BlockCounts::of(tiles.iter().flat_map(|tile| &tile.squares)).blocks;
        let returned = heap.kinds.iter().filter(|kind| kind.kind == "returned");
        blocks[SquareKind::Returned as usize] += returned.map(|kind| kind.blocks).fold(0u64, u64::saturating_add);
        Picture { tiles, blocks, lives: heap.scan.is_some() }
    }

    /// Bytes and share of each kind that is present; returned addresses have no share.
    pub(crate) fn totals(&self) -> impl Iterator<Item = (SquareKind, u64, Option<String>)> + '_ {
        SquareKind::ALL.into_iter().zip(self.blocks).filter(|(_, blocks)| *blocks > 0).map(|(kind, blocks)| {
            let bytes = blocks.saturating_mul(BLOCK);
            (kind, bytes, (kind != SquareKind::Returned).then(|| units::percent_of(bytes, self.bytes())))
        })
    }

    /// Bytes of all megablocks that were not returned to the system.
    pub(crate) fn bytes(&self) -> u64 {
        self.tiles.len() as u64 * MEGABLOCK
    }

    /// The first slot of the picture.
    pub(crate) fn first(&self) -> u64 {
        self.tiles.first().map_or(0, |tile| tile.slot)
    }

    /// Squares of `per` blocks each, by number; number 0 is the first block of the picture, and empty places have no
    /// square. A square of several blocks has the kind of one of them, chosen so that squares of each kind are as
    /// frequent as its blocks.
    pub(crate) fn squares(&self, per: u64) -> impl Iterator<Item = (u64, Square)> + '_ {
        let (per, first) = (per.max(1), self.first());
        let numbered = move |tile: &'_ Tile| (tile.slot - first) * BLOCKS as u64;
        let mut blocks =
            self.tiles.iter().flat_map(move |tile| (numbered(tile)..).zip(tile.squares.iter().copied())).peekable();
        let mut merge = Merge { per, counts: BlockCounts::default(), owed: [0; KINDS] };
        std::iter::from_fn(move || {
            let number = blocks.peek()?.0 / per;
            while let Some((_, square)) = blocks.next_if(|(block, _)| block / per == number) {
                merge.counts.add(square);
            }
            Some((number, merge.take()))
        })
    }

    /// Explains a square of `per` blocks.
    pub(crate) fn square_words(per: u64) -> String {
        if per == 1 {
            return "square is a block of 4 KiB".into();
        }
        format!("square stands for {per} blocks ({}), each kind as often as it has blocks", units::bytes(per * BLOCK))
    }

    pub(crate) fn grade_words(&self, grade: u8) -> String {
        let what = if self.lives { "alive" } else { "used" };
        match grade {
            0 => format!("nothing in it {what}"),
            9.. => format!("more than 88 % {what}"),
            grade => format!("at most {} % {what}", u32::from(grade) * 100 / 9),
        }
    }

    /// Describes `blocks` identical blocks from `address` on.
    pub(crate) fn run_words(&self, address: u64, blocks: u64, square: Square) -> String {
        let bytes = blocks.saturating_mul(BLOCK);
        let end = address.saturating_add(bytes);
        let grade = match square.kind {
            SquareKind::Pinned => format!(", {}", self.grade_words(square.grade)),
            _ => String::new(),
        };
        let count = counted(blocks, "block", "blocks");
        format!("{address:#x} to {end:#x}: {}{grade}; {count}, {}", square.kind.words(), units::bytes(bytes))
    }

    /// Describes a whole megablock.
    pub(crate) fn tile_words(&self, tile: &Tile) -> String {
        let counts = BlockCounts::of(&tile.squares);
        let mut parts: Vec<_> =
            counts.blocks.into_iter().zip(SquareKind::ALL).filter(|(count, _)| *count > 0).collect();
        parts.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
        let part = |(count, kind): (u64, SquareKind)| match kind {
            SquareKind::Pinned => {
                format!("{count} {} (each on average: {})", kind.words(), self.grade_words(counts.grade()))
            }
            _ => format!("{count} {}", kind.words()),
        };
        let parts: Vec<String> = parts.into_iter().map(part).collect();
        format!("{:#x}, 256 blocks: {}", tile.address(), parts.join("; "))
    }
}

/// Blocks of each kind, and the sum of the grades of pinned ones.
#[derive(Default)]
struct BlockCounts {
    blocks: [u64; KINDS],
    grades: u64,
}

impl BlockCounts {
    fn of<'s>(squares: impl IntoIterator<Item = &'s Square>) -> BlockCounts {
        let mut counts = BlockCounts::default();
        squares.into_iter().for_each(|square| counts.add(*square));
        counts
    }

    fn add(&mut self, square: Square) {
        self.blocks[square.kind as usize] += 1;
        self.grades += u64::from(square.grade);
    }

    /// Mean grade of the pinned blocks, rounded as marks are: 0 means nothing at all.
    fn grade(&self) -> u8 {
        self.grades.div_ceil(self.blocks[SquareKind::Pinned as usize].max(1)).min(9) as u8
    }
}

/// Merges blocks into squares. A kind that is underrepresented in one square is made up for in a later one.
struct Merge {
    per: u64,
    counts: BlockCounts,
    /// Blocks that no square has represented yet.
    owed: [i64; KINDS],
}

impl Merge {
    fn take(&mut self) -> Square {
        let mut counts = std::mem::take(&mut self.counts);
        let there: u64 = counts.blocks.iter().sum();
        if self.per > BLOCKS as u64 {
            counts.blocks[SquareKind::Returned as usize] += self.per.saturating_sub(there);
        }
        let own = &mut counts.blocks[SquareKind::Descriptors as usize];
        if self.per >= COARSE && there > *own {
            *own = 0;
        }
        let mut weight = 0;
        for (owed, count) in self.owed.iter_mut().zip(counts.blocks) {
            *owed += count as i64;
            weight += count as i64;
        }
        let among = SquareKind::ALL.into_iter().filter(|kind| counts.blocks[*kind as usize] > 0);
        let kind = among.max_by_key(|kind| self.owed[*kind as usize]).unwrap_or(SquareKind::Other);
        self.owed[kind as usize] -= weight;
        Square { kind, grade: if kind == SquareKind::Pinned { counts.grade() } else { 0 } }
    }
}

#[cfg(test)]
pub(crate) mod tests;

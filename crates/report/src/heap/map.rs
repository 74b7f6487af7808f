//! The map of a heap on a terminal: one character for a block, or for as many as make the map fit on a page. Letters
//! carry the same information as colours. Identical rows and empty address ranges take one line.

use super::picture::{BLOCK, BLOCKS, MEGABLOCK, Picture, Square, SquareKind};
use rtscope_model::heap::Heap;
use rtscope_model::units::{bytes, counted};
use rtscope_terminal::style::{Style, Tone};
use std::fmt::Write;

/// Maximum rows of a map that has to fit on a page.
const ROWS_MAX: u64 = 64;
/// Maximum rows printed in any case.
const PRINTED_MAX: usize = 100_000;
/// Width of the address column.
const ADDRESS: usize = 16;

/// How large the map may be.
#[derive(Copy, Clone, Eq, PartialEq, Debug, clap::ValueEnum)]
pub enum Size {
    /// What a page has room for
    Fit,
    /// One character for each block
    Full,
}

/// A row of the map: its number, and its squares from the left.
struct MapRow {
    number: u64,
    squares: Vec<Square>,
}

/// The map of blocks in characters.
pub fn text(heap: &Heap, size: Size, style: &Style) -> String {
    let picture = Picture::of(heap);
    let columns = if style.width >= ADDRESS + 64 { 64 } else { 32 };
    let per = if size == Size::Full { 1 } else { fitting(&picture, columns) };
    let mut out = String::new();
    let megablocks = counted(picture.tiles.len() as u64, "megablock", "megablocks");
    let _ = writeln!(
        out,
        "{}  heap of {} in {megablocks}; a character is {} ({}), a row {}\n",
        style.paint(Tone::Strong, &heap.of),
        bytes(picture.bytes()),
        bytes(per * BLOCK),
        counted(per, "block", "blocks"),
        bytes(per.saturating_mul(columns).saturating_mul(BLOCK)),
    );
    rows(&mut out, &picture, [per, columns], style);
    legend(&mut out, heap, &picture, per, style);
    out
}

/// Blocks per character that make the map fit on a page.
fn fitting(picture: &Picture, columns: u64) -> u64 {
    let mut per = 1;
    // A square of that many blocks is the whole heap, wherever its megablocks are.
    while per < 1 << 40 && count_rows(picture, per * columns) > ROWS_MAX {
        per *= 2;
    }
    per
}

/// Number of rows of `blocks` blocks that are not empty.
fn count_rows(picture: &Picture, blocks: u64) -> u64 {
    let first = picture.first();
    let (mut rows, mut next) = (0, 0);
    for tile in &picture.tiles {
        let from = (tile.slot - first) * BLOCKS as u64;
        let (begin, end) = ((from / blocks).max(next), (from + BLOCKS as u64 - 1) / blocks);
        rows += (end + 1).saturating_sub(begin);
        next = end + 1;
    }
    rows
}

fn rows(out: &mut String, picture: &Picture, [per, columns]: [u64; 2], style: &Style) {
    let mut squares = picture.squares(per).peekable();
    let next = || {
        let number = squares.peek()?.0 / columns;
        let mut row = MapRow { number, squares: Vec::new() };
        while let Some((at, square)) = squares.next_if(|(at, _)| at / columns == number) {
            row.squares.resize((at % columns) as usize, Square { kind: SquareKind::Returned, grade: 0 });
            row.squares.push(square);
        }
        Some(row)
    };
    let mut rows = std::iter::from_fn(next).peekable();
    let row_bytes = per.saturating_mul(columns).saturating_mul(BLOCK);
    let base = picture.first() * MEGABLOCK;
    let (mut end, mut printed) = (0, 0);
    while let Some(row) = rows.next() {
        if row.number > end {
            let gap = (row.number - end).saturating_mul(row_bytes);
            let _ = writeln!(out, "{:ADDRESS$}... {} of addresses that hold nothing", "", bytes(gap));
        }
        if printed == PRINTED_MAX {
            let _ = writeln!(out, "{:ADDRESS$}... and more: `--svg` draws all of it", "");
            return;
        }
        printed += 1;
        let address = base.saturating_add(row.number.saturating_mul(row_bytes));
        let _ = writeln!(out, "{:<ADDRESS$}{}", format!("{address:#x}"), painted(&row.squares, style));
        end = row.number + 1;
        while rows.next_if(|next| next.number == end && next.squares == row.squares).is_some() {
            end += 1;
        }
        let alike = end - row.number - 1;
        if alike > 0 {
            let more = counted(alike, "more row like this", "more rows like this");
            let _ = writeln!(out, "{:ADDRESS$}... {more} ({})", "", bytes(alike.saturating_mul(row_bytes)));
        }
    }
}

/// The characters of a row; runs of one look share their escape codes.
fn painted(squares: &[Square], style: &Style) -> String {
    let mut out = String::new();
    for run in squares.chunk_by(|a, b| look(*a) == look(*b)) {
        let text: String = run.iter().map(|square| square.mark()).collect();
        out.push_str(&style.paint(run.first().map_or(Tone::Plain, |square| look(*square)), &text));
    }
    out.truncate(out.trim_end_matches(' ').len());
    out
}

fn look(square: Square) -> Tone {
    match square.kind {
        SquareKind::Nursery => Tone::OnYellow,
        SquareKind::Young => Tone::OnCyan,
        SquareKind::Old => Tone::OnBlue,
        SquareKind::Large => Tone::OnGreen,
        // Pinned blocks that hold little are letters without a background, so that they stand out.
        SquareKind::Pinned if square.grade < 5 => Tone::Bad,
        SquareKind::Pinned => Tone::OnRed,
        SquareKind::Compact => Tone::OnMagenta,
        SquareKind::NonMoving => Tone::OnGrey,
        SquareKind::Code | SquareKind::Other => Tone::Strong,
        SquareKind::Descriptors | SquareKind::Free | SquareKind::FreeMegablock => Tone::Faint,
        SquareKind::Returned => Tone::Plain,
    }
}

/// Totals of each kind with its letter, and how to read the digits.
fn legend(out: &mut String, heap: &Heap, picture: &Picture, per: u64, style: &Style) {
    let _ = writeln!(out);
    let all = picture.bytes();
    for (kind, of_kind, share) in picture.totals() {
        let grades: &[u8] = if kind == SquareKind::Pinned { &[1, 9] } else { &[0] };
        let letters: String = grades.iter().map(|grade| mark(kind, *grade, style)).collect::<Vec<_>>().join("-");
        let pad = if kind == SquareKind::Pinned { "" } else { "  " };
        let (share, note) = share.map_or((String::new(), "addresses only"), |share| (share, ""));
        let line = format!("  {letters}{pad}  {:44}  {:>10}  {share:>7}  {note}", kind.words(), bytes(of_kind));
        let _ = writeln!(out, "{}", line.trim_end());
    }
    let _ = writeln!(out, "  {:47}  {:>10}", "all megablocks", bytes(all));
    let _ = writeln!(out);
    if picture.blocks[SquareKind::Pinned as usize] > 0 {
        let pinned = &heap.pinned;
        let alive = pinned
            .live_bytes
            .map_or(String::new(), |live| format!("; {} of {} alive in all", bytes(live), bytes(pinned.used_bytes)));
        let what = if picture.lives { "alive" } else { "used" };
        let _ =
            writeln!(out, "A digit is a pinned block: 0 has nothing {what}, 1 at most a ninth, 9 nearly all{alive}.");
    }
    if per > 1 {
        let _ = writeln!(
            out,
            "A character stands for {per} blocks: one kind of those that are there, each as often as it has blocks.\n\
             `--map=full` draws each block, `--svg FILE` a picture of them."
        );
    }
}

/// The letter of a kind as rows show it.
fn mark(kind: SquareKind, grade: u8, style: &Style) -> String {
    let square = Square { kind, grade };
    style.paint(look(square), &square.mark().to_string()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::super::picture::tests::heap;
    use super::*;

    fn plain(heap: &Heap, size: Size, width: usize) -> String {
        text(heap, size, &Style::plain(width))
    }

    #[test]
    fn a_small_heap_is_drawn_block_by_block() {
        let text = plain(&heap(&[(0x4200, "====no5."), (0x4201, "L")]), Size::Fit, 100);
        assert!(text.contains(&format!("0x420000000     {}\n", "====no5.".repeat(8))), "{text}");
        assert!(text.contains("... 3 more rows like this (768 KiB)"), "{text}");
        assert!(text.contains("  L    large object                                     1.0 MiB     50 %"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
        assert!(!text.contains('\x1b') && text.is_ascii());
    }

    #[test]
    fn gaps_take_one_line() {
        let text = plain(&heap(&[(0x4200, "o"), (0x4300, ".")]), Size::Fit, 100);
        assert!(text.contains("... 255 MiB of addresses that hold nothing\n0x430000000     ......"), "{text}");
    }

    #[test]
    fn a_large_heap_fits_on_a_page_in_any_terminal() {
        // Freed and kept megablocks alternate, and no two rows are alike.
        let mut state = 1u64;
        let mut tiles = Vec::new();
        for slot in 0..4096 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            if state >> 60 < 11 {
                tiles.push((slot, ["o9..", "1...", "noL5", "....1...o..."][(state >> 40) as usize % 4]));
            }
        }
        for width in [60, 80, 110] {
            let text = plain(&heap(&tiles), Size::Fit, width);
            assert!((20..100).contains(&text.lines().count()), "{text}");
            assert!(text.lines().filter(|line| line.starts_with("0x")).all(|line| line.chars().count() <= width));
        }
        let full = plain(&heap(&tiles), Size::Full, 100);
        assert!(full.lines().count() > 2_000);
    }

    #[test]
    fn absurd_addresses_still_fit() {
        let tiles: Vec<_> = (0..5_000u64).map(|index| (index * index * 1000, "o.")).collect();
        assert!(plain(&heap(&tiles), Size::Fit, 100).lines().count() < 200);
        let ends = plain(&heap(&[(0, "n"), (u64::MAX >> 20, "o")]), Size::Fit, 100);
        assert!(ends.contains("0xfffffffff"), "{ends}");
        assert!(plain(&heap(&[]), Size::Full, 100).contains("heap of 0 B"));
    }

    #[test]
    fn colours_say_nothing_that_letters_do_not() {
        let document = heap(&[(1, "====naoL0123456789Cmx?.,"), (2, "9"), (3, "1")]);
        let colour = text(&document, Size::Full, &Style { colour: true, ..Style::plain(100) });
        assert!(colour.contains("\x1b[97;41m9") && colour.contains("\x1b[1;31m1"), "{colour}");
        let mut stripped = String::new();
        for (index, part) in colour.split("\x1b[").enumerate() {
            stripped.push_str(if index == 0 { part } else { part.split_once('m').map_or("", |(_, text)| text) });
        }
        assert_eq!(stripped, plain(&document, Size::Full, 100));
    }
}

//! The map of a heap as SVG: a document of its own (`--svg`), and the squares that the page shows without scripts.
//! All blocks of one kind form one path; if that is still too long, squares stand for several blocks.

use super::layout::{ACROSS, DOWN, Layout, shape};
use super::picture::{BLOCK, BLOCKS, MEGABLOCK, Picture, Square, SquareKind};
use rtscope_draw::svg::{Anchor, Svg, WIDTH, text_width};
use rtscope_model::heap::Heap;
use rtscope_model::units::{bytes, counted, percent_of};
use rtscope_terminal::style::clean;
use std::fmt::Write as _;

/// Colours, shared with the page.
pub(crate) const STYLE: &str = include_str!("map.css");

/// Style of text in a file of its own.
const TEXT: &str = "\
text{fill:var(--h-ink)}.title{font-size:16px;font-weight:600}.tick{font-size:11px}\
.small{font-size:9px;font-family:ui-monospace,\"DejaVu Sans Mono\",monospace;opacity:.75}.paper{fill:var(--h-returned)}";

/// Largest document, in bytes; one of an extremely large heap may still exceed it.
const SIZE_MAX: usize = 3_500_000;
/// Maximum squares of the finest drawing that is tried.
const SQUARES_MAX: u64 = 600_000;
/// Up to this many runs of blocks, or megablocks, each has a tooltip.
const RUNS_MAX: usize = 8_000;
const TILES_MAX: usize = 6_000;
/// Up to this many places, empty ones have a frame.
const FRAMES_MAX: u64 = 30_000;
/// Room at the left for addresses.
const LEFT: f64 = 92.0;
const RIGHT: f64 = 8.0;

/// The drawing as a document.
pub fn svg(heap: &Heap) -> String {
    let picture = Picture::of(heap);
    let layout = layout(&picture);
    fitting(&picture, SIZE_MAX, |per| document(heap, &picture, &layout, per))
}

/// The squares of `picture` as a drawing for a page, in about `room` bytes.
pub(crate) fn in_page(picture: &Picture, room: usize) -> String {
    let layout = layout(picture);
    fitting(picture, room, |per| {
        let mut svg = Svg::new(layout.height() as f64 * layout.unit + 8.0, "the map of the heap's blocks");
        squares(&mut svg, picture, &layout, [per, 4], false);
        svg.finish()
    })
}

fn layout(picture: &Picture) -> Layout {
    Layout::of(&picture.tiles.iter().map(|tile| tile.slot).collect::<Vec<_>>(), WIDTH - LEFT - RIGHT)
}

/// The finest drawing that is no longer than `room` bytes.
fn fitting(picture: &Picture, room: usize, draw: impl Fn(u64) -> String) -> String {
    let blocks = (picture.tiles.len() * BLOCKS) as u64;
    let mut per = 1;
    while blocks / per > SQUARES_MAX && per < BLOCKS as u64 {
        per *= 2;
    }
    loop {
        let drawn = draw(per);
        if drawn.len() <= room || per >= BLOCKS as u64 {
            return drawn;
        }
        per *= 2;
    }
}

fn document(heap: &Heap, picture: &Picture, layout: &Layout, per: u64) -> String {
    const TOP: u64 = 62;
    let drawn = TOP as f64 + layout.height() as f64 * layout.unit;
    let height = drawn + 44.0 + picture.totals().count().div_ceil(2) as f64 * 20.0;
    let of = clean(&heap.of).into_owned();
    let title = format!(
        "The heap of {of}: {} in {}",
        bytes(picture.bytes()),
        counted(picture.tiles.len() as u64, "megablock", "megablocks")
    );
    let mut svg = Svg::document(height, &title, &format!("{STYLE}{TEXT}"));
    svg.text(12.0, 26.0, Anchor::Start, "title", &title);
    svg.text(12.0, 46.0, Anchor::Start, "tick", &facts(heap, picture, layout, per));
    squares(&mut svg, picture, layout, [per, TOP], true);
    legend(&mut svg, picture, drawn + 24.0);
    svg.finish() + "\n"
}

/// Facts about the heap on one line.
fn facts(heap: &Heap, picture: &Picture, layout: &Layout, per: u64) -> String {
    let alive = heap.pinned.live_bytes.filter(|_| heap.pinned.used_bytes > 0);
    let facts = [
        heap.built_by(),
        heap.rss_bytes.map(|rss| format!("{} resident", bytes(rss))),
        alive.map(|live| format!("{} of pinned bytes alive", percent_of(live, heap.pinned.used_bytes))),
        Some(format!("a {}", Picture::square_words(per))),
        layout.not_drawn(),
        picture.tiles.is_empty().then(|| "no map was read".into()),
    ];
    facts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

/// Draws the squares, with addresses at the left and, if `hover`, with tooltips. `[per, top]`: blocks per square, and
/// pixels above.
fn squares(svg: &mut Svg, picture: &Picture, layout: &Layout, [per, top]: [u64; 2], hover: bool) {
    let top = top as f64;
    addresses(svg, layout, top);
    svg.open_scaled([LEFT, top], layout.unit, "h-squares");
    if let Some(paths) = Paths::of(picture, layout, per) {
        paths.draw(svg, 0.7 / layout.unit.max(0.01));
        if hover {
            hovers(svg, picture, layout);
        }
    }
    svg.close();
}

/// Labels as many rows as have room with their addresses, and segments with the gap above them.
fn addresses(svg: &mut Svg, layout: &Layout, top: f64) {
    let row = (DOWN + 1) as f64 * layout.unit;
    let every = (11.0 / row).ceil().max(1.0) as u64;
    let mut end = layout.segments.first().map_or(0, |segment| segment.first);
    for segment in &layout.segments {
        let y = top + segment.top as f64 * layout.unit;
        if segment.first > end {
            let gap = (segment.first - end).saturating_mul(MEGABLOCK);
            let words = format!("{} of addresses that hold nothing", bytes(gap));
            svg.text(LEFT, y - layout.gap as f64 * layout.unit / 2.0 + 1.0, Anchor::Start, "small", &words);
        }
        end = segment.first + segment.slots;
        for line in (0..layout.rows(segment)).step_by(every as usize) {
            let address = (segment.first + line * layout.columns).saturating_mul(MEGABLOCK);
            svg.text(LEFT - 6.0, y + line as f64 * row + 9.0, Anchor::End, "small", &format!("{address:#x}"));
        }
    }
}

/// The path of one class: horizontal runs of squares.
#[derive(Default)]
struct Path {
    d: String,
    /// Where the last run ended.
    pen: Option<[u64; 2]>,
}

impl Path {
    fn run(&mut self, [x, y]: [u64; 2], width: u64) {
        let _ = match self.pen {
            Some([last, line]) if line == y && last == x => write!(self.d, "h{width}"),
            Some([last, line]) if line == y && last < x => write!(self.d, "m{} 0h{width}", x - last),
            _ => write!(self.d, "M{x} {y}h{width}"),
        };
        self.pen = Some([x + width, y]);
    }
}

/// All paths of a drawing.
#[derive(Default)]
struct Paths {
    /// Height of a square.
    high: u64,
    slots: String,
    tiles: Path,
    slashes: String,
    kinds: [Path; super::picture::KINDS],
    grades: [Path; 10],
}

impl Paths {
    /// `None`: nothing to draw.
    fn of(picture: &Picture, layout: &Layout, per: u64) -> Option<Paths> {
        let [across, down] = shape(per);
        let (wide, high) = (ACROSS / across, DOWN / down);
        let mut paths = Paths { high, ..Paths::default() };
        let mut squares = picture.squares(per).peekable();
        let mut tiles = picture.tiles.iter().peekable();
        squares.peek()?;
        let frames = layout.segments.iter().map(|segment| segment.slots).sum::<u64>() <= FRAMES_MAX;
        let frame = |x: u64, y: u64| {
            if frames { format!("M{x} {y}h{ACROSS}v{DOWN}h-{ACROSS}z") } else { String::new() }
        };
        for segment in &layout.segments {
            for slot in segment.first..segment.first + segment.slots {
                let [x, y] = layout.place(segment, slot);
                // A place without a megablock takes no squares.
                let in_tile = if tiles.next_if(|tile| tile.slot == slot).is_some() { across * down } else { 0 };
                let tile: Vec<Square> = squares.by_ref().take(in_tile as usize).map(|(_, square)| square).collect();
                if tile.iter().all(|square| square.kind == SquareKind::Returned) {
                    paths.slots.push_str(&frame(x, y));
                    continue;
                }
                paths.tiles.run([x, y], ACROSS);
                if is_free(&tile) {
                    let _ = write!(paths.slashes, "M{x} {}l{ACROSS} -{DOWN}", y + DOWN);
                }
                for (line, squares) in (0..).zip(tile.chunks(across as usize)) {
                    paths.line([x, y + line * high], squares, wide);
                }
            }
        }
        Some(paths)
    }

    fn line(&mut self, [mut x, y]: [u64; 2], squares: &[Square], wide: u64) {
        for run in squares.chunk_by(|a, b| a == b) {
            let width = run.len() as u64 * wide;
            let Some(square) = run.first() else { continue };
            // Free blocks are the background of the others; a completely filled block hides what is under it.
            if !matches!(square.kind, SquareKind::Free | SquareKind::FreeMegablock)
                && square.grade < 9
                && let Some(path) = self.kinds.get_mut(square.kind as usize)
            {
                path.run([x, y], width);
            }
            if let Some(path) = self.grades.get_mut(usize::from(square.grade)).filter(|_| square.grade > 0) {
                path.run([x, y], width);
            }
            x += width;
        }
    }

    fn draw(&self, svg: &mut Svg, thin: f64) {
        let high = self.high as f64;
        svg.band(&self.tiles.d, SquareKind::Free.class(), [DOWN as f64 / 2.0, DOWN as f64]);
        for (kind, path) in SquareKind::ALL.into_iter().zip(&self.kinds) {
            let class = if kind == SquareKind::Pinned { "h-dead" } else { kind.class() };
            svg.band(&path.d, class, [high / 2.0, high]);
        }
        // A pinned block is filled from below by its live share.
        for (grade, path) in (0..10u32).zip(&self.grades) {
            let filled = high * f64::from(grade) / 9.0;
            svg.band(&path.d, SquareKind::Pinned.class(), [high - filled / 2.0, filled]);
        }
        svg.band(&self.slots, "h-slot", [0.0, thin]);
        svg.band(&self.slashes, "h-slash", [0.0, thin]);
    }
}

/// Whether a megablock holds nothing but its own descriptors.
fn is_free(tile: &[Square]) -> bool {
    let free = |square: &Square| square.kind == SquareKind::FreeMegablock;
    tile.iter().any(free) && tile.iter().all(|square| free(square) || square.kind == SquareKind::Descriptors)
}

/// Tooltips: for each run of blocks, or for each megablock if there are many runs.
fn hovers(svg: &mut Svg, picture: &Picture, layout: &Layout) {
    let lines = |tile: &'_ super::picture::Tile| {
        tile.squares.chunks(ACROSS as usize).map(|line| line.chunk_by(|a, b| a == b).count()).sum::<usize>()
    };
    let by_run = picture.tiles.iter().map(lines).sum::<usize>() <= RUNS_MAX;
    if !by_run && picture.tiles.len() > TILES_MAX {
        return;
    }
    let mut tiles = picture.tiles.iter().peekable();
    for segment in &layout.segments {
        while let Some(tile) = tiles.next_if(|tile| tile.slot < segment.first + segment.slots) {
            let [x, y] = layout.place(segment, tile.slot);
            if !by_run {
                let frame = [x as f64, y as f64, ACROSS as f64, DOWN as f64];
                svg.rect(frame, "h-hover", &picture.tile_words(tile));
                continue;
            }
            for run in runs(&tile.squares) {
                let address = tile.address() + run.first * BLOCK;
                let words = picture.run_words(address, run.blocks, run.square);
                for [from, to] in lines_of(&run) {
                    let frame = [(x + from % ACROSS) as f64, (y + from / ACROSS) as f64, (to - from) as f64, 1.0];
                    svg.rect(frame, "h-hover", &words);
                }
            }
        }
    }
}

/// A run of identical blocks of a megablock.
struct BlockRun {
    first: u64,
    blocks: u64,
    square: Square,
}

fn runs(squares: &[Square]) -> impl Iterator<Item = BlockRun> + '_ {
    let mut first = 0;
    squares.chunk_by(|a, b| a == b).filter_map(move |run| {
        let begin = first;
        first += run.len() as u64;
        Some(BlockRun { first: begin, blocks: run.len() as u64, square: *run.first()? })
    })
}

/// The pieces of a run, line by line.
fn lines_of(run: &BlockRun) -> impl Iterator<Item = [u64; 2]> + use<> {
    let (from, end) = (run.first, run.first + run.blocks);
    let lines = from / ACROSS..end.div_ceil(ACROSS);
    lines.map(move |line| [from.max(line * ACROSS), end.min((line + 1) * ACROSS)])
}

/// What the colours mean, with totals.
fn legend(svg: &mut Svg, picture: &Picture, top: f64) {
    for (index, (kind, of_kind, share)) in picture.totals().enumerate() {
        let (x, y) = (12.0 + (index % 2) as f64 * WIDTH / 2.0, top + (index / 2) as f64 * 20.0);
        let share = share.unwrap_or_else(|| "addresses only".into());
        let words = match kind {
            SquareKind::Pinned if picture.lives => "pinned objects, filled as far as they are alive",
            SquareKind::Pinned => "pinned objects, filled as far as they are used",
            kind => kind.words(),
        };
        swatch(svg, [x, y], kind);
        let words = format!("{words}: {}, {share}", bytes(of_kind));
        debug_assert!(text_width(&words) < WIDTH / 2.0 + 60.0);
        svg.text(x + 40.0, y + 10.0, Anchor::Start, "tick", &words);
    }
}

/// A sample of a kind for legends.
pub(crate) fn swatch(svg: &mut Svg, [x, y]: [f64; 2], kind: SquareKind) {
    match kind {
        SquareKind::Pinned => {
            for (step, filled) in [(0.0, 1.0), (1.0, 5.0), (2.0, 12.0)] {
                svg.rect([x + step * 11.0, y, 10.0, 12.0], "h-dead", "");
                svg.rect([x + step * 11.0, y + 12.0 - filled, 10.0, filled], "h-pinned", "");
            }
        }
        SquareKind::Returned => svg.rect([x, y, 32.0, 12.0], "h-edge", ""),
        kind => svg.rect([x, y, 32.0, 12.0], kind.class(), ""),
    }
    if kind == SquareKind::FreeMegablock {
        svg.line([x, y + 12.0, x + 32.0, y], "h-edge");
    }
}

#[cfg(test)]
mod tests {
    use super::super::picture::tests::heap;
    use super::*;

    fn of(megablocks: &[(u64, &str)]) -> String {
        svg(&heap(megablocks))
    }

    #[test]
    fn runs_are_merged_and_lie_side_by_side() {
        let mut path = Path::default();
        path.run([3, 0], 2);
        path.run([5, 0], 1);
        path.run([9, 0], 4);
        path.run([1, 1], 1);
        assert_eq!(path.d, "M3 0h2h1m3 0h4M1 1h1");
        let pieces: Vec<_> =
            lines_of(&BlockRun { first: 30, blocks: 36, square: Square { kind: SquareKind::Old, grade: 0 } }).collect();
        assert_eq!(pieces, [[30, 32], [32, 64], [64, 66]]);
    }

    #[test]
    fn one_path_for_each_kind_and_grade() {
        let drawn = of(&[(0x4200, &format!("===={}", "o".repeat(252))), (0x4202, "9."), (0x4203, ","), (0x4204, "0")]);
        assert_eq!(drawn.matches("class=\"h-old\" d=\"M4 0h28M0 1h32M0 2h32").count(), 1, "{drawn}");
        assert_eq!(drawn.matches("<path class=\"h-pinned\"").count(), 1, "{drawn}");
        assert_eq!(drawn.matches("<path class=\"h-slash\"").count(), 1);
        assert!(drawn.contains("class=\"h-slot\" d=\"M33 0h32v8h-32z\""), "{drawn}");
        assert!(drawn.contains("<title>0x420000000 to 0x420004000: descriptors; 4 blocks, 16 KiB</title>"), "{drawn}");
        assert!(drawn.contains("pinned objects, filled as far as they are used: 1.5 MiB, 38 %"), "{drawn}");
    }

    #[test]
    fn two_gibibytes_of_scattered_blocks_stay_small() {
        let mut state = 7u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as usize
        };
        let mut document = heap(&[]);
        for slot in 0..2048u64 {
            let marks = [b'.', b'.', b'.', b'1', b'2', b'o', b'9', b'L'];
            let blocks = (0..256).map(|_| char::from(marks[next() % 8])).collect();
            document.megablocks.push(rtscope_model::heap::Megablock { address: slot * MEGABLOCK, blocks });
        }
        let drawn = svg(&document);
        assert!(drawn.len() < 4 << 20, "{}", drawn.len());
        assert!(drawn.contains("<title>0x7ff00000, 256 blocks: "), "a megablock has a title of its own");
        let page = in_page(&Picture::of(&document), 100_000);
        assert!(page.len() <= 100_000, "{}", page.len());
    }

    #[test]
    fn a_hundred_thousand_megablocks_and_absurd_addresses_are_drawn() {
        let mut document = heap(&[(u64::MAX >> 20, "<\u{202e}")]);
        document.of = "</svg><script>".into();
        let alike: String = "n.o1".repeat(64);
        for slot in 0..100_000u64 {
            document
                .megablocks
                .push(rtscope_model::heap::Megablock { address: slot * 3 * MEGABLOCK + 17, blocks: alike.clone() });
        }
        let drawn = svg(&document);
        assert!(drawn.len() < 8 << 20, "{}", drawn.len());
        assert!(!drawn.contains("<script"));
        assert!(svg(&Heap::default()).contains("no map was read"));
    }
}

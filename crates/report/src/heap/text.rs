//! `rtscope heap` as text: what the system reports, split into lines that add up.

use rtscope_draw::present::{Block, Cell, Name, Section, Table, TextForm};
use rtscope_model::heap::{self, Heap};
use rtscope_model::units::{bytes, count, counted, duration, percent};
use rtscope_terminal::present;
use rtscope_terminal::screen::Screen;
use rtscope_terminal::style::{Style, Tone};

/// Maximum rows of a list.
const ROWS: usize = 10;

/// The heap in figures.
pub fn text(heap: &Heap, style: &Style) -> String {
    let mut screen = Screen::new(style);
    let compiler = heap.built_by().unwrap_or_else(|| format!("{}, version unknown", heap::RUNTIME));
    let resident = heap.rss_bytes.map(|rss| format!("{} resident", bytes(rss)));
    let stopped = if heap.stop_ns > 0 { format!(", stopped for {}", duration(heap.stop_ns)) } else { String::new() };
    let read = format!("blocks read in {}{stopped}", duration(heap.read_ns));
    let held = format!("heap of {}", bytes(heap.heap_bytes));
    let facts: Vec<String> = [compiler].into_iter().chain(resident).chain([held, read]).collect();
    screen.spread(Tone::Strong, &heap.of, &facts.join(style.dot()));
    for section in [ledger(heap), fragmentation(heap), pinned(heap), large(heap), census(heap), doubts(heap)] {
        present::section(&mut screen, &section);
    }
    screen.finish()
}

fn ledger(heap: &Heap) -> Section<'_> {
    let mut lines: Vec<(&str, i64)> = heap.ledger.iter().map(|line| (line.line.as_str(), line.bytes as i64)).collect();
    lines.extend(heap.unexplained_bytes.map(|bytes| ("not explained", bytes)));
    let all: i64 = lines.iter().map(|(_, bytes)| bytes).sum();
    let figure = |of: i64| format!("{}{}", if of < 0 { "-" } else { "" }, bytes(of.unsigned_abs()));
    let row = |(line, of): (&str, i64)| {
        let share = percent(of.unsigned_abs() as f64 / all.max(1) as f64);
        (Name::from(line), [figure(of), share].map(Cell::from))
    };
    let sum = if heap.rss_bytes.is_some() { "resident, as the system reports it" } else { "all of it" };
    let sum = (Name::from(sum), [figure(all), String::new()].map(Cell::from));
    let rows = lines.into_iter().map(row).chain([sum]);
    Section::new("ledger", "Where the memory is", [Table::new("where the memory is", ["bytes", "share"], rows).block()])
}

/// Megablocks: how many hold something, and how few would suffice.
fn fragmentation(heap: &Heap) -> Section<'_> {
    let levels = &heap.fragmentation;
    let held = counted(levels.megablocks, "megablock", "megablocks");
    let mut text = format!("{held} hold something, {} would do", levels.megablocks_needed);
    if levels.kept_by_one > 0 {
        let free = bytes(levels.kept_by_one_bytes);
        text += &format!("; a single group of blocks keeps each of {} with {free} free", levels.kept_by_one);
    }
    Section::new("blocks", "Blocks", [Block::fact("Blocks", Some(text))])
}

fn pinned(heap: &Heap) -> Section<'_> {
    let pinned = &heap.pinned;
    let known = pinned.objects.zip(pinned.live_objects).zip(pinned.live_bytes).filter(|_| pinned.blocks > 0);
    let Some(((objects, live_objects), live_bytes)) = known else { return Section::new("pinned", "Pinned", []) };
    let text = format!(
        "{} in {}: {} of {} objects alive with {} ({}), {} dead between them",
        bytes(pinned.used_bytes),
        counted(pinned.blocks, "block", "blocks"),
        count(live_objects),
        count(objects),
        bytes(live_bytes),
        percent(live_bytes as f64 / pinned.used_bytes.max(1) as f64),
        bytes(pinned.used_bytes.saturating_sub(live_bytes))
    );
    let holders = heap.holders.iter().take(ROWS).map(|holder| {
        let cells = [count(holder.count), bytes(holder.live_bytes), bytes(holder.kept_dead_bytes)];
        (Name::code(holder.name.as_str()), cells.map(Cell::from))
    });
    let worst = pinned.worst.iter().filter(|_| !heap.holders.is_empty()).map(|worst| {
        let holder = worst.holder.as_deref().unwrap_or("no known owner");
        let cells = [bytes(worst.live_bytes), bytes(worst.dead_bytes)];
        (Name::code(format!("{:#x} {holder}", worst.address)), cells.map(Cell::from))
    });
    let blocks = [
        Block::fact("Pinned", Some(text)),
        Table::new("held by", ["pointers", "held", "dead kept"], holders).block(),
        Table::new("worst blocks", ["alive", "dead kept"], worst).block(),
    ];
    Section::new("pinned", "Pinned", blocks)
}

/// Large objects that slices of them keep alive.
fn large(heap: &Heap) -> Section<'_> {
    let large = &heap.large;
    let mut text = format!("{} with {}", counted(large.objects, "object", "objects"), bytes(large.bytes));
    if large.sliced > 0 {
        let by = large.holder.as_ref().map_or(String::new(), |name| format!(", by {name}"));
        let (many, held, shown) = (count(large.sliced), bytes(large.sliced_bytes), bytes(large.shown_bytes));
        text += &format!("; {many} of them, {held}, kept for slices that show {shown}{by}");
    }
    Section::new("large", "Large", [Block::fact("Large", Some(text).filter(|_| large.objects > 0))])
}

fn census(heap: &Heap) -> Section<'_> {
    let Some(scan) = &heap.scan else { return Section::new("census", "Objects", []) };
    let text = format!(
        "of generations that are moved, and large ones: {} read in {}, {} of it not shown",
        bytes(scan.read_bytes),
        duration(heap.scan_ns),
        bytes(scan.skipped_bytes + scan.unread_bytes)
    );
    let rows = heap.census.iter().take(ROWS).map(|entry| {
        let cells = [entry.kind.to_string(), count(entry.count), bytes(entry.bytes)];
        (Name::code(entry.name.as_str()), cells.map(Cell::from))
    });
    let table = Table::new("census", ["kind", "objects", "bytes"], rows);
    Section::new("census", "Objects", [Block::fact("Objects", Some(text)), table.block()])
}

fn doubts(heap: &Heap) -> Section<'_> {
    Section::new("doubts", "Doubts", [Block::text("Note", TextForm::List, heap.doubts.iter().cloned())])
}

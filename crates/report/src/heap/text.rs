//! `rtscope heap` as text: what the system reports, split into lines that add up.

use rtscope_model::heap::{self, Heap};
use rtscope_model::units::{bytes, count, counted, duration, percent};
use rtscope_terminal::style::{Style, Tone, shorten, wrap};
use std::fmt::Write;

/// The heap in figures.
pub fn text(heap: &Heap, style: &Style) -> String {
    let mut out = String::new();
    let compiler = heap.built_by().unwrap_or_else(|| format!("{}, version unknown", heap::RUNTIME));
    let resident = heap.rss_bytes.map_or(String::new(), |rss| format!(" · {} resident", bytes(rss)));
    let read = format!("blocks read in {}", duration(heap.read_ns));
    let stopped = if heap.stop_ns > 0 { format!(", stopped for {}", duration(heap.stop_ns)) } else { String::new() };
    let of = style.paint(Tone::Strong, &heap.of).into_owned();
    let _ = writeln!(out, "{of}  {compiler}{resident} · heap of {} · {read}{stopped}\n", bytes(heap.heap_bytes));
    ledger(&mut out, heap, style);
    fragmentation(&mut out, heap);
    pinned(&mut out, heap);
    large(&mut out, heap);
    census(&mut out, heap);
    for doubt in &heap.doubts {
        let _ = writeln!(out);
        for line in wrap(doubt, style.width.saturating_sub(2)) {
            let _ = writeln!(out, "  {line}");
        }
    }
    out
}

fn ledger(out: &mut String, heap: &Heap, style: &Style) {
    let mut lines: Vec<(&str, i64)> = heap.ledger.iter().map(|line| (line.line.as_str(), line.bytes as i64)).collect();
    lines.extend(heap.unexplained_bytes.map(|bytes| ("not explained", bytes)));
    let width = lines.iter().map(|(line, _)| line.chars().count()).max().unwrap_or(0);
    let all: i64 = lines.iter().map(|(_, bytes)| bytes).sum();
    for (line, count) in &lines {
        let sign = if *count < 0 { "-" } else { "" };
        let figure = format!("{sign}{}", bytes(count.unsigned_abs()));
        let share = percent(count.unsigned_abs() as f64 / all.max(1) as f64);
        let _ = writeln!(out, "  {line:width$}  {figure:>10}  {share:>7}");
    }
    let sum = if heap.rss_bytes.is_some() { "resident, as the system reports it" } else { "all of it" };
    let _ =
        writeln!(out, "  {}  {:>10}", style.paint(Tone::Strong, &format!("{sum:width$}")), bytes(all.unsigned_abs()));
}

/// Megablocks: how many hold something, and how few would suffice.
fn fragmentation(out: &mut String, heap: &Heap) {
    let levels = &heap.fragmentation;
    let held = counted(levels.megablocks, "megablock", "megablocks");
    let _ = write!(out, "\nBlocks   {held} hold something, {} would do", levels.megablocks_needed);
    if levels.kept_by_one > 0 {
        let free = bytes(levels.kept_by_one_bytes);
        let _ = write!(out, "; a single group of blocks keeps each of {} with {free} free", levels.kept_by_one);
    }
    let _ = writeln!(out);
}

/// Maximum rows of a list.
const ROWS: usize = 10;

fn pinned(out: &mut String, heap: &Heap) {
    let pinned = &heap.pinned;
    let known = pinned.objects.zip(pinned.live_objects).zip(pinned.live_bytes).filter(|_| pinned.blocks > 0);
    let Some(((objects, live_objects), live_bytes)) = known else { return };
    let _ = writeln!(
        out,
        "\nPinned   {} in {}: {} of {} objects alive with {} ({}), {} dead between them",
        bytes(pinned.used_bytes),
        counted(pinned.blocks, "block", "blocks"),
        count(live_objects),
        count(objects),
        bytes(live_bytes),
        percent(live_bytes as f64 / pinned.used_bytes.max(1) as f64),
        bytes(pinned.used_bytes.saturating_sub(live_bytes))
    );
    if heap.holders.is_empty() {
        return;
    }
    let _ = writeln!(out, "  held by {:42}  {:>11}  {:>10}  {:>14}", "", "pointers", "held", "dead kept");
    for holder in heap.holders.iter().take(ROWS) {
        let name = shorten(&holder.name, 46).into_owned();
        let (live, dead) = (bytes(holder.live_bytes), bytes(holder.kept_dead_bytes));
        let _ = writeln!(out, "    {name:46}  {:>11}  {live:>10}  {dead:>14}", count(holder.count));
    }
    worst(out, heap);
}

/// The blocks that keep the most dead bytes.
fn worst(out: &mut String, heap: &Heap) {
    if heap.pinned.worst.is_empty() {
        return;
    }
    let _ = writeln!(out, "  worst blocks {:38}  {:>11}  {:>10}  {:>14}", "", "", "alive", "dead kept");
    for worst in &heap.pinned.worst {
        let holder = worst.holder.as_deref().unwrap_or("no known owner");
        let name = shorten(holder, 32).into_owned();
        let (live, dead) = (bytes(worst.live_bytes), bytes(worst.dead_bytes));
        let _ = writeln!(out, "    {:#x}  {name:32}  {:>11}  {live:>10}  {dead:>14}", worst.address, "");
    }
}

/// Large objects that slices of them keep alive.
fn large(out: &mut String, heap: &Heap) {
    let large = &heap.large;
    if large.objects == 0 {
        return;
    }
    let _ = write!(out, "\nLarge    {} with {}", counted(large.objects, "object", "objects"), bytes(large.bytes));
    if large.sliced > 0 {
        let by = large.holder.as_ref().map_or(String::new(), |name| format!(", by {name}"));
        let (many, held, shown) = (count(large.sliced), bytes(large.sliced_bytes), bytes(large.shown_bytes));
        let _ = write!(out, "; {many} of them, {held}, kept for slices that show {shown}{by}");
    }
    let _ = writeln!(out);
}

fn census(out: &mut String, heap: &Heap) {
    let Some(scan) = &heap.scan else { return };
    let _ = writeln!(
        out,
        "\nObjects  of generations that are moved, and large ones: {} read in {}, {} of it not shown",
        bytes(scan.read_bytes),
        duration(heap.scan_ns),
        bytes(scan.skipped_bytes + scan.unread_bytes)
    );
    let _ = writeln!(out, "    {:46}  {:18}  {:>11}  {:>10}", "", "", "objects", "bytes");
    for entry in heap.census.iter().take(ROWS) {
        let name = shorten(&entry.name, 46).into_owned();
        let _ =
            writeln!(out, "    {name:46}  {:18}  {:>11}  {:>10}", entry.kind, count(entry.count), bytes(entry.bytes));
    }
}

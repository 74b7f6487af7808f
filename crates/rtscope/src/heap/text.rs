//! `rtscope heap` as text: what the system reports, split into lines that add up.

use super::Shown;
use crate::style::{Style, Tone, shorten, wrap};
use rtscope_model::units::{bytes, count, counted, duration, percent};
use std::fmt::Write;

/// The page.
pub(super) fn text(shown: &Shown, style: &Style) -> String {
    let mut out = String::new();
    let ghc = shown
        .version
        .map_or("GHC, version unknown".into(), |(major, minor, patch)| format!("GHC {major}.{minor}.{patch}"));
    let resident = shown.rss_bytes.map_or(String::new(), |rss| format!(" · {} resident", bytes(rss)));
    let read = format!("blocks read in {}", duration(shown.took.as_nanos() as u64));
    let stopped =
        shown.held.map_or(String::new(), |held| format!(", stopped for {}", duration(held.stopped.as_nanos() as u64)));
    let of = style.paint(Tone::Strong, &shown.of).into_owned();
    let _ = writeln!(out, "{of}  {ghc}{resident} · heap of {} · {read}{stopped}\n", bytes(shown.heap_bytes()));
    let mut lines: Vec<(&str, i64)> = shown.ledger.iter().map(|line| (line.line.as_str(), line.bytes as i64)).collect();
    lines.extend(shown.unexplained_bytes().map(|bytes| ("not explained", bytes)));
    let width = lines.iter().map(|(line, _)| line.chars().count()).max().unwrap_or(0);
    let all: i64 = lines.iter().map(|(_, bytes)| bytes).sum();
    for (line, count) in &lines {
        let sign = if *count < 0 { "-" } else { "" };
        let figure = format!("{sign}{}", bytes(count.unsigned_abs()));
        let share = percent(count.unsigned_abs() as f64 / all.max(1) as f64);
        let _ = writeln!(out, "  {line:width$}  {figure:>10}  {share:>7}");
    }
    let sum = if shown.rss_bytes.is_some() { "resident, as the system reports it" } else { "all of it" };
    let _ =
        writeln!(out, "  {}  {:>10}", style.paint(Tone::Strong, &format!("{sum:width$}")), bytes(all.unsigned_abs()));
    pinned(&mut out, shown);
    census(&mut out, shown);
    for doubt in shown.doubts() {
        let _ = writeln!(out);
        for line in wrap(&doubt, style.width.saturating_sub(2)) {
            let _ = writeln!(out, "  {line}");
        }
    }
    out
}

/// Rows of a list.
const ROWS: usize = 10;

fn pinned(out: &mut String, shown: &Shown) {
    let pinned = &shown.scan.pinned;
    if pinned.groups == 0 {
        return;
    }
    let dead = pinned.used_bytes.saturating_sub(pinned.live_bytes);
    let _ = writeln!(
        out,
        "\nPinned   {} in {}: {} of {} objects alive with {} ({}), {} dead between them",
        bytes(pinned.used_bytes),
        counted(pinned.groups, "block", "blocks"),
        count(pinned.live_objects),
        count(pinned.objects),
        bytes(pinned.live_bytes),
        percent(pinned.live_bytes as f64 / pinned.used_bytes.max(1) as f64),
        bytes(dead)
    );
    if pinned.holders.is_empty() {
        return;
    }
    let _ = writeln!(out, "  held by {:42}  {:>11}  {:>10}  {:>14}", "", "pointers", "held", "dead kept");
    for holder in pinned.holders.iter().take(ROWS) {
        let name = shown.name(holder.info_address);
        let _ = writeln!(
            out,
            "    {:46}  {:>11}  {:>10}  {:>14}",
            shorten(&name, 46),
            count(holder.count),
            bytes(holder.live_bytes),
            bytes(holder.kept_dead_bytes)
        );
    }
}

fn census(out: &mut String, shown: &Shown) {
    let scan = &shown.scan;
    let _ = writeln!(
        out,
        "\nObjects  of generations that are moved, and large ones: {} read, {} of it not told",
        bytes(scan.read_bytes),
        bytes(scan.skipped_bytes + scan.unread_bytes)
    );
    let _ = writeln!(out, "    {:46}  {:18}  {:>11}  {:>10}", "", "", "objects", "bytes");
    for entry in scan.census.iter().take(ROWS) {
        let name = shown.name(entry.info_address);
        let kind = entry.info.kind.word();
        let name = shorten(&name, 46).into_owned();
        let _ = writeln!(out, "    {name:46}  {kind:18}  {:>11}  {:>10}", count(entry.count), bytes(entry.bytes));
    }
}

//! The figures block: where the wall clock went, pauses, productivity, lanes,
//! memory, causes.

use crate::words::{self, CauseGroup, WallPart, wall_clock};
use crate::{code, tables, units};
use rtscope_analyze::results::{CodePlace, Generation, Lane, MemoryLevel, Results};
use rtscope_model::Cause;
use rtscope_model::text::word;
use rtscope_terminal::screen::{LABEL, Screen};
use rtscope_terminal::style::{Tone, capitalised, clean, short, shorten};

/// Maximum lanes with a line of their own.
const LANES_SHOWN: usize = 6;
/// Maximum causes with a line of their own.
const CAUSES_SHOWN: usize = 5;
/// Maximum labels of a heap profile with a line of their own.
const LABELS_SHOWN: usize = 5;
/// Smaller causes share one line.
const CAUSE_SHARE_SHOWN: f64 = 0.01;

pub(super) fn write(screen: &mut Screen, results: &Results) {
    screen.blank();
    if words::has_runtime(results) {
        bar(screen, results);
        pauses(screen, results);
        screen.entries("Productivity", words::productivity(results));
        generations(screen, results);
    } else {
        screen.entry("Pauses", "unknown: no log of a runtime was recorded");
    }
    causes(screen, results);
    code(screen, results);
    lanes(screen, results);
    screen.entries("Green threads", words::green_threads(results).into_iter().flatten());
    memory(screen, results);
    heap_profile(screen, results);
}

/// The bar of the wall clock; the table below it is its legend.
fn bar(screen: &mut Screen, results: &Results) {
    let parts = wall_clock(results);
    if parts.is_empty() {
        return;
    }
    let style = screen.style();
    let width = style.width.saturating_sub(LABEL);
    let mut drawn = String::new();
    for (part, cells) in cells(&parts, width) {
        drawn.push_str(&style.paint(look(part).0, &glyph(part, style.unicode).repeat(cells)));
    }
    let label = screen.label("Wall clock");
    screen.line(&format!("{label}{drawn}"));
}

/// How a part is drawn: colour, character, and character without Unicode.
fn look(part: WallPart) -> (Tone, &'static str, &'static str) {
    match part {
        WallPart::Program => (Tone::Good, "░", "."),
        WallPart::Stop => (Tone::Bad, "█", "#"),
        WallPart::Collect => (Tone::Calm, "▓", "="),
        WallPart::Release => (Tone::Warn, "▒", "+"),
        WallPart::Unsplit => (Tone::Faint, "╌", "?"),
    }
}

fn glyph(part: WallPart, unicode: bool) -> &'static str {
    let (_, sign, plain) = look(part);
    if unicode { sign } else { plain }
}

/// Cells of a bar of `width`: by share, at least one for every part; the largest part takes the rounding.
fn cells(parts: &[(WallPart, u64)], width: usize) -> Vec<(WallPart, usize)> {
    let total: u128 = parts.iter().map(|(_, ns)| u128::from(*ns)).sum();
    let share = |ns: u64| (u128::from(ns) * width as u128).checked_div(total).unwrap_or(0) as usize;
    let mut cells: Vec<_> = parts.iter().map(|(part, ns)| (*part, share(*ns).max(1))).collect();
    let used: usize = cells.iter().map(|(_, cells)| cells).sum();
    if let Some((_, largest)) = cells.iter_mut().max_by_key(|(_, cells)| *cells) {
        *largest = (*largest + width).saturating_sub(used);
    }
    cells
}

/// One row per part of the wall clock, with its character in the bar.
fn pauses(screen: &mut Screen, results: &Results) {
    let unicode = screen.style().unicode;
    let named = |part: WallPart| format!("{} {}", glyph(part, unicode), part.words());
    tables::pauses(results, "  whole pause", named).write(screen, "Pauses", (usize::MAX, ""));
}

fn generations(screen: &mut Screen, results: &Results) {
    let by_generation = &results.pauses.by_generation;
    let generation = |g: &Generation| {
        // One line holds the usual two.
        let name = results.runtime.info().generation(g.generation).replace("generation", "gen");
        format!("{name}: {} in {}", units::count(g.count), units::duration_or_dash(g.collect_ns.sum))
    };
    let copied = by_generation.iter().fold(0u64, |sum, g| sum.saturating_add(g.copied_bytes));
    let all = [
        (copied > 0).then(|| format!("{} copied", units::bytes(copied))),
        results.allocation_bytes_per_second.map(|rate| format!("{} allocated", units::bytes_per_second(rate))),
        results.promotion.map(|promotion| format!("{} promoted", units::percent(promotion.share))),
    ];
    let facts = by_generation.iter().map(generation).chain(all.into_iter().flatten());
    screen.entries("Collections", words::all_of(facts, "; "));
    screen.entries("Slices", words::slices(results));
}

/// Why pauses waited. A recording with only unknown causes says so at the end of the report, and waits of less than a
/// thousandth of the run need no table.
fn causes(screen: &mut Screen, results: &Results) {
    let groups = words::cause_groups(&results.causes);
    let waited = groups.iter().fold(0u64, |sum, group| sum.saturating_add(group.sum_ns));
    let known = groups.iter().any(|group| group.cause != Cause::Unknown);
    if !known || waited.saturating_mul(1_000) < results.span_ns {
        return;
    }
    let width = screen.style().width.saturating_sub(34);
    let shown = groups.iter().take(CAUSES_SHOWN).take_while(|group| group.share >= CAUSE_SHARE_SHOWN).count().max(1);
    let (shown, rest) = groups.split_at(shown.min(groups.len()));
    let row = |group: &CauseGroup<'_>| {
        vec![short(&group.words(), width), units::duration(group.sum_ns), units::percent(group.share)]
    };
    let mut rows: Vec<_> = shown.iter().map(row).collect();
    match rest {
        [] => {}
        [one] => rows.push(row(one)),
        rest => {
            let ns = rest.iter().fold(0u64, |ns, group| ns.saturating_add(group.sum_ns));
            let share = rest.iter().map(|group| group.share).sum();
            rows.push(vec!["other causes".into(), units::duration(ns), units::percent(share)]);
        }
    }
    screen.table("Why pauses waited", &["in all", "of waits"], &rows);
}

/// Where the code was: the longest wait, and the places that took the most CPU time.
fn code(screen: &mut Screen, results: &Results) {
    let Some(sampled) = results.code.as_ref().filter(|sampled| sampled.samples > 0) else { return };
    screen.entries("Longest wait", code::longest_wait(results));
    let width = screen.style().width.saturating_sub(46);
    let row = |(place, share): &(&CodePlace, f64)| {
        let name = format!("{} ({})", clean(&place.symbol), word(&place.kind));
        let (ran, share) = (units::duration(place.running_ns), units::percent(*share));
        vec![shorten(&name, width).into_owned(), ran, share, code::waited(place)]
    };
    let rows: Vec<_> = code::places(sampled).iter().map(row).collect();
    if !rows.is_empty() {
        screen.table("Hottest code", &["CPU time", "share", "while others waited"], &rows);
    }
}

/// One row per lane, those that delayed others most first.
fn lanes(screen: &mut Screen, results: &Results) {
    let held = |id: u16| results.held_up.iter().find(|held| held.lane == id);
    let mut lanes: Vec<&Lane> = results.lanes.iter().collect();
    if lanes.len() > LANES_SHOWN {
        lanes.sort_by_key(|lane| (std::cmp::Reverse(held(lane.id).map_or(0, |held| held.sum_ns)), lane.id));
    }
    let table = tables::lanes(results, &lanes, LANES_SHOWN, |name| short(name, 24));
    let (one, many) = results.runtime.info().lane;
    table.write(screen, &capitalised(many), (LANES_SHOWN, many));
    let inferred = |lane: &&Lane| lane.leadership_inferred && lane.leadership_wait_ns > Some(0);
    if lanes.iter().take(LANES_SHOWN).any(inferred) {
        screen.entry("", &format!("~ inferred from how fast the {one} allocates: this runtime does not post it"));
    }
}

/// Memory figures: different quantities, never mixed; what was not recorded has no column.
fn memory(screen: &mut Screen, results: &Results) {
    let lines = words::memory(&results.memory);
    if lines.is_empty() {
        screen.entry("Memory", "not recorded");
        return;
    }
    let row = |name: &str, of: fn(&MemoryLevel) -> u64| {
        let cells = lines.iter().map(|(_, level)| units::bytes(of(level)));
        std::iter::once(name.to_string()).chain(cells).collect::<Vec<_>>()
    };
    let heads: Vec<_> = lines.iter().map(|(head, _)| *head).collect();
    screen.table("Memory", &heads, &[row("most", |l| l.max), row("at the end", |l| l.last)]);
}

/// The largest labels of the runtime's own heap profile.
fn heap_profile(screen: &mut Screen, results: &Results) {
    let Some(profile) = &results.heap_profile else { return };
    let width = screen.style().width.saturating_sub(34);
    let cells = |label: &str, max_bytes, last_bytes| {
        vec![short(label, width), units::bytes(max_bytes), units::bytes(last_bytes)]
    };
    let (shown, rest) = words::heap_profile(profile, LABELS_SHOWN);
    let bands = shown.iter().chain(&rest);
    let mut rows: Vec<_> = bands.map(|band| cells(&band.label, band.max_bytes, band.last_bytes)).collect();
    rows.push(cells(&format!("all, of {}", words::heap_samples(profile)), profile.max_bytes, profile.last_bytes));
    screen.table(&format!("Heap by {}", profile.breakdown), &["most", "in the last"], &rows);
    screen.entries("", words::heap_profile_note(profile));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_as_wide_as_it_should_be_and_shows_every_part() {
        let parts = [
            (WallPart::Program, 1),
            (WallPart::Stop, 1_000_000),
            (WallPart::Collect, 17),
            (WallPart::Release, u64::MAX / 4),
        ];
        let drawn = cells(&parts, 80);
        assert_eq!(drawn.iter().map(|(_, cells)| cells).sum::<usize>(), 80);
        assert!(drawn.iter().all(|(_, cells)| *cells >= 1), "{drawn:?}");
        assert!(cells(&[], 80).is_empty());
    }
}

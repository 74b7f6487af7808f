//! Memory: its levels, the runtime's own heap profile, where it is, what is allocated and promoted.

use crate::drawings::{self, bands};
use crate::{further, units, words};
use rtscope_analyze::results::heap_profile::Band;
use rtscope_analyze::results::heaps::peak;
use rtscope_analyze::results::{Lane, LedgerLine, MemoryLedger, MemoryLevel, Results};
use rtscope_draw::present::{Block, Cell, Name, Section, Table, TextForm, Words};
use rtscope_model::Time;
use rtscope_model::heap::{Heap, Part, PinHolder};

/// Maximum lanes, and labels of a heap profile, with a row on a terminal.
const LANES_SHOWN: usize = 4;
const LABELS_SHOWN: usize = 5;
/// Maximum holders listed.
const HOLDERS: usize = 3;

/// Memory figures: different quantities, never mixed.
pub(super) fn section(results: &Results) -> Section<'_> {
    let mut blocks = vec![
        Block::picture(|| drawings::memory::draw(results, &[results])),
        Block::markup(|| bands::legend(results)),
        levels(results).block(),
    ];
    blocks.extend(profile(results));
    blocks.extend(places(results));
    Section::new("memory", "Memory", blocks)
}

/// The memory levels, with the meaning of each.
pub(crate) fn levels(results: &Results) -> Table {
    let what = |name: &str| match name {
        "RSS" => "pages that the kernel counts as resident",
        "heap held" => "what the runtime holds from the system",
        "in blocks" => "of that, in allocated blocks",
        "live" => "of that, reachable at the last major collection",
        "residency" => "the most that was ever live: what the runtime calls residency",
        "slop" => "wasted at the ends of blocks",
        _ => "",
    };
    let row = |(name, level): (&'static str, MemoryLevel)| {
        let bytes = [level.max, level.mean.max(0.0) as u64, level.last].map(units::bytes);
        let [most, mean, last] = bytes.map(Cell::from);
        (Name::from(name), [most, mean, last, Cell::Note(what(name).to_owned())])
    };
    let rows = words::memory(&results.memory).into_iter().map(row);
    Table::new("memory", ["most", "mean", "at the end", "what it is"], rows)
}

/// The labels of the runtime's own heap profile, largest first.
fn profile(results: &Results) -> [Option<Block<'_>>; 2] {
    let Some(profile) = &results.heap_profile else { return [None, None] };
    let (shown, rest) = words::heap_profile(profile, profile.bands.len());
    let all =
        Band { label: "all".into(), max_bytes: profile.max_bytes, last_bytes: profile.last_bytes, ..Band::default() };
    let row =
        |band: Band| (Name::from(band.label), [band.max_bytes, band.last_bytes].map(|of| Cell::from(units::bytes(of))));
    let rows = [all].into_iter().chain(shown).chain(rest).map(row);
    let table = Table::new(format!("heap by {}", profile.breakdown), ["most", "in the last"], rows);
    let note = words::heap_profile_note(profile).map_or_else(String::new, |note| format!("; {note}"));
    let note = format!("{}{note}.", words::heap_samples(profile));
    [table.short(LABELS_SHOWN + 1, "labels").block(), Block::text("", TextForm::Faint, [note])]
}

/// Where the memory is: the ledger of the first, the largest and the last snapshot of the heap, and the holders of
/// dead pinned bytes; without snapshots, the runtime's counters.
fn places(results: &Results) -> Vec<Option<Block<'_>>> {
    match peak(&results.heaps) {
        Some(largest) => vec![snapshots(results, largest).block(), holders(largest), count(results)],
        None => vec![counters(results, &results.ledger).block()],
    }
}

/// A column for each distinct snapshot.
fn snapshots(results: &Results, largest: &Heap) -> Table {
    let ends = results.heaps.first().into_iter().chain(results.heaps.last());
    let mut shown: Vec<&Heap> = ends.chain([largest]).collect();
    shown.sort_by_key(|heap| heap.time);
    shown.dedup_by_key(|heap| heap.time);
    let mut table = Table::of_columns("where the memory is", shown.iter().map(|heap| moment(results, heap.time)));
    let mut row = |name: &str, of: &dyn Fn(&Heap) -> Option<i64>| {
        let figures: Vec<_> = shown.iter().map(|heap| of(heap)).collect();
        if figures.iter().any(|bytes| bytes.is_some_and(|bytes| bytes != 0)) {
            table.row(name, figures.into_iter().map(|bytes| bytes.map_or_else(|| "-".into(), signed)));
        }
    };
    for part in Part::ALL {
        row(part.words(), &|heap| i64::try_from(heap.part_bytes(part)).ok());
    }
    row("not explained", &|heap| heap.unexplained_bytes);
    row("resident", &|heap| i64::try_from(heap.rss_bytes?).ok());
    table
}

fn moment(results: &Results, time: Option<Time>) -> Words {
    time.map_or_else(
        || "some time".into(),
        |time| format!("at {}", units::duration(time.since(results.started))).into(),
    )
}

fn signed(bytes: i64) -> String {
    format!("{}{}", if bytes < 0 { "-" } else { "" }, units::bytes(bytes.unsigned_abs()))
}

/// The holders that keep the most dead bytes between pinned objects.
fn holders(heap: &Heap) -> Option<Block<'_>> {
    let mut most: Vec<&PinHolder> = heap.holders.iter().filter(|holder| holder.kept_dead_bytes > 0).collect();
    most.sort_by_key(|holder| std::cmp::Reverse(holder.kept_dead_bytes));
    let item = |holder: &PinHolder| {
        let pointers = units::counted(holder.count, "pointer", "pointers");
        format!("`{}` with {pointers} keeps {} dead", holder.name, units::bytes(holder.kept_dead_bytes))
    };
    Block::text("Pinned", TextForm::List, most.into_iter().take(HOLDERS).map(item))
}

fn count(results: &Results) -> Option<Block<'_>> {
    let mut text = units::counted(results.heaps.len() as u64, "snapshot of the heap", "snapshots of the heap");
    if results.heaps_left_out > 0 {
        text.push_str(&format!(", {} more not looked at", units::count(results.heaps_left_out)));
    }
    Block::fact(
        "Snapshots",
        Some(format!("{text}; `rtscope heap CAPTURE --at peak` shows who holds what, and the map")),
    )
}

/// The runtime's counters, next to the system's figure.
fn counters(results: &Results, ledger: &MemoryLedger) -> Table {
    let all = ledger.rss_bytes.unwrap_or(0);
    let mut table = Table::of_columns("where the memory is", [moment(results, ledger.time), "of it".into()]);
    for LedgerLine { line, bytes, .. } in &ledger.lines {
        table.row(line.as_str(), [signed(*bytes), units::percent_of(bytes.unsigned_abs(), all)]);
    }
    if !ledger.lines.is_empty() {
        table.row("resident", [units::bytes(all), String::new()]);
    }
    table
}

pub(super) fn rates(results: &Results) -> Section<'_> {
    let promotion = results.promotion.map(|promotion| further::promotion(&promotion));
    let blocks = [Block::picture(|| drawings::memory::draw_rates(results)), Block::fact("Promotion", promotion)];
    Section::new("rates", "Allocation and promotion over time", blocks)
}

/// What each lane allocates, and how much of its allocation area it used; the figures of a single lane are the run's.
pub(super) fn allocation(results: &Results) -> Section<'_> {
    let mut lanes: Vec<&Lane> = results.lanes.iter().filter(|lane| lane.allocated_bytes.is_some()).collect();
    if lanes.len() > LANES_SHOWN {
        lanes.sort_by_key(|lane| (std::cmp::Reverse(lane.allocated_bytes), lane.id));
    }
    let row = |lane: &Lane| {
        let share = |of: Option<f64>| of.map_or_else(|| "-".to_owned(), units::percent);
        let cells = [
            lane.allocated_bytes.map_or_else(|| "-".to_owned(), units::bytes),
            lane.allocation_bytes_per_second.map_or_else(|| "-".to_owned(), units::bytes_per_second),
            share(lane.nursery_use.map(|used| used.mean)),
            share(lane.nursery_use.map(|used| used.min)),
        ];
        (Name::from(lane.name.as_str()), cells.map(Cell::from))
    };
    let (noun, nouns) = results.runtime.info().lane;
    let rows = lanes.into_iter().map(row);
    let table = Table::new("allocation", ["in all", "rate", "nursery used", "least"], rows).short(LANES_SHOWN, nouns);
    let nursery = results.nursery.as_ref().map(|nursery| further::nursery(nursery, noun));
    let nursery = nursery.filter(|_| !table.rows.is_empty());
    Section::new("allocation", "Allocation", [table.block(), Block::fact("Nursery", nursery)])
}

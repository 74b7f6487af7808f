//! Where the memory is: the ledger of the first, the largest and the last snapshot of the heap, and the holders of
//! dead pinned bytes; without snapshots, the runtime's counters.

use rtscope_analyze::results::heaps::peak;
use rtscope_analyze::results::{LedgerLine, MemoryLedger, Results};
use rtscope_model::Time;
use rtscope_model::heap::{Heap, Part, PinHolder};
use rtscope_model::units;
use rtscope_terminal::screen::Screen;
use rtscope_terminal::style::{clean, short};

const LABEL: &str = "Where the memory is";
/// Maximum holders listed, and characters of their names.
const HOLDERS: usize = 3;
const NAME: usize = 48;

pub(super) fn write(screen: &mut Screen, results: &Results) {
    if let Some(largest) = peak(&results.heaps) {
        screen.blank();
        snapshots(screen, results, largest);
        holders(screen, largest);
        count(screen, results);
    } else if !results.ledger.lines.is_empty() {
        screen.blank();
        counters(screen, results, &results.ledger);
    }
}

/// A column for each distinct snapshot.
fn snapshots(screen: &mut Screen, results: &Results, largest: &Heap) {
    let ends = results.heaps.first().into_iter().chain(results.heaps.last());
    let mut shown: Vec<&Heap> = ends.chain([largest]).collect();
    shown.sort_by_key(|heap| heap.time);
    shown.dedup_by_key(|heap| heap.time);
    let heads: Vec<_> = shown.iter().map(|heap| moment(results, heap.time)).collect();
    let row = |name: &str, of: &dyn Fn(&Heap) -> Option<i64>| -> Option<Vec<String>> {
        let figures: Vec<_> = shown.iter().map(|heap| of(heap)).collect();
        let any = figures.iter().any(|bytes| bytes.is_some_and(|bytes| bytes != 0));
        let cells = figures.into_iter().map(|bytes| bytes.map_or_else(|| "-".into(), signed));
        any.then(|| std::iter::once(name.to_owned()).chain(cells).collect())
    };
    let part = |part: Part| row(part.words(), &|heap| i64::try_from(heap.part_bytes(part)).ok());
    let mut rows: Vec<_> = Part::ALL.into_iter().filter_map(part).collect();
    rows.extend(row("not explained", &|heap| heap.unexplained_bytes));
    rows.extend(row("resident", &|heap| i64::try_from(heap.rss_bytes?).ok()));
    screen.table(LABEL, &heads, &rows);
}

fn moment(results: &Results, time: Option<Time>) -> String {
    time.map_or_else(|| "some time".into(), |time| format!("at {}", units::duration(time.since(results.started))))
}

fn signed(bytes: i64) -> String {
    format!("{}{}", if bytes < 0 { "-" } else { "" }, units::bytes(bytes.unsigned_abs()))
}

/// The holders that keep the most dead bytes between pinned objects.
fn holders(screen: &mut Screen, heap: &Heap) {
    let mut most: Vec<&PinHolder> = heap.holders.iter().filter(|holder| holder.kept_dead_bytes > 0).collect();
    most.sort_by_key(|holder| std::cmp::Reverse(holder.kept_dead_bytes));
    let item = |holder: &&PinHolder| {
        let pointers = units::counted(holder.count, "pointer", "pointers");
        format!("{} with {pointers} keeps {} dead", short(&holder.name, NAME), units::bytes(holder.kept_dead_bytes))
    };
    screen.entries("Pinned", most.iter().take(HOLDERS).map(item));
}

fn count(screen: &mut Screen, results: &Results) {
    let mut text = units::counted(results.heaps.len() as u64, "snapshot of the heap", "snapshots of the heap");
    if results.heaps_left_out > 0 {
        text.push_str(&format!(", {} more not looked at", units::count(results.heaps_left_out)));
    }
    screen.entry("Snapshots", &format!("{text}; `rtscope heap CAPTURE --at peak` shows who holds what, and the map"));
}

/// The runtime's counters, next to the system's figure.
fn counters(screen: &mut Screen, results: &Results, ledger: &MemoryLedger) {
    let all = ledger.rss_bytes.unwrap_or(0);
    let row = |line: &LedgerLine| {
        let share = units::percent_of(line.bytes.unsigned_abs(), all);
        vec![clean(&line.line).into_owned(), signed(line.bytes), share]
    };
    let mut rows: Vec<_> = ledger.lines.iter().map(row).collect();
    rows.push(vec!["resident".into(), units::bytes(all), String::new()]);
    screen.table(LABEL, &[moment(results, ledger.time).as_str(), "of it"], &rows);
}

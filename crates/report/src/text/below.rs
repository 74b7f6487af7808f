//! The report below the first screen: pause lengths, minimum mutator utilisation, the allocation of each lane, the
//! phases of a concurrent collector, sparks, user events.

use crate::{further, tables, units, words};
use rtscope_analyze::results::{Column, Lane, Results};
use rtscope_terminal::screen::{LABEL, Screen};
use rtscope_terminal::style::{Tone, short};

/// Maximum lanes with a line of their own.
const LANES_SHOWN: usize = 4;
/// Maximum user spans with a line of their own, and maximum other user events.
const USER_SHOWN: usize = 5;
/// Maximum characters of a span's name.
const USER_NAME: usize = 32;
/// Width of a column in the table of windows, and of the words before the columns.
const WINDOW_WIDTH: usize = 9;
const WINDOW_WORDS: usize = 30;

pub(super) fn write(screen: &mut Screen, results: &Results) {
    let pauses = results.pauses.count > 0;
    if !words::has_runtime(results) || !pauses && results.user.is_empty() {
        return;
    }
    screen.blank();
    if pauses {
        spectrum(screen, &results.spectrum);
        windows(screen, results);
        allocation(screen, results);
        screen.entries("Concurrent", further::concurrent(results));
        screen.entries("Sparks", further::sparks(results));
    }
    user(screen, results);
}

/// User spans and other user events.
fn user(screen: &mut Screen, results: &Results) {
    let spans = tables::user_spans(results, |name| short(name, USER_NAME));
    spans.write(screen, "User spans", (USER_SHOWN, "names"));
    let cut = further::user_spans(results).fold(0u64, |sum, one| sum.saturating_add(one.cut));
    if cut > 0 {
        let what = units::counted(cut, "span", "spans");
        screen.entry("", &format!("{what} not counted: begin or end was not seen"));
    }
    screen.entries("User events", further::user_events(results, USER_SHOWN));
}

/// Two rows of bars over one logarithmic scale: how many pauses, and how much time they took. Long pauses are few,
/// but often take most of the time.
fn spectrum(screen: &mut Screen, columns: &[Column]) {
    let Some((first, last)) = columns.first().zip(columns.last()) else { return };
    let room = screen.style().width.saturating_sub(LABEL + 8);
    // Damage can make a pause of years: then one cell holds several columns.
    let joined = columns.len().div_ceil(room).max(1);
    let cell = if columns.len() * 2 <= room { 2 } else { 1 };
    let unicode = screen.style().unicode;
    let row = |of: fn(&Column) -> u64| {
        let sums: Vec<u64> =
            columns.chunks(joined).map(|some| some.iter().map(of).fold(0, u64::saturating_add)).collect();
        let most = sums.iter().copied().max().unwrap_or(0);
        sums.iter().map(|sum| glyph(*sum, most, unicode).to_string().repeat(cell)).collect::<String>()
    };
    let ends = format!("{} to {}", units::duration(first.from_ns), units::duration(last.to_ns));
    let label = screen.label("Pause lengths");
    let note = screen.style().paint(Tone::Faint, &format!("{ends}; each step of a bar doubles")).into_owned();
    screen.line(&format!("{label}{note}"));
    for (name, of) in [("  how many", (|c| c.count) as fn(&Column) -> u64), ("  time in all", |c| c.sum_ns)] {
        let bars = screen.style().paint(Tone::Calm, &row(of)).into_owned();
        screen.line(&format!("{name:LABEL$}{bars}"));
    }
    let scale = scale(columns, joined, cell, room + 8);
    screen.line(&format!("{:LABEL$}{scale}", ""));
}

/// A bar of one character for `value`, as high as its logarithm.
fn glyph(value: u64, most: u64, unicode: bool) -> char {
    let levels = if unicode {
        ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█']
    } else {
        ['.', ':', '-', '=', '+', '*', '%', '#']
    };
    if value == 0 {
        return ' ';
    }
    // Values eight or more doublings below the largest all get the lowest bar.
    let below = (most as f64 / value as f64).log2().max(0.0);
    let level = (7.0 - below).round().clamp(0.0, 7.0) as usize;
    levels.get(level).copied().unwrap_or(' ')
}

/// The powers of ten below the bars, each after a tick, as far as they fit.
fn scale(columns: &[Column], joined: usize, cell: usize, room: usize) -> String {
    let mut out = String::new();
    for decade in 2..12 {
        let ns = 10u64.pow(decade);
        let Some(at) = columns.iter().position(|column| column.from_ns <= ns && ns < column.to_ns) else { continue };
        let at = at / joined * cell;
        let text = format!("'{}", units::tick_label(ns as f64));
        let used = out.chars().count();
        if (used == 0 || at > used) && at + text.chars().count() <= room {
            out.push_str(&" ".repeat(at - used));
            out.push_str(&text);
        }
    }
    out
}

/// Minimum mutator utilisation, for as many window lengths as fit.
fn windows(screen: &mut Screen, results: &Results) {
    let all = &results.mmu;
    let room = (screen.style().width.saturating_sub(WINDOW_WORDS) / WINDOW_WIDTH).max(2);
    // Always include the last: the longest window is closest to the whole run, which a person knows.
    let step = all.len().div_ceil(room).max(1);
    let mut shown: Vec<_> = all.iter().rev().step_by(step).collect();
    shown.reverse();
    if shown.is_empty() {
        return;
    }
    let heads: Vec<_> = shown.iter().map(|mmu| units::tick_label(mmu.window_ns as f64)).collect();
    let cells = shown.iter().map(|mmu| units::percent(mmu.utilization));
    let row = std::iter::once("outside pauses, at least".to_string()).chain(cells).collect();
    screen.table("In any window of", &heads, &[row]);
}

/// What each lane allocates and uses; a single lane is shown above already.
fn allocation(screen: &mut Screen, results: &Results) {
    let known = |lane: &&Lane| lane.allocated_bytes.is_some();
    let mut lanes: Vec<&Lane> = results.lanes.iter().filter(known).collect();
    if lanes.len() < 2 {
        return;
    }
    if lanes.len() > LANES_SHOWN {
        lanes.sort_by_key(|lane| (std::cmp::Reverse(lane.allocated_bytes), lane.id));
    }
    let (noun, nouns) = results.runtime.info().lane;
    tables::allocation(noun, lanes, |name| short(name, 24)).write(screen, "Allocation", (LANES_SHOWN, nouns));
    screen.entries("Nursery", results.nursery.as_ref().map(|nursery| further::nursery(nursery, noun)));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(from_ns: u64, to_ns: u64) -> Column {
        Column { from_ns, to_ns, count: 1, sum_ns: from_ns }
    }

    #[test]
    fn bars_distinguish_most_few_and_none() {
        assert_eq!(glyph(0, 100, true), ' ');
        assert_eq!(glyph(1, 1_000_000, true), '▁');
        assert_eq!(glyph(100, 100, true), '█');
        assert_eq!(glyph(100, 100, false), '#');
        assert_eq!(glyph(50, 100, true), '▇');
    }

    #[test]
    fn ticks_stand_where_their_columns_are() {
        let columns: Vec<_> =
            [(500, 800), (800, 1_100), (1_100, 9_000), (9_000, 11_000)].map(|(a, b)| column(a, b)).into();
        assert_eq!(scale(&columns, 1, 2, 80), "  '1 us");
        let far: Vec<_> = (0..20).map(|n| column(500 << n, 500 << (n + 1))).collect();
        assert_eq!(scale(&far, 1, 2, 80), "  '1 us '10 us      '1 ms   '10 ms");
    }
}

//! Charts of characters: the tree of an account with its bars, one bar of parts, columns over a logarithmic scale. Owns
//! characters and tones of parts; refuses to know results.

use crate::screen::{LABEL, Screen};
use crate::style::{Tone, short};
use rtscope_draw::present::Shape;
use rtscope_draw::tree::{Top, Tree, basis};
use rtscope_model::{Node, units};

/// Width of a tree's bar for the whole.
const BAR: usize = 24;
/// A part of a part gets a line if it has at least this share of the whole.
const PART_SHARE_SHOWN: f64 = 0.01;
/// Maximum parts of a part, or of a top-level part, with a line of their own.
const PARTS_SHOWN: usize = 3;

/// Lines of a tree without parts of parts: a blank line, the head, the top-level parts.
pub fn least_lines(tree: &Tree<'_>) -> usize {
    2 + tree.tops.len()
}

/// Time as a tree: bars that together fill one line, with up to `room` lines for parts of parts. The parts shown of a
/// part need not sum up to it; the top-level parts sum up to the whole.
pub fn tree(screen: &mut Screen<'_>, tree: &Tree<'_>, room: usize) {
    screen.spread(Tone::Strong, &tree.head, &tree.whole);
    let least_ns = least_ns(tree, room);
    let mut before = 0;
    for ((top, percent), cells) in tree.tops.iter().zip(tree.percents()).zip(tree.divide(BAR)) {
        self::top(screen, top, &percent, (before, cells));
        before += cells;
        for (depth, part) in shown(top.part, least_ns) {
            line(screen, part, tree.whole_ns, depth);
        }
    }
}

/// The minimum length of a part of a part to get one of `room` lines.
fn least_ns(tree: &Tree<'_>, room: usize) -> u64 {
    let least = ((tree.whole_ns as f64 * PART_SHARE_SHOWN) as u64).max(1);
    let all = tree.tops.iter().flat_map(|top| shown(top.part, least)).map(|(_, part)| part.ns);
    let mut all: Vec<u64> = all.collect();
    all.sort_unstable_by_key(|ns| std::cmp::Reverse(*ns));
    match room.checked_sub(1) {
        Some(last) if all.len() > room => all.get(last).map_or(least, |ns| ns + 1).max(least),
        Some(_) => least,
        None => u64::MAX,
    }
}

/// The longest parts of a top-level part, each with its own longest part, which says what most of it is.
fn shown(top: &Node, least_ns: u64) -> Vec<(usize, &Node)> {
    let long = |part: &&Node| part.ns >= least_ns;
    let mut lines = Vec::new();
    // An only part says less than its own parts.
    let top = match &top.parts[..] {
        [only] if !only.parts.is_empty() => only,
        _ => top,
    };
    for part in top.parts.iter().take_while(long).take(PARTS_SHOWN) {
        lines.push((1, part));
        // In a wait for the work of others, "they work" says nothing new.
        lines.extend(part.parts.first().filter(long).filter(|part| part.id != "at-work").map(|part| (2, part)));
    }
    lines
}

/// A top-level part: its bar begins where the bar above it ends.
fn top(screen: &mut Screen<'_>, top: &Top<'_>, share: &str, (before, cells): (usize, usize)) {
    let style = screen.style();
    let sign = if style.unicode { "█" } else { "#" };
    let bar = format!("{:before$}{}", "", sign.repeat(cells));
    let width = words_width(style.width);
    let words = format!("{:width$}", short(&top.part.name, width - 1));
    let words = style.paint(Tone::Strong, &words);
    let bar = format!("{bar:BAR$}");
    let bar = style.paint(look(top.role).0, &bar);
    screen.line(&format!("  {words}{bar}{share:>6}{:>13}", units::duration(top.part.ns)));
}

fn line(screen: &mut Screen<'_>, part: &Node, whole_ns: u64, depth: usize) {
    let width = screen.style().width;
    let indent = " ".repeat(2 + 2 * depth);
    let room = (words_width(width) + BAR).saturating_sub(2 * depth);
    let basis = basis(part).map_or_else(String::new, |basis| format!(" ({basis})"));
    // Names from a program may be long; the basis of the figure is never cut.
    let name = short(&part.name, room.saturating_sub(1 + basis.len()));
    let share = units::percent((part.ns as f64 / whole_ns as f64).min(1.0));
    let text = format!("{:room$}{share:>6}{:>13}", name + &basis, units::duration(part.ns));
    screen.line(&format!("{indent}{}", screen.style().paint(Tone::Faint, &text)));
}

fn words_width(width: usize) -> usize {
    width.saturating_sub(2 + BAR + 19).clamp(20, 34)
}

/// How a part of this class or role is drawn: tone, character, and character without Unicode.
fn look(class: &str) -> (Tone, &'static str, &'static str) {
    match class {
        "program" => (Tone::Good, "░", "."),
        "stop" | "waiting-to-stop" | "wants-a-cpu" => (Tone::Bad, "█", "#"),
        "collect" | "collecting" => (Tone::Calm, "▓", "="),
        "release" | "blocked" => (Tone::Warn, "▒", "+"),
        _ => (Tone::Faint, "╌", "?"),
    }
}

/// The character for parts of this class.
pub(crate) fn glyph(class: &str, unicode: bool) -> &'static str {
    let (_, sign, plain) = look(class);
    if unicode { sign } else { plain }
}

/// The plain form of a chart.
pub(crate) fn shape(screen: &mut Screen<'_>, shape: &Shape) {
    match shape {
        Shape::Bar { topic, parts } if !parts.is_empty() => bar(screen, topic, parts),
        Shape::Columns { topic, bounds, rows } => columns(screen, topic, bounds, rows),
        Shape::Bar { .. } | Shape::None => {}
    }
}

/// One bar; the table below it is its legend.
fn bar(screen: &mut Screen<'_>, topic: &str, parts: &[(&'static str, u64)]) {
    let style = screen.style();
    let drawn: String = cells(parts, style.width.saturating_sub(LABEL))
        .into_iter()
        .map(|(class, cells)| style.paint(look(class).0, &glyph(class, style.unicode).repeat(cells)).into_owned())
        .collect();
    screen.line(&format!("{}{drawn}", screen.label(topic)));
}

/// Cells of a bar of `width`: by share, at least one for every part; the largest part takes the rounding.
fn cells<'p>(parts: &[(&'p str, u64)], width: usize) -> Vec<(&'p str, usize)> {
    let total: u128 = parts.iter().map(|(_, ns)| u128::from(*ns)).sum();
    let share = |ns: u64| (u128::from(ns) * width as u128).checked_div(total).unwrap_or(0) as usize;
    let mut cells: Vec<_> = parts.iter().map(|(class, ns)| (*class, share(*ns).max(1))).collect();
    let used: usize = cells.iter().map(|(_, cells)| cells).sum();
    if let Some((_, largest)) = cells.iter_mut().max_by_key(|(_, cells)| *cells) {
        *largest = (*largest + width).saturating_sub(used);
    }
    cells
}

/// Rows of bars over one logarithmic scale.
fn columns(screen: &mut Screen<'_>, topic: &str, bounds: &[(u64, u64)], rows: &[(&str, Vec<u64>)]) {
    let Some(((first, _), (_, last))) = bounds.first().zip(bounds.last()) else { return };
    let room = screen.style().width.saturating_sub(LABEL + 8);
    // Damage can make a pause of years: then one cell holds several columns.
    let joined = bounds.len().div_ceil(room).max(1);
    let cell = if bounds.len() * 2 <= room { 2 } else { 1 };
    let unicode = screen.style().unicode;
    let row = |heights: &[u64]| {
        let sums: Vec<u64> =
            heights.chunks(joined).map(|some| some.iter().copied().fold(0, u64::saturating_add)).collect();
        let most = sums.iter().copied().max().unwrap_or(0);
        sums.iter().map(|sum| height(*sum, most, unicode).to_string().repeat(cell)).collect::<String>()
    };
    let ends = format!("{} to {}", units::duration(*first), units::duration(*last));
    let label = screen.label(topic);
    let note = screen.style().paint(Tone::Faint, &format!("{ends}; each step of a bar doubles")).into_owned();
    screen.line(&format!("{label}{note}"));
    for (name, heights) in rows {
        let bars = screen.style().paint(Tone::Calm, &row(heights)).into_owned();
        screen.line(&format!("  {name:0$}{bars}", LABEL - 2));
    }
    let scale = scale(bounds, joined, cell, room + 8);
    screen.line(&format!("{:LABEL$}{scale}", ""));
}

/// A bar of one character for `value`, as high as its logarithm.
fn height(value: u64, most: u64, unicode: bool) -> char {
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
fn scale(bounds: &[(u64, u64)], joined: usize, cell: usize, room: usize) -> String {
    let mut out = String::new();
    for decade in 2..12 {
        let ns = 10u64.pow(decade);
        let Some(at) = bounds.iter().position(|(from, to)| *from <= ns && ns < *to) else { continue };
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_as_wide_as_it_should_be_and_shows_every_part() {
        let parts = [("program", 1), ("stop", 1_000_000), ("collect", 17), ("release", u64::MAX / 4)];
        let drawn = cells(&parts, 80);
        assert_eq!(drawn.iter().map(|(_, cells)| cells).sum::<usize>(), 80);
        assert!(drawn.iter().all(|(_, cells)| *cells >= 1), "{drawn:?}");
        assert!(cells(&[], 80).is_empty());
    }

    #[test]
    fn bars_distinguish_most_few_and_none() {
        assert_eq!(height(0, 100, true), ' ');
        assert_eq!(height(1, 1_000_000, true), '▁');
        assert_eq!(height(100, 100, true), '█');
        assert_eq!(height(100, 100, false), '#');
        assert_eq!(height(50, 100, true), '▇');
    }

    #[test]
    fn ticks_stand_where_their_columns_are() {
        let columns = [(500, 800), (800, 1_100), (1_100, 9_000), (9_000, 11_000)];
        assert_eq!(scale(&columns, 1, 2, 80), "  '1 us");
        let far: Vec<_> = (0..20).map(|n| (500 << n, 500 << (n + 1))).collect();
        assert_eq!(scale(&far, 1, 2, 80), "  '1 us '10 us      '1 ms   '10 ms");
    }
}

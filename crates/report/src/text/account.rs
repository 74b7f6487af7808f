//! The account as a tree: where the time of all lanes went, with bars that together fill one line.
//!
//! Owns which parts of parts get a line: the longest, as far as there is room. The parts shown of a part need not sum
//! up to it; the top-level parts sum up to the whole.

use crate::{account, units};
use rtscope_analyze::results::Results;
use rtscope_model::{Account, Node, RuntimeInfo};
use rtscope_terminal::screen::Screen;
use rtscope_terminal::style::{Tone, short};

/// Width of a bar for the whole.
const BAR: usize = 24;
/// A part of a part gets a line if it has at least this share of the whole.
const PART_SHARE_SHOWN: f64 = 0.01;
/// Maximum parts of a part, or of a top-level part, with a line of their own.
const PARTS_SHOWN: usize = 3;

/// Lines of the tree without parts of parts: a blank line, the head, the top-level parts.
pub(super) fn least_lines(results: &Results) -> usize {
    account::of_run(results).map_or(0, |account| 2 + account.parts.len())
}

/// The tree, with up to `room` lines for parts of parts.
pub(super) fn write(screen: &mut Screen, results: &Results, room: usize) {
    if let Some(account) = account::of_run(results) {
        tree(screen, "Where the time went", account, results.runtime.info(), room);
    }
}

/// The tree of the slowest pauses alone.
pub(super) fn slowest(screen: &mut Screen, results: &Results, room: usize) {
    if let Some((head, account)) = account::of_slowest(results) {
        tree(screen, &head, account, results.runtime.info(), room);
    }
}

fn tree(screen: &mut Screen, head: &str, account: &Account, runtime: &RuntimeInfo, room: usize) {
    screen.blank();
    screen.spread(Tone::Strong, head, &account::whole(account, runtime));
    let least_ns = least_ns(account, room);
    let shares = account::percents(&account.parts, account.lanes_ns);
    let cells = account::divide(&account.parts, account.lanes_ns, BAR);
    let mut before = 0;
    for ((part, percent), cells) in account.parts.iter().zip(shares).zip(cells) {
        top(screen, part, &percent, (before, cells));
        before += cells;
        for (depth, part) in shown(part, least_ns) {
            line(screen, part, account.lanes_ns, depth);
        }
    }
}

/// The minimum length of a part of a part to get one of `room` lines.
fn least_ns(account: &Account, room: usize) -> u64 {
    let least = ((account.lanes_ns as f64 * PART_SHARE_SHOWN) as u64).max(1);
    let mut all: Vec<u64> = account.parts.iter().flat_map(|part| shown(part, least)).map(|(_, part)| part.ns).collect();
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
fn top(screen: &mut Screen, part: &Node, share: &str, (before, cells): (usize, usize)) {
    let style = screen.style();
    let sign = if style.unicode { "█" } else { "#" };
    let bar = format!("{:before$}{}", "", sign.repeat(cells));
    let width = words_width(style.width);
    let words = format!("{:width$}", short(&part.name, width - 1));
    let words = style.paint(Tone::Strong, &words);
    let bar = format!("{bar:BAR$}");
    let bar = style.paint(tone(&part.id), &bar);
    screen.line(&format!("  {words}{bar}{share:>6}{:>13}", units::duration(part.ns)));
}

fn line(screen: &mut Screen, part: &Node, whole_ns: u64, depth: usize) {
    let width = screen.style().width;
    let indent = " ".repeat(2 + 2 * depth);
    let room = (words_width(width) + BAR).saturating_sub(2 * depth);
    let basis = account::basis(part).map_or_else(String::new, |basis| format!(" ({basis})"));
    // Names from a program may be long; the basis of the figure is never cut.
    let name = short(&part.name, room.saturating_sub(1 + basis.len()));
    let share = units::percent((part.ns as f64 / whole_ns as f64).min(1.0));
    let text = format!("{:room$}{share:>6}{:>13}", name + &basis, units::duration(part.ns));
    screen.line(&format!("{indent}{}", screen.style().paint(Tone::Faint, &text)));
}

fn words_width(width: usize) -> usize {
    width.saturating_sub(2 + BAR + 19).clamp(20, 34)
}

fn tone(id: &str) -> Tone {
    match id {
        "program" => Tone::Good,
        "collecting" => Tone::Calm,
        "standing-still" | "no-cpu" => Tone::Bad,
        "kept" => Tone::Warn,
        _ => Tone::Faint,
    }
}

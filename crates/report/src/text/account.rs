//! The account as a tree: where the time of all lanes went, with bars that together fill one line.
//!
//! Owns which parts of parts get a line: the longest, as far as there is room. The parts shown of a part need not sum
//! up to it; the top-level parts sum up to the whole.

use crate::units;
use rtscope_analyze::results::Results;
use rtscope_model::account::Basis;
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
    known(results).map_or(0, |account| 2 + account.parts.len())
}

fn known(results: &Results) -> Option<&Account> {
    results.account.as_ref().filter(|account| account.lanes_ns > 0)
}

/// The tree, with up to `room` lines for parts of parts.
pub(super) fn write(screen: &mut Screen, results: &Results, room: usize) {
    if let Some(account) = known(results) {
        tree(screen, "Where the time went", account, results.runtime.info(), room);
    }
}

/// The tree of the slowest pauses alone.
pub(super) fn slowest(screen: &mut Screen, results: &Results, room: usize) {
    let Some(slowest) = results.slowest_pauses.as_ref().filter(|slowest| slowest.account.lanes_ns > 0) else { return };
    let head = match slowest.count {
        1 => "In the only pause".to_owned(),
        all if all == results.pauses.count => format!("In the {all} pauses"),
        some => format!("In the {some} slowest pauses ({} or longer)", units::duration(slowest.least_ns)),
    };
    tree(screen, &head, &slowest.account, results.runtime.info(), room);
}

fn tree(screen: &mut Screen, head: &str, account: &Account, runtime: &RuntimeInfo, room: usize) {
    screen.blank();
    let (one, many) = runtime.lane;
    let lanes = units::counted(account.lanes.len() as u64, one, many);
    let whole = format!("{} of {lanes} over {}", units::duration(account.lanes_ns), units::duration(account.wall_ns));
    screen.spread(Tone::Strong, head, &whole);
    let least_ns = least_ns(account, room);
    let shares = percents(&account.parts, account.lanes_ns);
    let cells = divide(&account.parts, account.lanes_ns, BAR);
    let mut before = 0;
    for ((part, percent), cells) in account.parts.iter().zip(shares).zip(cells) {
        top(screen, part, percent, (before, cells));
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
fn top(screen: &mut Screen, part: &Node, percent: Option<u64>, (before, cells): (usize, usize)) {
    let style = screen.style();
    let sign = if style.unicode { "█" } else { "#" };
    let bar = format!("{:before$}{}", "", sign.repeat(cells));
    let share = percent.map_or("<1 %".to_owned(), |percent| format!("{percent} %"));
    let words = format!("{:1$}", part.name, words_width(style.width));
    let words = style.paint(Tone::Strong, &words);
    let bar = format!("{bar:BAR$}");
    let bar = style.paint(tone(&part.id), &bar);
    screen.line(&format!("  {words}{bar}{share:>6}{:>13}", units::duration(part.ns)));
}

/// What a part's figure is based on, unless that is every moment.
fn basis(part: &Node) -> String {
    match (part.basis, part.samples) {
        (Basis::Samples, Some(samples)) => format!(" ({})", units::counted(samples, "sample", "samples")),
        (Basis::Looks, Some(looks)) => format!(" ({})", units::counted(looks, "look", "looks")),
        _ => String::new(),
    }
}

fn line(screen: &mut Screen, part: &Node, whole_ns: u64, depth: usize) {
    let width = screen.style().width;
    let indent = " ".repeat(2 + 2 * depth);
    let room = (words_width(width) + BAR).saturating_sub(2 * depth);
    let basis = basis(part);
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

/// Whole percentages that sum up to 100; `None` for less than a half.
fn percents(parts: &[Node], whole_ns: u64) -> Vec<Option<u64>> {
    let shares = divide(parts, whole_ns, 100);
    parts
        .iter()
        .zip(shares)
        .map(|(part, share)| (share > 0 && part.ns.saturating_mul(200) >= whole_ns).then_some(share as u64))
        .collect()
}

/// Divides `cells` by length, so that parts sum up to all of them; cells that rounding leaves go to the parts that
/// lost most by it.
fn divide(parts: &[Node], whole_ns: u64, cells: usize) -> Vec<usize> {
    let exact = |ns: u64| u128::from(ns) * cells as u128;
    let whole = u128::from(whole_ns.max(1));
    let mut shares: Vec<usize> =
        parts.iter().map(|part| (exact(part.ns) / whole).min(cells as u128) as usize).collect();
    let mut order: Vec<usize> = (0..parts.len()).collect();
    order.sort_by_key(|index| std::cmp::Reverse(parts.get(*index).map_or(0, |part| exact(part.ns) % whole)));
    let left = cells.saturating_sub(shares.iter().sum());
    for index in order.into_iter().take(left) {
        if let Some(share) = shares.get_mut(index) {
            *share += 1;
        }
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(ns: &[u64]) -> Vec<Option<u64>> {
        let parts: Vec<Node> = ns.iter().map(|ns| Node::leaf("part", "part", *ns)).collect();
        percents(&parts, ns.iter().sum())
    }

    #[test]
    fn whole_percents_sum_to_a_hundred() {
        assert_eq!(shares(&[1, 1, 1]), [Some(34), Some(33), Some(33)]);
        assert_eq!(shares(&[995, 4, 1]), [Some(100), None, None]);
        let some = shares(&[335, 335, 325, 5]);
        assert_eq!(some.iter().flatten().sum::<u64>(), 100, "{some:?}");
    }

    #[test]
    fn cells_fill_the_bar() {
        let parts: Vec<Node> = [7, 5, 3, 1].map(|ns| Node::leaf("part", "part", ns)).into();
        assert_eq!(divide(&parts, 16, BAR).iter().sum::<usize>(), BAR);
        assert_eq!(divide(&[], 0, BAR), [0usize; 0]);
    }
}

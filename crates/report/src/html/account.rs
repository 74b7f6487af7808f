//! The account on the page: every part with its bar, each bar below the part that it divides. Owns which parts get a
//! row.

use super::frame::faint;
use super::table::optional;
use crate::compared::Compared;
use crate::kinds::role_of_part;
use crate::{account, compare, units};
use rtscope_analyze::results::Results;
use rtscope_draw::escape::escape;
use rtscope_model::{Account, Node};

/// A part of a part gets a row if it has at least this share of the whole.
const SHARE_SHOWN: f64 = 0.005;
/// Maximum parts of a part with a row of their own.
const PARTS_SHOWN: usize = 8;
/// Width of a bar for the whole.
const WIDTH: f64 = 320.0;

/// The account of the run, and that of the slowest pauses.
pub(super) fn section(results: &Results) -> Option<String> {
    let whole = |account: &Account| account::whole(account, results.runtime.info());
    let run = account::of_run(results).map(|account| format!("{}{}", faint(&whole(account)), tree(account)));
    let slowest = account::of_slowest(results).map(|(head, account)| {
        format!("<details><summary>{}</summary>{}{}</details>", escape(&head), faint(&whole(account)), tree(account))
    });
    let left_out = "<p class=\"faint\">Parts below 0.5 % of the whole are left out: <code>rtscope report --json</code> has \
                    them.</p>";
    run.map(|run| run + &slowest.unwrap_or_default() + left_out)
}

/// Which shares of lane time changed from A to B.
pub(super) fn changes(compared: &Compared) -> Option<String> {
    let rows = compared.comparison.account.iter().map(|part| {
        let [name, figures @ ..] = compare::part_cells(part).map(|cell| escape(&cell).into_owned());
        [vec![named(&name, part.depth)], figures.to_vec()].concat()
    });
    let lanes = compared.a.results.runtime.info().lane.1;
    let about = faint(&format!("Shares of the time of all {lanes}. One run of each: no interval."));
    optional(&["part", "A", "B", "change"], rows).map(|table| table + &about)
}

fn named(name: &str, depth: usize) -> String {
    format!("<span class=\"part-{}\">{name}</span>", depth.min(3))
}

fn tree(account: &Account) -> String {
    let mut rows = Vec::new();
    let mut from = 0;
    for (part, share) in account.parts.iter().zip(account::percents(&account.parts, account.lanes_ns)) {
        let tree = AccountTree { whole_ns: account.lanes_ns, class: format!("fill-{}", role_of_part(&part.id)) };
        tree.add(part, (0, from), escape(&share).into_owned(), &mut rows);
        from = from.saturating_add(part.ns);
    }
    optional(&["", "", "share", "time", "based on"], rows).unwrap_or_default()
}

struct AccountTree {
    whole_ns: u64,
    class: String,
}

impl AccountTree {
    /// The row of a part that begins at `from`, and those of its parts.
    fn add(&self, part: &Node, (depth, from): (usize, u64), share: String, rows: &mut Vec<[String; 5]>) {
        let name = named(&escape(&part.name), depth);
        let based = [account::basis(part), part.why.clone()].into_iter().flatten().collect::<Vec<_>>().join("; ");
        let based = format!("<span class=\"faint\">{}</span>", escape(&based));
        rows.push([name, self.bar(from, part.ns, depth), share, units::duration(part.ns), based]);
        let long = |part: &&Node| part.ns as f64 >= SHARE_SHOWN * self.whole_ns as f64;
        let mut from = from;
        for part in part.parts.iter().take(PARTS_SHOWN).take_while(long) {
            let share = units::percent(part.ns as f64 / self.whole_ns as f64);
            self.add(part, (depth + 1, from), escape(&share).into_owned(), rows);
            from = from.saturating_add(part.ns);
        }
    }

    fn bar(&self, from: u64, ns: u64, depth: usize) -> String {
        let [x, width] = [from, ns].map(|ns| WIDTH * ns as f64 / self.whole_ns as f64);
        let (y, height) = if depth == 0 { (0.0, 12.0) } else { (3.0, 6.0) };
        let width = width.max(0.75);
        format!(
            "<svg class=\"part\" viewBox=\"0 0 {WIDTH} 12\" aria-hidden=\"true\"><rect x=\"{x:.1}\" y=\"{y}\" \
             width=\"{width:.1}\" height=\"{height}\" class=\"{}\"/></svg>",
            self.class
        )
    }
}

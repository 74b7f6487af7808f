//! Tables that the text and the page share: columns, their heads in each, and cells. Refuses to lay them out.

use super::words::{self, WallPart, wall_clock};
use super::{further, units};
use rtscope_analyze::results::requests::{Joined, SlowRequest};
use rtscope_analyze::results::{Distribution, Lane, Results, UserEvents};
use rtscope_terminal::screen::Screen;

/// The head of a column that is left out.
const NOT: &str = "-";

/// Column heads of the text and of the page, and rows; the first column names the rows.
pub struct Table {
    heads: [Vec<&'static str>; 2],
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(super) fn new<const N: usize>(
        heads: [[&'static str; N]; 2],
        rows: impl IntoIterator<Item = [String; N]>,
    ) -> Table {
        Table { heads: heads.map(Vec::from), rows: rows.into_iter().map(Vec::from).collect() }
    }

    /// Writes at most `most` rows into the text; a last row counts the others, as so many more `what`. Writes nothing
    /// without rows.
    pub(crate) fn write(self, screen: &mut Screen, label: &str, (most, what): (usize, &str)) {
        let [heads, _] = self.heads;
        let (heads, mut rows) = side(heads, self.rows);
        let more = rows.len().saturating_sub(most);
        rows.truncate(most);
        rows.extend((more > 0 && !what.is_empty()).then(|| vec![format!("{more} more {what}, see --json")]));
        if !rows.is_empty() {
            screen.table(label, heads.get(1..).unwrap_or_default(), &rows);
        }
    }

    /// Heads and rows for the page.
    pub fn page(self) -> (Vec<&'static str>, Vec<Vec<String>>) {
        let [_, heads] = self.heads;
        side(heads, self.rows)
    }
}

fn side(heads: Vec<&'static str>, rows: Vec<Vec<String>>) -> (Vec<&'static str>, Vec<Vec<String>>) {
    let cells =
        |row: Vec<String>| heads.iter().zip(row).filter(|(head, _)| **head != NOT).map(|(_, cell)| cell).collect();
    let rows = rows.into_iter().map(cells).collect();
    (heads.into_iter().filter(|head| *head != NOT).collect(), rows)
}

/// A row for each part of the wall clock, named by `name`, and one for whole pauses, named `whole`.
pub fn pauses(results: &Results, whole: &str, name: impl Fn(WallPart) -> String) -> Table {
    let pauses = &results.pauses;
    let of_run = |sum: u64| units::percent_of(sum, results.span_ns);
    let dash = || "-".to_string();
    let sum_only =
        |part: WallPart, sum: u64| [name(part), dash(), dash(), dash(), dash(), units::duration(sum), of_run(sum)];
    let row = |name: String, d: &Distribution| {
        if d.count == 0 {
            return [name, dash(), dash(), dash(), dash(), "unknown".into(), dash()];
        }
        let [p50, p90, p99, max, sum] = [d.p50, d.p90, d.p99, d.max, d.sum].map(units::duration_or_dash);
        [name, p50, p90, p99, max, sum, d.sum.map_or_else(dash, of_run)]
    };
    let mut rows = vec![sum_only(WallPart::Program, results.span_ns.saturating_sub(pauses.total_ns))];
    if pauses.count > 0 {
        rows.push(row(name(WallPart::Stop), &pauses.time_to_stop_ns));
        rows.push(row(name(WallPart::Collect), &pauses.collect_ns));
        rows.push(row(name(WallPart::Release), &pauses.release_ns));
        let unsplit = wall_clock(results).into_iter().find(|(part, _)| *part == WallPart::Unsplit);
        rows.extend(unsplit.map(|(part, sum)| sum_only(part, sum)));
        rows.push(row(whole.into(), &pauses.pause_ns));
    }
    let heads = [
        ["", "median", NOT, "99 in 100", "longest", "in all", "of run"],
        ["", "median", "9 in 10", "99 in 100", "longest", "in all", "of the run"],
    ];
    Table::new(heads, rows)
}

/// A row for each of these lanes; the first `shown` of them determine the columns.
pub fn lanes(results: &Results, lanes: &[&Lane], shown: usize, name: impl Fn(&str) -> String) -> Table {
    let row = |lane: &&Lane| {
        let held = results.held_up.iter().find(|held| held.lane == lane.id);
        let ns = units::duration_or_dash;
        [
            name(&lane.name),
            ns(lane.mutator_ns),
            ns(lane.collect_ns),
            ns(lane.stop_wait_ns),
            ns(lane.release_wait_ns),
            words::lead_wait(lane),
            words::waiting_share(lane),
            ns(lane.idle_ns),
            held.map_or_else(|| "-".into(), words::held_up),
        ]
    };
    let leads = lanes.iter().take(shown).any(|lane| lane.leadership_wait_ns.is_some());
    let [wait, waited, life, idle] =
        if leads { ["GC wait", "waited to start a collection", "blocked", NOT] } else { [NOT, NOT, NOT, "idle"] };
    let text = ["", "program", "collect", "stop wait", "restart", wait, life, idle, "held up"];
    let [stop, go_on, last] = ["waited to stop", "restarting", "held up"];
    let page = [results.runtime.info().lane.0, "program", "collecting", stop, go_on, waited, life, "idle", last];
    Table::new([text, page], lanes.iter().map(row))
}

/// What each of these lanes allocates, and how much of its allocation area it used.
pub fn allocation<'l>(
    noun: &'static str,
    lanes: impl IntoIterator<Item = &'l Lane>,
    name: impl Fn(&str) -> String,
) -> Table {
    let dash = || "-".to_string();
    let row = |lane: &Lane| {
        [
            name(&lane.name),
            lane.allocated_bytes.map_or_else(dash, units::bytes),
            lane.allocation_bytes_per_second.map_or_else(dash, units::bytes_per_second),
            lane.nursery_use.map_or_else(dash, |used| units::percent(used.mean)),
            lane.nursery_use.map_or_else(dash, |used| units::percent(used.min)),
        ]
    };
    let text = ["", "in all", "rate", "nursery used", "least"];
    let page = [noun, "allocated", "rate", "of its nursery used at a collection", "least"];
    Table::new([text, page], lanes.into_iter().map(row))
}

/// User spans by name.
pub fn user_spans(results: &Results, name: impl Fn(&str) -> String) -> Table {
    let row = |one: &UserEvents| {
        let (spans, ns) = (&one.spans_ns, units::duration_or_dash);
        [
            name(&one.name),
            units::count(spans.count),
            ns(spans.p50),
            ns(spans.p99),
            ns(spans.max),
            ns(one.longest_at.map(|at| at.since(results.started))),
            ns(spans.sum),
            ns(one.in_pauses_ns),
            units::count(one.cut),
        ]
    };
    let text = ["", "spans", "median", "99 in 100", "longest", NOT, "in all", "in pauses", NOT];
    let still = "standing still in pauses";
    let page = ["span", "how many", "median", "99 in 100", "longest", "at", "in all", still, "cut"];
    Table::new([text, page], further::user_spans(results).map(row))
}

/// The slowest requests, named by when they were due.
pub fn slowest(results: &Results, joined: &Joined, shown: usize, name: impl Fn(String) -> String) -> Table {
    let ns = units::duration_or_dash;
    let row = |worst: &SlowRequest| {
        [
            name(units::duration(worst.due.since(results.started))),
            units::duration(worst.done.since(worst.due)),
            worst.status.map_or_else(|| worst.outcome.to_owned(), |status| status.to_string()),
            ns(worst.pause_ns),
            ns(worst.queued_ns),
            ns(worst.throttled_ns),
            ns(worst.run_queue_ns),
            ns(worst.rest_ns),
        ]
    };
    let text = ["", "took", NOT, "in a pause", "behind one", "throttled", "no CPU", "neither"];
    let due = "the slowest were due at";
    let page = [due, "took", "answer", "in pauses", "queued behind", "throttled", "no CPU", "neither"];
    Table::new([text, page], joined.worst.iter().take(shown).map(row))
}

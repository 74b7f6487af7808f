//! The requests of a load: what the slowest waited for, and which they were.

use crate::drawings;
use crate::{requests as words, units};
use rtscope_analyze::results::Results;
use rtscope_analyze::results::requests::SlowRequest;
use rtscope_draw::present::{Block, Cell, Name, Section, Table, TextForm};

/// Maximum slow requests listed, and on a terminal.
const ROWS_MAX: usize = 10;
const ROWS_SHORT: usize = 3;

/// The section; empty if no requests were given.
pub fn section(results: &Results) -> Section<'_> {
    let title = "What the slowest requests waited for";
    let Some(joined) = &results.requests else { return Section::new("requests", title, []) };
    let ns = units::duration_or_dash;
    let row = |worst: &SlowRequest| {
        let cells = [
            units::duration(worst.done.since(worst.due)),
            worst.status.map_or_else(|| worst.outcome.to_owned(), |status| status.to_string()),
            ns(worst.pause_ns),
            ns(worst.queued_ns),
            ns(worst.throttled_ns),
            ns(worst.run_queue_ns),
            ns(worst.rest_ns),
        ];
        (Name::from(format!("due at {}", units::duration(worst.due.since(results.started)))), cells.map(Cell::from))
    };
    let heads = ["took", "+answer", "in a pause", "behind one", "throttled", "no CPU", "neither"];
    let slowest = Table::new("the slowest", heads, joined.worst.iter().take(ROWS_MAX).map(row));
    let about = [words::explained(joined), words::left_out(joined)].into_iter().flatten();
    let blocks = [
        Block::text("Requests", TextForm::Plain, [words::figures(joined, &format!("`{}`", joined.url))]),
        Block::text("", TextForm::Strong, [words::slowest(joined)]),
        Block::text("", TextForm::Plain, about),
        Block::picture(|| drawings::requests::draw(results)),
        slowest.short(ROWS_SHORT, "of the slowest").block(),
    ];
    Section::new("requests", title, blocks)
}

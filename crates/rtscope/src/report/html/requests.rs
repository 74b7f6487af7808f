//! The requests of a load: what the slowest waited for, and which they were.

use super::frame::{figure, paragraphs};
use super::svg_requests;
use super::table::table;
use crate::draw::escape::escape;
use crate::report::{requests as words, units};
use rtscope_analyze::results::Results;
use rtscope_analyze::results::requests::{Joined, Worst};
use std::fmt::Write as _;

/// Slow requests told one by one.
const ROWS_MAX: usize = 10;

/// The section; `None` where no requests were given.
pub(super) fn section(results: &Results) -> Option<String> {
    let joined = results.requests.as_ref()?;
    let url = escape(&joined.url);
    let mut out = format!("<p>{}</p>", words::figures(joined, &format!("<code>{url}</code>")));
    let _ = write!(out, "<p><strong>{}</strong></p>", escape(&words::slowest(joined)));
    out += &paragraphs([words::explained(joined), words::left_out(joined)].into_iter().flatten());
    if let Some(svg) = svg_requests::draw(results) {
        out.push_str(&figure(&svg, ""));
    }
    out.push_str(&slowest(results, joined));
    Some(out)
}

fn slowest(results: &Results, joined: &Joined) -> String {
    let ns = units::duration_or_dash;
    let row = |worst: &Worst| {
        vec![
            units::duration(worst.due.since(results.started)),
            units::duration(worst.done.since(worst.due)),
            worst.status.map_or_else(|| worst.outcome.to_owned(), |status| status.to_string()),
            ns(worst.pause_ns),
            ns(worst.queued_ns),
            ns(worst.throttled_ns),
            ns(worst.run_queue_ns),
            ns(worst.rest_ns),
        ]
    };
    let rows: Vec<_> = joined.worst.iter().take(ROWS_MAX).map(row).collect();
    let heads =
        ["the slowest were due at", "took", "answer", "in pauses", "queued behind", "throttled", "no CPU", "neither"];
    table(&heads, &rows)
}

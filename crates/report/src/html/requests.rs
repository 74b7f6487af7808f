//! The requests of a load: what the slowest waited for, and which they were.

use super::frame::{drawn, paragraphs};
use super::svg_requests;
use super::table::shared;
use crate::{requests as words, tables};
use rtscope_analyze::results::Results;
use rtscope_draw::escape::escape;

/// Maximum slow requests listed.
const ROWS_MAX: usize = 10;

/// The section; `None` if no requests were given.
pub(super) fn section(results: &Results) -> Option<String> {
    let joined = results.requests.as_ref()?;
    let figures = words::figures(joined, &format!("<code>{}</code>", escape(&joined.url)));
    let mut out = format!("<p>{figures}</p><p><strong>{}</strong></p>", escape(&words::slowest(joined)));
    out += &paragraphs([words::explained(joined), words::left_out(joined)].into_iter().flatten());
    out.extend(drawn(svg_requests::draw(results)));
    out.extend(shared(tables::slowest(results, joined, ROWS_MAX, |at| at)));
    Some(out)
}

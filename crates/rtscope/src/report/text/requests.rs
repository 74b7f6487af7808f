//! The requests of a load, where they were given: what the slowest waited for.

use crate::draw::screen::Screen;
use crate::report::{requests, tables};
use crate::style::short;
use rtscope_analyze::results::Results;

/// Requests that get a line of their own.
const WORST_SHOWN: usize = 3;
/// Characters of the URL.
const URL_SHOWN: usize = 60;

pub(super) fn write(screen: &mut Screen, results: &Results) {
    let Some(joined) = &results.requests else { return };
    screen.blank();
    screen.entry("Requests", &requests::figures(joined, &short(&joined.url, URL_SHOWN)));
    screen.entry("", &requests::slowest(joined));
    screen.entries("", [requests::explained(joined), requests::left_out(joined)].into_iter().flatten());
    tables::slowest(results, joined, WORST_SHOWN, |at| format!("due at {at}")).write(screen, "The slowest", (0, ""));
}

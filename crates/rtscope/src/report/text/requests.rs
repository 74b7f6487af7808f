//! The requests of a load, where they were given: what the slowest waited for.

use crate::draw::screen::Screen;
use crate::report::{requests, units};
use crate::style::{clean, shorten};
use rtscope_analyze::results::Results;
use rtscope_analyze::results::requests::Worst;

/// Requests that get a line of their own.
const WORST_SHOWN: usize = 3;
/// Characters of the URL.
const URL_SHOWN: usize = 60;

pub(super) fn write(screen: &mut Screen, results: &Results) {
    let Some(joined) = &results.requests else { return };
    screen.blank();
    let url = shorten(&clean(&joined.url), URL_SHOWN).into_owned();
    screen.entry("Requests", &requests::figures(joined, &url));
    screen.entry("", &requests::slowest(joined));
    for text in [requests::explained(joined), requests::left_out(joined)].into_iter().flatten() {
        screen.entry("", &text);
    }
    let row = |worst: &Worst| {
        let ns = units::duration_or_dash;
        vec![
            format!("due at {}", units::duration(worst.due.since(results.started))),
            units::duration(worst.done.since(worst.due)),
            ns(worst.pause_ns),
            ns(worst.queued_ns),
            ns(worst.throttled_ns),
            ns(worst.run_queue_ns),
            ns(worst.rest_ns),
        ]
    };
    let rows: Vec<_> = joined.worst.iter().take(WORST_SHOWN).map(row).collect();
    let heads = ["took", "in a pause", "behind one", "throttled", "no CPU", "neither"];
    screen.table("The slowest", &heads, &rows);
}

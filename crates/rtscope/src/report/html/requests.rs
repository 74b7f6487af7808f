//! The requests of a load: what the slowest waited for, drawn over the time of the
//! recording, with the share of it that pauses took below.

use super::escape::escape;
use super::page::figure;
use super::svg::{Anchor, Decades, Svg, WIDTH, text_width, time_axis};
use super::svg_time::carried;
use super::table::table;
use crate::report::{requests as words, units};
use rtscope_analyze::requests::{Joined, WHATS, What, Worst};
use rtscope_analyze::results::{PauseSlice, Results};
use rtscope_model::Time;
use std::fmt::Write as _;

const LEFT: f64 = 56.0;
const UPPER: [f64; 4] = [LEFT, 30.0, WIDTH - LEFT - 20.0, 170.0];
const LOWER: [f64; 4] = [LEFT, 232.0, WIDTH - LEFT - 20.0, 60.0];
/// Slow requests told one by one.
const ROWS_MAX: usize = 10;

/// The section; `None` where no requests were given.
pub(super) fn section(results: &Results) -> Option<String> {
    let joined = results.requests.as_ref()?;
    let url = escape(&joined.url);
    let mut out = format!("<p>{}</p>", words::figures(joined, &format!("<code>{url}</code>")));
    let _ = write!(out, "<p><strong>{}</strong></p>", escape(&words::slowest(joined)));
    for text in [words::explained(joined), words::left_out(joined)].into_iter().flatten() {
        let _ = write!(out, "<p>{}</p>", escape(&text));
    }
    if let Some(svg) = draw(results, joined) {
        out.push_str(&figure(&svg, "dots: the 1 % slowest requests; line: half took at most this"));
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

/// The colour of a request by what it waited for.
fn class(what: Option<What>) -> &'static str {
    match what {
        Some(What::Pause) => "collect",
        Some(What::Queued) => "stop",
        Some(What::Throttled) => "release",
        Some(What::RunQueue) => "k-runnable",
        Some(What::Neither) | None => "unsplit",
    }
}

fn draw(results: &Results, joined: &Joined) -> Option<String> {
    let drawing = &joined.drawing;
    let (from, to) = (drawing.slices.first()?.from, drawing.slices.last()?.to);
    let durations = (drawing.slices.iter().map(|slice| slice.p50_ns)).chain(drawing.slow.iter().map(|slow| slow.1));
    let scale = Decades::of(UPPER, durations);
    let mut svg = Svg::new(LOWER[1] + LOWER[3] + 40.0, "latency of requests and pauses over time");
    let span = to.since(from).max(1);
    let x = |at: Time| LEFT + UPPER[2] * (at.since(from) as f64 / span as f64).min(1.0);
    svg.text(LEFT, 12.0, Anchor::Start, "strong", "latency from when a request was due (logarithmic)");
    legend(&mut svg, joined);
    scale.grid(&mut svg);
    for pair in drawing.slices.windows(2) {
        if let [one, next] = pair {
            let middle = |slice: &rtscope_analyze::requests::Slice| (x(slice.from) + x(slice.to)) / 2.0;
            svg.line([middle(one), scale.y(one.p50_ns), middle(next), scale.y(next.p50_ns)], "m-blocks");
        }
    }
    for (due, took, what) in &drawing.slow {
        let waited = what.map_or("not known", words::what);
        svg.dot(x(*due), scale.y(*took), class(*what), &format!("{}: {waited}", units::duration(*took)));
    }
    let slices = &results.drawing.over_time;
    let first = slices.partition_point(|slice| slice.to <= from);
    pauses(&mut svg, slices.get(first..).unwrap_or_default().split(|slice| slice.from >= to).next()?, &x);
    time_axis(&mut svg, LOWER, span);
    let begin = format!("from {} of the recording on", units::duration(from.since(results.started)));
    svg.text(LEFT, LOWER[1] + LOWER[3] + 33.0, Anchor::Start, "tick", &begin);
    Some(svg.finish())
}

fn legend(svg: &mut Svg, joined: &Joined) {
    let mut at = LEFT + 370.0;
    for what in WHATS {
        if joined.drawing.slow.iter().any(|slow| slow.2 == Some(what)) {
            svg.dot(at, 8.0, class(Some(what)), "");
            svg.text(at + 8.0, 12.0, Anchor::Start, "tick", words::what(what));
            at += text_width(words::what(what)) + 30.0;
        }
    }
}

/// The share of each slice of time that pauses took.
fn pauses(svg: &mut Svg, slices: &[PauseSlice], x: &dyn Fn(Time) -> f64) {
    let [left, top, width, height] = LOWER;
    svg.text(left, top - 8.0, Anchor::Start, "strong", "share of the time spent in pauses");
    for percent in [0u8, 100] {
        let y = top + height * (1.0 - f64::from(percent) / 100.0);
        svg.line([left, y, left + width, y], "grid");
        svg.text(left - 6.0, y + 4.0, Anchor::End, "tick", &format!("{percent} %"));
    }
    for (slice, parts) in slices.iter().zip(carried(slices)) {
        let (whole, held) = (slice.to.since(slice.from).max(1) as f64, parts.iter().sum::<f64>());
        let h = height * held / whole;
        if h >= 0.05 {
            let title = format!("{} of {}", units::duration(held as u64), units::duration(whole as u64));
            let (from, to) = (x(slice.from), x(slice.to));
            svg.rect([from, top + height - h, (to - from).max(0.7), h], "collect", &title);
        }
    }
}

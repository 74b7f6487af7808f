//! A load and the runtime that served it on one time axis: latency, requests per second, and the share of the time
//! that pauses took.

use super::rates::{self, Stretch};
use super::time;
use crate::{requests as words, units};
use rtscope_analyze::results::Results;
use rtscope_analyze::results::requests::{Joined, Slice, WHATS, What};
use rtscope_draw::svg::{Anchor, Decades, Svg, WIDTH, names_at_right, text_width, time_axis};
use rtscope_model::Time;

const LEFT: f64 = 56.0;
/// Room right of the plots for the names of lines.
const PLOT_WIDTH: f64 = WIDTH - LEFT - 100.0;
const LATENCY: [f64; 4] = [LEFT, 30.0, PLOT_WIDTH, 150.0];
const RATE: [f64; 4] = [LEFT, 216.0, PLOT_WIDTH, 90.0];
const PAUSES: [f64; 4] = [LEFT, 346.0, PLOT_WIDTH, 80.0];
const HEIGHT: f64 = PAUSES[1] + PAUSES[3] + 40.0;
const LABEL: &str = "latency, requests per second and pauses over time";

/// The drawing; `None` if no requests were given.
pub(crate) fn draw(results: &Results) -> Option<String> {
    drawn(Svg::new(HEIGHT, LABEL), results)
}

/// The drawing as a file of its own; `None` if no requests were given.
pub fn document(results: &Results) -> Option<String> {
    drawn(Svg::document(HEIGHT, LABEL, ""), results)
}

fn drawn(mut svg: Svg, results: &Results) -> Option<String> {
    let joined = results.requests.as_ref()?;
    let slices = &joined.drawing.slices;
    let (from, to) = (slices.first()?.from, slices.last()?.to);
    let span = to.since(from).max(1);
    let x = |at: Time| LEFT + PLOT_WIDTH * (at.since(from) as f64 / span as f64).min(1.0);
    latency(&mut svg, joined, &x);
    rates::draw(&mut svg, RATE, &slices.iter().map(|slice| stretch(slice, &x)).collect::<Vec<_>>());
    let pauses = &results.drawing.over_time;
    let first = pauses.partition_point(|slice| slice.to <= from);
    let last = pauses.partition_point(|slice| slice.from < to);
    time::shares(&mut svg, PAUSES, pauses.get(first..last).unwrap_or_default(), &x);
    time_axis(&mut svg, PAUSES, span);
    let begin = format!("from {} of the recording on", units::duration(from.since(results.started)));
    svg.text(LEFT, HEIGHT - 7.0, Anchor::Start, "tick", &begin);
    Some(svg.finish())
}

/// The class of a request by what it waited for.
fn class(what: Option<What>) -> &'static str {
    match what {
        Some(What::Pause) => "collect",
        Some(What::Queued) => "stop",
        Some(What::Throttled) => "release",
        Some(What::RunQueue) => "k-runnable",
        Some(What::Neither) | None => "unsplit",
    }
}

/// The median of each slice as a line, the slowest requests as dots.
fn latency(svg: &mut Svg, joined: &Joined, x: &dyn Fn(Time) -> f64) {
    let drawing = &joined.drawing;
    let medians = drawing.slices.iter().filter_map(|slice| slice.p50_ns);
    let scale = Decades::of(LATENCY, medians.chain(drawing.slow.iter().map(|slow| slow.1)));
    svg.text(LEFT, 12.0, Anchor::Start, "strong", "latency from when a request was due (logarithmic)");
    legend(svg, joined);
    scale.grid(svg);
    let middle = |slice: &Slice| Some(((x(slice.from) + x(slice.to)) / 2.0, scale.y(slice.p50_ns?)));
    for pair in drawing.slices.windows(2) {
        if let [Some((from, high)), Some((to, low))] = [pair.first(), pair.last()].map(|slice| middle(slice?)) {
            svg.line([from, high, to, low], "m-blocks");
        }
    }
    for (due, took, what) in &drawing.slow {
        let waited = what.map_or("not known", words::what);
        svg.dot(x(*due), scale.y(*took), class(*what), &format!("{}: {waited}", units::duration(*took)));
    }
    let last = drawing.slices.iter().rev().find_map(middle).map(|(_, y)| (y, "half of all".into(), "m-blocks".into()));
    names_at_right(svg, [LEFT + PLOT_WIDTH + 8.0, LATENCY[1] + LATENCY[3]], last.into_iter().collect());
}

fn legend(svg: &mut Svg, joined: &Joined) {
    const SLOWEST: &str = "the slowest 1 %:";
    let mut at = LEFT + 355.0;
    svg.text(at, 12.0, Anchor::Start, "tick", SLOWEST);
    at += text_width(SLOWEST) + 4.0;
    for what in WHATS {
        if joined.drawing.slow.iter().any(|slow| slow.2 == Some(what)) {
            svg.dot(at, 8.0, class(Some(what)), "");
            svg.text(at + 8.0, 12.0, Anchor::Start, "tick", words::what(what));
            at += text_width(words::what(what)) + 20.0;
        }
    }
}

/// Requests of a slice that became due, were answered, and failed, per second.
fn stretch(slice: &Slice, x: &dyn Fn(Time) -> f64) -> Stretch {
    let seconds = slice.to.since(slice.from).max(1) as f64 / 1e9;
    let rates = [slice.due, slice.fine, slice.failed].map(|count| count as f64 / seconds);
    Stretch { x: [x(slice.from), x(slice.to)], rates }
}

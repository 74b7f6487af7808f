//! What each lane did over the run: one strip for each lane, in which every column stacks what the lane's time counts as, by share.
//! Words and colours are the viewer's.

use super::fill;
use super::time::longest_span;
use super::waterfall::lane_name;
use crate::kinds::SpanKind;
use crate::units;
use rtscope_analyze::results::lanes_over_time::Column;
use rtscope_analyze::results::{LaneTime, LanesOverTime, Results};
use rtscope_draw::html::{faint, figure, legend};
use rtscope_draw::svg::{Anchor, Svg, WIDTH, time_axis};
use rtscope_model::text::short;
use std::fmt::Write as _;

const LEFT: f64 = 110.0;
const PLOT_WIDTH: f64 = WIDTH - LEFT - 20.0;
const TOP: f64 = 6.0;
const STRIP: f64 = 26.0;
const ROW: f64 = 32.0;

/// The drawing, with a time axis as long as the longest of `all`; `None` if lane states are not known.
fn draw(results: &Results, all: &[&Results]) -> Option<String> {
    let found = results.drawing.lanes.as_ref().filter(|found| found.column_ns > 0 && !found.lanes.is_empty())?;
    let height = ROW * found.lanes.len() as f64;
    let mut svg = Svg::new(TOP + height + 26.0, "what ran when");
    let span_ns = longest_span(all);
    time_axis(&mut svg, [LEFT, TOP, PLOT_WIDTH, height], span_ns);
    let begin = found.from.since(results.started);
    let x = |column: usize| {
        let at = begin.saturating_add((column as u64).saturating_mul(found.column_ns)).min(results.span_ns);
        LEFT + PLOT_WIDTH * (at as f64 / span_ns as f64).min(1.0)
    };
    for (row, (lane, columns)) in found.lanes.iter().enumerate() {
        let top = TOP + ROW * row as f64;
        svg.text(LEFT - 8.0, top + 17.0, Anchor::End, "tick", &short(&lane_name(results, *lane), 15));
        for (index, doing) in LaneTime::ALL.into_iter().enumerate() {
            let kind = SpanKind::of_lane_time(doing);
            // No figure: the table of lanes has those of the report.
            svg.shape(&outline(columns, index, top, found.column_ns, &x), &fill(kind), kind.words());
        }
    }
    Some(svg.finish())
}

/// The boxes of one state, as a path.
fn outline(columns: &[Column], index: usize, top: f64, column_ns: u64, x: &dyn Fn(usize) -> f64) -> String {
    let mut d = String::new();
    for (at, column) in columns.iter().enumerate() {
        let height = |ns: u64| STRIP * (ns as f64 / column_ns as f64).min(1.0);
        let below: u64 = column.iter().take(index).sum();
        let own = height(column.get(index).copied().unwrap_or(0));
        // Boxes lower than half a pixel would not be visible: the text has their figures.
        if own < 0.25 {
            continue;
        }
        let (left, right, bottom) = (x(at), x(at + 1), top + STRIP - height(below));
        if right > left {
            let _ = write!(d, "M{left:.1} {bottom:.1}V{:.1}H{right:.1}V{bottom:.1}z", (bottom - own).max(top));
        }
    }
    d
}

/// The legend and the drawing.
pub(crate) fn with_legend(results: &Results, all: &[&Results]) -> Option<String> {
    let drawn = figure(&draw(results, all)?, "");
    Some(results.drawing.lanes.as_ref().map(caption).unwrap_or_default() + &drawn)
}

/// The legend, and how many lanes are not drawn.
fn caption(found: &LanesOverTime) -> String {
    let used = |index: usize| {
        found.lanes.iter().any(|(_, columns)| columns.iter().any(|column| column.get(index).is_some_and(|ns| *ns > 0)))
    };
    let kinds =
        (0..).zip(LaneTime::ALL).filter(|(index, _)| used(*index)).map(|(_, doing)| SpanKind::of_lane_time(doing));
    let entries = legend(kinds.map(|kind| (fill(kind), kind.words().to_owned())));
    let more = units::counted(found.left_out, "more row is", "more rows are");
    let more = if found.left_out > 0 { faint(&format!("{more} not drawn.")) } else { String::new() };
    entries + &more
}

//! Pauses over time. Above: the longest pause of each slice. Below: the share of each slice that went into stopping,
//! collecting and releasing.

use crate::kinds::SpanKind;
use rtscope_analyze::results::{PauseSlice, Results};
use rtscope_draw::svg::{Anchor, Decades, Svg, WIDTH, levels, time_axis};
use rtscope_model::{Time, units};

const LEFT: f64 = 56.0;
const PLOT_WIDTH: f64 = WIDTH - LEFT - 20.0;
const UPPER: [f64; 4] = [LEFT, 22.0, PLOT_WIDTH, 110.0];
const LOWER: [f64; 4] = [LEFT, 164.0, PLOT_WIDTH, 110.0];
const SLICES_MAX: usize = 300;

/// The drawing, on the scales of `all`; `None` without slices.
pub(crate) fn draw(results: &Results, all: &[&Results]) -> Option<String> {
    let slices = thinned(&results.drawing.over_time);
    let span = longest_span(all);
    if slices.iter().all(|slice| slice.count == 0) {
        return None;
    }
    let mut svg = Svg::new(314.0, "pauses over time");
    let x = |at: Time| LEFT + PLOT_WIDTH * (at.since(results.started) as f64 / span as f64).min(1.0);
    let lengths = all.iter().flat_map(|one| one.drawing.over_time.iter().map(|slice| slice.max_ns));
    longest(&mut svg, &slices, &Decades::of(UPPER, lengths), &x);
    shares(&mut svg, LOWER, &slices, &x);
    time_axis(&mut svg, LOWER, span);
    Some(svg.finish())
}

/// The length of a time axis for all of them, nanoseconds.
pub(crate) fn longest_span(all: &[&Results]) -> u64 {
    all.iter().map(|one| one.span_ns).max().unwrap_or(0).max(1)
}

/// Longest pause of each slice, on a logarithmic scale.
fn longest(svg: &mut Svg, slices: &[PauseSlice], scale: &Decades, x: &dyn Fn(Time) -> f64) {
    svg.text(UPPER[0], 12.0, Anchor::Start, "strong", "longest pause (logarithmic)");
    scale.grid(svg);
    for slice in slices.iter().filter(|slice| slice.max_ns > 0) {
        let middle = (x(slice.from) + x(slice.to)) / 2.0;
        let pauses = units::counted(slice.count, "pause", "pauses");
        let text = format!("longest {}; {pauses}", units::duration(slice.max_ns));
        svg.dot(middle, scale.y(slice.max_ns), "dot", &text);
    }
}

/// The share of each phase in each slice, stacked.
pub(crate) fn shares(svg: &mut Svg, plot: [f64; 4], slices: &[PauseSlice], x: &dyn Fn(Time) -> f64) {
    let [left, top, _, height] = plot;
    svg.text(left, top - 10.0, Anchor::Start, "strong", "share of the time in pauses");
    let kinds = [("stop", SpanKind::WaitingToStop), ("collect", SpanKind::Collecting), ("release", SpanKind::Release)];
    for (index, (class, kind)) in kinds.into_iter().enumerate() {
        svg.key(left + 200.0 + 120.0 * index as f64, top - 10.0, class, kind.words());
    }
    levels(svg, plot, [50.0, 100.0], |percent| format!("{percent} %"));
    for (slice, [stop, collect, release]) in slices.iter().zip(carried(slices)) {
        let whole = slice.to.since(slice.from).max(1) as f64;
        let part = |(class, ns): (&'static str, f64)| {
            let title = format!("{} of {}", units::duration(ns as u64), units::duration(whole as u64));
            (height * ns / whole, class, title)
        };
        let parts = [("collect", collect), ("stop", stop), ("release", release)].map(part);
        svg.stack([x(slice.from), x(slice.to)], top + height, parts);
    }
}

/// Nanoseconds of stop, collect and release in each slice. A slice has the sums of pauses that began in it; what
/// exceeds its length is carried over into the next.
fn carried(slices: &[PauseSlice]) -> Vec<[f64; 3]> {
    let mut over = [0.0; 3];
    let parts = slices.iter().map(|slice| {
        let whole = slice.to.since(slice.from).max(1) as f64;
        let [stop, collect, release] = over;
        let all = [stop + slice.stop_ns as f64, collect + slice.collect_ns as f64, release + slice.release_ns as f64];
        let fits = (whole / all.iter().sum::<f64>().max(1.0)).min(1.0);
        over = all.map(|ns| ns * (1.0 - fits));
        all.map(|ns| ns * fits)
    });
    parts.collect()
}

/// Joins neighbouring slices until there are few enough.
fn thinned(slices: &[PauseSlice]) -> Vec<PauseSlice> {
    let per_group = slices.len().div_ceil(SLICES_MAX).max(1);
    let join = |group: &[PauseSlice]| {
        let mut joined = group.first().copied().unwrap_or_default();
        for slice in group.iter().skip(1) {
            joined.to = slice.to;
            joined.count = joined.count.saturating_add(slice.count);
            joined.max_ns = joined.max_ns.max(slice.max_ns);
            joined.stop_ns = joined.stop_ns.saturating_add(slice.stop_ns);
            joined.collect_ns = joined.collect_ns.saturating_add(slice.collect_ns);
            joined.release_ns = joined.release_ns.saturating_add(slice.release_ns);
        }
        joined
    };
    slices.chunks(per_group).map(join).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_longer_than_its_slice_goes_on_in_the_next() {
        let slice =
            |n: u64, stop_ns| PauseSlice { from: Time(n * 10), to: Time(n * 10 + 10), stop_ns, ..Default::default() };
        let parts = carried(&[slice(0, 25), slice(1, 0), slice(2, 0), slice(3, 0)]);
        let stops: Vec<_> = parts.iter().map(|[stop, _, _]| stop.round() as u64).collect();
        assert_eq!(stops, [10, 10, 5, 0]);
    }

    #[test]
    fn joining_slices_loses_no_pause() {
        let slices: Vec<_> = (0..1000u64)
            .map(|n| PauseSlice {
                from: Time(n),
                to: Time(n + 1),
                count: 1,
                max_ns: n,
                stop_ns: 2,
                ..Default::default()
            })
            .collect();
        let joined = thinned(&slices);
        assert!(joined.len() <= SLICES_MAX);
        assert_eq!(joined.iter().map(|slice| slice.count).sum::<u64>(), 1000);
        assert_eq!(joined.iter().map(|slice| slice.max_ns).max(), Some(999));
        assert_eq!(joined.last().map(|slice| slice.to), Some(Time(1000)));
    }
}

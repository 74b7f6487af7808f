//! How long pauses were: a histogram with both axes logarithmic, because the
//! few long ones are what hurts and the many short ones must not hide them.

use super::svg::{Anchor, Svg, WIDTH, text_width, tick_label};
use crate::report::units;
use rtscope_analyze::results::{Distribution, Results};

const PLOT: [f64; 4] = [56.0, 34.0, WIDTH - 76.0, 170.0];
/// Bars per decade at most; coarser buckets give wider bars.
const BARS_PER_DECADE: f64 = 10.0;

/// The histogram; `None` without pauses.
pub(super) fn draw(results: &Results) -> Option<String> {
    let bins = Bins::of(&results.drawing.histogram)?;
    let [left, top, width, height] = PLOT;
    let mut svg = Svg::new(top + height + 40.0, "distribution of pause durations");
    let most = bins.counts.iter().copied().max().unwrap_or(1).max(1) as f64;
    let decades = most.log10().ceil().max(1.0);
    // A single pause must be seen: the axis starts below one.
    let y = |count: f64| top + height * (1.0 - (count.log10() + 0.3) / (decades + 0.3));
    let x = |log: f64| left + width * (log - bins.from) / (bins.to - bins.from);

    for decade in 0..=(decades as i32) {
        let count = 10f64.powi(decade);
        svg.line([left, y(count), left + width, y(count)], "grid");
        svg.text(left - 6.0, y(count) + 4.0, Anchor::End, "tick", &units::count(count as u64));
    }
    let first = bins.from.ceil() as i32;
    for decade in first..=(bins.to.floor() as i32) {
        let at = x(f64::from(decade));
        svg.line([at, top, at, top + height], "grid");
        svg.text(at, top + height + 16.0, Anchor::Middle, "tick", &tick_label(10f64.powi(decade)));
    }
    for (index, count) in bins.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        let (from, to) = (bins.from + bins.step * index as f64, bins.from + bins.step * (index + 1) as f64);
        let frame = [x(from) + 0.5, y(*count as f64), x(to) - x(from) - 1.0, top + height - y(*count as f64)];
        let (from_ns, to_ns) = (10f64.powf(from) as u64, 10f64.powf(to) as u64);
        let title = format!(
            "{} of {} to {}",
            units::counted(*count, "pause", "pauses"),
            units::duration(from_ns),
            units::duration(to_ns)
        );
        svg.rect(frame, "bar", &title);
    }
    svg.line([left, top + height, left + width, top + height], "axis");
    marks(&mut svg, &results.pauses.pause_ns, &bins, x);
    svg.text(left + width, top + height + 33.0, Anchor::End, "tick", "length of the pause, request to last lane back");
    svg.text(left, top + height + 33.0, Anchor::Start, "tick", "number of pauses (both axes logarithmic)");
    Some(svg.finish())
}

/// Median, 99 in 100 and longest, as lines with their names above.
fn marks(svg: &mut Svg, pauses: &Distribution, bins: &Bins, x: impl Fn(f64) -> f64) {
    let [left, top, width, height] = PLOT;
    let mut free_from = 0.0;
    for (name, value) in [("median", pauses.p50), ("99 in 100", pauses.p99), ("longest", pauses.max)] {
        let Some(value) = value.filter(|value| *value > 0) else { continue };
        let at = x((value as f64).log10().clamp(bins.from, bins.to));
        svg.line([at, top - 8.0, at, top + height], "mark");
        let text = format!("{name} {}", units::duration(value));
        let half = text_width(&text) / 2.0;
        let centre = at.clamp(left + half, left + width - half);
        let row = if centre - half < free_from { 10.0 } else { 22.0 };
        svg.text(centre, row, Anchor::Middle, "strong", &text);
        free_from = centre + half + 6.0;
    }
}

/// Counts in bins of equal width on the logarithm.
struct Bins {
    from: f64,
    to: f64,
    step: f64,
    counts: Vec<u64>,
}

impl Bins {
    fn of(buckets: &[(u64, u64)]) -> Option<Bins> {
        let used = || buckets.iter().filter(|(upper, count)| *upper > 0 && *count > 0);
        let log = |upper: u64| (upper as f64).log10();
        let lowest = used().map(|(upper, _)| *upper).min()?;
        let highest = used().map(|(upper, _)| *upper).max()?;
        let mut uppers: Vec<_> = buckets.iter().map(|(upper, _)| *upper).filter(|upper| *upper > 0).collect();
        uppers.sort_unstable();
        let apart = uppers.windows(2).filter_map(|pair| match pair {
            [low, high] if high > low => Some(log(*high) - log(*low)),
            _ => None,
        });
        // No finer than the buckets are, else empty bins would look like gaps.
        let step = apart.fold(f64::INFINITY, f64::min).clamp(1.0 / BARS_PER_DECADE, 1.0);
        let from = ((log(lowest) - step) / step).floor() * step;
        let bins = (((log(highest) - from) / step).ceil().max(1.0) as usize + 1).min(400);
        let mut counts = vec![0u64; bins];
        for (upper, count) in used() {
            // The upper bound belongs to the bin that it closes.
            let index = ((log(*upper) - from) / step - 1e-9).floor().max(0.0) as usize;
            if let Some(bin) = counts.get_mut(index.min(bins - 1)) {
                *bin = bin.saturating_add(*count);
            }
        }
        Some(Bins { from, to: from + step * bins as f64, step, counts })
    }
}

#[cfg(test)]
mod tests {
    use super::Bins;

    #[test]
    fn every_pause_is_in_a_bin() {
        let buckets = [(1_000, 3), (2_000, 5), (4_000, 1), (u64::MAX, 2), (0, 9)];
        let bins = Bins::of(&buckets).expect("bins");
        assert_eq!(bins.counts.iter().sum::<u64>(), 11, "the empty duration is none");
        assert!(Bins::of(&[]).is_none());
        assert!(Bins::of(&[(5, 0)]).is_none());
        assert_eq!(Bins::of(&[(5, 1)]).map(|bins| bins.counts.iter().sum::<u64>()), Some(1));
    }
}

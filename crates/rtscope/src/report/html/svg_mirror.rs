//! Two distributions of pauses on one axis: A upwards, B downwards. Shares, not
//! counts, so that runs of different lengths compare; logarithmic both ways.

use super::svg::{Anchor, Svg, WIDTH, tick_label};
use crate::report::units;
use rtscope_analyze::results::Results;

const LEFT: f64 = 56.0;
const TOP: f64 = 16.0;
const HALF: f64 = 110.0;
/// Decades of shares that are drawn: down to one in ten thousand.
const DECADES: f64 = 4.0;

/// The drawing; `None` where neither has pauses.
pub(super) fn draw(a: &Results, b: &Results) -> Option<String> {
    let columns = |results: &Results| -> Vec<(u64, u64)> {
        results.spectrum.iter().filter(|column| column.count > 0).map(|column| (column.to_ns, column.count)).collect()
    };
    let (a, b) = (columns(a), columns(b));
    let exponent = |upper: u64| upper.ilog2();
    let used = || a.iter().chain(&b).map(|(upper, _)| exponent(*upper));
    let (first, last) = (used().min()?.saturating_sub(1), used().max()?);
    let width = WIDTH - LEFT - 20.0;
    let x = |exponent: u32| LEFT + width * f64::from(exponent.saturating_sub(first)) / f64::from((last - first).max(1));
    let mut svg = Svg::new(TOP + 2.0 * HALF + 40.0, "distribution of pause durations, A above, B below");
    axes(&mut svg, width);
    decades(&mut svg, (first, last), x);
    for (columns, up, class, side) in [(&a, true, "collect", "A"), (&b, false, "stop", "B")] {
        let all: u64 = columns.iter().fold(0u64, |all, (_, count)| all.saturating_add(*count));
        for (upper, count) in columns {
            let (from, to) = (x(exponent(*upper).saturating_sub(1)), x(exponent(*upper)));
            let height = height(*count as f64 / all.max(1) as f64);
            let top = if up { TOP + HALF - height } else { TOP + HALF };
            let title = format!(
                "{side}: {} ({}) of up to {}",
                units::counted(*count, "pause", "pauses"),
                units::percent_of(*count, all),
                units::duration(*upper)
            );
            svg.rect([from + 1.0, top, to - from - 2.0, height], class, &title);
        }
        let at = if up { TOP + 12.0 } else { TOP + 2.0 * HALF - 4.0 };
        svg.text(LEFT + width, at, Anchor::End, "strong", side);
    }
    Some(svg.finish())
}

fn height(share: f64) -> f64 {
    // What is rarer than the axis goes must still be seen.
    HALF * ((share.log10() + DECADES) / DECADES).clamp(0.02, 1.0)
}

fn axes(svg: &mut Svg, width: f64) {
    for (share, label) in [(1.0, "100 %"), (0.1, "10 %"), (0.01, "1 %"), (0.001, "0.1 %")] {
        for sign in [-1.0, 1.0] {
            let y = TOP + HALF + sign * height(share);
            svg.line([LEFT, y, LEFT + width, y], "grid");
            svg.text(LEFT - 6.0, y + 4.0, Anchor::End, "tick", label);
        }
    }
    svg.line([LEFT, TOP + HALF, LEFT + width, TOP + HALF], "axis");
    svg.text(LEFT + width, TOP + 2.0 * HALF + 33.0, Anchor::End, "tick", "length of the pause (logarithmic)");
    svg.text(LEFT, TOP + 2.0 * HALF + 33.0, Anchor::Start, "tick", "share of pauses (logarithmic)");
}

/// A hairline at each power of ten of the length.
fn decades(svg: &mut Svg, (first, last): (u32, u32), x: impl Fn(u32) -> f64) {
    let (from, to) = (x(first), x(last));
    let log2 = |exponent: u32| f64::from(exponent) * std::f64::consts::LOG10_2;
    for decade in log2(first).ceil() as i32..=log2(last).floor() as i32 {
        let share = (f64::from(decade) - log2(first)) / (log2(last) - log2(first)).max(f64::MIN_POSITIVE);
        let at = from + (to - from) * share;
        svg.line([at, TOP, at, TOP + 2.0 * HALF], "grid");
        svg.text(at, TOP + 2.0 * HALF + 16.0, Anchor::Middle, "tick", &tick_label(10f64.powi(decade)));
    }
}

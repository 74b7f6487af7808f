//! Two distributions of pauses on one axis: A upwards, B downwards. Shares, not counts, so that runs of different
//! lengths compare; both axes are logarithmic.

use super::histogram::Axis;
use rtscope_analyze::results::Results;
use rtscope_draw::svg::{Anchor, Svg, WIDTH};
use rtscope_model::units;

const LEFT: f64 = 56.0;
const TOP: f64 = 16.0;
const HALF: f64 = 110.0;
/// Decades of shares that are drawn: down to one in ten thousand.
const DECADES: f64 = 4.0;

/// The drawing; `None` if neither has pauses.
pub(crate) fn draw(a: &Results, b: &Results) -> Option<String> {
    let axis = Axis::of(a.spectrum.iter().chain(&b.spectrum))?;
    let width = WIDTH - LEFT - 20.0;
    let mut svg = Svg::new(TOP + 2.0 * HALF + 40.0, "distribution of pause durations, A above, B below");
    axes(&mut svg, width);
    axis.grid(&mut svg, TOP, 2.0 * HALF);
    axis.ticks(&mut svg, TOP + 2.0 * HALF + 16.0);
    for (columns, up, class, side) in [(&a.spectrum, true, "side-a", "A"), (&b.spectrum, false, "side-b", "B")] {
        let all: u64 = columns.iter().fold(0u64, |all, column| all.saturating_add(column.count));
        for column in columns.iter().filter(|column| column.count > 0) {
            let height = height(column.count as f64 / all.max(1) as f64);
            let top = if up { TOP + HALF - height } else { TOP + HALF };
            let title = format!(
                "{side}: {} ({}) of {} to {}",
                units::counted(column.count, "pause", "pauses"),
                units::percent_of(column.count, all),
                units::duration(column.from_ns),
                units::duration(column.to_ns)
            );
            svg.rect(axis.place(column, top, height), class, &title);
        }
        let at = if up { TOP + 12.0 } else { TOP + 2.0 * HALF - 4.0 };
        svg.text(LEFT + width, at, Anchor::End, "strong", side);
    }
    Some(svg.finish())
}

fn height(share: f64) -> f64 {
    // Shares below the end of the axis must still be visible.
    HALF * ((share.log10() + DECADES) / DECADES).clamp(0.02, 1.0)
}

fn axes(svg: &mut Svg, width: f64) {
    for (share, label) in [(1.0, "100 %"), (0.1, "10 %"), (0.01, "1 %"), (0.001, "0.1 %")] {
        for sign in [-1.0, 1.0] {
            svg.level([LEFT, TOP, width, HALF], TOP + HALF + sign * height(share), label);
        }
    }
    svg.line([LEFT, TOP + HALF, LEFT + width, TOP + HALF], "axis");
    svg.text(LEFT + width, TOP + 2.0 * HALF + 33.0, Anchor::End, "tick", "length of the pause (logarithmic)");
    svg.text(LEFT, TOP + 2.0 * HALF + 33.0, Anchor::Start, "tick", "share of pauses (logarithmic)");
}

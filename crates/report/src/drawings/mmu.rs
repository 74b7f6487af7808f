//! Minimum mutator utilisation by window length, on a logarithmic scale.

use rtscope_analyze::results::{Mmu, Results};
use rtscope_draw::svg::{Anchor, Svg, WIDTH, levels, tick_label};
use rtscope_model::units;

const PLOT: [f64; 4] = [56.0, 24.0, WIDTH - 86.0, 150.0];

/// The curve, on the scale of `all`; `None` without pauses or with fewer than two windows.
pub(crate) fn draw(results: &Results, all: &[&Results]) -> Option<String> {
    let curve = &results.mmu;
    let log = |mmu: &Mmu| (mmu.window_ns.max(1) as f64).log10();
    let windows = || all.iter().flat_map(|one| one.mmu.iter().map(log));
    let (from, to) = (windows().fold(f64::INFINITY, f64::min), windows().fold(0.0, f64::max));
    if results.pauses.count == 0 || curve.len() < 2 || to <= from {
        return None;
    }
    let [left, top, width, height] = PLOT;
    let mut svg = Svg::new(top + height + 40.0, "minimum mutator utilisation");
    let x = |mmu: &Mmu| left + width * (log(mmu) - from) / (to - from);
    let y = |share: f64| top + height * (1.0 - if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 });
    levels(&mut svg, PLOT, [25.0, 100.0], |percent| format!("{percent} %"));
    for mmu in curve {
        svg.upright(PLOT, x(mmu), &tick_label(mmu.window_ns as f64));
    }
    for pair in curve.windows(2) {
        if let [one, next] = pair {
            svg.line([x(one), y(one.bounded), x(next), y(next.bounded)], "mark");
            svg.line([x(one), y(one.utilization), x(next), y(next.utilization)], "m-blocks");
        }
    }
    for mmu in curve {
        let window = tick_label(mmu.window_ns as f64);
        let text = format!(
            "any {window}: at least {} outside pauses; any {window} or longer: {}",
            units::percent(mmu.utilization),
            units::percent(mmu.bounded)
        );
        svg.dot(x(mmu), y(mmu.utilization), "dot", &text);
    }
    svg.line([left, top + height, left + width, top + height], "axis");
    svg.text(left, 12.0, Anchor::Start, "strong", "share of any window outside pauses, at least");
    svg.text(left + width, 12.0, Anchor::End, "tick", "dashed: in any window of this length or longer");
    svg.text(left + width, top + height + 33.0, Anchor::End, "tick", "length of the window (logarithmic)");
    Some(svg.finish())
}

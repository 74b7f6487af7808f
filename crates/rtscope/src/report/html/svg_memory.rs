//! Memory over time: what the kernel counts, what the runtime holds, what is
//! in blocks, what is live. Each value holds until the next.

use super::svg::{Anchor, Svg, WIDTH, names_at_right, time_axis};
use crate::report::units;
use rtscope_analyze::results::Results;

const LEFT: f64 = 70.0;
/// Room right of the plot for the names of the lines.
const RIGHT: f64 = 130.0;
const PLOT: [f64; 4] = [LEFT, 10.0, WIDTH - LEFT - RIGHT, 200.0];
/// Points drawn per line at most.
const POINTS_MAX: usize = 700;

/// What a line is called and how it is drawn.
fn line(name: &str) -> (&'static str, &'static str) {
    match name {
        "rss" => ("RSS", "m-rss"),
        "heap" => ("heap held", "m-heap"),
        "blocks" => ("in blocks", "m-blocks"),
        "live" => ("live", "m-live"),
        _ => ("other", "m-other"),
    }
}

/// The drawing; `None` without points.
pub(super) fn draw(results: &Results) -> Option<String> {
    let lines: Vec<_> = results.drawing.memory.iter().filter(|line| !line.points.is_empty()).collect();
    let max = lines.iter().flat_map(|line| line.points.iter().map(|(_, bytes)| *bytes)).max()?.max(1);
    let [left, top, width, height] = PLOT;
    let mut svg = Svg::new(top + height + 26.0, "memory over time");
    let step = byte_step(max);
    let ceiling = max.div_ceil(step).saturating_mul(step).max(1);
    let y = |bytes: u64| top + height * (1.0 - bytes as f64 / ceiling as f64);
    let span = results.span_ns.max(1);
    let x = |at: rtscope_model::Time| left + width * (at.since(results.started) as f64 / span as f64).min(1.0);

    for level in (0..=ceiling).step_by(usize::try_from(step).unwrap_or(usize::MAX)) {
        svg.line([left, y(level), left + width, y(level)], "grid");
        svg.text(left - 6.0, y(level) + 4.0, Anchor::End, "tick", &units::bytes(level));
    }
    time_axis(&mut svg, PLOT, span);
    let mut labels = Vec::new();
    for memory in lines {
        let (name, class) = line(memory.name);
        let every = memory.points.len().div_ceil(POINTS_MAX).max(1);
        // The highest of each group stays: peaks are what is looked for.
        let highest = |group: &[(rtscope_model::Time, u64)]| group.iter().copied().max_by_key(|(_, bytes)| *bytes);
        let points: Vec<_> =
            memory.points.chunks(every).filter_map(highest).map(|(at, bytes)| (x(at), y(bytes))).collect();
        svg.steps(&points, left + width, class);
        if let (Some((_, at)), Some((_, bytes))) = (points.last(), memory.points.last()) {
            labels.push((*at, format!("{name} {}", units::bytes(*bytes)), class.to_owned()));
        }
    }
    names_at_right(&mut svg, [WIDTH - RIGHT + 6.0, top + height], labels);
    Some(svg.finish())
}

/// A round step in bytes: 1, 2 or 5 (or 10, 20, 50, 100, 200, 500) of a binary unit.
fn byte_step(max: u64) -> u64 {
    let mut unit = 1u64;
    while max / unit >= 1024 && unit < 1 << 60 {
        unit *= 1024;
    }
    let within = max as f64 / unit as f64;
    let step = super::svg::round_step(within, 5.0) * unit as f64;
    (step as u64).max(1)
}

#[cfg(test)]
mod tests {
    use super::byte_step;

    #[test]
    fn steps_are_round_in_binary_units() {
        assert_eq!(byte_step(84 << 20), 20 << 20);
        assert_eq!(byte_step(1023), 500);
        assert_eq!(byte_step(5 << 30), 1 << 30);
        assert_eq!(byte_step(0), 1);
        assert!(byte_step(u64::MAX) > 0);
    }
}

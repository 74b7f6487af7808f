//! Requests per second over time: due and answered as lines, failed as bars. Owns their scale; the caller places the
//! stretches of time.

use rtscope_draw::svg::{Anchor, Svg, levels, names_at_right, round_step};
use rtscope_model::units;

/// A stretch of time with its rates.
pub struct Stretch {
    /// Where it begins and ends in the drawing; it ends where the next begins.
    pub x: [f64; 2],
    /// Due, answered, failed: per second.
    pub rates: [f64; 3],
}

/// Draws `stretches` into `[left, top, width, height]`.
pub fn draw(svg: &mut Svg, plot: [f64; 4], stretches: &[Stretch]) {
    let [left, top, width, height] = plot;
    svg.text(left, top - 12.0, Anchor::Start, "strong", "requests per second");
    let most = stretches.iter().flat_map(|stretch| stretch.rates).fold(1.0, f64::max);
    let step = round_step(most, 4.0).max(1.0);
    let ceiling = (most / step).ceil() * step;
    levels(svg, plot, [step, ceiling], |rate| units::count(rate.round() as u64));
    let y = |rate: f64| top + height * (1.0 - rate / ceiling);
    for Stretch { x: [from, to], rates: [_, _, failed] } in stretches.iter().filter(|stretch| stretch.rates[2] > 0.0) {
        let title = format!("{} failed per second", units::rate(*failed));
        svg.rect([*from, y(*failed), (to - from).max(0.7), top + height - y(*failed)], "stop", &title);
    }
    let mut names = Vec::new();
    if stretches.iter().any(|stretch| stretch.rates[2] > 0.0) {
        names.push((top + height, "failed".to_owned(), "m-rss".to_owned()));
    }
    let mut line = |name: &str, class: &str, rate: fn(&Stretch) -> f64| {
        let drawn: Vec<_> = stretches.iter().map(|stretch| (stretch.x[0], y(rate(stretch)))).collect();
        if let (Some((_, y)), Some(last)) = (drawn.last(), stretches.last()) {
            svg.steps(&drawn, last.x[1], class);
            names.push((*y, name.to_owned(), class.to_owned()));
        }
    };
    line("due", "m-heap", |stretch| stretch.rates[0]);
    line("answered", "m-blocks", |stretch| stretch.rates[1]);
    names_at_right(svg, [left + width + 8.0, top + height], names);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(stretches: &[Stretch]) -> String {
        let mut svg = Svg::new(100.0, "rates");
        draw(&mut svg, [0.0, 20.0, 100.0, 80.0], stretches);
        svg.finish()
    }

    #[test]
    fn failed_ones_are_bars_where_they_failed() {
        let well = || Stretch { x: [0.0, 50.0], rates: [400.0, 400.0, 0.0] };
        let failing = Stretch { x: [50.0, 100.0], rates: [400.0, 200.0, 200.0] };
        let out = drawn(&[well(), failing]);
        assert!(out.contains(r#"<rect x="50.0" y="60.0" width="50.0" height="40.0" class="stop">"#), "{out}");
        assert!(out.contains("200 failed per second") && out.contains(">failed<"), "{out}");
        assert!(out.contains(r#"<path class="m-blocks" d="M0.0 20.0H50.0V60.0H100.0"/>"#), "{out}");
        let out = drawn(&[well()]);
        assert!(!out.contains("<rect") && !out.contains("failed") && out.contains(">answered<"), "{out}");
    }

    #[test]
    fn nothing_has_a_scale() {
        let out = drawn(&[]);
        assert!(out.contains(">1<") && !out.contains("<path") && !out.contains("NaN"), "{out}");
    }
}

//! One bar: where the wall clock went.

use crate::words::{WallPart, wall_clock};
use rtscope_analyze::results::Results;
use rtscope_draw::svg::{Svg, WIDTH, text_width};
use rtscope_model::units;

/// The bar; `None` if pauses could not be seen.
pub(crate) fn draw(results: &Results) -> Option<String> {
    const HEIGHT: f64 = 34.0;
    let parts = wall_clock(results);
    if parts.is_empty() {
        return None;
    }
    let mut svg = Svg::new(HEIGHT, "where the wall clock went");
    let mut x = 0.0;
    for (part, ns) in parts {
        let w = WIDTH * ns as f64 / results.span_ns.max(1) as f64;
        let share = units::percent_of(ns, results.span_ns);
        let frame = [x, 0.0, w.max(1.0), HEIGHT];
        svg.rect(frame, part.class(), &format!("{}: {}, {share}", part.words(), units::duration(ns)));
        let on = if part == WallPart::Program || part == WallPart::Unsplit { "on-pale" } else { "on-dark" };
        let long = format!("{} {share}", part.words());
        let fits = text_width(&long) + 8.0 <= w;
        svg.text_inside(frame, on, if fits { &long } else { &share });
        x += w;
    }
    Some(svg.finish())
}

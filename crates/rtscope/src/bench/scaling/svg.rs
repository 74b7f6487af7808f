//! An experiment as a drawing: rates over workers, one line each, with intervals. One
//! file that needs nothing else. Refuses to say more than the text does.

use super::results::{Line, Point, Scaling};
use crate::report::html::svg::{Anchor, Svg, WIDTH, names_at_right, round_step};
use crate::report::units;
use crate::style::shorten;

const LEFT: f64 = 70.0;
/// Room right of the plot for the names of the lines.
const RIGHT: f64 = 170.0;
const PLOT: [f64; 4] = [LEFT, 44.0, WIDTH - LEFT - RIGHT, 330.0];
/// Colours that the style sheet has; the next line begins with the first again.
const COLOURS: usize = 6;
/// Longest name that is drawn.
const NAME_MAX: usize = 22;
/// Lines stand so far beside each other, so that no interval hides another.
const BESIDE: f64 = 5.0;

/// Colours are told twice: for programs that know no variables.
const STYLE: &str = "\
svg{--paper:#fff;--ink:#1d2327;--rule:#d9dee2;--faint:#5c6770;--s0:#0067a3;--s1:#c4500a;--s2:#00805e;--s3:#b0528a;\
--s4:#946300;--s5:#5c6770}\
@media (prefers-color-scheme:dark){svg{--paper:#14181b;--ink:#e4e8ea;--rule:#333c42;--faint:#9aa6ad;--s0:#5bb4ea;\
--s1:#f08a4b;--s2:#35c08f;--s3:#e39ac4;--s4:#e8b93f;--s5:#9aa6ad}}\
.paper{fill:#fff;fill:var(--paper)}\
text{font:12px system-ui,\"DejaVu Sans\",sans-serif;fill:#1d2327;fill:var(--ink)}.strong{font-weight:600}\
.grid{stroke:#d9dee2;stroke:var(--rule)}.axis{stroke:#5c6770;stroke:var(--faint)}\
.mark{stroke:#5c6770;stroke:var(--faint);stroke-dasharray:3 3}\
.s0,.s1,.s2,.s3,.s4,.s5{fill:none;stroke-width:2}\
.s0{stroke:#0067a3;stroke:var(--s0)}.s1{stroke:#c4500a;stroke:var(--s1);stroke-dasharray:8 3}\
.s2{stroke:#00805e;stroke:var(--s2);stroke-dasharray:2 3}.s3{stroke:#b0528a;stroke:var(--s3);stroke-dasharray:8 3 2 3}\
.s4{stroke:#946300;stroke:var(--s4)}.s5{stroke:#5c6770;stroke:var(--s5);stroke-dasharray:5 2}\
.e{stroke-dasharray:none;stroke-width:1.4}\
.d0{fill:#0067a3;fill:var(--s0)}.d1{fill:#c4500a;fill:var(--s1)}.d2{fill:#00805e;fill:var(--s2)}\
.d3{fill:#b0528a;fill:var(--s3)}.d4{fill:#946300;fill:var(--s4)}.d5{fill:#5c6770;fill:var(--s5)}";

/// Where figures lie in the plot.
struct Scale {
    workers: f64,
    rate: f64,
}

impl Scale {
    fn x(&self, workers: f64) -> f64 {
        PLOT[0] + PLOT[2] * (workers / self.workers).clamp(0.0, 1.0)
    }

    fn y(&self, rate: f64) -> f64 {
        PLOT[1] + PLOT[3] * (1.0 - (rate / self.rate).clamp(0.0, 1.0))
    }
}

/// The drawing as an SVG document.
pub fn draw(found: &Scaling) -> String {
    let [left, top, width, height] = PLOT;
    let mut svg = Svg::document(top + height + 64.0, "work per second against workers", STYLE);
    let step = round_step(found.rate_max(), 6.0);
    let most = found.points().map(|point| point.workers).max().unwrap_or(1);
    let scale = Scale { workers: f64::from(most) * 1.04, rate: (found.rate_max() / step).ceil().max(1.0) * step };
    axes(&mut svg, found, &scale, step);
    let middle = found.series.len().saturating_sub(1) as f64 / 2.0;
    let mut names = Vec::new();
    for (index, line) in found.series.iter().enumerate() {
        names.extend(curve(&mut svg, (index, line), (index as f64 - middle) * BESIDE, &scale));
    }
    names_at_right(&mut svg, [left + width + 8.0, top + height], names);
    svg.line([left, top, left, top + height], "axis");
    svg.line([left, top + height, left + width, top + height], "axis");
    svg.text(left, 18.0, Anchor::Start, "strong", "Work per second against workers");
    svg.text(left, 34.0, Anchor::Start, "tick", &about(found));
    svg.text(left + width, top + height + 36.0, Anchor::End, "tick", "workers");
    svg.finish()
}

fn about(found: &Scaling) -> String {
    let runs = units::counted(u64::from(found.repeats), "run", "runs");
    let bars = if found.points().any(|point| point.rate.interval.is_some()) { ", bars: 95 % intervals" } else { "" };
    format!("medians of {runs}{bars}")
}

fn axes(svg: &mut Svg, found: &Scaling, scale: &Scale, step: f64) {
    let [left, top, width, height] = PLOT;
    let lines = (scale.rate / step).round() as u32;
    for rate in (0..=lines).map(|line| f64::from(line) * step) {
        svg.line([left, scale.y(rate), left + width, scale.y(rate)], "grid");
        let label = if rate == 0.0 { "0".into() } else { units::rate(rate) };
        svg.text(left - 8.0, scale.y(rate) + 4.0, Anchor::End, "tick", &label);
    }
    let mut workers: Vec<u32> = found.points().map(|point| point.workers).collect();
    workers.sort_unstable();
    workers.dedup();
    for workers in workers {
        let x = scale.x(f64::from(workers));
        svg.line([x, top + height, x, top + height + 4.0], "axis");
        svg.text(x, top + height + 19.0, Anchor::Middle, "tick", &workers.to_string());
    }
    // Beyond as many workers as CPUs nothing can grow.
    if let Some(cpus) = found.cpus.filter(|cpus| (*cpus as f64) < scale.workers) {
        let x = scale.x(cpus as f64);
        svg.line([x, top, x, top + height], "mark");
        svg.text(x + 4.0, top + 12.0, Anchor::Start, "tick", &units::counted(cpus as u64, "CPU", "CPUs"));
    }
}

/// One line of the plot, moved `aside`; gives where its name belongs.
fn curve(svg: &mut Svg, (index, line): (usize, &Line), aside: f64, scale: &Scale) -> Option<(f64, String, String)> {
    let class = format!("s{}", index % COLOURS);
    let place = |point: &Point| (scale.x(f64::from(point.workers)) + aside, scale.y(point.rate.median));
    for pair in line.points.windows(2) {
        if let [(x1, y1), (x2, y2)] = pair.iter().map(place).collect::<Vec<_>>()[..] {
            svg.line([x1, y1, x2, y2], &class);
        }
    }
    for point in &line.points {
        let (x, y) = place(point);
        if let Some((low, high)) = point.rate.interval {
            let error = format!("{class} e");
            svg.line([x, scale.y(low), x, scale.y(high)], &error);
            for end in [low, high] {
                svg.line([x - 4.0, scale.y(end), x + 4.0, scale.y(end)], &error);
            }
        }
        let text = format!("{} with {}: {} per second", line.name, point.workers, units::rate(point.rate.median));
        svg.dot(x, y, &format!("d{}", index % COLOURS), &text);
    }
    let last = line.points.last()?;
    Some((place(last).1, shorten(&line.name, NAME_MAX).into_owned(), class))
}

#[cfg(test)]
mod tests {
    use super::super::text::tests::example;
    use super::*;

    #[test]
    fn the_document_has_lines_intervals_and_names() {
        let out = draw(&example(true));
        assert!(out.starts_with("<svg xmlns=") && out.ends_with("</svg>"), "{out}");
        // Two pieces for each line, and one for its name.
        assert_eq!((out.matches("class=\"s0\"").count(), out.matches("class=\"s1\"").count()), (3, 3));
        // Three strokes for the interval of each of three points.
        assert_eq!(out.matches("class=\"s0 e\"").count(), 9);
        assert!(out.contains("domains&lt;1&gt;") && !out.contains("domains<1>"));
        assert!(out.contains("2 CPUs") && out.contains("95 % intervals"));
        assert!(!draw(&example(false)).contains("95 % intervals"));
    }

    #[test]
    fn nothing_measured_draws_an_empty_plot() {
        let mut none = example(true);
        none.series.clear();
        let out = draw(&none);
        assert!(!out.contains("NaN") && !out.contains("inf"), "{out}");
    }
}

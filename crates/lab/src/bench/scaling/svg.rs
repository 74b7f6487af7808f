//! An experiment as a drawing: rates over workers, one line each, with intervals. A self-contained file.
//! Refuses to say more than the text does.

use super::super::print::rising;
use super::results::{Scaling, ScalingLine};
use rtscope_draw::plot::{self, ABOVE, Curve, Plot, RIGHT, Spot};
use rtscope_draw::svg::WIDTH;
use rtscope_model::units;

const LEFT: f64 = 70.0;
const PLOT: [f64; 4] = [LEFT, ABOVE, WIDTH - LEFT - RIGHT, 330.0];

pub fn draw(found: &Scaling) -> String {
    let mut svg = plot::document(PLOT[1] + PLOT[3] + 64.0, "work per second against workers");
    let workers = rising(&found.points().map(|point| point.workers).collect::<Vec<_>>());
    let most = f64::from(workers.last().copied().unwrap_or(1)) * 1.04;
    // With more workers than CPUs nothing can grow.
    let cpus = found.cpus.filter(|cpus| (*cpus as f64) < most);
    let plot = Plot {
        title: "Work per second against workers",
        about: about(found),
        across: "workers",
        ticks: workers.iter().map(|workers| (f64::from(*workers) / most, workers.to_string())).collect(),
        mark: cpus.map(|cpus| (cpus as f64 / most, units::counted(cpus as u64, "CPU", "CPUs"))),
        max: found.rate_max(),
        shown: units::rate,
        lines: found.series.iter().map(|line| curve(line, most)).collect(),
    };
    plot::draw(&mut svg, PLOT, &plot);
    svg.finish()
}

fn about(found: &Scaling) -> String {
    let runs = units::counted(u64::from(found.repeats), "run", "runs");
    let bars = if found.points().any(|point| point.rate.interval.is_some()) { ", bars: 95 % intervals" } else { "" };
    format!("medians of {runs}{bars}")
}

fn curve(line: &ScalingLine, most: f64) -> Curve {
    let spot = |point: &super::results::ScalingPoint| Spot {
        at: f64::from(point.workers) / most,
        value: point.rate.median,
        interval: point.rate.interval,
        said: format!("{} with {}: {} per second", line.name, point.workers, units::rate(point.rate.median)),
    };
    Curve { name: line.name.clone(), points: line.points.iter().map(spot).collect() }
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

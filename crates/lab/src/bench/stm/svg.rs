//! A benchmark as a drawing: time and aborts against threads, one line for each configuration,
//! with intervals. Owns both scales; refuses to say more than the text does.

use super::results::{Measured, StmPoint, StmResults};
use super::text;
use rtscope_draw::plot::{self, ABOVE, BELOW, Curve, Plot, RIGHT, Spot};
use rtscope_draw::svg::{Svg, WIDTH};
use rtscope_model::units;
use rtscope_tune::stats::Median;

const LEFT: f64 = 84.0;
const TIME: [f64; 4] = [LEFT, ABOVE, WIDTH - LEFT - RIGHT, 300.0];
const ABORTS: [f64; 4] = [LEFT, TIME[1] + TIME[3] + BELOW + ABOVE, TIME[2], 220.0];

/// The drawing as a file of its own.
pub fn document(found: &StmResults, benchmark: &Measured) -> String {
    both(plot::document(height(benchmark), &label(benchmark)), found, benchmark)
}

/// The drawing for a page that has [`plot::LINES`].
pub fn in_page(found: &StmResults, benchmark: &Measured) -> String {
    both(Svg::new(height(benchmark), &label(benchmark)), found, benchmark)
}

fn label(benchmark: &Measured) -> String {
    format!("time and aborts of {} against threads", text::name(&benchmark.name))
}

fn is_counted(benchmark: &Measured) -> bool {
    benchmark.points.iter().any(|point| point.aborts.is_some())
}

fn height(benchmark: &Measured) -> f64 {
    let last = if is_counted(benchmark) { ABORTS } else { TIME };
    last[1] + last[3] + BELOW
}

fn both(mut svg: Svg, found: &StmResults, benchmark: &Measured) -> String {
    let name = text::name(&benchmark.name);
    let time = format!("{name}: time");
    let times = lines(found, benchmark, &time, units::tick_label, text::time, |point| Some(point.time_ns));
    plot::draw(&mut svg, TIME, &times);
    if is_counted(benchmark) {
        let aborts = format!("{name}: aborts");
        plot::draw(&mut svg, ABORTS, &lines(found, benchmark, &aborts, text::count, text::count, |point| point.aborts));
    }
    svg.finish()
}

/// The lines of one figure over all points.
fn lines<'a>(
    found: &StmResults,
    benchmark: &Measured,
    title: &'a str,
    shown: fn(f64) -> String,
    said: fn(f64) -> String,
    figure: impl Fn(&StmPoint) -> Option<Median>,
) -> Plot<'a> {
    let mut threads: Vec<u32> = benchmark.points.iter().map(|point| point.threads).collect();
    threads.dedup();
    // Steps of equal width: the numbers are mostly powers of two.
    let at = |index: usize| (index as f64 + 0.5) / threads.len().max(1) as f64;
    let place = |of: u32| threads.iter().position(|some| *some == of).map(at);
    let spot = |point: &StmPoint| {
        let median = figure(point)?;
        let said = format!("{} with {}: {}", point.configuration, point.threads, said(median.median));
        Some(Spot { at: place(point.threads)?, value: median.median, interval: median.interval, said })
    };
    let curve = |name: &str| Curve {
        name: name.to_owned(),
        points: benchmark.points.iter().filter(|point| point.configuration == name).filter_map(spot).collect(),
    };
    let lines: Vec<Curve> = found.configurations.iter().map(|configuration| curve(configuration.name)).collect();
    let spots = || lines.iter().flat_map(|line| &line.points);
    let bars = if spots().any(|spot| spot.interval.is_some()) { "; bars: 95 % intervals" } else { "" };
    let capabilities = units::counted(u64::from(found.capabilities), "capability", "capabilities");
    Plot {
        title,
        about: format!("medians{bars}"),
        across: "threads",
        ticks: threads.iter().enumerate().map(|(index, of)| (at(index), of.to_string())).collect(),
        mark: place(found.capabilities).map(|at| (at, capabilities)),
        max: spots().map(|spot| spot.interval.map_or(spot.value, |(_, high)| high)).fold(0.0, f64::max),
        shown,
        lines,
    }
}

#[cfg(test)]
mod tests {
    use super::super::configurations::{self, Cores, Way};
    use super::super::text::tests::example;
    use super::*;
    use clap::ValueEnum;

    /// A text in a drawing: its horizontal extent, its baseline, its content.
    #[derive(Debug)]
    struct Text {
        across: (f64, f64),
        y: f64,
        said: String,
    }

    fn attribute(tag: &str, name: &str) -> String {
        tag.split(&format!(" {name}=\"")).nth(1).and_then(|rest| rest.split('"').next()).unwrap().to_owned()
    }

    fn texts(svg: &str) -> Vec<Text> {
        let text = |part: &str| {
            let (tag, rest) = part.split_once('>').unwrap();
            let said = rest.split("</text>").next().unwrap().to_owned();
            let (x, y) = (attribute(tag, "x").parse::<f64>().unwrap(), attribute(tag, "y").parse().unwrap());
            let width = rtscope_draw::svg::text_width(&said);
            let from = match attribute(tag, "text-anchor").as_str() {
                "start" => x,
                "middle" => x - width / 2.0,
                _ => x - width,
            };
            Text { across: (from, from + width), y, said }
        };
        svg.split("<text").skip(1).map(text).collect()
    }

    /// Asserts that no two texts overlap, and that all are within the drawing.
    fn is_legible(svg: &str) {
        const HEIGHT: f64 = 11.0;
        let size: f64 = attribute(svg, "viewBox").split(' ').nth(3).unwrap().parse().unwrap();
        let all = texts(svg);
        assert!(all.len() > 8, "{svg}");
        for (index, one) in all.iter().enumerate() {
            assert!(one.across.0 >= 0.0 && one.across.1 <= WIDTH && one.y >= HEIGHT && one.y <= size, "{one:?}");
            for other in &all[index + 1..] {
                let apart = one.across.1 <= other.across.0 || other.across.1 <= one.across.0;
                assert!(apart || (one.y - other.y).abs() >= HEIGHT, "{one:?} and {other:?}");
            }
        }
    }

    #[test]
    fn a_drawing_has_both_plots_with_a_line_and_intervals_for_each_configuration() {
        let found = example(7);
        let out = document(&found, &found.benchmarks[0]);
        assert!(out.starts_with("<svg xmlns=") && out.ends_with("</svg>") && !out.contains("<1>"), "{out}");
        assert!(out.contains("si&lt;1&gt;: time") && out.contains("si&lt;1&gt;: aborts"));
        for look in 0..3 {
            // Two pieces between three points and one for its name, in each of two plots.
            assert_eq!(out.matches(&format!("class=\"s{look}\"")).count(), 6);
            assert_eq!(out.matches(&format!("class=\"s{look} e\"")).count(), 18);
        }
        let said: Vec<String> = texts(&out).into_iter().map(|text| text.said).collect();
        for text in ["default", "often", "few"] {
            assert_eq!(said.iter().filter(|one| *one == text).count(), 2, "{text}");
        }
        assert!(said.iter().any(|text| text == "2 capabilities") && said.iter().any(|text| text == "32"));
        assert!(!in_page(&found, &found.benchmarks[0]).contains("<style"));
    }

    #[test]
    fn texts_do_not_lie_on_each_other() {
        for runs in [1, 2, 7] {
            let found = example(runs);
            for benchmark in &found.benchmarks {
                is_legible(&document(&found, benchmark));
            }
        }
        // All configurations at once, all lines at the same height, large numbers.
        let mut many = example(7);
        many.configurations = configurations::of(Way::value_variants(), Cores { all: 2, few: 1 });
        let [benchmark, ..] = &mut many.benchmarks[..] else { panic!("there are benchmarks") };
        let model = benchmark.points.clone();
        let names: Vec<&'static str> = many.configurations.iter().map(|one| one.name).collect();
        let copies = |point: &StmPoint| {
            let mut point = point.clone();
            point.aborts = Some(Median { median: 98_765_432.0, interval: None });
            names.iter().map(|name| StmPoint { configuration: name, ..point.clone() }).collect::<Vec<_>>()
        };
        benchmark.points = model.iter().filter(|point| point.configuration == "default").flat_map(copies).collect();
        is_legible(&document(&many, &many.benchmarks[0]));
    }

    #[test]
    fn without_aborts_or_points_there_is_less_to_draw() {
        let mut found = example(2);
        let out = document(&found, &found.benchmarks[0]);
        assert!(!out.contains("aborts</text>") && !out.contains("intervals"), "{out}");
        found.benchmarks[0].points.clear();
        let out = document(&found, &found.benchmarks[0]);
        assert!(!out.contains("NaN") && !out.contains("inf"), "{out}");
    }
}

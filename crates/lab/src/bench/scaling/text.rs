//! An experiment as text: a table with bars, and notes on the measurement. Owns the columns.

use super::super::print::{facts, interval, sheet, table, too_few, width};
use super::results::{Scaling, ScalingPoint};
use rtscope_model::units;
use rtscope_terminal::style::{Style, Tone, clean, shorten};

/// Share of all CPUs from which the use by other processes is reported for a point.
const OTHERS_THAT_MATTER: f64 = 0.02;
/// Longest name that is shown.
const NAME_MAX: usize = 24;

/// The whole text; ends with a line feed.
pub fn draw(found: &Scaling, style: &Style) -> String {
    let mut rows = rows(found);
    let used: usize = (0..COLUMNS.len() - 1).map(|at| width(&COLUMNS, &rows, at) + 2).sum();
    let bars = style.width.saturating_sub(used).clamp(8, 40);
    for (row, point) in rows.iter_mut().zip(found.points()) {
        let bar = bar(point.rate.median, found.rate_max(), bars, style);
        row.push(style.paint(Tone::Calm, &bar).into_owned());
    }
    let facts = facts(found.repeats, found.seed, found.cpus);
    let table = table(&COLUMNS, &rows, &[0, 5], style) + "\n";
    sheet("Work per second against workers", &facts, &table, &notes(found), style)
}

const COLUMNS: [&str; 6] = ["", "workers", "per second", "95 % interval", "of the first", ""];

fn rows(found: &Scaling) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    for line in &found.series {
        for (index, point) in line.points.iter().enumerate() {
            // The name of a line is shown once.
            let name = if index == 0 { clean(&line.name) } else { "".into() };
            rows.push(vec![
                shorten(&name, NAME_MAX).into_owned(),
                point.workers.to_string(),
                units::rate(point.rate.median),
                interval(&point.rate, units::rate),
                point.of_first.map_or_else(String::new, |ratio| times(ratio.median)),
            ]);
        }
    }
    rows
}

fn times(ratio: f64) -> String {
    if ratio >= 9.95 { format!("{ratio:.0} x") } else { format!("{ratio:.2} x") }
}

fn bar(rate: f64, max: f64, width: usize, style: &Style) -> String {
    let share = if max > 0.0 { (rate / max).clamp(0.0, 1.0) } else { 0.0 };
    let eighths = (share * width as f64 * 8.0).round() as usize;
    if !style.unicode {
        return "#".repeat((eighths + 4) / 8);
    }
    let rest = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    "█".repeat(eighths / 8) + rest.get(eighths % 8).copied().unwrap_or_default()
}

fn notes(found: &Scaling) -> Vec<String> {
    let worst = worst(found).map_or_else(String::new, |(name, point, share)| {
        format!(", {} alongside {} with {}", units::percent(share), clean(name), point.workers)
    });
    let others = match found.others {
        None => "This kernel does not say what others had of the CPUs.".into(),
        Some(share) => format!("Others had {} of all CPUs meanwhile{worst}.", units::percent(share)),
    };
    too_few(found.repeats, "--repeats").into_iter().chain([others]).collect()
}

/// The point during which other processes used most of the CPUs, if that matters.
fn worst(found: &Scaling) -> Option<(&str, &ScalingPoint, f64)> {
    let points = found.series.iter().flat_map(|line| line.points.iter().map(|point| (line.name.as_str(), point)));
    let with = points.filter_map(|(name, point)| Some((name, point, point.others?)));
    with.filter(|(.., share)| *share >= OTHERS_THAT_MATTER).max_by(|one, other| one.2.total_cmp(&other.2))
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::results::{SCHEMA, ScalingLine, ScalingRun};
    use super::*;
    use rtscope_tune::stats::Median;

    /// Two lines: one that grows with its workers, one that falls.
    pub(in super::super) fn example(interval: bool) -> Scaling {
        let median = |median: f64| Median { median, interval: interval.then_some((median * 0.9, median * 1.1)) };
        let point = |workers: u32, rate: f64, of_first: Option<f64>| ScalingPoint {
            workers,
            rate: median(rate),
            of_first: of_first.map(median),
            others: Some(0.01 * f64::from(workers)),
            runs: vec![ScalingRun { work: 100, wall_ns: 1_000_000_000 }],
        };
        let line = |name: &str, points| ScalingLine { name: name.into(), template: "./x {workers}".into(), points };
        Scaling {
            schema: SCHEMA,
            seed: 1,
            repeats: if interval { 10 } else { 5 },
            cpus: Some(2),
            others: Some(0.017),
            series: vec![
                line("processes", vec![point(1, 610.0, None), point(2, 1210.0, None), point(4, 1200.0, None)]),
                line(
                    "domains<1>",
                    vec![point(1, 480.0, Some(0.79)), point(2, 770.0, Some(0.64)), point(4, 92.0, Some(0.077))],
                ),
            ],
        }
    }

    #[test]
    fn columns_stand_under_their_heads() {
        let text = draw(&example(true), &Style::plain(90));
        let lines: Vec<&str> = text.lines().collect();
        for expected in [
            vec!["processes", "1", "610", "549", "to", "671"],
            vec!["4", "1,200", "1,080", "to", "1,320"],
            vec!["domains<1>", "1", "480", "432", "to", "528", "0.79", "x"],
            vec!["4", "92", "83", "to", "101", "0.08", "x"],
        ] {
            let found = lines.iter().any(|line| {
                let words: Vec<&str> = line.split_whitespace().filter(|word| !word.starts_with('#')).collect();
                words == expected
            });
            assert!(found, "{expected:?} in\n{text}");
        }
        assert!(lines.iter().all(|line| line.chars().count() <= 90 && !line.ends_with(' ')), "{text}");
        assert!(
            text.contains("Others had 1.7 % of all CPUs meanwhile, 4.0 % alongside processes with 4.\n")
                || text.contains("alongside domains<1> with 4.\n"),
            "{text}"
        );
    }

    #[test]
    fn few_runs_have_no_interval_and_say_so() {
        let mut few = example(false);
        few.others = None;
        let text = draw(&few, &Style::plain(90));
        assert!(
            text.contains("An interval takes at least 6 runs") && text.contains("does not say what others had"),
            "{text}"
        );
    }

    #[test]
    fn bars_are_as_long_as_their_rates() {
        let style = Style { unicode: true, ..Style::plain(80) };
        assert_eq!((bar(5.0, 10.0, 8, &style), bar(1.0, 10.0, 8, &style)), ("████".into(), "▊".into()));
        assert_eq!((bar(5.0, 10.0, 8, &Style::plain(80)), bar(0.0, 0.0, 8, &style)), ("####".into(), String::new()));
    }
}

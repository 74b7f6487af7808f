//! An experiment as text: a table with bars, and notes on the measurement. Owns the columns.

use super::super::print::{facts, interval, sheet, too_few};
use super::results::{Scaling, ScalingPoint};
use rtscope_draw::present::{Cell, Name, Section, Table};
use rtscope_model::units;
use rtscope_terminal::style::{Style, clean};

/// Share of all CPUs from which the use by other processes is reported for a point.
const OTHERS_THAT_MATTER: f64 = 0.02;

/// The whole text; ends with a line feed.
pub fn draw(found: &Scaling, style: &Style) -> String {
    let facts = facts(found.repeats, found.seed, found.cpus);
    let section = Section::new("rates", "Work per second", [table(found).block()]);
    sheet("Work per second against workers", &facts, &[section], &notes(found), style)
}

fn table(found: &Scaling) -> Table {
    let most = found.rate_max();
    let row = |(index, (name, point)): (usize, (&str, &ScalingPoint))| {
        let share = if most > 0.0 { point.rate.median / most } else { 0.0 };
        let cells = [
            Cell::from(point.workers.to_string()),
            units::rate(point.rate.median).into(),
            interval(&point.rate, units::rate).into(),
            point.of_first.map_or_else(String::new, |ratio| times(ratio.median)).into(),
            Cell::Share(share),
        ];
        // The name of a line is shown once.
        (Name::from(if index == 0 { name } else { "" }), cells)
    };
    let points = |line: &'_ super::results::ScalingLine| {
        line.points.iter().map(|point| (line.name.as_str(), point)).enumerate().map(row).collect::<Vec<_>>()
    };
    let heads = ["workers", "per second", "95 % interval", "of the first", "of the most"];
    Table::new("", heads, found.series.iter().flat_map(points))
}

fn times(ratio: f64) -> String {
    if ratio >= 9.95 { format!("{ratio:.0} x") } else { format!("{ratio:.2} x") }
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
            vec!["processes", "1", "610", "549", "to", "671", "46", "%"],
            vec!["4", "1,200", "1,080", "to", "1,320", "90", "%"],
            vec!["domains<1>", "1", "480", "432", "to", "528", "0.79", "x", "36", "%"],
            vec!["4", "92", "83", "to", "101", "0.08", "x", "6.9", "%"],
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
}

//! An experiment in words: how configurations compare with the default, then a table for each benchmark. Owns
//! the columns and the wording of notes on the measurement; text and page have the same tables.

use super::super::print::{interval, sheet, too_few};
use super::results::{Measured, Ratio, Standing, StmPoint, StmResults};
use rtscope_draw::present::{Cell, Column, Name, Row, Section, Table};
use rtscope_model::units;
use rtscope_terminal::style::{Style, short};

/// Longest name of a command that is shown.
const NAME_MAX: usize = 24;

/// The whole text; ends with a line feed.
pub fn draw(found: &StmResults, style: &Style) -> String {
    let verdict = Section::new("verdict", "Compared with the default", [standings(found).block()]);
    let measured = |benchmark| Section::new("", title(benchmark), [points(benchmark).block()]);
    let sections: Vec<Section<'_>> = [verdict].into_iter().chain(found.benchmarks.iter().map(measured)).collect();
    sheet(TITLE, &facts(found), &sections, &notes(found), style)
}

pub const TITLE: &str = "Transactions against threads";

/// Facts about all of it, a few words each.
pub fn facts(found: &StmResults) -> Vec<String> {
    super::super::print::facts(found.runs, found.seed, found.cpus)
}

/// Configurations compared with the default.
pub fn standings(found: &StmResults) -> Table {
    let at = |(benchmark, threads, _): &(&str, u32, Ratio)| format!("{} with {threads}", name(benchmark));
    let row = |standing: &Standing<'_>| {
        let cells = [
            standing.faster.to_string(),
            standing.slower.to_string(),
            standing.same.to_string(),
            format!("{}, {}", ratio(standing.best.2.ratio), at(&standing.best)),
            format!("{}, {}", ratio(standing.worst.2.high), at(&standing.worst)),
        ];
        (Name::from(standing.configuration), cells.map(Cell::from))
    };
    let standings = found.standings();
    let heads = ["faster", "slower", "neither", "best", "slowest, upper end"];
    Table::new("against the default", heads, standings.iter().map(row))
}

/// The heading of a benchmark.
pub fn title(benchmark: &Measured) -> String {
    format!("{}: {}", name(&benchmark.name), benchmark.about.unwrap_or(&benchmark.command))
}

/// A row for each number of threads and configuration.
pub fn points(benchmark: &Measured) -> Table {
    let fewest = benchmark.points.first().map_or(0, |point| point.threads);
    let mut last = None;
    let bounds = |found: Ratio| format!("{} to {}", ratio(found.low), ratio(found.high));
    let row = |point: &StmPoint| {
        // A number of threads is shown once.
        let threads =
            if last.replace(point.threads) == Some(point.threads) { String::new() } else { point.threads.to_string() };
        let cells = [
            point.configuration.to_owned(),
            time(point.time_ns.median),
            interval(&point.time_ns, time),
            point.of_default.map_or_else(String::new, |found| ratio(found.ratio)),
            point.of_default.map_or_else(String::new, bounds),
            point.of_fewest.map_or_else(String::new, |found| format!("{} [{}]", ratio(found.ratio), bounds(found))),
            point.aborts.map_or_else(|| "-".into(), |aborts| count(aborts.median)),
        ];
        Row { name: threads.into(), cells: cells.map(Cell::from).into(), detail: false }
    };
    let heads = ["configuration", "time", "95 % interval", "of default", "95 % interval", "", "aborts"];
    let mut table = Table::of_columns("threads", heads);
    table.rows = benchmark.points.iter().map(row).collect();
    if let Some(column) = table.columns.get_mut(5) {
        *column = Column { head: format!("of {fewest} threads").into(), detail: true };
    }
    table
}

pub fn time(ns: f64) -> String {
    units::duration(ns.max(0.0).round() as u64)
}

pub fn count(value: f64) -> String {
    units::count(value.max(0.0).round() as u64)
}

/// A ratio to the default: three decimals distinguish 1.00 from 1.03.
pub fn ratio(ratio: f64) -> String {
    if ratio >= 99.95 { format!("{ratio:.0}") } else { format!("{ratio:.3}") }
}

pub fn name(name: &str) -> String {
    short(name, NAME_MAX)
}

/// Notes on the measurement, and what the words mean.
pub fn notes(found: &StmResults) -> Vec<String> {
    let mut notes: Vec<String> = found.ended.iter().map(|why| format!("It is not all: {why}.")).collect();
    if !found.configurations.is_empty() {
        let each = found.configurations.iter().map(|one| format!("{}: {}", one.name, one.shown()));
        notes.push(format!("Configurations: {}.", each.collect::<Vec<_>>().join("; ")));
    }
    notes.extend(too_few(found.runs, "--runs"));
    if found.points().any(|(_, point)| point.of_default.is_some()) {
        notes.push(
            "Of default: the centre (Hodges and Lehmann) of ratios to the default in the same block; faster and slower are those whose \
             whole interval is on one side of 1."
                .into(),
        );
    }
    match found.foreign {
        None => notes.push("This kernel does not say what others had of the CPUs.".into()),
        Some(share) => {
            let again = match found.disturbed {
                0 => String::new(),
                some => format!(", besides {} for nothing", units::counted(some, "run", "runs")),
            };
            notes.push(format!("Others had {} of the CPUs during these runs{again}.", units::percent(share)));
            if found.noisy {
                notes.push("Runs count here however much others had of the CPUs.".into());
            }
        }
    }
    notes
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::configurations::{self, Cores, Way};
    use super::super::results::{Baselines, Runs, SCHEMA, Timed};
    use super::*;

    /// Two benchmarks with hostile names, three configurations; few runs have no intervals, and no aborts
    /// were counted.
    pub(in super::super) fn example(runs: usize) -> StmResults {
        let configurations = configurations::of(&[Way::Often, Way::Few], Cores { all: 2, few: 1 });
        let timed = |base: f64| -> Vec<Timed> {
            (0..runs).map(|block| Timed { block, ns: base * (1.0 + block as f64 / 1000.0) }).collect()
        };
        let measured = |name: &str, scale: f64| {
            let points = [1, 2, 32].into_iter().flat_map(|threads| {
                let default = timed(scale * 1e6 * f64::from(threads));
                configurations.iter().enumerate().filter_map(move |(index, one)| {
                    let times = default.iter().map(|run| Timed { ns: run.ns * (1.0 + index as f64), ..*run }).collect();
                    let aborts = (0..runs).filter(|_| runs > 5).map(|run| run as f64 * 1e6).collect();
                    let baselines = Baselines { default: (index > 0).then_some(default.as_slice()), fewest: None };
                    StmPoint::of(threads, one.name, Runs { times, aborts }, baselines, 1)
                })
            });
            Measured { name: name.into(), about: None, command: "./x {threads}".into(), points: points.collect() }
        };
        StmResults {
            schema: SCHEMA,
            seed: 1,
            runs: runs as u32,
            cpus: Some(2),
            capabilities: 2,
            ended: None,
            noisy: false,
            disturbed: 3,
            foreign: Some(0.012),
            benchmarks: vec![measured("si<1>", 80.0), measured("ll\x1b[31m", 20.0)],
            configurations,
        }
    }

    #[test]
    fn figures_stand_under_their_heads() {
        let text = draw(&example(7), &Style::plain(100));
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        for expected in [
            "few 0 6 0 3.000, si<1> with 1 3.000, ll\\u{1b}[31m with 32",
            "1 default 80.2 ms 80.1 ms to 80.4 ms 3,000,000",
            "often 160 ms 160 ms to 161 ms 2.000 2.000 to 2.000 3,000,000",
            "32 default 2.57 s 2.56 s to 2.57 s 3,000,000",
        ] {
            let words: Vec<&str> = expected.split(' ').collect();
            assert!(lines.contains(&words), "{expected} in\n{text}");
        }
        assert!(text.lines().all(|line| line.chars().count() <= 100 && !line.ends_with(' ')), "{text}");
        assert!(text.contains("few: -N1") && text.contains("besides 3 runs for nothing") && !text.contains('\x1b'));
    }

    #[test]
    fn what_is_not_known_is_reported() {
        let mut few = example(2);
        (few.foreign, few.ended) = (None, Some("interrupted".into()));
        let text = draw(&few, &Style::plain(100));
        for said in ["It is not all: interrupted.", "at least 6 runs", "does not say what others had"] {
            assert!(text.contains(said), "{said} in\n{text}");
        }
        let row = |line: &&str| line.split_whitespace().nth(1) == Some("default");
        let aborts = text.lines().filter(row).map(|line| line.ends_with('-'));
        assert!(aborts.eq([true; 6]), "{text}");
    }

    #[test]
    fn one_run_of_nothing_is_a_text_too() {
        let mut none = example(1);
        assert!(none.standings().is_empty());
        assert!(!draw(&none, &Style::plain(100)).contains("against the default"));
        none.benchmarks.clear();
        assert!(draw(&none, &Style::plain(60)).starts_with(TITLE));
    }
}

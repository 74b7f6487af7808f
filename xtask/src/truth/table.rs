//! A score as text, or as the tables of `docs/truth.md`. Owns the columns.

use super::journal::Read;
use super::score::{Demand, Score, ScoreFigures, Share};
use crate::statistics::median;
use crate::workload::NOTHING;
use std::collections::BTreeSet;

/// A table that can be drawn as text or as Markdown.
struct ScoreTable {
    head: Vec<String>,
    rows: Vec<Vec<String>>,
}

/// The full summary of a suite.
pub fn draw(read: &Read, markdown: bool) -> String {
    let score = Score::of(read);
    let mut out = about(read);
    for table in [of_findings(&score), of_workloads(&score, read)] {
        out += "\n";
        out += &if markdown { table.markdown() } else { table.text() };
    }
    out += "\n";
    let bullet = if markdown { "- " } else { "" };
    for workload in score.workloads.iter().filter(|workload| !workload.wrong.is_empty()) {
        let wrong: Vec<_> = workload.wrong.iter().map(|(what, times)| format!("{what} {times}")).collect();
        out += &format!("{bullet}{}: instead or besides: {}\n", workload.name, wrong.join(", "));
    }
    for demand in score.demands() {
        out += &format!("{bullet}{}\n", sentence(&demand));
    }
    out
}

/// The plan, and how quiet the machine was.
fn about(read: &Read) -> String {
    let plan = &read.plan;
    let noise: Vec<_> =
        read.runs.iter().map(|run| &run.noise).chain(read.cures.iter().map(|cure| &cure.noise)).collect();
    let of = |each: fn(&crate::noise::Noise) -> f64| {
        let values: Vec<f64> = noise.iter().map(|noise| each(noise)).collect();
        (median(&values), values.iter().copied().fold(0.0, f64::max))
    };
    let (foreign, foreign_max) = of(|noise| noise.foreign * 100.0);
    let (steal, steal_max) = of(|noise| noise.steal * 100.0);
    let (load, load_max) = of(|noise| noise.load);
    let (waited, waited_max) = of(|noise| noise.pressure.unwrap_or(0.0) * 100.0);
    let dirty = read.runs.iter().filter(|run| run.dirty).count() + read.cures.iter().filter(|cure| cure.dirty).count();
    let cut = if read.cut > 0 { format!(" {} lines were cut short.", read.cut) } else { String::new() };
    format!(
        "{} runs of each of {} workloads{} on {}; {} ({}); seed {}.{cut}\nOf all CPUs others took {foreign:.1} % in the median ({foreign_max:.0} % at \
         most), the host {steal:.1} % ({steal_max:.0} %);\nsome thread waited for a CPU during {waited:.0} % ({waited_max:.0} %); load average {load:.1} \
         ({load_max:.1}). From {:.0} % on a run is dirty: {dirty} of {} were.\n",
        plan.runs,
        plan.workloads.len(),
        if plan.drawn { ", families drawn anew for each," } else { "" },
        plan.toolchains.join(", "),
        plan.rtscope,
        plan.commit,
        plan.seed,
        plan.noise_max * 100.0,
        noise.len()
    )
}

fn of_findings(score: &Score) -> ScoreTable {
    let head = [
        "finding",
        "runs",
        "hits",
        "misses",
        "false first",
        "false behind",
        "code named",
        "remedy helps",
        "after/before",
    ];
    let healthy_last = |id: &&String| *id == NOTHING;
    let mut ids: Vec<&String> = score.findings.keys().collect();
    ids.sort_by_key(healthy_last);
    let row = |id: &String| {
        let figures = score.findings.get(id)?;
        let Share { yes, of } = figures.hits;
        let mut row = vec![id.clone(), of.to_string(), yes.to_string(), (of - yes).to_string()];
        row.extend(if id == NOTHING {
            ["".into(), "".into()]
        } else {
            [figures.false_first, figures.false_later].map(|n| n.to_string())
        });
        row.extend(rest(figures));
        Some(row)
    };
    ScoreTable { head: head.map(String::from).into(), rows: ids.into_iter().filter_map(row).collect() }
}

fn of_workloads(score: &Score, read: &Read) -> ScoreTable {
    let compilers = compilers(score, read);
    let mut head: Vec<String> = ["workload", "truth"].map(String::from).into();
    head.extend(compilers.iter().cloned());
    head.extend(["alarms", "dirty", "code named", "remedy helps", "after/before", "remedy"].map(String::from));
    let rows = score.workloads.iter().map(|workload| {
        let mut row = vec![workload.name.clone(), workload.expect.clone()];
        row.extend(compilers.iter().map(|on| workload.on.get(on).map_or_else(String::new, |share| of(*share))));
        row.push((workload.figures.false_first + workload.figures.false_later).to_string());
        let dirty = workload.figures.dirty;
        row.push(if dirty.of > 0 { format!("{} ({} hits)", dirty.of, dirty.yes) } else { "0".into() });
        row.extend(rest(&workload.figures));
        row.push(workload.applied.clone());
        row
    });
    ScoreTable { head, rows: rows.collect() }
}

/// Compilers that ran something: first those that toolchains are named after, then others.
fn compilers(score: &Score, read: &Read) -> Vec<String> {
    let ran: BTreeSet<&String> = score.workloads.iter().flat_map(|workload| workload.on.keys()).collect();
    let planned = &read.plan.toolchains;
    let first = planned.iter().filter(|name| ran.contains(name));
    first.chain(ran.iter().copied().filter(|name| !planned.contains(name))).cloned().collect()
}

/// Columns of both tables: names and remedies.
fn rest(figures: &ScoreFigures) -> [String; 3] {
    let ratio = figures.ratio().map_or_else(String::new, |ratio| format!("{ratio:.2}"));
    [of(figures.named), of(figures.cures), ratio]
}

fn of(share: Share) -> String {
    if share.of == 0 { String::new() } else { format!("{}/{}", share.yes, share.of) }
}

fn sentence(demand: &Demand) -> String {
    let Share { yes, of } = demand.share;
    if of == 0 {
        return format!("{}: none was measured", demand.what);
    }
    let percent = yes as f64 * 100.0 / of as f64;
    let verdict = if demand.met() { "met" } else { "NOT MET" };
    format!("{}: {yes} of {of} ({percent:.1} %); at least {} %: {verdict}", demand.what, demand.at_least)
}

impl ScoreTable {
    /// Aligned columns, with figures to the right.
    fn text(&self) -> String {
        let all = || std::iter::once(&self.head).chain(&self.rows);
        let width = |at: usize| all().filter_map(|row| row.get(at)).map(|cell| cell.chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..self.head.len()).map(width).collect();
        let line = |row: &Vec<String>| {
            let cells = row.iter().zip(&widths).enumerate();
            let cells = cells.map(
                |(at, (cell, width))| {
                    if self.words(at) { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
                },
            );
            cells.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
        };
        all().map(line).collect()
    }

    fn markdown(&self) -> String {
        let line = |row: &Vec<String>| format!("| {} |\n", row.join(" | "));
        let under: Vec<String> =
            (0..self.head.len()).map(|at| if self.words(at) { "---" } else { "---:" }.into()).collect();
        line(&self.head) + &line(&under) + &self.rows.iter().map(line).collect::<String>()
    }

    /// Whether a column contains words.
    fn words(&self, at: usize) -> bool {
        self.head.get(at).is_some_and(|head| ["finding", "workload", "truth", "remedy"].contains(&head.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::journal::{Attempt, Cure, Promise, SuitePlan};
    use super::*;

    fn small() -> Read {
        let plan = SuitePlan {
            schema: SuitePlan::schema(),
            seed: 9,
            runs: 2,
            workloads: vec!["slow".into(), "well".into()],
            toolchains: vec!["ghc-9.0".into(), "ghc-9.6".into()],
            rtscope: "rtscope 1".into(),
            commit: "0123".into(),
            noise_max: 0.05,
            repeats: 1,
            remedies_every: 1,
            ..SuitePlan::default()
        };
        let run = |workload: &str, expect: &str, on: &str, found: &[&str]| Attempt {
            workload: workload.into(),
            expect: expect.into(),
            on: on.into(),
            found: found.iter().map(|id| (*id).to_owned()).collect(),
            ..Attempt::default()
        };
        let runs = vec![
            Attempt { named: Some(true), ..run("slow", "late", "ghc-9.0", &["late"]) },
            run("slow", "late", "ghc-9.6", &["other"]),
            run("well", NOTHING, "ghc-9.0", &[]),
            Attempt { dirty: true, ..run("well", NOTHING, "ghc-9.6", &["other"]) },
        ];
        let cure = Cure {
            workload: "slow".into(),
            finding: "late".into(),
            applied: "+RTS -N1".into(),
            promise: Promise { before: Some(8.0), ..Promise::default() },
            after: Some(2.0),
            ..Cure::default()
        };
        Read { plan, runs, cures: vec![cure], cut: 0 }
    }

    #[test]
    fn columns_stand_under_their_heads() {
        let text = draw(&small(), false);
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        for expected in [
            vec!["late", "2", "1", "1", "0", "0", "1/1", "1/1", "0.25"],
            vec!["other", "0", "0", "0", "1", "0"],
            vec!["nothing", "1", "1", "0"],
            vec!["slow", "late", "1/1", "0/1", "1", "0", "1/1", "1/1", "0.25", "+RTS", "-N1"],
            vec!["well", "nothing", "1/1", "0", "1", "(0", "hits)"],
        ] {
            assert!(lines.contains(&expected), "{expected:?} in\n{text}");
        }
        assert!(text.contains("right finding first: 1 of 2 (50.0 %); at least 95 %: NOT MET\n"), "{text}");
        assert!(text.contains("slow: instead or besides: other 1\n"), "{text}");
    }

    #[test]
    fn each_compiler_that_ran_something_has_a_column() {
        let mut read = small();
        read.plan.toolchains.push("ghc-9.10".into());
        let mut more = read.runs[2].clone();
        more.on = "ocaml-5.3.0".into();
        read.runs.push(more);
        let text = draw(&read, true);
        assert!(text.contains("| workload | truth | ghc-9.0 | ghc-9.6 | ocaml-5.3.0 | alarms |"), "{text}");
    }

    #[test]
    fn the_same_for_a_page() {
        let text = draw(&small(), true);
        assert!(text.contains("| late | 2 | 1 | 1 | 0 | 0 | 1/1 | 1/1 | 0.25 |\n"), "{text}");
        assert!(text.contains("\n| --- | ---: |"), "{text}");
        assert!(text.contains("- healthy runs without an alarm: 1 of 1 (100.0 %); at least 100 %: met\n"), "{text}");
    }
}

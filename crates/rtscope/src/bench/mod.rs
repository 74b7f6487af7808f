//! `rtscope bench`: experiments of the articles, with a user's own programs. Owns what
//! they are called and what they have in common: command lines with places, plots, and where
//! results go; each experiment is a module of its own.

pub mod scaling;
pub mod stm;
mod template;

use crate::style::{Style, Tone};
use crate::trouble::{Trouble, print_results};
use clap::{Args, Subcommand};
use rtscope_model::units;
use rtscope_tune::stats::Median;
use serde::Serialize;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

/// Options of `bench`.
#[derive(Args, Clone, Debug)]
pub struct BenchArgs {
    /// Which experiment.
    #[command(subcommand)]
    pub experiment: Experiment,
}

/// The experiments.
#[derive(Subcommand, Clone, Debug)]
pub enum Experiment {
    /// Measure how much a program does in a second with more and more workers
    Scaling(scaling::ScalingArgs),
    /// Measure what the scheduler and the number of cores do to transactions of a Haskell program
    Stm(stm::StmArgs),
}

/// Does it; gives the exit code.
///
/// # Errors
/// A program does not do what it should, or results cannot be written.
pub fn run(args: &BenchArgs) -> Result<ExitCode, Trouble> {
    match &args.experiment {
        Experiment::Scaling(args) => scaling::run(args),
        Experiment::Stm(args) => stm::run(args),
    }
}

/// Prints what was found, as `text` or as one JSON document, and puts both into the folder that was asked for: as
/// files of this `name`, beside what was `drawn`.
fn show(
    (folder, as_json): (Option<&Path>, bool),
    name: &str,
    found: &impl Serialize,
    text: impl Fn(&Style) -> String,
    drawn: impl FnOnce() -> Vec<(String, String)>,
) -> Result<(), Trouble> {
    let document =
        crate::style::json(found).map_err(|error| Trouble::new("cannot put the results into JSON").because(error))?;
    if let Some(folder) = folder {
        write(folder, format!("{name}.txt"), &text(&Style::plain(100)))?;
        write(folder, format!("{name}.json"), &document)?;
        drawn().into_iter().try_for_each(|(name, content)| write(folder, name, &content))?;
    }
    print_results(&if as_json { document + "\n" } else { text(&Style::of_stdout()) })
}

/// Writes a file into a folder that is made.
fn write(folder: &Path, name: String, content: &str) -> Result<(), Trouble> {
    let path = folder.join(name);
    fs::create_dir_all(folder).and_then(|()| fs::write(&path, content)).map_err(|error| {
        let trouble = Trouble::new(format!("cannot write {}", path.display())).because(error);
        trouble.next("give another folder with --output")
    })
}

/// Numbers of workers or threads, each once.
fn rising(numbers: &[u32]) -> Vec<u32> {
    let mut numbers = numbers.to_vec();
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

/// What is true of all of an experiment, each in a few words.
fn facts(runs: u32, seed: u64, cpus: Option<usize>) -> Vec<String> {
    let runs = format!("{} of each", units::counted(u64::from(runs), "run", "runs"));
    let cpus = cpus.map(|cpus| units::counted(cpus as u64, "CPU", "CPUs"));
    [runs, format!("order of seed {seed}")].into_iter().chain(cpus).collect()
}

fn interval(found: &Median, shown: impl Fn(f64) -> String) -> String {
    found.interval.map_or_else(|| "-".into(), |(low, high)| format!("{} to {}", shown(low), shown(high)))
}

/// Columns as wide as they have to be, figures at their right; `words` are those that are none.
fn table(head: &[&str], rows: &[Vec<String>], words: &[usize], style: &Style) -> String {
    let widths: Vec<usize> = (0..head.len()).map(|at| width(head, rows, at)).collect();
    let line = |cells: Vec<&str>| {
        let cells = cells.iter().zip(&widths).enumerate().map(|(at, (cell, width))| {
            if words.contains(&at) { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    let mut out = format!("{}\n", style.paint(Tone::Faint, &line(head.to_vec())));
    for row in rows {
        out += &line(row.iter().map(String::as_str).collect());
        out.push('\n');
    }
    out
}

/// How wide a column is.
fn width(head: &[&str], rows: &[Vec<String>], at: usize) -> usize {
    let cells = rows.iter().filter_map(|row| row.get(at)).map(|cell| cell.chars().count());
    cells.chain(head.get(at).map(|cell| cell.chars().count())).max().unwrap_or(0)
}

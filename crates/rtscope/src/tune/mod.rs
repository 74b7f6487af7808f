//! `rtscope tune`: which flags make a program faster, by trials. Owns the options and what is
//! printed; `table` reads a recorded table. What is tried and what follows is
//! `rtscope_tune::study`'s matter. `live` runs a trial of a real program, `measure` names its
//! figures, `objective` says what they are to be.

pub mod job;
pub mod live;
pub mod measure;
pub mod objective;
pub mod paste;
mod replayed;
pub mod result;
pub mod space;
mod statistics;
mod table;

use crate::style::{Style, clean};
use crate::trouble::Trouble;
use clap::{Args, ValueEnum};
use rtscope_tune::study::Design;
use rtscope_tune::study::propose::{Believed, Proposer, Shuffled, Sobol, Tpe};
use rtscope_tune::study::replay::{Draw, Replay, Summary, Table};
use serde::Serialize;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

const STATUS: &str = "\
A TABLE has one JSON document a line, for each configuration once in each repeat:
  {\"cfg\": \"-N2 -A4m\", \"rep\": 0, \"x\": {\"total_wall_seconds\": 0.08}}

Exit status:
  0  done
  1  failed: the table cannot be read or is not complete
  2  wrong usage, or a budget too small for one comparison";

/// Options of `tune`.
#[derive(Args, Clone, Debug)]
#[command(after_help = STATUS)]
pub struct TuneArgs {
    /// Do studies of a recorded table instead of a program, and say how good their answers are
    #[arg(long, value_name = "TABLE", required = true)]
    pub replay: PathBuf,
    /// Which figure of the table is to be small
    #[arg(long, value_name = "NAME", default_value = "total_wall_seconds")]
    pub metric: String,
    /// Trials that a study may take, all stages counted
    #[arg(long, value_name = "N", default_value_t = 75, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub trials: u32,
    /// Studies
    #[arg(long, value_name = "N", default_value_t = 400, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub studies: u64,
    /// Of every choice by chance
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// The configuration to beat (default: the one with the shortest name, of several the first in the alphabet)
    #[arg(long, value_name = "CFG", allow_hyphen_values = true)]
    pub default: Option<String>,
    /// What chooses the configurations that are tried
    #[arg(long, value_enum, default_value_t = ProposerArg::Believed)]
    pub proposer: ProposerArg,
    /// How a trial is drawn from the table
    #[arg(long, value_enum, default_value_t = DrawArg::Rows)]
    pub draw: DrawArg,
    /// Let every configuration be the default under another name: no study should find a difference
    #[arg(long)]
    pub same: bool,
    /// Do one study, keep its trials in FILE, go on with those that are there, and print its result
    #[arg(long, value_name = "FILE")]
    pub store: Option<PathBuf>,
    /// Wait so many milliseconds in each trial: for tests that end a study in the middle
    #[arg(long, value_name = "MS", default_value_t = 0, hide = true)]
    pub pace: u64,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
}

/// Ways to choose.
#[derive(Copy, Clone, Eq, PartialEq, Debug, ValueEnum, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ProposerArg {
    /// First evenly over the flags, then where earlier trials say that the best may be
    Believed,
    /// Evenly over the flags
    Sobol,
    /// First evenly, then by what the best trials have in common
    Tpe,
    /// By chance
    Shuffled,
}

impl ProposerArg {
    fn make(self) -> Box<dyn Proposer> {
        match self {
            ProposerArg::Believed => Box::new(Believed),
            ProposerArg::Sobol => Box::new(Sobol),
            ProposerArg::Tpe => Box::new(Tpe),
            ProposerArg::Shuffled => Box::new(Shuffled),
        }
    }
}

/// Ways to draw.
#[derive(Copy, Clone, Eq, PartialEq, Debug, ValueEnum)]
pub enum DrawArg {
    /// A block is a repeat, its trials are the rows of it
    Rows,
    /// A trial has what its block's repeat shares, and the rest of any row
    Rests,
}

impl From<DrawArg> for Draw {
    fn from(arg: DrawArg) -> Draw {
        match arg {
            DrawArg::Rows => Draw::Rows,
            DrawArg::Rests => Draw::Rests,
        }
    }
}

/// What is printed.
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    metric: &'a str,
    configurations: usize,
    repeats: usize,
    default: &'a str,
    same: bool,
    draw: Draw,
    proposer: ProposerArg,
    trials: u32,
    studies: u64,
    seed: u64,
    #[serde(flatten)]
    figures: Figures<'a>,
}

/// The summary with what its `trials` are called beside the budget's.
#[derive(Serialize)]
struct Figures<'a> {
    regret: &'a rtscope_tune::study::replay::Regret,
    coverage: Option<f64>,
    over_claims: f64,
    better: f64,
    no_difference: f64,
    refused: f64,
    trials_taken: usize,
}

/// Does it.
///
/// # Errors
/// The table cannot be read, or the output not be written.
pub fn run(args: &TuneArgs) -> Result<ExitCode, Trouble> {
    let table = table::read(&args.replay, &args.metric)?;
    let wrong = |trouble: Trouble| {
        eprintln!("{trouble}");
        Ok(ExitCode::from(2))
    };
    let Some(default) = default(&table, args) else {
        return wrong(
            Trouble::new(format!("{} is none of the table's", args.default.as_deref().unwrap_or_default()))
                .next("give one of its configurations with --default"),
        );
    };
    let replay = Replay { table: &table, default, draw: args.draw.into(), same: args.same };
    let space = match replay.space() {
        Ok(space) => space,
        Err(no) => return Err(Trouble::new("the table cannot be searched").because(no)),
    };
    let design = Design::new(args.trials as usize, args.seed);
    if let Some(store) = &args.store {
        if args.studies != 1 {
            return wrong(Trouble::new("only one study is kept in a file").next("add --studies 1"));
        }
        return replayed::run(args, &replay, space, store);
    }
    let summary = match replay.studies(&space, design, args.studies, &|| args.proposer.make()) {
        Ok(summary) => summary,
        Err(small) => {
            return wrong(Trouble::new("the budget is too small").because(small).next("give more with --trials"));
        }
    };
    let shown = if args.json {
        let document = document(args, &table, default, &summary);
        serde_json::to_string(&document).map_err(|error| Trouble::new("cannot write the document").because(error))?
            + "\n"
    } else {
        text(args, &table, default, &summary, &Style::of_stdout())
    };
    print(&shown)
}

fn print(shown: &str) -> Result<ExitCode, Trouble> {
    match io::stdout().lock().write_all(shown.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Trouble::new("cannot print the results").because(error).next("free the disk or print elsewhere"))
        }
        _ => Ok(ExitCode::SUCCESS),
    }
}

fn default(table: &Table, args: &TuneArgs) -> Option<usize> {
    match &args.default {
        Some(name) => table.names().iter().position(|other| other == name),
        None => Some(table.plainest()),
    }
}

fn document<'a>(args: &'a TuneArgs, table: &'a Table, default: usize, summary: &'a Summary) -> Document<'a> {
    Document {
        schema: "rtscope/replay/1",
        metric: &args.metric,
        configurations: table.names().len(),
        repeats: table.repeats(),
        default: table.names().get(default).map_or("", String::as_str),
        same: args.same,
        draw: args.draw.into(),
        proposer: args.proposer,
        trials: args.trials,
        studies: args.studies,
        seed: args.seed,
        figures: Figures {
            regret: &summary.regret,
            coverage: summary.coverage,
            over_claims: summary.over_claims,
            better: summary.better,
            no_difference: summary.no_difference,
            refused: summary.refused,
            trials_taken: summary.trials,
        },
    }
}

fn text(args: &TuneArgs, table: &Table, default: usize, summary: &Summary, style: &Style) -> String {
    let percent = |share: f64| format!("{:.1} %", share * 100.0);
    let name = table.names().get(default).map_or("", String::as_str);
    let mut rows = vec![
        ("studies", format!("{} of at most {} trials, seed {}", args.studies, args.trials, args.seed)),
        (
            "table",
            format!(
                "{} configurations{}{} repeats{}the default is {}",
                table.names().len(),
                style.dot(),
                table.repeats(),
                style.dot(),
                clean(name)
            ),
        ),
        (
            "regret",
            format!("median {}, nine in ten below {}", percent(summary.regret.median), percent(summary.regret.p90)),
        ),
        (
            "intervals",
            summary.coverage.map_or("none".to_owned(), |coverage| format!("{} hold the truth", percent(coverage))),
        ),
        ("over-claims", percent(summary.over_claims)),
        (
            "answers",
            format!(
                "better {}, no difference {}, refused {}",
                percent(summary.better),
                percent(summary.no_difference),
                percent(summary.refused)
            ),
        ),
        ("trials taken", format!("{} in the median", summary.trials)),
    ];
    if args.same {
        rows.push(("all the same", "each configuration was the default under another name".to_owned()));
    }
    rows.iter().map(|(what, value)| format!("{what:<14}{value}\n")).collect()
}

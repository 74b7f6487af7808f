//! Studies of a recorded table, and how good their answers are: this tests the search itself. Owns the figures
//! that are printed; `table` reads the table, `replayed` does one study of it that is stored.

use super::answer::{show, too_small};
use super::args::TuneArgs;
use super::{replayed, table};
use rtscope_terminal::style::{Joined, Style, clean};
use rtscope_terminal::user_error::{UserError, WRONG, document};
use rtscope_tune::study::Design;
use rtscope_tune::study::replay::{Draw, Replay, ReplayTable, Summary};
use serde_json::{Value, json};
use std::path::Path;
use std::process::ExitCode;

pub(crate) fn run(args: &TuneArgs, path: &Path) -> Result<ExitCode, UserError> {
    let table = table::read(path, &args.metric)?;
    let Some(default) = default(&table, args) else {
        let name = args.default.as_deref().unwrap_or_default();
        let error = UserError::new(format!("{name} is none of the table's"));
        return Err(error.next("give one of its configurations with --default").ends_with(WRONG));
    };
    let replay = Replay { table: &table, default, draw: args.draw.into(), same: args.same };
    let space = replay.space().map_err(|no| UserError::new("the table cannot be searched").because(no))?;
    let design = Design::new(args.trials as usize, args.seed);
    if let Some(store) = &args.store {
        if args.studies != 1 {
            return Err(UserError::new("only one study is kept in a file").next("add --studies 1").ends_with(WRONG));
        }
        return replayed::run(args, &replay, space, store);
    }
    let summary = replay
        .studies(&space, design, args.studies, &|| args.proposer.make())
        .map_err(|small| too_small(small, "give more with --trials"))?;
    let shown = if args.json {
        document(&Joined { head: head(args, &table, default), body: &summary, tail: () }, false)?
    } else {
        text(args, &table, default, &summary, &Style::of_stdout())
    };
    show(&shown)
}

fn default(table: &ReplayTable, args: &TuneArgs) -> Option<usize> {
    match &args.default {
        Some(name) => table.names().iter().position(|other| other == name),
        None => Some(table.plainest()),
    }
}

/// What was asked for.
fn head(args: &TuneArgs, table: &ReplayTable, default: usize) -> Value {
    json!({
        "schema": "rtscope/replay/1",
        "metric": args.metric,
        "configurations": table.names().len(),
        "repeats": table.repeats(),
        "default": table.names().get(default).map_or("", String::as_str),
        "same": args.same,
        "draw": Draw::from(args.draw),
        "proposer": args.proposer,
        "trials": args.trials,
        "studies": args.studies,
        "seed": args.seed,
    })
}

fn text(args: &TuneArgs, table: &ReplayTable, default: usize, summary: &Summary, style: &Style) -> String {
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

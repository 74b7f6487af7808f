//! A recording: one that is over is gone through once, and its last seconds are shown.
//! One that is being written is followed (see [`super::growing`]). Owns the replay.

use super::args::TopArgs;
use super::growing::{Recording, is_written};
use super::live::{self, Known, Screen};
use super::transactions::Transactions;
use super::view::Shown;
use crate::input::{self, Input};
use crate::observer::Observer;
use crate::pipeline;
use crate::trouble::Trouble;
use rtscope_analyze::Context;
use rtscope_decode::capture::Counted;
use rtscope_encode::Tables;
use rtscope_host::clock;
use rtscope_model::manifest::{Manifest, Status};
use rtscope_model::{Event, Names, Time};
use std::iter::Peekable;
use std::path::Path;
use std::process::ExitCode;

const SECOND_NS: u64 = 1_000_000_000;

pub(super) fn show(of: &Path, seconds: usize, args: &TopArgs) -> Result<ExitCode, Trouble> {
    let input = input::open(of, None)?;
    let name = of.display().to_string();
    if let Input::Capture(capture) = &input
        && is_written(capture)
    {
        let recording = Recording::open(of, clock::monotonic())?;
        return live::follow(Box::new(recording), name, seconds, args);
    }
    let options = pipeline::Options::new(of);
    let mut replay = Replay {
        of: name,
        seconds,
        known: None,
        from: Time(0),
        end: Time(0),
        next: None,
        lines: if let Input::Capture(capture) = &input { capture.transactions().map(Iterator::peekable) } else { None },
        transactions: Transactions::new(None),
        notes: Vec::new(),
    };
    let (_, names) = pipeline::watch(&input, &options, &mut replay)?;
    replay.print(&names, args)
}

/// Goes through a recording as if it came now.
struct Replay {
    of: String,
    seconds: usize,
    known: Option<Known>,
    from: Time,
    /// The last moment, and when the next second is over: not before the first event of a log
    /// on its own.
    end: Time,
    next: Option<Time>,
    /// Counts of transactions that were not taken in yet, and those that were.
    lines: Option<Peekable<Counted>>,
    transactions: Transactions,
    notes: Vec<String>,
}

impl Observer for Replay {
    fn start(&mut self, context: &Context, manifest: Option<&Manifest>) {
        let context = Context { requests: None, heaps: Vec::new(), ..context.clone() };
        self.notes.extend(context.kernel.iter().flat_map(|kernel| kernel.missing.iter().cloned()));
        if manifest.is_some_and(|manifest| manifest.status == Status::Recording) {
            self.notes.push("Its recorder was killed: it ends where that happened.".to_owned());
        }
        if context.runtime.family.is_none() {
            self.notes.push("No pauses: it holds no log of a runtime.".to_owned());
        }
        let (from, log) = (context.started, context.runtime.family.is_some());
        self.transactions = Transactions::new(from);
        self.from = from.unwrap_or_default();
        self.next = from.map(|from| from.plus(SECOND_NS));
        self.end = context.ended.or(from).unwrap_or_default();
        self.known = Some(Known::new(context, self.of.clone(), log, self.seconds, (from.unwrap_or_default(), None)));
    }

    fn event(&mut self, event: &Event, tables: Tables<'_>) {
        let Some(known) = &mut self.known else { return };
        let mut next = self.next.unwrap_or_else(|| {
            known.window.begin(event.time);
            self.from = event.time;
            event.time.plus(SECOND_NS)
        });
        while event.time >= next {
            // Of a long silence one close is enough.
            next = next.plus(event.time.since(next) / SECOND_NS * SECOND_NS);
            while let Some(line) = self.lines.as_mut().and_then(|lines| lines.next_if(|line| line.time <= next)) {
                self.transactions.push(&line);
            }
            known.close(next, self.transactions.until(next));
            next = next.plus(SECOND_NS);
        }
        self.next = Some(next);
        self.end = self.end.max(event.time);
        known.push(event, tables.kernel);
    }
}

impl Replay {
    fn print(mut self, names: &Names, args: &TopArgs) -> Result<ExitCode, Trouble> {
        let Some(mut known) = self.known.take() else { return Ok(ExitCode::SUCCESS) };
        self.lines.iter_mut().flatten().for_each(|line| self.transactions.push(&line));
        known.finish(self.end, self.transactions.until(self.end), names);
        let shown = Shown {
            figures: known.window.figures(names),
            notes: self.notes,
            over: Some("it was recorded before, and these are its last seconds".to_owned()),
            seconds: self.end.since(self.from) as f64 / 1e9,
            ..Shown::default()
        };
        Screen::of_one(args).show(&known.view, &shown);
        Ok(ExitCode::SUCCESS)
    }
}

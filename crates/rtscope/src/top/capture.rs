//! A recording: a finished one is replayed once, and its last seconds are shown; one that is being written is
//! followed (see [`super::growing`]). Owns the replay.

use super::args::TopArgs;
use super::growing::Recording;
use super::live::{self, LiveState, Screen};
use super::transactions::Transactions;
use super::view::Shown;
use rtscope_analyze::Context;
use rtscope_decode::capture::Counted;
use rtscope_host::clock;
use rtscope_host::procfs::Host;
use rtscope_model::manifest::{Manifest, Status};
use rtscope_model::{Classes, Time};
use rtscope_read::input::{self, Input};
use rtscope_read::pipeline::{self, Opened, Options};
use rtscope_terminal::user_error::UserError;
use std::path::Path;
use std::process::ExitCode;

const SECOND_NS: u64 = 1_000_000_000;

pub(super) fn show(of: &Path, seconds: usize, args: &TopArgs) -> Result<ExitCode, UserError> {
    let input = input::open(of, None)?;
    let name = of.display().to_string();
    let capture = if let Input::Capture(capture) = &input { Some(capture) } else { None };
    if capture.is_some_and(|capture| capture.is_written()) {
        let (recording, live) = Recording::open(of, clock::monotonic(), args.limit)?;
        return live::follow(Box::new(recording), live, (name, &Host::default()), seconds, args);
    }
    let opened = pipeline::open(&input, &Options::new(of), Classes::NONE)?;
    let counts = capture.and_then(|capture| capture.transactions());
    let (known, shown) = replay(opened, counts, name, seconds);
    Screen::of_one(args).show(&known.view, &shown);
    Ok(ExitCode::SUCCESS)
}

/// Replays a recording as if it came now, second by second.
fn replay(opened: Opened, counts: Option<Counted>, of: String, seconds: usize) -> (LiveState, Shown) {
    let Opened { context, manifest, mut files, .. } = opened;
    let notes = notes(&context, manifest.as_ref());
    let mut transactions = Transactions::of_file(context.started, counts);
    let mut from = context.started;
    let ended = context.ended.or(from).unwrap_or_default();
    let log = context.runtime.family.is_some();
    let mut known =
        LiveState::new(Context { heaps: Vec::new(), ..context }, of, log, seconds, (from.unwrap_or_default(), None));
    // The end of the next second; for a log on its own, not before its first event.
    let mut next = from.map(|from| from.plus(SECOND_NS));
    while let Some(at) = known.run.next(&mut files) {
        let mut until = next.unwrap_or_else(|| {
            known.window.begin(at);
            from.insert(at).plus(SECOND_NS)
        });
        if at >= until {
            // One close is enough after a long silence.
            until = until.plus(at.since(until) / SECOND_NS * SECOND_NS);
            known.close(until, transactions.until(until));
            until = until.plus(SECOND_NS);
        }
        known.run.until(Some(until).filter(|until| *until < Time(u64::MAX)), &mut files, &mut known.window);
        next = Some(until);
    }
    let end = ended.max(known.run.analysis.now());
    known.finish(end, transactions.until(Time(u64::MAX)), &files);
    let shown = Shown {
        figures: known.figures(&files),
        notes,
        over: Some("it was recorded before, and these are its last seconds".to_owned()),
        seconds: end.since(from.unwrap_or_default()) as f64 / 1e9,
        ..Shown::default()
    };
    (known, shown)
}

/// What cannot be shown.
fn notes(context: &Context, manifest: Option<&Manifest>) -> Vec<String> {
    let mut notes = context.kernel.as_ref().map_or(Vec::new(), |kernel| kernel.missing.clone());
    if manifest.is_some_and(|manifest| manifest.status == Status::Recording) {
        notes.push("Its recorder was killed: it ends where that happened.".to_owned());
    }
    if context.runtime.family.is_none() {
        notes.push("No pauses: it holds no log of a runtime.".to_owned());
    }
    notes
}

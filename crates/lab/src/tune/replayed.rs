//! One study of a recorded table that is stored in a file and continues from there. Owns which study that is;
//! `rtscope_store` stores it.

use super::answer::{cannot_keep, show, too_small};
use super::args::{TuneArgs, word};
use super::keeping::{Keeping, unix_ns};
use super::result::{Shown, text};
use rtscope_store::{Store, StoreError};
use rtscope_terminal::style::Style;
use rtscope_terminal::user_error::{UserError, document};
use rtscope_tune::result;
use rtscope_tune::study::replay::Replay;
use rtscope_tune::study::{
    self, Ask, Description, Design, Outcome, Row, Space, Study, StudyKind, Taken, Trials, clean,
};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

/// Draws trials and stores each before the next.
struct KeptTrials<'a> {
    trials: &'a mut dyn Trials,
    keeping: Keeping,
    pace: Duration,
    started_unix_ns: u64,
}

impl Trials for KeptTrials<'_> {
    fn run(&mut self, space: &Space, ask: &Ask) -> Outcome {
        if let Some(stopped) = self.keeping.stopped() {
            return stopped;
        }
        self.started_unix_ns = unix_ns();
        std::thread::sleep(self.pace);
        self.trials.run(space, ask)
    }

    fn keep(&mut self, taken: &Taken) {
        self.keeping.row(&Row { started_unix_ns: self.started_unix_ns, ..Row::new(taken.clone()) });
    }
}

/// Does the rest of the study in `path`, and prints its result.
///
/// # Errors
/// The file cannot be written or belongs to another study, or the output cannot be printed.
pub fn run(args: &TuneArgs, replay: &Replay<'_>, space: Space, path: &Path) -> Result<ExitCode, UserError> {
    let description = description(args, replay);
    let cannot = |error: StoreError| cannot_keep(path, &error);
    let study = Study::new(space, description.design, args.proposer.make())
        .map_err(|small| too_small(small, "give more with --trials"))?;
    let store = Store::resume(path, &description).map_err(cannot)?;
    let before = store.rows().map_err(cannot)?;
    let mut study = study.resume(&clean(&before)).map_err(|error| {
        UserError::new(format!("cannot go on with {}", path.display()))
            .because(error)
            .next("give another file with --store")
    })?;
    let mut trials = replay.trials(args.seed, 0);
    let mut kept = KeptTrials {
        trials: &mut trials,
        keeping: Keeping::new(store),
        pace: Duration::from_millis(args.pace),
        started_unix_ns: 0,
    };
    let answer = study::run(&mut study, &mut kept);
    let rows = kept.keeping.end().map_err(cannot)?;
    let found = result::document(&description, &answer, &rows)
        .map_err(|error| UserError::new("the table cannot be searched").because(error))?;
    let shown = Shown::new(found);
    if !args.json {
        return show(&text::draw(&shown, &Style::of_stdout()));
    }
    show(&document(&shown, false)?)
}

/// The table and the way to draw from it stand for the program.
fn description(args: &TuneArgs, replay: &Replay<'_>) -> Description {
    let mut argv = vec!["--draw".to_owned(), word(args.draw)];
    argv.extend(args.same.then(|| "--same".to_owned()));
    Description {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        program: args.replay.as_ref().map_or(String::new(), |table| table.display().to_string()),
        argv,
        names: replay.table.names().to_vec(),
        default: replay.default,
        plan: None,
        design: Design::new(args.trials as usize, args.seed),
        objective: args.metric.clone(),
        limits: Vec::new(),
        proposer: word(args.proposer),
        machine: "a recorded table".to_owned(),
        kind: StudyKind::Search,
    }
}

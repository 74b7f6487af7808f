//! One study of a recorded table that is kept in a file and goes on from there. Owns which
//! study that is; keeping is `rtscope_store`'s matter.

use super::result::{Shown, text};
use super::{TuneArgs, print};
use crate::style::Style;
use crate::trouble::Trouble;
use clap::ValueEnum;
use rtscope_store::{Store, StoreError};
use rtscope_tune::result;
use rtscope_tune::study::replay::Replay;
use rtscope_tune::study::{self, Ask, Description, Design, Kind, Outcome, Row, Space, Study, Taken, Trials, told};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

/// Draws trials and keeps each before the next.
struct Kept<'a> {
    trials: &'a mut dyn Trials,
    store: &'a mut Store,
    pace: Duration,
    started: SystemTime,
    /// A trial that cannot be kept ends the study: what it would go on with is lost otherwise.
    lost: Option<StoreError>,
}

impl Trials for Kept<'_> {
    fn run(&mut self, space: &Space, ask: &Ask) -> Outcome {
        if self.lost.is_some() {
            return Outcome::Stopped("a trial could not be kept".to_owned());
        }
        self.started = SystemTime::now();
        std::thread::sleep(self.pace);
        self.trials.run(space, ask)
    }

    fn keep(&mut self, taken: &Taken) {
        let since = self.started.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let started_unix_ns = u64::try_from(since.as_nanos()).unwrap_or(u64::MAX);
        if self.lost.is_none() {
            self.lost = self.store.append(&Row { started_unix_ns, ..Row::new(taken.clone()) }).err();
        }
    }
}

/// Does what is left of the study in `path`, and prints its result.
///
/// # Errors
/// The file cannot be written or is of another study, or the output cannot be printed.
pub fn run(args: &TuneArgs, replay: &Replay<'_>, space: Space, path: &Path) -> Result<ExitCode, Trouble> {
    let description = description(args, replay);
    let cannot = |error: StoreError| cannot(path, &error);
    let small = |error| Trouble::new("the budget is too small").because(error).next("give more with --trials");
    let study = Study::new(space, description.design, args.proposer.make());
    let study = match study.map_err(small) {
        Ok(study) => study,
        Err(trouble) => {
            eprintln!("{trouble}");
            return Ok(ExitCode::from(2));
        }
    };
    let mut store = Store::resume(path, &description).map_err(cannot)?;
    let before = store.rows().map_err(cannot)?;
    let mut study = study.resume(&told(&before)).map_err(|error| {
        Trouble::new(format!("cannot go on with {}", path.display()))
            .because(error)
            .next("give another file with --store")
    })?;
    let mut trials = replay.trials(args.seed, 0);
    let mut kept = Kept {
        trials: &mut trials,
        store: &mut store,
        pace: Duration::from_millis(args.pace),
        started: SystemTime::UNIX_EPOCH,
        lost: None,
    };
    let answer = study::run(&mut study, &mut kept);
    if let Some(error) = kept.lost {
        return Err(cannot(error));
    }
    let rows = store.rows().map_err(cannot)?;
    let document = result::document(&description, &answer, &rows)
        .map_err(|error| Trouble::new("the table cannot be searched").because(error))?;
    let shown = Shown::new(document);
    if !args.json {
        return print(&text::draw(&shown, &Style::of_stdout()));
    }
    let json =
        serde_json::to_string(&shown).map_err(|error| Trouble::new("cannot write the document").because(error))?;
    print(&(json + "\n"))
}

fn cannot(path: &Path, error: &StoreError) -> Trouble {
    let next = match error {
        StoreError::Full => "free the disk and call it again: it goes on",
        StoreError::InUse => "wait for it, or give another file with --store",
        StoreError::Differs(_) => "give another file with --store, or the options that it was begun with",
        _ => "give another file with --store",
    };
    Trouble::new(format!("cannot keep the study in {}", path.display())).because(error).next(next)
}

/// The table and how it is drawn from are the program.
fn description(args: &TuneArgs, replay: &Replay<'_>) -> Description {
    let word =
        |value: Option<clap::builder::PossibleValue>| value.map_or(String::new(), |value| value.get_name().to_owned());
    let mut argv = vec!["--draw".to_owned(), word(args.draw.to_possible_value())];
    argv.extend(args.same.then(|| "--same".to_owned()));
    Description {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        program: args.replay.display().to_string(),
        argv,
        names: replay.table.names().to_vec(),
        default: replay.default,
        plan: None,
        design: Design::new(args.trials as usize, args.seed),
        objective: args.metric.clone(),
        limits: Vec::new(),
        proposer: word(args.proposer.to_possible_value()),
        machine: "a recorded table".to_owned(),
        kind: Kind::Search,
    }
}

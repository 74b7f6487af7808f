//! A study of a program, from its command to its output. Owns the order of the steps and the folder in which a
//! study is stored.

use super::answer::{NO_ANSWER, cannot_keep, show, too_small};
use super::args::TuneArgs;
use super::conduct::{Conductor, First};
use super::live;
use super::paste::paste;
use super::progress::Extent;
use super::result::{PasteLine, Shown, svg, text};
use super::space::{self, Gathered};
use super::subject::Subject;
use super::{captures, description};
use rtscope_host::signals::Signals;
use rtscope_store::{Store, parquet};
use rtscope_terminal::style::Style;
use rtscope_terminal::user_error::{UserError, WRONG, document};
use rtscope_tune::result::Word;
use rtscope_tune::study::{self, Answer, Description, Design, Next, Row, Space, Study, StudyKind, Verdict, clean};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Files in a study's folder.
const STORE: &str = "study.sqlite";
const RESULT: &str = "result.json";
const PARETO: &str = "pareto.svg";
const TRIALS: &str = "trials.parquet";

/// Inspects the program, searches, and prints the result.
pub fn run(args: &TuneArgs) -> Result<ExitCode, UserError> {
    let subject = Subject::of(args)?;
    let gathered = gathered(args, &subject)?;
    if args.dry_run {
        return show(&if args.json { space::json(&gathered) } else { space::text(&gathered, &Style::of_stdout()) });
    }
    let space = gathered.offer.space().map_err(|none| nothing_to_try(&gathered, none))?;
    let names = (0..space.len()).map(|number| space.name(number).to_owned()).collect();
    let mut description = description::of(args, &gathered, &subject, names, StudyKind::Search);
    enough(args, &description.design, None)?;
    let folder = folder(args, &gathered)?;
    let path = folder.join(STORE);
    let signals = Signals::install().map_err(|error| UserError::new("signals cannot be caught").because(error))?;
    let mut first = First::new(args, &gathered, &subject, &folder, &signals);
    gathered.offer.notes.iter().chain(&subject.notes).for_each(|note| first.progress.say(note));
    let began = Instant::now();
    let (store, mut study) = begun(args, &path, space, &mut description, &mut first)?;
    let over = matches!(study.ask(), Next::Done(_));
    let mut trials = first.conductor(store, Extent::Search(description.design.trials));
    trials.deadline = args.within.map(|within| began + within);
    let answer = study::run(&mut study, &mut trials);
    let Conductor { first: First { mut live, ways, mut progress, .. }, keeping, .. } = trials;
    progress.clear();
    let rows = keeping.end().map_err(|error| cannot_keep(&path, &error))?;
    live.notes.iter().for_each(|note| progress.say(note));
    let mut shown = shown(Some(&gathered), &description, &answer, &rows, args.same)?;
    if let Some(best) = shown.document.recommended.as_ref().filter(|best| !args.no_captures && !best.name.is_empty()) {
        if !over {
            progress.say("what runs today and what is recommended are recorded once each");
        }
        match captures::compare(&mut live, &ways, &best.name, &folder, over) {
            Ok(pairs) => shown.findings = Some(pairs),
            Err(why) => progress.say(&why),
        }
    }
    write(&folder, &shown, &description, &rows)?;
    if let Verdict::Stopped(why) = &answer.verdict {
        progress.say(&format!("{why}; what was tried is kept in {}: the same command goes on", path.display()));
    }
    print(args, &shown)
}

/// The study of `path` to continue, or a new one there, once the program is seen to run. `--within` becomes a
/// number of trials here.
fn begun(
    args: &TuneArgs,
    path: &Path,
    space: Space,
    description: &mut Description,
    first: &mut First<'_>,
) -> Result<(Store, Study), UserError> {
    let goes_on = path.exists();
    if !goes_on {
        let once = first.run()?;
        if let Some(within) = args.within {
            let fit = (within.as_secs_f64() / once.as_secs_f64().max(1e-3)) as usize;
            description.design.trials = description.design.trials.min(fit);
            enough(args, &description.design, Some(once))?;
        }
        first.progress.say(&plan_of(&description.design, once, path));
    } else if let (Some(_), Ok((kept, _))) = (args.within, rtscope_store::study::read(path)) {
        // It continues with the budget that it began with.
        description.design.trials = kept.design.trials;
    }
    let store = Store::resume(path, description).map_err(|error| cannot_keep(path, &error))?;
    let rows = store.rows().map_err(|error| cannot_keep(path, &error))?;
    let small = |small| UserError::new("the budget is too small").because(small).ends_with(WRONG);
    let study = Study::new(space, description.design, args.proposer.make()).map_err(small)?;
    let mut study = study.with_plan(description.plan).resume(&clean(&rows)).map_err(|other| {
        UserError::new(format!("cannot go on with {}", path.display())).because(other).next("give another --output")
    })?;
    // A study that is over runs nothing.
    if let (true, Next::Trial(next)) = (goes_on, study.ask()) {
        first.progress.say(&format!("{} holds {} trials of this study", path.display(), next.number));
        first.run()?;
    }
    Ok((store, study))
}

/// Inspects the program, the machine and the plan, and asks the runtime.
pub fn gathered(args: &TuneArgs, subject: &Subject) -> Result<Gathered, UserError> {
    let mut gathered = space::gather(&args.command, subject.goal, args.vary_given)?;
    gathered.ask()?;
    Ok(gathered)
}

fn nothing_to_try(gathered: &Gathered, none: impl std::fmt::Display) -> UserError {
    let error = UserError::new("there is nothing to try").because(none);
    match gathered.offer.relink.first() {
        Some(relink) => error.next(format!("link it with {}: {}", relink.with, relink.why)),
        None => error.next("`rtscope tune --dry-run -- PROG` says what is left out and why"),
    }
}

pub fn folder(args: &TuneArgs, gathered: &Gathered) -> Result<PathBuf, UserError> {
    let named = || PathBuf::from(format!("{}.tune", gathered.planned.name()));
    made(&args.output.clone().unwrap_or_else(named))
}

/// Creates a folder if it does not exist; gives its full path.
pub fn made(folder: &Path) -> Result<PathBuf, UserError> {
    fs::create_dir_all(folder).and_then(|()| folder.canonicalize()).map_err(|error| {
        UserError::new(format!("cannot make the folder {}", folder.display()))
            .because(error)
            .next("give another place with --output or --store")
    })
}

/// Whether the budget suffices for one comparison; `once`: duration of a trial, for `--within`.
fn enough(args: &TuneArgs, design: &Design, once: Option<Duration>) -> Result<(), UserError> {
    design.check().map_err(|small| {
        let next = match once.filter(|_| args.trials as usize >= small.fewest) {
            Some(once) => format!("give --within {} or more", live::shown(once.mul_f64(small.fewest as f64))),
            None => format!("give --trials {} or more", small.fewest),
        };
        too_small(small, &next)
    })
}

fn plan_of(design: &Design, once: Duration, path: &Path) -> String {
    format!(
        "at most {} trials of about {}: some {}; kept in {}",
        design.trials,
        live::shown(once),
        live::shown(once.mul_f64(design.trials as f64)),
        path.display()
    )
}

/// What is printed, without captures; without the program, there are no lines to paste.
pub fn shown(
    gathered: Option<&Gathered>,
    description: &Description,
    answer: &Answer,
    rows: &[Row],
    same: bool,
) -> Result<Shown, UserError> {
    let document = rtscope_tune::result::document(description, answer, rows)
        .map_err(|none| UserError::new("there is nothing to compare").because(none))?;
    let mut shown = Shown::new(document);
    let best = shown.document.recommended.as_ref().filter(|best| !same && !best.name.is_empty());
    if let (Some(gathered), Some(best)) = (gathered, best) {
        shown.paste = lines(gathered, &best.name);
    }
    Ok(shown)
}

/// The lines that a user pastes to apply a configuration.
fn lines(gathered: &Gathered, words: &str) -> Vec<PasteLine> {
    let paste = paste(&gathered.frame.setup(words), &gathered.planned.resources);
    let line = |what: &str, line: String| PasteLine { what: what.to_owned(), line };
    let mut lines = vec![line("shell", paste.shell)];
    lines.extend(paste.variables.into_iter().map(|variable| line("variable", variable)));
    lines.extend(paste.link.map(|link| line("or link", link)));
    lines.push(line("Kubernetes", paste.kubernetes));
    lines
}

/// Writes the files that accompany the study.
pub fn write(folder: &Path, shown: &Shown, description: &Description, rows: &[Row]) -> Result<(), UserError> {
    let cannot = |name: &str, error: &dyn std::fmt::Display| {
        UserError::unwritable(&folder.join(name), error)
            .next("the trials are kept: free the disk, and the same command writes it")
    };
    let json = serde_json::to_string_pretty(shown).map_err(|error| cannot(RESULT, &error))?;
    fs::write(folder.join(RESULT), json + "\n").map_err(|error| cannot(RESULT, &error))?;
    fs::write(folder.join(PARETO), svg::draw(shown)).map_err(|error| cannot(PARETO, &error))?;
    let file = File::create(folder.join(TRIALS)).map_err(|error| cannot(TRIALS, &error))?;
    parquet::write(rows, description, file).map_err(|error| cannot(TRIALS, &error))
}

/// Prints the result; the status says whether there is an answer.
pub fn print(args: &TuneArgs, shown: &Shown) -> Result<ExitCode, UserError> {
    if args.json {
        show(&document(shown, false)?)?;
    } else {
        show(&text::draw(shown, &Style::of_stdout()))?;
    }
    Ok(match shown.document.verdict {
        Word::Better | Word::NoDifference => ExitCode::SUCCESS,
        Word::DefaultFails => ExitCode::FAILURE,
        Word::TooNoisy | Word::Stopped | Word::Impossible => ExitCode::from(NO_ANSWER),
    })
}

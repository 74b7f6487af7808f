//! A study of a program, from its command to what is printed. Owns the order of the steps and
//! the folder in which a study is kept.

use super::conduct::{Conductor, Ways};
use super::keeping::Keeping;
use super::live::{Live, Tried};
use super::paste::paste;
use super::progress::Progress;
use super::result::{Line, Shown, svg, text};
use super::space::{self, Gathered};
use super::subject::Subject;
use super::{TuneArgs, cannot_keep, captures, description, show, wrong};
use crate::style::Style;
use crate::trouble::Trouble;
use rtscope_host::signals::Signals;
use rtscope_host::trial::Gate;
use rtscope_model::{Rtsopts, units};
use rtscope_store::{Store, parquet};
use rtscope_tune::plan::Runtime;
use rtscope_tune::result::Word;
use rtscope_tune::study::design::TooSmall;
use rtscope_tune::study::{self, Answer, Description, Design, Kind, Row, Study, told};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// What a study's folder holds.
const STORE: &str = "study.sqlite";
const RESULT: &str = "result.json";
const PARETO: &str = "pareto.svg";
const TRIALS: &str = "trials.parquet";

/// Looks at the program, searches, and prints what follows.
///
/// # Errors
/// The program does not run, or files cannot be written.
pub fn run(args: &TuneArgs) -> Result<ExitCode, Trouble> {
    let subject = match Subject::of(args) {
        Ok(subject) => subject,
        Err(trouble) => return wrong(&trouble),
    };
    let gathered = gathered(args, &subject)?;
    if args.dry_run {
        return show(&if args.json { space::json(&gathered) } else { space::text(&gathered, &Style::of_stdout()) });
    }
    let space = gathered.offer.space().map_err(|none| nothing_to_try(&gathered, none))?;
    let names = (0..space.len()).map(|number| space.name(number).to_owned()).collect();
    let mut description = description::of(args, &gathered, &subject, names, Kind::Search);
    let folder = folder(args, &gathered)?;
    let path = folder.join(STORE);
    let signals = Signals::install().map_err(|error| Trouble::new("signals cannot be caught").because(error))?;
    let mut live = live(args, &gathered, &subject, &folder, &signals);
    let ways = Ways { frame: gathered.frame.clone(), same: args.same };
    let mut progress = Progress::new(args.quiet);
    subject.notes.iter().for_each(|note| progress.say(note));
    let began = Instant::now();
    let once = warm_up(&mut live, &ways, &mut progress)?;
    if let Some(within) = args.within {
        description.design.trials = match rtscope_store::study::read(&path) {
            // It goes on with the budget that it was begun with.
            Ok((begun, _)) => begun.design.trials,
            Err(_) => description.design.trials.min((within.as_secs_f64() / once.as_secs_f64()) as usize),
        };
    }
    if let Err(small) = description.design.check() {
        return wrong(&too_small(small, once));
    }
    progress.say(&plan_of(&description.design, once, &path));
    let store = Store::resume(&path, &description).map_err(|error| cannot_keep(&path, &error))?;
    let rows = store.rows().map_err(|error| cannot_keep(&path, &error))?;
    let study = Study::new(space, description.design, args.proposer.make());
    let study = study.map_err(|small| Trouble::new("the budget is too small").because(small))?;
    let mut study = study.beside(description.plan).resume(&told(&rows)).map_err(|other| {
        Trouble::new(format!("cannot go on with {}", path.display())).because(other).next("give another --output")
    })?;
    let keeping = Keeping::new(store);
    let mut trials = Conductor::new(live, ways, &subject.objective, keeping, description.design.trials);
    trials.progress = progress;
    trials.deadline = args.within.map(|within| began + within);
    let answer = study::run(&mut study, &mut trials);
    trials.progress.clear();
    let Conductor { mut live, ways, keeping, mut progress, .. } = trials;
    let rows = keeping.end().map_err(|error| cannot_keep(&path, &error))?;
    let mut shown = shown(&gathered, &description, &answer, &rows, args.same)?;
    if let Some(best) = shown.document.recommended.as_ref().filter(|best| !args.no_captures && !best.name.is_empty()) {
        progress.say("what runs today and what is recommended are recorded once each");
        match captures::compare(&mut live, &ways, &best.name, &folder) {
            Ok(pairs) => shown.findings = Some(pairs),
            Err(why) => progress.say(&why),
        }
    }
    write(&folder, &shown, &description, &rows)?;
    print(args, &shown)
}

/// The program, the machine and the plan looked at, and the runtime asked.
pub fn gathered(args: &TuneArgs, subject: &Subject) -> Result<Gathered, Trouble> {
    let mut gathered = space::gather(&args.command, subject.goal, args.vary_given)?;
    gathered.ask()?;
    Ok(gathered)
}

fn nothing_to_try(gathered: &Gathered, none: impl std::fmt::Display) -> Trouble {
    let trouble = Trouble::new("there is nothing to try").because(none);
    match gathered.offer.relink.first() {
        Some(relink) => trouble.next(format!("link it with {}: {}", relink.with, relink.why)),
        None => trouble.next("`rtscope tune --dry-run -- PROG` says what is left out and why"),
    }
}

/// Where the study is kept.
pub fn folder(args: &TuneArgs, gathered: &Gathered) -> Result<PathBuf, Trouble> {
    let named = || PathBuf::from(format!("{}.tune", gathered.planned.name()));
    let folder = args.output.clone().unwrap_or_else(named);
    let made = fs::create_dir_all(&folder).and_then(|()| folder.canonicalize());
    made.map_err(|error| {
        Trouble::new(format!("cannot make the folder {}", folder.display()))
            .because(error)
            .next("give another with --output")
    })
}

/// How trials of this program run.
pub fn live<'s>(
    args: &TuneArgs,
    gathered: &Gathered,
    subject: &Subject,
    scratch: &Path,
    signals: &'s Signals,
) -> Live<'s> {
    let open = |rtsopts: Option<Rtsopts>| rtsopts == Some(Rtsopts::All);
    let ghc = matches!(&gathered.program.runtime, Runtime::Ghc(ghc) if open(ghc.rtsopts));
    let mut live = Live::new(subject.way.clone(), ghc, scratch.to_owned(), Some(signals));
    live.gate = Gate { patience: args.patience, ..Gate::default() };
    live
}

/// Runs it once as it is: its files are read from now on, and a program that does not run at
/// all is told before anything else. How long that took.
pub fn warm_up(live: &mut Live<'_>, ways: &Ways, progress: &mut Progress) -> Result<Duration, Trouble> {
    progress.say("one run as it is, which does not count");
    let began = Instant::now();
    let mut once = Duration::ZERO;
    let tried = live.run(&ways.job(""), &mut |why, _| {
        progress.say(&format!("a trial is run again: {why}"));
        once = began.elapsed();
    });
    match tried {
        Tried::Clean(_) => Ok(began.elapsed().saturating_sub(once)),
        Tried::Failed { why, .. } => Err(Trouble::new("the program fails as it is run today")
            .because(why)
            .next("see that it runs by itself, with the same arguments, and that limits and --load fit it")),
        Tried::Stopped(why) => Err(Trouble::new("there was no trial").because(why)),
    }
}

fn too_small(small: TooSmall, once: Duration) -> Trouble {
    let fewest = once.mul_f64(small.fewest as f64);
    Trouble::new("the budget is too small").because(small).next(format!(
        "give --trials {} or more; that takes about {}",
        small.fewest,
        shown_time(fewest)
    ))
}

fn plan_of(design: &Design, once: Duration, path: &Path) -> String {
    format!(
        "at most {} trials of about {}: some {}; kept in {}",
        design.trials,
        shown_time(once),
        shown_time(once.mul_f64(design.trials as f64)),
        path.display()
    )
}

fn shown_time(time: Duration) -> String {
    units::duration(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}

/// What is printed, without captures.
pub fn shown(
    gathered: &Gathered,
    description: &Description,
    answer: &Answer,
    rows: &[Row],
    same: bool,
) -> Result<Shown, Trouble> {
    let document = rtscope_tune::result::document(description, answer, rows)
        .map_err(|none| Trouble::new("there is nothing to compare").because(none))?;
    let mut shown = Shown::new(document);
    if let Some(best) = shown.document.recommended.as_ref().filter(|best| !same && !best.name.is_empty()) {
        shown.paste = lines(gathered, &best.name);
    }
    Ok(shown)
}

/// What a user pastes to have a configuration.
fn lines(gathered: &Gathered, words: &str) -> Vec<Line> {
    let paste = paste(&gathered.frame.setup(words), &gathered.planned.resources);
    let line = |what: &str, line: String| Line { what: what.to_owned(), line };
    let mut lines = vec![line("shell", paste.shell)];
    lines.extend(paste.variables.into_iter().map(|variable| line("variable", variable)));
    lines.extend(paste.link.map(|link| line("or link", link)));
    lines.push(line("Kubernetes", paste.kubernetes));
    lines
}

/// The files beside the study.
pub fn write(folder: &Path, shown: &Shown, description: &Description, rows: &[Row]) -> Result<(), Trouble> {
    let cannot = |name: &str, error: &dyn std::fmt::Display| {
        Trouble::new(format!("cannot write {}", folder.join(name).display()))
            .because(error)
            .next("the trials are kept: free the disk, and the same command writes it")
    };
    let json = serde_json::to_string_pretty(shown).map_err(|error| cannot(RESULT, &error))?;
    fs::write(folder.join(RESULT), json + "\n").map_err(|error| cannot(RESULT, &error))?;
    fs::write(folder.join(PARETO), svg::draw(shown)).map_err(|error| cannot(PARETO, &error))?;
    let file = File::create(folder.join(TRIALS)).map_err(|error| cannot(TRIALS, &error))?;
    parquet::write(rows, description, file).map_err(|error| cannot(TRIALS, &error))
}

/// Prints it; the status says whether there is an answer.
pub fn print(args: &TuneArgs, shown: &Shown) -> Result<ExitCode, Trouble> {
    if args.json {
        let json =
            serde_json::to_string(shown).map_err(|error| Trouble::new("cannot write the document").because(error))?;
        show(&(json + "\n"))?;
    } else {
        show(&text::draw(shown, &Style::of_stdout()))?;
    }
    Ok(match shown.document.verdict {
        Word::Better | Word::NoDifference => ExitCode::SUCCESS,
        Word::DefaultFails => ExitCode::FAILURE,
        Word::TooNoisy | Word::Stopped => ExitCode::from(3),
    })
}

//! A study of a program, from its command to what is printed. Owns the order of the steps and
//! the folder in which a study is kept.

use super::answer::{NO_ANSWER, cannot_keep, show, too_small};
use super::args::TuneArgs;
use super::conduct::{Conductor, Ways};
use super::keeping::Keeping;
use super::live::{self, Live, Tried};
use super::objective::Objective;
use super::paste::paste;
use super::progress::{Extent, Progress};
use super::result::{Line, Shown, svg, text};
use super::runtimes;
use super::space::{self, Gathered};
use super::subject::Subject;
use super::{captures, description};
use crate::style::Style;
use crate::trouble::{Trouble, WRONG, document};
use rtscope_host::signals::Signals;
use rtscope_host::trial::Gate;
use rtscope_store::{Store, parquet};
use rtscope_tune::result::Word;
use rtscope_tune::study::{self, Answer, Description, Design, Kind, Next, Row, Space, Study, Verdict, told};
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
    let subject = Subject::of(args)?;
    let gathered = gathered(args, &subject)?;
    if args.dry_run {
        return show(&if args.json { space::json(&gathered) } else { space::text(&gathered, &Style::of_stdout()) });
    }
    let space = gathered.offer.space().map_err(|none| nothing_to_try(&gathered, none))?;
    let names = (0..space.len()).map(|number| space.name(number).to_owned()).collect();
    let mut description = description::of(args, &gathered, &subject, names, Kind::Search);
    enough(args, &description.design, None)?;
    let folder = folder(args, &gathered)?;
    let path = folder.join(STORE);
    let signals = Signals::install().map_err(|error| Trouble::new("signals cannot be caught").because(error))?;
    let mut first = First::new(args, &gathered, &subject, &folder, &signals);
    subject.notes.iter().for_each(|note| first.progress.say(note));
    let began = Instant::now();
    let (store, mut study) = begun(args, &path, space, &mut description, &mut first)?;
    let over = matches!(study.ask(), Next::Done(_));
    let mut trials = first.conductor(store, Extent::Search(description.design.trials));
    trials.deadline = args.within.map(|within| began + within);
    let answer = study::run(&mut study, &mut trials);
    let Conductor { mut live, ways, keeping, mut progress, .. } = trials;
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

/// The study of `path`, to go on with, or a new one there, once the program is seen to run.
/// `--within` becomes a number of trials here.
fn begun(
    args: &TuneArgs,
    path: &Path,
    space: Space,
    description: &mut Description,
    first: &mut First<'_>,
) -> Result<(Store, Study), Trouble> {
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
        // It goes on with the budget that it was begun with.
        description.design.trials = kept.design.trials;
    }
    let store = Store::resume(path, description).map_err(|error| cannot_keep(path, &error))?;
    let rows = store.rows().map_err(|error| cannot_keep(path, &error))?;
    let small = |small| Trouble::new("the budget is too small").because(small).ends_with(WRONG);
    let study = Study::new(space, description.design, args.proposer.make()).map_err(small)?;
    let mut study = study.beside(description.plan).resume(&told(&rows)).map_err(|other| {
        Trouble::new(format!("cannot go on with {}", path.display())).because(other).next("give another --output")
    })?;
    // One that is over runs nothing.
    if let (true, Next::Trial(next)) = (goes_on, study.ask()) {
        first.progress.say(&format!("{} holds {} trials of this study", path.display(), next.number));
        first.run()?;
    }
    Ok((store, study))
}

/// What runs today before anything is compared with it.
pub struct First<'a> {
    /// How a trial runs.
    pub live: Live<'a>,
    /// How a configuration is started.
    pub ways: Ways,
    /// What is asked of it.
    pub objective: &'a Objective,
    /// What is said.
    pub progress: Progress,
}

impl<'a> First<'a> {
    /// Of the program that was looked at; trials write into `scratch`.
    pub fn new(
        args: &TuneArgs,
        gathered: &Gathered,
        subject: &'a Subject,
        scratch: &Path,
        signals: &'a Signals,
    ) -> First<'a> {
        let own = runtimes::own_figures(&gathered.program);
        let live = Live::new(subject.way.clone(), own, scratch.to_owned(), Some(signals));
        First {
            live: Live { gate: Gate { patience: args.patience, ..Gate::default() }, ..live },
            ways: Ways { frame: gathered.frame.clone(), same: args.same },
            objective: &subject.objective,
            progress: Progress::new(args.quiet),
        }
    }

    /// What runs the trials after it, which are kept in `store`.
    pub fn conductor(self, store: Store, extent: Extent) -> Conductor<'a> {
        let First { live, ways, objective, progress } = self;
        let (keeping, run) = (Keeping::new(store), Default::default());
        Conductor { live, ways, objective, keeping, deadline: None, extent, progress, run }
    }

    /// Runs it once as it is: its files are read from now on, and a program that does not run
    /// at all, or does not say what is asked for, is told before anything else. How long that
    /// took.
    ///
    /// # Errors
    /// It does not run, or nobody could tell.
    pub fn run(&mut self) -> Result<Duration, Trouble> {
        let First { live, ways, objective, progress } = self;
        progress.say("one run as it is, which does not count");
        let mut began = Instant::now();
        let tried = live.run(&ways.job(""), &mut |why, _| {
            progress.say(&format!("it is run again: {why}"));
            began = Instant::now();
        });
        let lasted = began.elapsed();
        match tried {
            Tried::Clean(figures) => {
                let unknown = |why| Trouble::new("this cannot be tuned").because(why).ends_with(WRONG);
                objective.measure(&figures).map_err(unknown)?;
                if let Some(broken) = objective.broken(&figures).map_err(unknown)? {
                    progress.say(&format!("as it is run today, {broken}"));
                }
                Ok(lasted)
            }
            Tried::Failed { why, .. } => Err(Trouble::new("the program fails as it is run today")
                .because(why)
                .next("see that it runs by itself, with the same arguments, and that --load fits it")),
            Tried::Stopped(why) => Err(Trouble::new("there was no trial").because(why).ends_with(NO_ANSWER)),
        }
    }
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
    made(&args.output.clone().unwrap_or_else(named))
}

/// A folder, made if it is not there; its whole path.
pub fn made(folder: &Path) -> Result<PathBuf, Trouble> {
    fs::create_dir_all(folder).and_then(|()| folder.canonicalize()).map_err(|error| {
        Trouble::new(format!("cannot make the folder {}", folder.display()))
            .because(error)
            .next("give another place with --output or --store")
    })
}

/// Whether the budget is enough for one comparison; `once`: of `--within`, with trials so long.
fn enough(args: &TuneArgs, design: &Design, once: Option<Duration>) -> Result<(), Trouble> {
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

/// What is printed, without captures; without the program, no lines to paste.
pub fn shown(
    gathered: Option<&Gathered>,
    description: &Description,
    answer: &Answer,
    rows: &[Row],
    same: bool,
) -> Result<Shown, Trouble> {
    let document = rtscope_tune::result::document(description, answer, rows)
        .map_err(|none| Trouble::new("there is nothing to compare").because(none))?;
    let mut shown = Shown::new(document);
    let best = shown.document.recommended.as_ref().filter(|best| !same && !best.name.is_empty());
    if let (Some(gathered), Some(best)) = (gathered, best) {
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
        Trouble::unwritable(&folder.join(name), error)
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

//! A fixed list of configurations, each in every block: all blocks here, one block on each of many machines,
//! and the merge of blocks. Owns which list that is; `rtscope_tune::jobs` defines what a block holds and what
//! follows from blocks.

use super::answer::{NO_ANSWER, cannot_keep, show, too_small};
use super::args::{JobArg, TuneArgs};
use super::conduct::{Conductor, First};
use super::description;
use super::job::{self, ClusterJob, Given};
use super::program;
use super::progress::{Extent, Progress};
use super::space::Gathered;
use super::subject::Subject;
use rtscope_host::signals::Signals;
use rtscope_store::Store;
use rtscope_terminal::user_error::{UserError, WRONG};
use rtscope_tune::jobs;
use rtscope_tune::study::design::FRESH_FROM;
use rtscope_tune::study::{Ask, Description, Outcome, StudyKind, Taken, Trials};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// Runs the blocks, or the requested one.
///
/// # Errors
/// The program does not run, or files cannot be written.
pub fn run(args: &TuneArgs) -> Result<ExitCode, UserError> {
    let subject = Subject::of(args)?;
    enough(args)?;
    if args.block.is_some_and(|block| block >= args.blocks) {
        let there = format!("they are 0 to {}", args.blocks - 1);
        return Err(UserError::new("there is no such block").because(there).ends_with(WRONG));
    }
    let gathered = super::space::gather(&args.command, subject.goal, args.vary_given)?;
    let kind = match args.block {
        Some(index) => StudyKind::Block { index, of: args.blocks },
        None => StudyKind::Merged { of: args.blocks },
    };
    let mut description = description::of(args, &gathered, &subject, listed(&args.tries), kind);
    // All blocks; each runs today's configuration twice.
    description.design.trials = args.blocks as usize * (description.names.len() + 1);
    let space = description
        .space()
        .map_err(|none| UserError::new("there is nothing to compare").because(none).next("give another with --try"))?;
    let (folder, path) = places(args, &gathered)?;
    let signals = Signals::install().map_err(|error| UserError::new("signals cannot be caught").because(error))?;
    let mut first = First::new(args, &gathered, &subject, &folder, &signals);
    let goes_on = path.exists();
    if !goes_on {
        first.run()?;
    }
    let store = Store::resume(&path, &description).map_err(|error| cannot_keep(&path, &error))?;
    let rows = store.rows().map_err(|error| cannot_keep(&path, &error))?;
    let blocks = args.block.map_or(0..args.blocks, |block| block..block + 1);
    let asks: Vec<Ask> = blocks.flat_map(|block| jobs::block(&space, &description.design, block)).collect();
    let left = jobs::left(&asks, &rows);
    if goes_on && !left.is_empty() {
        first.run()?;
    }
    let extent = Extent::Listed { first: asks.first().map_or(0, |ask| ask.number), all: asks.len() };
    let mut trials = first.conductor(store, extent);
    let mut ended = None;
    for ask in left {
        let outcome = trials.run(&space, &ask);
        if let Outcome::Stopped(why) = outcome {
            ended = Some(why);
            break;
        }
        trials.keep(&Taken { ask, outcome });
    }
    let Conductor { first: First { live, mut progress, .. }, keeping, .. } = trials;
    progress.clear();
    live.notes.iter().for_each(|note| progress.say(note));
    let rows = keeping.end().map_err(|error| cannot_keep(&path, &error))?;
    if let Some(index) = args.block {
        // The folder is empty again.
        let _ = fs::remove_dir(&folder);
        let Some(why) = ended else {
            return show(&format!("block {index} of {} is in {}\n", args.blocks, path.display()));
        };
        let error = UserError::new(format!("block {index} is not whole")).because(why);
        return Err(error.next("the same command goes on").ends_with(NO_ANSWER));
    }
    if let Some(why) = &ended {
        progress.say(&format!("{why}; what was tried is kept in {}: the same command goes on", path.display()));
    }
    let answer = jobs::answer(&space, &description.design, &rows);
    let shown = program::shown(Some(&gathered), &description, &answer, &rows, args.same)?;
    program::write(&folder, &shown, &description, &rows)?;
    program::print(args, &shown)
}

/// Fewer blocks prove nothing.
fn enough(args: &TuneArgs) -> Result<(), UserError> {
    if args.blocks as usize >= FRESH_FROM {
        return Ok(());
    }
    let few = format!("{} blocks are too few for one comparison, which takes {FRESH_FROM}", args.blocks);
    Err(too_small(few, "give more with --blocks"))
}

/// A folder for what trials write, and the file of the study. A single block has both where its store is:
/// several blocks may share a disk, and have nowhere else to write.
fn places(args: &TuneArgs, gathered: &Gathered) -> Result<(PathBuf, PathBuf), UserError> {
    match (&args.store, args.block) {
        (Some(store), Some(_)) => {
            let mut folder = store.clone().into_os_string();
            folder.push(".tune");
            Ok((program::made(Path::new(&folder))?, store.clone()))
        }
        (store, _) => {
            let folder = program::folder(args, gathered)?;
            let path = store.clone().unwrap_or_else(|| folder.join("blocks.sqlite"));
            Ok((folder, path))
        }
    }
}

/// What runs today and the rest of the list, without duplicates.
fn listed(tries: &[String]) -> Vec<String> {
    let mut listed = vec![String::new()];
    for words in tries {
        let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
        if !listed.contains(&words) {
            listed.push(words);
        }
    }
    listed
}

pub fn export(args: &TuneArgs, kind: JobArg) -> Result<ExitCode, UserError> {
    let subject = Subject::of(args)?;
    enough(args)?;
    let gathered = program::gathered(args, &subject)?;
    let list = if args.tries.is_empty() { spread(args, &gathered)? } else { listed(&args.tries) };
    let job = ClusterJob {
        name: gathered.planned.name(),
        options: options(args, &list),
        program: args.command.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
        blocks: args.blocks,
        resources: Some(Given::of(&gathered.planned)),
    };
    show(&match kind {
        JobArg::K8s => job::kubernetes(&job),
        JobArg::Slurm => job::slurm(&job),
    })
}

/// A list spread over the whole space, including the plan.
fn spread(args: &TuneArgs, gathered: &Gathered) -> Result<Vec<String>, UserError> {
    let space = gathered.offer.space().map_err(|none| UserError::new("there is nothing to try").because(none))?;
    let keep: Vec<usize> = gathered.offer.plan.into_iter().collect();
    let list = jobs::list(&space, &keep, args.configurations as usize, args.seed);
    Ok(list.into_iter().map(|number| space.name(number).to_owned()).collect())
}

/// Options with which every block belongs to the same study.
fn options(args: &TuneArgs, list: &[String]) -> Vec<String> {
    let mut options = vec!["--seed".to_owned(), args.seed.to_string()];
    options.extend(args.same.then(|| "--same".to_owned()));
    options.extend(args.vary_given.then(|| "--vary-given".to_owned()));
    options.extend(args.noisy.then(|| "--noisy".to_owned()));
    let mut add = |name: &str, value: String| options.extend([format!("{name}={value}")]);
    let mut time = |name: &str, time: Option<Duration>| {
        time.iter().for_each(|time| add(name, format!("{}s", time.as_secs_f64())));
    };
    time("--timeout", args.timeout);
    time("--ready", args.ready);
    time("--patience", (!args.noisy).then_some(args.patience));
    args.minimize.iter().for_each(|value| add("--minimize", value.clone()));
    args.limit.iter().for_each(|value| add("--limit", value.clone()));
    args.load.iter().for_each(|value| add("--load", value.clone()));
    args.goal.iter().for_each(|goal| add("--goal", goal.name().to_owned()));
    list.iter().filter(|words| !words.is_empty()).for_each(|words| add("--try", words.clone()));
    options
}

pub fn merge(args: &TuneArgs, folder: &Path) -> Result<ExitCode, UserError> {
    let out = args.store.clone().unwrap_or_else(|| folder.join("merged.sqlite"));
    let merged = rtscope_store::merge(folder, &out).map_err(|error| {
        UserError::new(format!("the blocks in {} cannot be taken together", folder.display()))
            .because(error)
            .next("give the folder of one job's shards, and a new file with --store")
    })?;
    let mut progress: Progress = Progress::new(args.quiet);
    for (path, why) in &merged.left_out {
        progress.say(&format!("{} is left out: {why}", path.display()));
    }
    if !merged.missing.is_empty() {
        let missing: Vec<String> = merged.missing.iter().map(u32::to_string).collect();
        progress.say(&format!("blocks that are missing: {}", missing.join(", ")));
    }
    let description: &Description = &merged.description;
    let space = description.space().map_err(|none| UserError::new("there is nothing to compare").because(none))?;
    let answer = jobs::answer(&space, &description.design, &merged.rows);
    // What to paste depends on the program and on how it was linked.
    let gathered = if args.command.is_empty() {
        None
    } else {
        Some(super::space::gather(&args.command, Subject::of(args)?.goal, args.vary_given)?)
    };
    let shown = program::shown(gathered.as_ref(), description, &answer, &merged.rows, args.same)?;
    if gathered.is_none() && shown.document.recommended.as_ref().is_some_and(|best| !best.name.is_empty()) {
        progress.say("give the program too for lines to paste: rtscope tune --merge DIR -- PROG");
    }
    program::write(folder, &shown, description, &merged.rows)?;
    program::print(args, &shown)
}

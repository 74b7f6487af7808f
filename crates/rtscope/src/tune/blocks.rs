//! A fixed list of configurations, each in every block: here, a block on each of many
//! machines, and the blocks taken together. Owns which list that is; what a block holds and
//! what follows from blocks is `rtscope_tune::jobs`' matter.

use super::conduct::{Conductor, Ways};
use super::job::{self, Given, Job};
use super::keeping::Keeping;
use super::progress::Progress;
use super::result::Shown;
use super::space::Gathered;
use super::subject::Subject;
use super::{JobArg, TuneArgs, cannot_keep, description, program, show, wrong};
use crate::trouble::Trouble;
use clap::ValueEnum;
use rtscope_host::signals::Signals;
use rtscope_store::{MergeError, Store};
use rtscope_tune::jobs;
use rtscope_tune::study::{Ask, Description, Kind, Outcome, Taken, Trials};
use std::path::Path;
use std::process::ExitCode;

/// Runs the blocks, or the one that is asked for.
///
/// # Errors
/// The program does not run, or files cannot be written.
pub fn run(args: &TuneArgs) -> Result<ExitCode, Trouble> {
    let subject = match Subject::of(args) {
        Ok(subject) => subject,
        Err(trouble) => return wrong(&trouble),
    };
    if args.block.is_some_and(|block| block >= args.blocks) {
        return wrong(&Trouble::new("there is no such block").because(format!("they are 0 to {}", args.blocks - 1)));
    }
    let gathered = super::space::gather(&args.command, subject.goal, args.vary_given)?;
    let kind = match args.block {
        Some(index) => Kind::Block { index, of: args.blocks },
        None => Kind::Merged { of: args.blocks },
    };
    let description = description::of(args, &gathered, &subject, listed(&args.tries), kind);
    let space = description
        .space()
        .map_err(|none| Trouble::new("there is nothing to compare").because(none).next("give another with --try"))?;
    let folder = program::folder(args, &gathered)?;
    let path = args.store.clone().unwrap_or_else(|| folder.join("blocks.sqlite"));
    let signals = Signals::install().map_err(|error| Trouble::new("signals cannot be caught").because(error))?;
    let mut live = program::live(args, &gathered, &subject, &folder, &signals);
    let ways = Ways { frame: gathered.frame.clone(), same: args.same };
    let mut progress = Progress::new(args.quiet);
    program::warm_up(&mut live, &ways, &mut progress)?;
    let store = Store::resume(&path, &description).map_err(|error| cannot_keep(&path, &error))?;
    let rows = store.rows().map_err(|error| cannot_keep(&path, &error))?;
    let blocks = args.block.map_or(0..args.blocks, |block| block..block + 1);
    let asks: Vec<Ask> = blocks.flat_map(|block| jobs::block(&space, &description.design, block)).collect();
    let mut trials = Conductor::new(live, ways, &subject.objective, Keeping::new(store), asks.len());
    trials.progress = progress;
    let mut ended = None;
    for ask in jobs::left(&asks, &rows) {
        let outcome = trials.run(&space, &ask);
        if let Outcome::Stopped(why) = outcome {
            ended = Some(why);
            break;
        }
        trials.keep(&Taken { ask, outcome });
    }
    trials.progress.clear();
    let rows = trials.keeping.end().map_err(|error| cannot_keep(&path, &error))?;
    if let Some(index) = args.block {
        return match ended {
            Some(why) => Err(Trouble::new(format!("block {index} is not whole")).because(why).next("run it again")),
            None => show(&format!("block {index} of {} is in {}\n", args.blocks, path.display())),
        };
    }
    let answer = jobs::answer(&space, &description.design, &rows);
    let shown = program::shown(&gathered, &description, &answer, &rows, args.same)?;
    program::write(&folder, &shown, &description, &rows)?;
    program::print(args, &shown)
}

/// What runs today, and the rest, once each.
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

/// Prints a job for many machines.
///
/// # Errors
/// The program does not run.
pub fn export(args: &TuneArgs, kind: JobArg) -> Result<ExitCode, Trouble> {
    let subject = match Subject::of(args) {
        Ok(subject) => subject,
        Err(trouble) => return wrong(&trouble),
    };
    let gathered = program::gathered(args, &subject)?;
    let list = if args.tries.is_empty() { spread(args, &gathered)? } else { listed(&args.tries) };
    let job = Job {
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

/// A list over the whole space, with the plan.
fn spread(args: &TuneArgs, gathered: &Gathered) -> Result<Vec<String>, Trouble> {
    let space = gathered.offer.space().map_err(|none| Trouble::new("there is nothing to try").because(none))?;
    let keep: Vec<usize> = gathered.offer.plan.into_iter().collect();
    let list = jobs::list(&space, &keep, args.configurations as usize, args.seed);
    Ok(list.into_iter().map(|number| space.name(number).to_owned()).collect())
}

/// Options with which every block is of the same study.
fn options(args: &TuneArgs, list: &[String]) -> Vec<String> {
    let mut options = vec!["--seed".to_owned(), args.seed.to_string(), "--trials".to_owned(), args.trials.to_string()];
    let mut add = |name: &str, value: String| options.extend([format!("{name}={value}")]);
    args.minimize.iter().for_each(|value| add("--minimize", value.clone()));
    args.limit.iter().for_each(|value| add("--limit", value.clone()));
    args.load.iter().for_each(|value| add("--load", value.clone()));
    args.goal
        .and_then(|goal| goal.to_possible_value())
        .iter()
        .for_each(|goal| add("--goal", goal.get_name().to_owned()));
    list.iter().filter(|words| !words.is_empty()).for_each(|words| add("--try", words.clone()));
    options
}

/// Takes blocks together and prints what follows.
///
/// # Errors
/// There are none, or they are of several studies.
pub fn merge(args: &TuneArgs, folder: &Path) -> Result<ExitCode, Trouble> {
    let out = args.store.clone().unwrap_or_else(|| folder.join("merged.sqlite"));
    let merged = rtscope_store::merge(folder, &out).map_err(|error: MergeError| {
        Trouble::new(format!("the blocks in {} cannot be taken together", folder.display()))
            .because(error)
            .next("give the folder of one job's shards, and a new file with --store")
    })?;
    let mut progress = Progress::new(args.quiet);
    for (path, why) in &merged.left_out {
        progress.say(&format!("{} is left out: {why}", path.display()));
    }
    if !merged.missing.is_empty() {
        let missing: Vec<String> = merged.missing.iter().map(u32::to_string).collect();
        progress.say(&format!("blocks that are missing: {}", missing.join(", ")));
    }
    let description: &Description = &merged.description;
    let space = description.space().map_err(|none| Trouble::new("there is nothing to compare").because(none))?;
    let answer = jobs::answer(&space, &description.design, &merged.rows);
    let document = rtscope_tune::result::document(description, &answer, &merged.rows)
        .map_err(|none| Trouble::new("there is nothing to compare").because(none))?;
    let shown = Shown::new(document);
    program::write(folder, &shown, description, &merged.rows)?;
    program::print(args, &shown)
}

//! A study of a real program: trials of configurations, each stored before the next. Owns how a configuration
//! becomes a trial and which of its figures count; `space` decides what can be tried, `live` how a trial runs,
//! `rtscope_tune::study` what is tried next and what follows.

use super::answer::NO_ANSWER;
use super::args::TuneArgs;
use super::keeping::{Keeping, unix_ns};
use super::live::{self, Live, Tried};
use super::measure::Figures;
use super::objective::Objective;
use super::progress::{Extent, Progress};
use super::runtimes;
use super::space::Gathered;
use super::subject::Subject;
use rtscope_host::signals::Signals;
use rtscope_host::trial::Job;
use rtscope_store::Store;
use rtscope_terminal::user_error::{UserError, WRONG};
use rtscope_tune::options::setup;
use rtscope_tune::study::{Ask, Outcome, Row, Space, Taken, Trials};
use std::path::Path;
use std::time::{Duration, Instant};

/// How a configuration is started.
#[derive(Clone, Debug)]
pub struct Ways {
    /// Turns words into variables, arguments and CPUs.
    pub frame: setup::StudyFrame,
    /// Whether every configuration is what runs today, under another name.
    pub same: bool,
}

impl Ways {
    /// The job of a configuration, by its words.
    pub fn job(&self, words: &str) -> Job {
        let setup = self.frame.setup(if self.same { "" } else { words });
        Job {
            argv: setup.argv,
            set: setup.set.into_iter().map(|(name, value)| (name, value.into())).collect(),
            cpus: setup.cpus,
            class: setup.class,
        }
    }
}

/// What runs today before anything is compared with it.
pub struct First<'a> {
    pub live: Live<'a>,
    pub ways: Ways,
    objective: &'a Objective,
    pub progress: Progress,
}

impl<'a> First<'a> {
    /// For the program that was inspected; trials write into `scratch`.
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
            live: live.with_noise(args.noisy, args.patience.min(args.within.unwrap_or(Duration::MAX))),
            ways: Ways { frame: gathered.frame.clone(), same: args.same },
            objective: &subject.objective,
            progress: Progress::new(args.quiet),
        }
    }

    /// Continues with the following trials, which are stored in `store`.
    pub fn conductor(self, store: Store, extent: Extent) -> Conductor<'a> {
        Conductor { first: self, keeping: Keeping::new(store), deadline: None, extent, run: TrialRun::default() }
    }

    /// Runs the program once as it is, and gives how long that took: its files are in memory from now on, and a program
    /// that does not run at all, or does not print what is asked for, is an error before any trial.
    pub fn run(&mut self) -> Result<Duration, UserError> {
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
                let unknown = |why| UserError::new("this cannot be tuned").because(why).ends_with(WRONG);
                objective.measure(&figures).map_err(unknown)?;
                if let Some(broken) = objective.broken(&figures).map_err(unknown)? {
                    progress.say(&format!("as it is run today, {broken}"));
                }
                Ok(lasted)
            }
            Tried::Failed { why, .. } => Err(UserError::new("the program fails as it is run today")
                .because(why)
                .next("see that it runs by itself, with the same arguments, and that --load fits it")),
            Tried::Stopped(why) => Err(UserError::new("there was no trial").because(why).ends_with(NO_ANSWER)),
        }
    }
}

/// Runs the trials of a study and stores them.
pub struct Conductor<'a> {
    pub first: First<'a>,
    pub keeping: Keeping,
    /// No trial begins after this time.
    pub deadline: Option<Instant>,
    /// Which trials there are, for progress messages.
    pub extent: Extent,
    run: TrialRun,
}

/// What is known of the most recent trial.
#[derive(Debug, Default)]
struct TrialRun {
    figures: Figures,
    attempt: u32,
    started_unix_ns: u64,
    note: Option<String>,
}

impl Conductor<'_> {
    /// What a study learns of a trial. What runs today is measured even if it breaks a limit: everything else
    /// is compared with it.
    fn outcome(&mut self, tried: &Tried, default: bool) -> Outcome {
        let objective = self.first.objective;
        match tried {
            Tried::Clean(figures) if default => {
                self.run.note = objective.broken(figures).ok().flatten();
                objective.measure(figures).map_or_else(Outcome::Stopped, Outcome::Measured)
            }
            _ => live::outcome(tried, objective),
        }
    }
}

impl Trials for Conductor<'_> {
    fn run(&mut self, space: &Space, ask: &Ask) -> Outcome {
        if let Some(stopped) = self.keeping.stopped() {
            return stopped;
        }
        if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Outcome::Stopped("the time is over".to_owned());
        }
        let words = space.name(ask.configuration);
        self.first.progress.begins(ask, self.extent, words);
        let job = self.first.ways.job(words);
        self.run = TrialRun { started_unix_ns: unix_ns(), ..TrialRun::default() };
        let Conductor { first: First { live, progress, objective, .. }, keeping, run, .. } = self;
        let tried = live.run(&job, &mut |why, figures| {
            progress.say(&format!("a trial is run again: {why}"));
            let outcome = objective.measure(figures).map_or_else(Outcome::Stopped, Outcome::Measured);
            let taken = Taken { ask: *ask, outcome };
            keeping.row(&Row {
                figures: figures.clone(),
                dirty: true,
                attempt: run.attempt,
                started_unix_ns: run.started_unix_ns,
                note: Some(why.to_owned()),
                ..Row::new(taken)
            });
            run.attempt += 1;
            run.started_unix_ns = unix_ns();
        });
        if let Tried::Clean(figures) | Tried::Failed { figures, .. } = &tried {
            self.run.figures = figures.clone();
        }
        self.outcome(&tried, ask.configuration == space.default())
    }

    fn keep(&mut self, taken: &Taken) {
        // There was no trial: the next session runs it.
        if matches!(taken.outcome, Outcome::Stopped(_)) {
            return;
        }
        let run = std::mem::take(&mut self.run);
        self.keeping.row(&Row {
            figures: run.figures,
            attempt: run.attempt,
            started_unix_ns: run.started_unix_ns,
            note: run.note,
            ..Row::new(taken.clone())
        });
    }
}

//! A study of a real program: trials of configurations, each kept before the next. Owns how a
//! configuration becomes a trial and which of its figures count; what can be tried is
//! `space`'s matter, how a trial runs `live`'s, what is tried next and what follows
//! `rtscope_tune::study`'s.

use super::keeping::{Keeping, unix_ns};
use super::live::{self, Live, Tried};
use super::measure::Figures;
use super::objective::Objective;
use super::progress::{Extent, Progress};
use rtscope_host::trial::Job;
use rtscope_tune::options::setup;
use rtscope_tune::study::{Ask, Outcome, Row, Space, Taken, Trials};
use std::time::{Instant, SystemTime};

/// How a configuration is started.
#[derive(Clone, Debug)]
pub struct Ways {
    /// From words to variables, arguments and CPUs.
    pub frame: setup::Frame,
    /// Every configuration is what runs today, under another name.
    pub same: bool,
}

impl Ways {
    /// For a configuration, by its words.
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

/// Runs the trials of a study and keeps them.
pub struct Conductor<'a> {
    /// How one runs.
    pub live: Live<'a>,
    /// How configurations are started.
    pub ways: Ways,
    /// What is measured.
    pub objective: &'a Objective,
    /// Where they are kept.
    pub keeping: Keeping,
    /// No trial begins after it.
    pub deadline: Option<Instant>,
    /// Which trials there are, for the user's eyes.
    pub extent: Extent,
    /// What is said meanwhile.
    pub progress: Progress,
    pub(super) run: Run,
}

/// What is known of the trial that was run last.
#[derive(Debug, Default)]
pub(super) struct Run {
    figures: Figures,
    attempt: u32,
    started_unix_ns: u64,
    note: Option<String>,
}

impl Conductor<'_> {
    /// What a study hears of a trial. What runs today is measured even where it breaks a limit:
    /// everything else is compared with it.
    fn outcome(&mut self, tried: &Tried, default: bool) -> Outcome {
        match tried {
            Tried::Clean(figures) if default => {
                self.run.note = self.objective.broken(figures).ok().flatten();
                self.objective.measure(figures).map_or_else(Outcome::Stopped, Outcome::Measured)
            }
            _ => live::outcome(tried, self.objective),
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
        self.progress.begins(ask, self.extent, words);
        let job = self.ways.job(words);
        self.run = Run { started_unix_ns: unix_ns(SystemTime::now()), ..Run::default() };
        let Conductor { live, keeping, run, progress, objective, .. } = self;
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
            run.started_unix_ns = unix_ns(SystemTime::now());
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

//! The course of a study: which trial is next, and what follows from the outcomes so far. Owns the
//! stages, their blocks and the answer; runs trials only through [`Trials`].

use super::belief::Belief;
use super::design::{self, BREADTH_BLOCK, CHECK_PAIRS, Design, FRESH_FROM, Shares, TooSmall};
use super::interval::{self, Interval};
use super::propose::{Known, Proposer};
use super::seed;
use super::space::Space;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use thiserror::Error;

/// The purpose of a trial.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// The default is compared with itself.
    Check,
    /// Many configurations are tried, once each.
    Breadth,
    /// The best of them are compared in whole blocks.
    Halving,
    /// The candidates are measured in fresh blocks, which alone show gains.
    Fresh,
}

/// A request to run a trial.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Serialize, Deserialize)]
pub struct Ask {
    /// Counts from 0 over the whole study.
    pub number: usize,
    /// The purpose of the trial.
    pub stage: Stage,
    /// Its block, counted from 0 over the whole study: trials of one block are compared.
    pub block: usize,
    /// Its number in the [`Space`].
    pub configuration: usize,
    /// Whether the configuration was already in this block.
    pub again: bool,
}

/// The outcome of a trial.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The figure to minimize: above 0, finite, in any unit.
    Measured(f64),
    /// The configuration failed or broke a limit. It is not tried again.
    Failed(String),
    /// There was no trial: time ran out, or the machine was never quiet. The study ends.
    Stopped(String),
}

impl Outcome {
    /// The logarithm of the measured figure, or why there is none; `None`: there was no trial.
    pub(crate) fn logarithm(&self) -> Option<Result<f64, &str>> {
        match self {
            Outcome::Measured(value) if value.is_finite() && *value > 0.0 => Some(Ok(value.ln())),
            Outcome::Measured(_) => Some(Err("what was measured is no number above 0")),
            Outcome::Failed(why) => Some(Err(why)),
            Outcome::Stopped(_) => None,
        }
    }
}

/// A trial that was run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Taken {
    /// The request for it.
    #[serde(flatten)]
    pub ask: Ask,
    /// What the trial resulted in.
    pub outcome: Outcome,
}

/// The interface through which a study runs its trials.
pub trait Trials {
    /// Runs one trial. It repeats trials that other load disturbed: only clean outcomes are returned.
    fn run(&mut self, space: &Space, ask: &Ask) -> Outcome;

    /// Records a trial before the next is requested; [`Study::resume`] accepts the recorded ones.
    fn keep(&mut self, _taken: &Taken) {}
}

/// The next step of a study.
#[derive(Clone, PartialEq, Debug)]
pub enum Next {
    /// Run this trial and report its outcome to the study.
    Trial(Ask),
    /// The study has ended.
    Done(Answer),
}

/// A configuration that was measured in fresh blocks.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Candidate {
    /// Its number in the space.
    pub configuration: usize,
    /// Fresh blocks in which both it and the default were measured.
    pub pairs: usize,
    /// The default's measure divided by its own; above 1 is better than the default. Over all candidates
    /// and looks, the intervals together miss the truth as rarely as the design says.
    pub gain: Option<Interval>,
}

impl Candidate {
    /// A candidate from gains as logarithms; `error` is the allowed error of its interval.
    pub(crate) fn of(configuration: usize, gains: &[f64], error: f64) -> Candidate {
        let gain = interval::of_mean(gains, error).filter(|_| gains.len() >= FRESH_FROM);
        Candidate { configuration, pairs: gains.len(), gain: gain.map(Interval::exp) }
    }

    /// Whether it certainly beats the default, and by at least `zone`.
    pub(crate) fn is_better(&self, zone: f64) -> bool {
        self.gain.is_some_and(|gain| gain.low > 1.0 && gain.mean >= 1.0 + zone)
    }
}

/// The conclusion of a study.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// This candidate is better: its interval excludes 1 and its gain is at least the zone.
    Better(usize),
    /// No candidate is better by a relevant amount, as far as these trials show.
    NoDifference,
    /// The default differs from itself by more than the design allows.
    TooNoisy,
    /// The default itself failed, with the reason.
    DefaultFails(String),
    /// The study ended before there were enough fresh blocks, with the reason.
    Stopped(String),
}

/// The result of a study.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Answer {
    /// The conclusion.
    pub verdict: Verdict,
    /// The candidates, best first.
    pub candidates: Vec<Candidate>,
    /// The default against itself.
    pub check: Option<Interval>,
    /// The allowed error of each gain's interval, such that all of them together miss the truth as rarely
    /// as the design says.
    pub error: f64,
    /// Number of trials that were run.
    pub trials: usize,
    /// Configurations that failed, by number, with their reasons.
    pub failed: Vec<(usize, String)>,
}

/// The recorded results belong to another study.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Error)]
#[error("result {number} is of another study: other configurations, another seed or budget")]
pub struct Mismatch {
    /// The first trial that this study would not have requested.
    pub number: usize,
}

/// A position in a block.
#[derive(Copy, Clone, Debug)]
enum BlockPlace {
    Of(usize),
    Proposed,
}

/// A running study.
pub struct Study {
    space: Space,
    design: Design,
    proposer: Box<dyn Proposer>,
    belief: Belief,
    stage: Stage,
    shares: Shares,
    /// Numbers of trials run and of blocks begun.
    trials: usize,
    blocks: usize,
    /// Remaining positions of the present block, and what was measured in it.
    places: VecDeque<BlockPlace>,
    measured: Vec<(usize, f64)>,
    pending: Option<Ask>,
    /// The plan's configuration, confirmed together with the best.
    plan: Option<usize>,
    /// By configuration: whether it may be proposed, and why it failed.
    open: Vec<bool>,
    failed: Vec<Option<String>>,
    /// The proposed configurations, later the survivors, finally the candidates.
    chosen: Vec<usize>,
    breadth_trials: usize,
    rounds: VecDeque<usize>,
    /// Differences of logarithms: the default's pairs, the candidates'.
    check: Vec<f64>,
    fresh: Vec<Vec<(usize, f64)>>,
    looks: Vec<usize>,
    answer: Option<Answer>,
}

impl Study {
    /// A study before its first trial.
    ///
    /// # Errors
    /// The budget is too small for one comparison.
    pub fn new(space: Space, design: Design, proposer: Box<dyn Proposer>) -> Result<Study, TooSmall> {
        design.check()?;
        Ok(Study {
            belief: Belief::new(&space),
            stage: Stage::Check,
            shares: Shares { candidates: 0, breadth: 0, halving: 0 },
            trials: 0,
            blocks: 0,
            places: VecDeque::new(),
            measured: Vec::new(),
            pending: None,
            plan: None,
            failed: vec![None; space.len()],
            open: space.others(),
            chosen: Vec::new(),
            breadth_trials: 0,
            rounds: VecDeque::new(),
            check: Vec::new(),
            fresh: Vec::new(),
            looks: Vec::new(),
            answer: None,
            space,
            design,
            proposer,
        })
    }

    /// Adds a configuration that is tried in any case, and confirmed together with the best if the budget
    /// allows two: the one that rules give without a trial.
    pub fn with_plan(mut self, plan: Option<usize>) -> Study {
        self.plan = plan.filter(|plan| *plan < self.space.len() && *plan != self.space.default());
        self.design.candidates += usize::from(self.plan.is_some());
        self
    }

    /// Restores the study to its state after `taken`. A final [`Outcome::Stopped`] is dropped: the study
    /// goes on.
    ///
    /// # Errors
    /// The results belong to another study.
    pub fn resume(mut self, taken: &[Taken]) -> Result<Study, Mismatch> {
        for Taken { ask, outcome } in taken {
            if matches!(outcome, Outcome::Stopped(_)) {
                continue;
            }
            match self.ask() {
                Next::Trial(asked) if asked == *ask => self.report(outcome.clone()),
                _ => return Err(Mismatch { number: ask.number }),
            }
        }
        Ok(self)
    }

    /// The next trial, or the answer; returns the same trial until its outcome is reported.
    pub fn ask(&mut self) -> Next {
        loop {
            if let Some(answer) = &self.answer {
                return Next::Done(answer.clone());
            }
            if let Some(ask) = self.pending {
                return Next::Trial(ask);
            }
            match self.places.pop_front() {
                Some(place) => self.pending = self.asked(place),
                None => {
                    self.close_block();
                    self.open_block();
                }
            }
        }
    }

    /// Reports the outcome of the pending trial; without one, nothing happens.
    pub fn report(&mut self, outcome: Outcome) {
        let Some(ask) = self.pending.take() else { return };
        if let Outcome::Stopped(why) = outcome {
            return self.stops(why);
        }
        self.trials += 1;
        self.breadth_trials += usize::from(ask.stage == Stage::Breadth);
        match outcome.logarithm() {
            Some(Ok(logarithm)) => {
                self.belief.observe(ask.configuration, logarithm);
                self.measured.push((ask.configuration, logarithm));
            }
            failed => self.fails(ask.configuration, failed.and_then(Result::err).unwrap_or_default()),
        }
    }

    fn fails(&mut self, configuration: usize, why: &str) {
        if configuration == self.space.default() {
            return self.end(Verdict::DefaultFails(why.to_owned()), Vec::new());
        }
        if let Some(failed) = self.failed.get_mut(configuration) {
            *failed = Some(why.to_owned());
        }
        self.chosen.retain(|other| *other != configuration);
    }

    /// Ends the study with what was measured so far.
    fn stops(&mut self, why: String) {
        let enough = self.stage == Stage::Fresh && self.fresh.len() >= FRESH_FROM;
        if enough { self.conclude() } else { self.end(Verdict::Stopped(why), Vec::new()) }
    }

    fn asked(&mut self, place: BlockPlace) -> Option<Ask> {
        let configuration = match place {
            BlockPlace::Of(configuration) => configuration,
            BlockPlace::Proposed => self.proposed()?,
        };
        if self.failed.get(configuration).is_none_or(Option::is_some) {
            return None;
        }
        let again = self.measured.iter().any(|(other, _)| *other == configuration);
        Some(Ask { number: self.trials, stage: self.stage, block: self.blocks - 1, configuration, again })
    }

    fn proposed(&mut self) -> Option<usize> {
        let known = Known {
            space: &self.space,
            open: &self.open,
            tried: &self.chosen,
            belief: &self.belief,
            proposed: self.open.iter().filter(|open| !**open).count() - 1,
            planned: self.shares.breadth - self.shares.breadth.div_ceil(BREADTH_BLOCK + 1),
            seed: self.design.seed,
        };
        let configuration = self.proposer.propose(&known)?;
        self.choose(configuration)
    }

    /// A configuration that is not open was tried: a repeated proposal is ignored.
    fn choose(&mut self, configuration: usize) -> Option<usize> {
        let open = self.open.get_mut(configuration).filter(|open| **open)?;
        *open = false;
        self.chosen.push(configuration);
        Some(configuration)
    }

    /// Evaluates the block, which has no positions left.
    fn close_block(&mut self) {
        let measured = std::mem::take(&mut self.measured);
        let default = self.space.default();
        match (self.stage, &measured[..]) {
            (Stage::Check, [(_, one), (_, other)]) => self.check.push(one - other),
            (Stage::Fresh, _) if self.blocks > 0 => {
                let of = measured.iter().find(|(configuration, _)| *configuration == default).map(|(_, value)| *value);
                if let Some(of) = of {
                    let others = measured.iter().filter(|(configuration, _)| *configuration != default);
                    self.fresh.push(others.map(|(configuration, value)| (*configuration, of - value)).collect());
                }
            }
            _ => (),
        }
    }

    /// Begins the next block, in the next stage if due, or ends the study.
    fn open_block(&mut self) {
        let default = self.space.default();
        let places = match self.stage {
            Stage::Check => self.checks(default),
            Stage::Breadth => self.breadth(),
            Stage::Halving => self.halve(),
            Stage::Fresh => self.freshen(),
        };
        let Some(mut places) = places else { return };
        if self.stage != Stage::Check {
            places.push(BlockPlace::Of(default));
        }
        seed::at(self.design.seed, &[BLOCK, self.blocks as u64]).shuffle(&mut places);
        self.blocks += 1;
        self.belief.open_block();
        self.places = places.into();
    }

    fn left(&self) -> usize {
        self.design.trials.saturating_sub(self.trials)
    }

    fn checks(&mut self, default: usize) -> Option<Vec<BlockPlace>> {
        let pairs = self.check.len();
        let shares = self.design.shares(self.left(), self.space.len() - 1);
        if pairs >= self.design.pairs() {
            let narrow = |found: &Interval| found.high - found.low <= 2.0 * self.design.steady.ln_1p();
            let steady = interval::of_mean(&self.check, self.design.error).is_some_and(|found| narrow(&found));
            if let Some(shares) = shares.filter(|_| steady) {
                self.shares = shares;
                self.stage = Stage::Breadth;
                return self.breadth();
            }
            let more = self.left().checked_sub(2).and_then(|left| self.design.shares(left, self.space.len() - 1));
            if pairs >= *CHECK_PAIRS.end() || more.is_none() {
                self.end(Verdict::TooNoisy, Vec::new());
                return None;
            }
        }
        Some(vec![BlockPlace::Of(default); 2])
    }

    fn breadth(&mut self) -> Option<Vec<BlockPlace>> {
        let left = self.shares.breadth.saturating_sub(self.breadth_trials);
        let open = self.open.iter().filter(|open| **open).count();
        let count = left.saturating_sub(1).min(open).min(BREADTH_BLOCK);
        if count > 0 {
            let mut places = vec![BlockPlace::Proposed; count];
            if let Some(plan) = self.plan.filter(|plan| self.open.get(*plan) == Some(&true)) {
                places.splice(..1, [BlockPlace::Of(plan)]);
                self.choose(plan);
            }
            return Some(places);
        }
        self.stage = Stage::Halving;
        let survivors = design::survivors(self.shares.halving, self.shares.candidates, self.chosen.len());
        self.rounds = design::rounds(survivors, self.shares.candidates).into();
        self.halve()
    }

    fn halve(&mut self) -> Option<Vec<BlockPlace>> {
        self.chosen = self.ranked();
        if let Some(count) = self.rounds.pop_front() {
            self.chosen.truncate(count);
            return Some(self.chosen.iter().map(|configuration| BlockPlace::Of(*configuration)).collect());
        }
        self.chosen.truncate(self.shares.candidates);
        self.confirm_plan();
        self.stage = Stage::Fresh;
        self.looks = self.design.looks(self.left() / (self.chosen.len() + 1));
        self.fresh.clear();
        self.freshen()
    }

    /// The plan takes the last place among several candidates, if it is not one already.
    fn confirm_plan(&mut self) {
        let fine = |plan: &usize| self.failed.get(*plan).is_some_and(Option::is_none) && !self.chosen.contains(plan);
        if let Some(plan) = self.plan.filter(fine).filter(|_| self.shares.candidates > 1) {
            self.chosen.truncate(self.shares.candidates - 1);
            self.chosen.push(plan);
        }
    }

    fn freshen(&mut self) -> Option<Vec<BlockPlace>> {
        let over = self.looks.last().is_none_or(|last| self.fresh.len() >= *last);
        let look = self.looks.contains(&self.fresh.len()) && self.decided();
        if over || look || self.chosen.is_empty() || self.left() <= self.chosen.len() {
            self.conclude();
            return None;
        }
        Some(self.chosen.iter().map(|configuration| BlockPlace::Of(*configuration)).collect())
    }

    /// Gains of a candidate in fresh blocks, as logarithms.
    fn gains(&self, configuration: usize) -> Vec<f64> {
        let of =
            |block: &Vec<(usize, f64)>| block.iter().find(|(other, _)| *other == configuration).map(|(_, gain)| *gain);
        self.fresh.iter().filter_map(of).collect()
    }

    /// The allowed error of one interval at one look.
    fn error(&self) -> f64 {
        self.design.error / self.shares.candidates.max(1) as f64 / self.looks.len().max(1) as f64
    }

    /// All configurations, best first by everything that is known: all trials may decide which one to
    /// confirm, but only fresh ones show its gain.
    fn ranked(&self) -> Vec<usize> {
        let mut ranked = self.chosen.clone();
        ranked.sort_by(|one, other| {
            self.belief.mean(*one).total_cmp(&self.belief.mean(*other)).then_with(|| one.cmp(other))
        });
        ranked
    }

    /// Whether more blocks could not change the answer.
    fn decided(&self) -> bool {
        let zone = self.design.zone.ln_1p();
        let ranked = self.ranked();
        let Some((best, others)) = ranked.split_first() else { return true };
        let interval = |gains: &[f64]| interval::of_mean(gains, self.error());
        let own = self.gains(*best);
        let none = ranked.iter().all(|one| interval(&self.gains(*one)).is_some_and(|found| found.high < zone));
        let is_worse = |other: &usize| {
            let differences: Vec<f64> = self.gains(*other).iter().zip(&own).map(|(other, own)| other - own).collect();
            interval(&differences).is_some_and(|found| found.high < zone)
        };
        none || interval(&own).is_some_and(|found| found.low > zone) && others.iter().all(is_worse)
    }

    fn conclude(&mut self) {
        let candidate = |one: &usize| Candidate::of(*one, &self.gains(*one), self.error());
        let candidates: Vec<Candidate> = self.ranked().iter().map(candidate).collect();
        let best = candidates.first().filter(|best| best.is_better(self.design.zone));
        let verdict = best.map_or(Verdict::NoDifference, |best| Verdict::Better(best.configuration));
        self.end(verdict, candidates);
    }

    fn end(&mut self, verdict: Verdict, candidates: Vec<Candidate>) {
        let failed = self.failed.iter().enumerate();
        self.answer = Some(Answer {
            verdict,
            candidates,
            check: interval::of_mean(&self.check, self.design.error).map(Interval::exp),
            error: self.error(),
            trials: self.trials,
            failed: failed.filter_map(|(number, why)| Some((number, why.clone()?))).collect(),
        });
    }
}

const BLOCK: u64 = 3;

/// Runs a study to its end.
pub fn run(study: &mut Study, trials: &mut dyn Trials) -> Answer {
    loop {
        match study.ask() {
            Next::Done(answer) => return answer,
            Next::Trial(ask) => {
                let outcome = trials.run(&study.space, &ask);
                trials.keep(&Taken { ask, outcome: outcome.clone() });
                study.report(outcome);
            }
        }
    }
}

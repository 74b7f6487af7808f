//! Studies of a recorded table instead of a program: many per second, with a known truth. Owns how a
//! trial is drawn from the table, and the summary of many studies; refuses to read files.
//!
//! Rows of one repeat were measured one after the other: they are a block. A block of a study draws a
//! repeat, with replacement, so that the machine's condition at that time affects all its trials, and
//! blocks are independent. The truth about a configuration is the mean of its logarithms over all
//! repeats, which is the expected value of such draws.

use super::course::{self, Ask, Outcome, Study, Trials, Verdict};
use super::design::{Design, TooSmall};
use super::propose::Proposer;
use super::seed;
use super::space::Space;
use serde::Serialize;
use std::collections::BTreeMap;
use thiserror::Error;

/// A recorded measurement.
#[derive(Clone, PartialEq, Debug)]
pub struct Measurement {
    /// The configuration, as its words.
    pub configuration: String,
    /// Number of the repeat: rows of one repeat are a block.
    pub repeat: u64,
    /// The measured value.
    pub value: f64,
}

/// Why rows do not form a table.
#[derive(Clone, Eq, PartialEq, Debug, Error)]
#[allow(missing_docs)]
pub enum NoTable {
    #[error("it takes two repeats of each configuration")]
    FewRepeats,
    #[error("{0} does not stand in repeat {1} once")]
    NotOnce(String, u64),
    #[error("{0} in repeat {1} is no number above 0")]
    NoNumber(String, u64),
}

/// Measurements of every configuration in every repeat.
#[derive(Clone, Debug)]
pub struct ReplayTable {
    names: Vec<String>,
    /// Logarithms, by configuration, by repeat.
    cells: Vec<Vec<f64>>,
    /// What the trials of a repeat share, as a logarithm.
    shifts: Vec<f64>,
}

impl ReplayTable {
    /// A table of `rows`, with configurations in the order of their first rows.
    ///
    /// # Errors
    /// A configuration does not occur once in each repeat, or a value is not a valid measurement.
    pub fn new(rows: &[Measurement]) -> Result<ReplayTable, NoTable> {
        let mut names: Vec<String> = Vec::new();
        let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
        let mut found: BTreeMap<(usize, u64), f64> = BTreeMap::new();
        for Measurement { configuration, repeat, value } in rows {
            if !(value.is_finite() && *value > 0.0) {
                return Err(NoTable::NoNumber(configuration.clone(), *repeat));
            }
            let number = *numbers.entry(configuration).or_insert_with(|| {
                names.push(configuration.clone());
                names.len() - 1
            });
            if found.insert((number, *repeat), value.ln()).is_some() {
                return Err(NoTable::NotOnce(configuration.clone(), *repeat));
            }
        }
        let mut repeats: Vec<u64> = rows.iter().map(|row| row.repeat).collect();
        repeats.sort_unstable();
        repeats.dedup();
        if repeats.len() < 2 {
            return Err(NoTable::FewRepeats);
        }
        let cell = |number: usize, name: &String, repeat: &u64| {
            found.get(&(number, *repeat)).copied().ok_or_else(|| NoTable::NotOnce(name.clone(), *repeat))
        };
        let line = |(number, name): (usize, &String)| repeats.iter().map(|repeat| cell(number, name, repeat)).collect();
        let cells = names.iter().enumerate().map(line).collect::<Result<Vec<Vec<f64>>, NoTable>>()?;
        let means: Vec<f64> = cells.iter().map(|line| mean(line)).collect();
        let shift = |repeat: usize| {
            let rests = cells.iter().zip(&means).filter_map(|(line, mean)| Some(line.get(repeat)? - mean));
            rests.sum::<f64>() / cells.len() as f64
        };
        Ok(ReplayTable { shifts: (0..repeats.len()).map(shift).collect(), names, cells })
    }

    /// The configurations' words.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Number of repeats.
    pub fn repeats(&self) -> usize {
        self.shifts.len()
    }

    /// The configuration with the shortest name, the alphabetically first of several: the one whose flags
    /// say least.
    pub fn plainest(&self) -> usize {
        let key = |number: &usize| self.names.get(*number).map(|name| (name.len(), name));
        (0..self.names.len()).min_by_key(key).unwrap_or(0)
    }

    fn truth(&self, configuration: usize) -> f64 {
        self.cells.get(configuration).map_or(f64::NAN, |line| mean(line))
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// How a trial is drawn.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Draw {
    /// Take the row of the block's repeat. A configuration that occurs again in a block is drawn as under
    /// [`Draw::Rests`].
    Rows,
    /// Take what the block's repeat shares, plus the residual of a row of any repeat: this gives more
    /// distinct blocks than repeats, but loses any other similarity of rows of one repeat.
    Rests,
}

/// How to replay studies.
#[derive(Copy, Clone, Debug)]
pub struct Replay<'a> {
    /// The recorded table.
    pub table: &'a ReplayTable,
    /// The number of the default.
    pub default: usize,
    /// How trials are drawn.
    pub draw: Draw,
    /// Treat every configuration as the default under another name.
    pub same: bool,
}

/// The trials of one study.
struct DrawnTrials<'a> {
    replay: Replay<'a>,
    seed: u64,
}

const BLOCK: u64 = 4;
const REST: u64 = 5;
const STUDY: u64 = 6;

impl Trials for DrawnTrials<'_> {
    fn run(&mut self, _: &Space, ask: &Ask) -> Outcome {
        let Replay { table, default, draw, same } = self.replay;
        let repeats = table.repeats() as u64;
        let shared = seed::at(self.seed, &[BLOCK, ask.block as u64]).below(repeats) as usize;
        let rest = if draw == Draw::Rows && !same && !ask.again {
            shared
        } else {
            let place = [REST, ask.block as u64, ask.configuration as u64, u64::from(ask.again)];
            seed::at(self.seed, &place).below(repeats) as usize
        };
        let line = table.cells.get(if same { default } else { ask.configuration });
        let shift = |repeat: usize| table.shifts.get(repeat).copied().unwrap_or(0.0);
        match line.and_then(|line| line.get(rest)) {
            Some(cell) => Outcome::Measured((cell + shift(shared) - shift(rest)).exp()),
            None => Outcome::Failed("it is not in the table".to_owned()),
        }
    }
}

/// Quantiles of how much slower the recommended configuration is than the best, as a share.
#[derive(Copy, Clone, PartialEq, Debug, Serialize)]
pub struct Regret {
    /// Half of the studies stay within this.
    pub median: f64,
    /// Nine in ten studies stay within this.
    pub p90: f64,
}

/// A summary of many studies; shares are between 0 and 1.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Summary {
    /// How much slower the recommendation is than the table's best (the default counts if nothing is
    /// recommended): 0.02 is 2 %.
    pub regret: Regret,
    /// Share of the reported intervals that contain the truth; `None`: there was no interval.
    pub coverage: Option<f64>,
    /// Share of studies that recommend a gain whose interval lies above the truth.
    pub over_claims: f64,
    /// Share of studies that recommend a configuration.
    pub better: f64,
    /// Share of studies that find no difference.
    pub no_difference: f64,
    /// Share of studies with another end: too noisy, or nothing to run.
    pub refused: f64,
    /// Trials of the median study, under a name that differs from the budget's.
    #[serde(rename = "trials_taken")]
    pub trials: usize,
}

impl Replay<'_> {
    /// The space of the table.
    ///
    /// # Errors
    /// There is nothing to compare, or too much.
    pub fn space(&self) -> Result<Space, super::space::NoSpace> {
        Space::new(self.table.names.clone(), self.default)
    }

    /// The trials of study number `study`.
    pub fn trials(&self, seed: u64, study: u64) -> impl Trials + '_ {
        DrawnTrials { replay: *self, seed: own_seed(seed, study) }
    }

    /// Runs `studies` studies of `design`, each with its own seed.
    ///
    /// # Errors
    /// The budget is too small for one comparison.
    pub fn studies(
        &self,
        space: &Space,
        design: Design,
        studies: u64,
        proposer: &dyn Fn() -> Box<dyn Proposer>,
    ) -> Result<Summary, TooSmall> {
        let best = (0..space.len()).map(|number| self.table.truth(number)).fold(f64::INFINITY, f64::min);
        let mut tally = ReplayTally::default();
        for number in 0..studies {
            let own = Design { seed: own_seed(design.seed, number), ..design };
            let mut study = Study::new(space.clone(), own, proposer())?;
            let answer = course::run(&mut study, &mut self.trials(design.seed, number));
            let chosen = match answer.verdict {
                Verdict::Better(chosen) => chosen,
                _ => self.default,
            };
            tally.regrets.push(if self.same { 0.0 } else { (self.table.truth(chosen) - best).exp_m1() });
            tally.trials.push(answer.trials);
            tally.better += u64::from(matches!(answer.verdict, Verdict::Better(_)));
            tally.none += u64::from(answer.verdict == Verdict::NoDifference);
            if let Some((first, gain)) = answer.candidates.first().and_then(|first| Some((first, first.gain?))) {
                let truth = if self.same {
                    1.0
                } else {
                    (self.table.truth(self.default) - self.table.truth(first.configuration)).exp()
                };
                tally.intervals += 1;
                tally.held += u64::from(gain.holds(truth));
                tally.over += u64::from(gain.low > truth && matches!(answer.verdict, Verdict::Better(_)));
            }
        }
        Ok(tally.summary(studies))
    }
}

fn own_seed(seed: u64, study: u64) -> u64 {
    seed::at(seed, &[STUDY, study]).below(u64::MAX)
}

#[derive(Default)]
struct ReplayTally {
    regrets: Vec<f64>,
    trials: Vec<usize>,
    better: u64,
    none: u64,
    intervals: u64,
    held: u64,
    over: u64,
}

impl ReplayTally {
    fn summary(mut self, studies: u64) -> Summary {
        self.regrets.sort_by(f64::total_cmp);
        self.trials.sort_unstable();
        // The smallest value that this share of all does not exceed.
        let place = |share: f64| ((studies as f64 * share).ceil() as usize).saturating_sub(1);
        let regret = |share: f64| self.regrets.get(place(share)).copied().unwrap_or(0.0);
        let share = |count: u64| if studies == 0 { 0.0 } else { count as f64 / studies as f64 };
        Summary {
            regret: Regret { median: regret(0.5), p90: regret(0.9) },
            coverage: (self.intervals > 0).then(|| self.held as f64 / self.intervals as f64),
            over_claims: share(self.over),
            better: share(self.better),
            no_difference: share(self.none),
            refused: share(studies - self.better - self.none),
            trials: self.trials.get(place(0.5)).copied().unwrap_or(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::propose::{Believed, Shuffled};
    use super::*;

    /// Twelve configurations, of which `-B4 -A8m` is the fastest; blocks are slow or fast, and trials vary
    /// by a few percent.
    fn rows() -> Vec<Measurement> {
        let mut rows = Vec::new();
        for repeat in 0..8u64 {
            for (b, workers) in [1, 2, 4].into_iter().enumerate() {
                for (a, area) in ["1m", "2m", "4m", "8m"].into_iter().enumerate() {
                    let noise = seed::at(9, &[repeat, a as u64, b as u64]).below(1_000_000) as f64 / 1e7;
                    let shared = if repeat % 2 == 0 { 0.1 } else { 0.0 };
                    let value = (1.0 - 0.2 * a as f64 - 0.25 * b as f64 + noise + shared).exp();
                    rows.push(Measurement { configuration: format!("-B{workers} -A{area}"), repeat, value });
                }
            }
        }
        rows
    }

    #[test]
    fn a_table_is_complete() {
        let all = rows();
        let table = ReplayTable::new(&all).unwrap();
        assert_eq!((table.names().len(), table.repeats(), table.plainest()), (12, 8, 0));
        let gap = || NoTable::NotOnce("-B4 -A8m".to_owned(), 7);
        assert_eq!(ReplayTable::new(&all[..all.len() - 1]).unwrap_err(), gap());
        let twice: Vec<Measurement> = all.iter().chain(all.last()).cloned().collect();
        assert_eq!(ReplayTable::new(&twice).unwrap_err(), gap());
        assert_eq!(ReplayTable::new(&all[..12]).unwrap_err(), NoTable::FewRepeats);
        assert_eq!(ReplayTable::new(&[]).unwrap_err(), NoTable::FewRepeats);
        let mut bad = all;
        bad[0].value = 0.0;
        assert_eq!(ReplayTable::new(&bad).unwrap_err(), NoTable::NoNumber("-B1 -A1m".to_owned(), 0));
    }

    #[test]
    fn a_block_is_a_repeat() {
        let (table, all) = (ReplayTable::new(&rows()).unwrap(), rows());
        let replay = Replay { table: &table, default: 0, draw: Draw::Rows, same: false };
        let space = replay.space().unwrap();
        let mut trials = replay.trials(1, 0);
        for block in 0..20 {
            let mut repeats: Vec<u64> = Vec::new();
            for configuration in 0..12 {
                let ask = Ask { number: 0, stage: course::Stage::Fresh, block, configuration, again: false };
                let Outcome::Measured(value) = trials.run(&space, &ask) else { panic!("no value") };
                let name = space.name(configuration);
                let row = all.iter().find(|row| row.configuration == name && (row.value - value).abs() < 1e-9);
                repeats.push(row.unwrap().repeat);
            }
            assert!(repeats.windows(2).all(|pair| pair[0] == pair[1]), "{repeats:?}");
        }
    }

    #[test]
    fn studies_find_what_is_best_and_no_difference_where_there_is_none() {
        let table = ReplayTable::new(&rows()).unwrap();
        for draw in [Draw::Rows, Draw::Rests] {
            let replay = Replay { table: &table, default: 0, draw, same: false };
            let space = replay.space().unwrap();
            let made =
                |replay: &Replay<'_>| replay.studies(&space, Design::new(60, 1), 40, &|| Box::new(Believed)).unwrap();
            let found = made(&replay);
            assert!(found.regret.median < 0.01 && found.better == 1.0, "{found:?}");
            assert_eq!(found, made(&replay));
            let none = made(&Replay { same: true, ..replay });
            assert!(none.no_difference >= 0.95 && none.regret.p90 == 0.0, "{none:?}");
            let few = replay.studies(&space, Design::new(23, 1), 1, &|| Box::new(Shuffled));
            assert_eq!(few.unwrap_err().fewest, 24);
        }
    }
}

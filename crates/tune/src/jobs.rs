//! A study of a fixed list, distributed over machines: the unit is a block, the whole list on one
//! machine. Owns the content of a block and the conclusions from blocks; refuses to halve the list,
//! because machines would have to wait for each other.
//!
//! A configuration is compared with the default of its own block, so that differences between
//! machines affect both. The default appears twice in a block: its difference from itself is the
//! check. The blocks that choose the best configuration also measure its gain, so the intervals of
//! all configurations share the allowed error.

use crate::study::belief::Belief;
use crate::study::design::FRESH_FROM;
use crate::study::interval::{self, Interval, mean_of};
use crate::study::propose::{Known, Proposer, Sobol};
use crate::study::{Answer, Ask, Candidate, Design, Outcome, Row, Space, Stage, Taken, Verdict, clean, seed};
use std::collections::BTreeMap;

const BLOCK: u64 = 7;

/// The trials of block `index`, in order: the whole space, with the default twice.
pub fn block(space: &Space, design: &Design, index: u32) -> Vec<Ask> {
    let mut order: Vec<usize> = (0..space.len()).chain([space.default()]).collect();
    seed::at(design.seed, &[BLOCK, u64::from(index)]).shuffle(&mut order);
    let first = index as usize * order.len();
    let ask = |(place, configuration): (usize, &usize)| Ask {
        number: first + place,
        stage: Stage::Fresh,
        block: index as usize,
        configuration: *configuration,
        again: order.iter().take(place).any(|other| other == configuration),
    };
    order.iter().enumerate().map(ask).collect()
}

/// The trials of `asks` that still have to run after a kill; a stopped trial counts as not run.
pub fn left(asks: &[Ask], rows: &[Row]) -> Vec<Ask> {
    let taken = clean(rows);
    let done = |ask: &&Ask| taken.iter().any(|one| one.ask == **ask && !matches!(one.outcome, Outcome::Stopped(_)));
    asks.iter().filter(|ask| !done(ask)).copied().collect()
}

/// A list for blocks, as numbers of `space`: the default, then `keep`, then configurations spread
/// evenly over the space, up to `count` in all. It is the same on every machine.
pub fn list(space: &Space, keep: &[usize], count: usize, seed: u64) -> Vec<usize> {
    let mut listed = vec![space.default()];
    let mut open = space.others();
    let belief = Belief::new(space);
    let add = |listed: &mut Vec<usize>, open: &mut Vec<bool>, configuration: usize| {
        if let Some(one) = open.get_mut(configuration).filter(|one| **one) {
            *one = false;
            listed.push(configuration);
        }
    };
    keep.iter().for_each(|configuration| add(&mut listed, &mut open, *configuration));
    for proposed in 0..count.saturating_sub(listed.len()) {
        let known = Known { space, open: &open, tried: &[], belief: &belief, proposed, planned: count, seed };
        let Some(next) = Sobol.propose(&known) else { break };
        add(&mut listed, &mut open, next);
    }
    listed
}

/// The answer from the blocks that `rows` contains.
pub fn answer(space: &Space, design: &Design, rows: &[Row]) -> Answer {
    let taken = clean(rows);
    let (failed, fails) = failures(space, &taken);
    let blocks = blocks(&taken);
    let error = design.error / (space.len() - 1).max(1) as f64;
    let mut candidates: Vec<Candidate> = (0..space.len())
        .filter(|configuration| {
            *configuration != space.default() && !failed.iter().any(|(one, _)| one == configuration)
        })
        .map(|configuration| Candidate::of(configuration, &gains(space, &blocks, configuration), error))
        .collect();
    let mean = |one: &Candidate| one.gain.map_or(f64::NEG_INFINITY, |gain| gain.mean);
    candidates.sort_by(|one, other| mean(other).total_cmp(&mean(one)));
    let best = candidates.first().filter(|best| best.gain.is_some());
    let verdict = match (best, fails) {
        (Some(best), _) if best.is_better(design.zone) => Verdict::Better(best.configuration),
        (Some(_), _) => Verdict::NoDifference,
        (None, Some(why)) => Verdict::DefaultFails(why),
        (None, None) => {
            let pairs = candidates.iter().map(|one| one.pairs).max().unwrap_or(0);
            Verdict::Stopped(format!("there are {pairs} whole blocks, and a gain takes {FRESH_FROM}"))
        }
    };
    let check: Vec<f64> = blocks.values().filter_map(|block| twice(block, space.default())).collect();
    Answer {
        verdict,
        candidates,
        check: interval::of_mean(&check, design.error).map(Interval::exp),
        error,
        trials: taken.iter().filter(|one| !matches!(one.outcome, Outcome::Stopped(_))).count(),
        failed,
    }
}

/// Measured logarithms with their configurations, by block and in order.
type Blocks = BTreeMap<usize, Vec<(usize, f64)>>;

fn blocks(taken: &[Taken]) -> Blocks {
    let mut blocks = Blocks::new();
    for Taken { ask, outcome } in taken {
        if let Some(Ok(logarithm)) = outcome.logarithm() {
            blocks.entry(ask.block).or_default().push((ask.configuration, logarithm));
        }
    }
    blocks
}

/// Log ratio of the default's first trial in a block to its second.
fn twice(block: &[(usize, f64)], default: usize) -> Option<f64> {
    let mut values = block.iter().filter(|(other, _)| *other == default).map(|(_, value)| value);
    Some(values.next()? - values.next()?)
}

fn gains(space: &Space, blocks: &Blocks, configuration: usize) -> Vec<f64> {
    let gain = |block: &Vec<_>| Some(mean_of(block, space.default())? - mean_of(block, configuration)?);
    blocks.values().filter_map(gain).collect()
}

/// Configurations that failed anywhere, with the first reason, and why the default failed: a machine
/// on which the default fails only yields no pairs.
fn failures(space: &Space, taken: &[Taken]) -> (Vec<(usize, String)>, Option<String>) {
    let mut failed: BTreeMap<usize, String> = BTreeMap::new();
    for Taken { ask, outcome } in taken {
        if let Some(Err(why)) = outcome.logarithm() {
            failed.entry(ask.configuration).or_insert_with(|| why.to_owned());
        }
    }
    let default = failed.remove(&space.default());
    (failed.into_iter().collect(), default)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn space(count: usize) -> Space {
        Space::new((0..count).map(|i| format!("-A{}m", 1 << i)).collect(), 0).unwrap()
    }

    /// Blocks of machines that differ by a factor of two; configuration `i` gains `i` steps.
    fn rows(space: &Space, design: &Design, blocks: u32, step: f64) -> Vec<Row> {
        let run = |ask: Ask| {
            let noise = seed::at(5, &[ask.number as u64]).below(1_000) as f64 / 1e5;
            let machine = f64::from(ask.block as u32 % 3) * 0.5;
            let value = (machine + noise - step * ask.configuration as f64).exp();
            Row::new(Taken { ask, outcome: Outcome::Measured(value) })
        };
        (0..blocks).flat_map(|index| block(space, design, index)).map(run).collect()
    }

    #[test]
    fn a_block_has_everything_once_and_the_default_twice() {
        let (space, design) = (space(5), Design::new(60, 3));
        let made: Vec<Vec<Ask>> = (0..20).map(|index| block(&space, &design, index)).collect();
        for (index, asks) in made.iter().enumerate() {
            let mut all: Vec<usize> = asks.iter().map(|ask| ask.configuration).collect();
            all.sort_unstable();
            assert_eq!(all, [0, 0, 1, 2, 3, 4]);
            assert!(asks.iter().enumerate().all(|(place, ask)| ask.number == index * 6 + place && ask.block == index));
            assert_eq!(asks.iter().filter(|ask| ask.again).count(), 1);
        }
        let order = |asks: &[Ask]| asks.iter().map(|ask| ask.configuration).collect::<Vec<_>>();
        assert!(made.windows(2).any(|pair| order(&pair[0]) != order(&pair[1])));
        assert_eq!(made[7], block(&space, &design, 7));
    }

    #[test]
    fn a_block_that_was_killed_goes_on() {
        let (space, design) = (space(5), Design::new(60, 3));
        let (asks, mut done) = (block(&space, &design, 0), rows(&space, &design, 1, 0.0));
        done.truncate(4);
        done[2].dirty = true;
        done[3].taken.outcome = Outcome::Stopped("time is over".to_owned());
        let open: Vec<usize> = left(&asks, &done).iter().map(|ask| ask.number).collect();
        assert_eq!(open, [2, 3, 4, 5]);
        assert_eq!(left(&asks, &rows(&space, &design, 1, 0.0)), []);
    }

    #[test]
    fn pairs_are_of_one_machine() {
        let (space, design) = (space(5), Design::new(60, 3));
        let found = answer(&space, &design, &rows(&space, &design, 9, 0.1));
        assert_eq!(found.verdict, Verdict::Better(4));
        let best = &found.candidates[0];
        assert!(best.pairs == 9 && best.gain.unwrap().holds(0.4f64.exp()), "{best:?}");
        let check = found.check.unwrap();
        assert!(check.holds(1.0) && check.high < 1.02, "{check:?}");
        assert_eq!((found.trials, found.error, found.candidates.len()), (54, 0.0125, 4));
        let none = answer(&space, &design, &rows(&space, &design, 9, 0.01));
        assert_eq!(none.verdict, Verdict::NoDifference);
    }

    #[test]
    fn few_blocks_and_failures_are_reported() {
        let (space, design) = (space(3), Design::new(60, 3));
        let few = answer(&space, &design, &rows(&space, &design, 5, 0.1));
        assert_eq!(few.verdict, Verdict::Stopped("there are 5 whole blocks, and a gain takes 6".to_owned()));
        assert_eq!(answer(&space, &design, &[]).trials, 0);
        let mut some = rows(&space, &design, 8, 0.1);
        let failed = Outcome::Failed("it ends with 2".to_owned());
        let mut fail = |block: usize, configuration: usize| {
            let of = |row: &&mut Row| row.taken.ask.block == block && row.taken.ask.configuration == configuration;
            some.iter_mut().filter(of).for_each(|row| row.taken.outcome = failed.clone());
        };
        fail(3, 2);
        fail(4, 0);
        let found = answer(&space, &design, &some);
        assert_eq!((found.verdict, found.candidates[0].pairs), (Verdict::Better(1), 7));
        assert_eq!(found.failed, [(2, "it ends with 2".to_owned())]);
        some.iter_mut().for_each(|row| row.taken.outcome = failed.clone());
        assert_eq!(answer(&space, &design, &some).verdict, Verdict::DefaultFails("it ends with 2".to_owned()));
    }

    /// Choosing the best of many equal configurations is no gain.
    #[test]
    fn the_luckiest_of_many_is_not_recommended() {
        let (space, blocks) = (space(12), 8);
        let wrong = (0..200).filter(|seed| {
            let design = Design::new(200, *seed);
            let mut same = rows(&space, &design, blocks, 0.0);
            for row in &mut same {
                let noise = seed::at(*seed, &[row.taken.ask.number as u64]).below(1_000) as f64 / 1e3;
                row.taken.outcome = Outcome::Measured((noise * 0.3).exp());
            }
            matches!(answer(&space, &design, &same).verdict, Verdict::Better(_))
        });
        assert!(wrong.count() <= 10);
    }

    #[test]
    fn a_list_keeps_the_default_and_the_plan() {
        let space = space(10);
        let listed = list(&space, &[7, 7, 99], 5, 1);
        assert_eq!((listed.len(), &listed[..2], listed == list(&space, &[7], 5, 1)), (5, &[0, 7][..], true));
        assert_eq!(list(&space, &[], 99, 1).len(), 10);
    }
}

//! How many trials each stage of a study has. Owns the shares of a budget, the fewest trials that
//! support a conclusion, and when fresh blocks are evaluated; refuses a study below that.

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Fewest and most pairs in which the default is compared with itself.
pub const CHECK_PAIRS: std::ops::RangeInclusive<usize> = 5..=12;

/// Trials of the budget per pair.
const TRIALS_A_PAIR: usize = 15;

/// Fewest fresh blocks that support a gain.
pub const FRESH_FROM: usize = 6;

/// Configurations per block while each is tried once.
pub const BREADTH_BLOCK: usize = 12;

/// The parameters of a study.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Design {
    /// Trials in all stages together.
    pub trials: usize,
    /// Seed of all random choices.
    pub seed: u64,
    /// Gains below this share do not matter.
    pub zone: f64,
    /// Largest half-width of the interval of the default's comparison with itself.
    pub steady: f64,
    /// Number of candidates that fresh blocks decide between.
    pub candidates: usize,
    /// How often the reported interval may miss the truth, as a share.
    pub error: f64,
}

impl Design {
    /// The usual study with this number of trials: three candidates, 5 % do not matter, the default
    /// repeats itself within 10 %, intervals of 95 %.
    pub fn new(trials: usize, seed: u64) -> Design {
        Design { trials, seed, zone: 0.05, steady: 0.1, candidates: 3, error: 0.05 }
    }

    /// Checks that the budget allows one comparison.
    ///
    /// # Errors
    /// The budget is too small for it.
    pub fn check(&self) -> Result<(), TooSmall> {
        let fewest = 2 * CHECK_PAIRS.start() + 2 + 2 * FRESH_FROM;
        if self.trials < fewest { Err(TooSmall { trials: self.trials, fewest }) } else { Ok(()) }
    }

    /// Pairs after which the default's comparison with itself is first evaluated.
    pub fn pairs(&self) -> usize {
        (self.trials / TRIALS_A_PAIR).clamp(*CHECK_PAIRS.start(), *CHECK_PAIRS.end() - 2)
    }

    /// Divides the `left` trials for a space of `configurations`. `None`: too few for one comparison.
    pub fn shares(&self, left: usize, configurations: usize) -> Option<Shares> {
        let mut candidates = self.candidates.min(configurations).max(1);
        let fresh = |candidates: usize| (candidates + 1) * FRESH_FROM;
        while candidates > 1 && left < fresh(candidates) + 3 * candidates + 2 {
            candidates -= 1;
        }
        let most = left.checked_sub(fresh(candidates)).filter(|most| *most >= 2)?;
        let third = self.trials / 3 / (candidates + 1) * (candidates + 1);
        let search = most.min(left - third.min(left));
        // One block of all survivors, then blocks of half as many each, until few are left.
        let halving = search / 3;
        let all = configurations + configurations.div_ceil(BREADTH_BLOCK);
        let breadth = (search - halving).min(all).max(2);
        Some(Shares { candidates, breadth, halving })
    }

    /// The numbers of fresh blocks, of `blocks` in all, after which the intervals are evaluated; the last is `blocks`.
    pub fn looks(&self, blocks: usize) -> Vec<usize> {
        let doubled = std::iter::successors(Some(FRESH_FROM), |look| look.checked_mul(2));
        doubled.take_while(|look| look * 3 / 2 <= blocks).chain([blocks]).collect()
    }
}

/// Trials of the stages before the fresh blocks, which get the rest.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct Shares {
    /// Number of configurations to confirm.
    pub candidates: usize,
    /// Trials in which each configuration is tried once, including the default in each block.
    pub breadth: usize,
    /// Trials in which survivors are halved.
    pub halving: usize,
}

/// The number of configurations that halving can begin with, with one block per round.
pub fn survivors(halving: usize, candidates: usize, tried: usize) -> usize {
    let fits = |count: &usize| rounds(*count, candidates).iter().map(|count| count + 1).sum::<usize>() <= halving;
    (candidates..=tried.min(8 * candidates)).filter(fits).max().unwrap_or(candidates.min(tried))
}

/// The number of survivors in each round: halved until the candidates are left.
pub fn rounds(survivors: usize, candidates: usize) -> Vec<usize> {
    let mut rounds = Vec::new();
    let mut left = survivors;
    while left > candidates {
        rounds.push(left);
        left = left.div_ceil(2).max(candidates);
    }
    rounds
}

/// A budget too small for any conclusion.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Error)]
#[error("{trials} trials are too few for one comparison, which takes {fewest}")]
#[allow(missing_docs)]
pub struct TooSmall {
    pub trials: usize,
    pub fewest: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_without_one_comparison_is_refused() {
        assert_eq!(Design::new(23, 1).check(), Err(TooSmall { trials: 23, fewest: 24 }));
        assert_eq!(Design::new(24, 1).check(), Ok(()));
        let smallest = Design::new(24, 1).shares(14, 74).unwrap();
        assert_eq!((smallest.candidates, smallest.breadth), (1, 2));
        assert_eq!(Design::new(24, 1).shares(13, 74), None);
    }

    #[test]
    fn fresh_blocks_always_fit() {
        for trials in 24..400 {
            for configurations in [1, 2, 3, 9, 74, 500] {
                let design = Design::new(trials, 1);
                let left = trials - 2 * design.pairs();
                let shares = design.shares(left, configurations).unwrap();
                let fresh = left - shares.breadth - shares.halving;
                assert!(shares.candidates <= configurations.min(3));
                assert!(fresh / (shares.candidates + 1) >= FRESH_FROM, "{trials} {configurations} {shares:?}");
            }
        }
    }

    #[test]
    fn survivors_are_halved_within_their_trials() {
        assert_eq!((rounds(12, 3), rounds(3, 3), rounds(5, 1)), (vec![12, 6], vec![], vec![5, 3, 2]));
        for halving in 0..200 {
            let began = survivors(halving, 3, 40);
            let cost: usize = rounds(began, 3).iter().map(|count| count + 1).sum();
            assert!(cost <= halving && (3..=24).contains(&began), "{halving}: {began}");
        }
        assert_eq!(survivors(50, 3, 2), 2);
    }

    #[test]
    fn looks_are_few_and_end_at_the_end() {
        let design = Design::new(75, 1);
        assert_eq!(design.looks(6), [6]);
        assert_eq!(design.looks(8), [8]);
        assert_eq!(design.looks(30), [6, 12, 30]);
    }
}

//! Which configuration is tried next while many are tried once. Owns the ways to choose;
//! refuses to know what becomes of a choice but through what is [`Known`].

use super::belief::Belief;
use super::seed;
use super::space::Space;

/// What a proposer may look at.
pub struct Known<'a> {
    /// What there is.
    pub space: &'a Space,
    /// By configuration: whether it may be proposed. One that was, that failed, and the
    /// default may not.
    pub open: &'a [bool],
    /// What the trials so far say.
    pub belief: &'a Belief,
    /// How many were proposed.
    pub proposed: usize,
    /// How many will be in all.
    pub planned: usize,
    /// Of the study.
    pub seed: u64,
}

impl Known<'_> {
    fn open(&self) -> impl Iterator<Item = usize> + '_ {
        self.open.iter().enumerate().filter(|(_, open)| **open).map(|(configuration, _)| configuration)
    }
}

/// Chooses; the same `Known` gives the same choice.
pub trait Proposer {
    /// A configuration that is open; `None`: nothing else is worth a trial.
    fn propose(&self, known: &Known<'_>) -> Option<usize>;
}

/// Any of those that are left, each as likely.
#[derive(Copy, Clone, Debug)]
pub struct Shuffled;

impl Proposer for Shuffled {
    fn propose(&self, known: &Known<'_>) -> Option<usize> {
        let open: Vec<usize> = known.open().collect();
        let place = seed::at(known.seed, &[SHUFFLED, known.proposed as u64]).below(open.len() as u64);
        open.get(place as usize).copied()
    }
}

const SHUFFLED: u64 = 1;
const SPREAD: u64 = 2;

/// Evenly over all levels of all settings, by a sequence of low discrepancy (multiples of
/// powers of one irrational number, modulo 1: Kronecker's).
#[derive(Copy, Clone, Debug)]
pub struct Spread;

impl Proposer for Spread {
    fn propose(&self, known: &Known<'_>) -> Option<usize> {
        let settings = known.space.settings();
        let base = root(settings.len());
        let mut chance = seed::at(known.seed, &[SPREAD]);
        let mut step = 1.0;
        let wanted: Vec<usize> = settings
            .iter()
            .map(|setting| {
                step /= base;
                let start = chance.below(1 << 20) as f64 / f64::from(1 << 20);
                let point = (start + step * (known.proposed as f64 + 1.0)).fract();
                (point * setting.levels.len() as f64) as usize
            })
            .collect();
        let off = |configuration: usize| {
            known.space.point(configuration).iter().zip(&wanted).filter(|(level, wanted)| level != wanted).count()
        };
        known.open().min_by_key(|configuration| off(*configuration))
    }
}

/// The root above 1 of x^(n+1) = x + 1, whose powers are far from fractions.
fn root(settings: usize) -> f64 {
    let power = 1.0 / (settings as f64 + 1.0);
    (0..64).fold(2.0, |x: f64, _| (x + 1.0).powf(power))
}

/// First [`Spread`], then where the belief says that the best may be.
#[derive(Copy, Clone, Debug)]
pub struct Believed;

/// The part of the trials that is spread, as one of so many.
const SPREAD_OF: usize = 2;

/// How much what is not known counts against what is, in standard deviations.
const CURIOSITY: f64 = 0.7;

impl Proposer for Believed {
    fn propose(&self, known: &Known<'_>) -> Option<usize> {
        if known.proposed < known.planned / SPREAD_OF {
            return Spread.propose(known);
        }
        let hope = |configuration: usize| {
            known.belief.mean(configuration) - CURIOSITY * known.belief.doubt(configuration, known.space.default())
        };
        known.open().min_by(|one, other| hope(*one).total_cmp(&hope(*other)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn space() -> Space {
        let names = ["-N1", "-N2", "-N4"]
            .into_iter()
            .flat_map(|workers| ["-A1m", "-A4m", "-A16m", "-A64m"].map(|area| format!("{workers} {area}")));
        Space::new(names.collect(), 0).unwrap()
    }

    fn order(proposer: &dyn Proposer, seed: u64) -> Vec<usize> {
        let space = space();
        let mut belief = Belief::new(&space);
        belief.tell(0, 1.0);
        let mut open = vec![true; space.len()];
        open[0] = false;
        let mut order = Vec::new();
        loop {
            let known = Known { space: &space, open: &open, belief: &belief, proposed: order.len(), planned: 12, seed };
            let Some(next) = proposer.propose(&known) else { return order };
            assert!(open[next], "{next} again");
            open[next] = false;
            // Two workers and large areas are quick.
            let area = (next % 4) as f64;
            belief.tell(next, if next / 4 == 1 { 0.5 } else { 1.0 } - 0.1 * area);
            order.push(next);
        }
    }

    #[test]
    fn each_proposes_everything_once_in_an_order_of_its_seed() {
        for proposer in [&Shuffled as &dyn Proposer, &Spread, &Believed] {
            let first = order(proposer, 3);
            let mut sorted = first.clone();
            sorted.sort_unstable();
            assert_eq!((sorted, order(proposer, 3)), ((1..12).collect(), first.clone()));
            assert!((4..12).any(|seed| order(proposer, seed) != first));
        }
    }

    #[test]
    fn a_spread_meets_all_levels_early() {
        for seed in 1..20 {
            let early = order(&Spread, seed)[..6].to_vec();
            let workers: std::collections::BTreeSet<_> = early.iter().map(|next| next / 4).collect();
            let areas: std::collections::BTreeSet<_> = early.iter().map(|next| next % 4).collect();
            assert!(workers.len() == 3 && areas.len() >= 3, "seed {seed}: {early:?}");
        }
    }

    #[test]
    fn a_belief_finds_the_best_early() {
        let early = (1..40).filter(|seed| order(&Believed, *seed)[..8].contains(&7)).count();
        assert!(early >= 36, "{early} of 39");
    }
}

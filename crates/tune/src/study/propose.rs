//! Which configuration is tried next while many are tried once. Owns the algorithms; they learn about
//! earlier choices only through [`Known`].

mod tpe;

pub use tpe::Tpe;

use super::belief::Belief;
use super::seed;
use super::space::{Setting, Space};

/// What a proposer may use.
pub struct Known<'a> {
    /// The space to choose from.
    pub space: &'a Space,
    /// By configuration, whether it may be proposed: not if it was proposed before, if it failed, or if
    /// it is the default.
    pub open: &'a [bool],
    /// Configurations that were tried and did not fail, without the default.
    pub tried: &'a [usize],
    /// Estimates from the trials so far.
    pub belief: &'a Belief,
    /// Number of configurations proposed so far.
    pub proposed: usize,
    /// Number that will be proposed in all.
    pub planned: usize,
    /// Seed of the study.
    pub seed: u64,
}

impl Known<'_> {
    fn open(&self) -> impl Iterator<Item = usize> + '_ {
        self.open.iter().enumerate().filter(|(_, open)| **open).map(|(configuration, _)| configuration)
    }

    /// The open configuration that has most of these levels, one per setting.
    fn nearest(&self, levels: &[usize]) -> Option<usize> {
        let off = |configuration: usize| {
            self.space.point(configuration).iter().zip(levels).filter(|(level, wanted)| level != wanted).count()
        };
        self.open().min_by_key(|configuration| off(*configuration))
    }
}

/// An algorithm that proposes configurations; the same `Known` gives the same choice.
pub trait Proposer {
    /// An open configuration; `None`: nothing else is worth a trial.
    fn propose(&self, known: &Known<'_>) -> Option<usize>;
}

/// Picks any open configuration with equal probability.
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
const SOBOL: u64 = 2;

/// Covers all levels of all settings evenly, by a Sobol sequence.
#[derive(Copy, Clone, Debug)]
pub struct Sobol;

impl Proposer for Sobol {
    fn propose(&self, known: &Known<'_>) -> Option<usize> {
        let seed = seed::at(known.seed, &[SOBOL]).below(1 << 32) as u32;
        let sample = |dimension| sobol_burley::sample(known.proposed as u32 % SAMPLES, dimension, seed);
        let settings = known.space.settings().iter().zip((0..DIMENSIONS).cycle());
        let level = |(setting, dimension): (&Setting, u32)| (sample(dimension) * setting.levels.len() as f32) as usize;
        known.nearest(&settings.map(level).collect::<Vec<_>>())
    }
}

/// Length of the sequence.
const SAMPLES: u32 = 1 << 16;
const DIMENSIONS: u32 = 256;

/// First [`Sobol`], then where the belief expects the best.
#[derive(Copy, Clone, Debug)]
pub struct Believed;

/// One in this many of the trials is spread evenly.
const EVENLY_OF: usize = 2;

/// Weight of the uncertainty against the mean, in standard deviations.
const CURIOSITY: f64 = 0.7;

impl Proposer for Believed {
    fn propose(&self, known: &Known<'_>) -> Option<usize> {
        if known.proposed < known.planned / EVENLY_OF {
            return Sobol.propose(known);
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
        belief.observe(0, 1.0);
        let mut open = vec![true; space.len()];
        open[0] = false;
        let mut order = Vec::new();
        loop {
            let (tried, proposed) = (&order[..], order.len());
            let known = Known { space: &space, open: &open, tried, belief: &belief, proposed, planned: 12, seed };
            let Some(next) = proposer.propose(&known) else { return order };
            assert!(open[next], "{next} again");
            open[next] = false;
            // Two workers and large areas are fast.
            let area = (next % 4) as f64;
            belief.observe(next, if next / 4 == 1 { 0.5 } else { 1.0 } - 0.1 * area);
            order.push(next);
        }
    }

    #[test]
    fn each_proposes_everything_once_in_an_order_of_its_seed() {
        for proposer in [&Shuffled as &dyn Proposer, &Sobol, &Believed, &Tpe] {
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
            let early = order(&Sobol, seed)[..6].to_vec();
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

    #[test]
    fn what_the_best_have_in_common_is_proposed_more() {
        let names = (1..=6).flat_map(|workers| (0..10).map(move |area| format!("-N{workers} -A{}m", 1 << area)));
        let space = Space::new(names.collect(), 0).unwrap();
        // Two workers are fast, and so are large areas.
        let time = |configuration: usize| {
            let workers = if configuration / 10 == 1 { 0.5 } else { 1.0 };
            workers - 0.05 * (configuration % 10) as f64 + 0.1
        };
        let of_two = |proposer: &dyn Proposer, seed| {
            let mut belief = Belief::new(&space);
            let mut tried: Vec<usize> = (1..60).step_by(3).collect();
            tried.iter().for_each(|tried| belief.observe(*tried, time(*tried)));
            let mut open: Vec<bool> = (0..60).map(|number| number > 0 && !tried.contains(&number)).collect();
            for proposed in 20..26 {
                let known =
                    Known { space: &space, open: &open, tried: &tried, belief: &belief, proposed, planned: 40, seed };
                let next = proposer.propose(&known).unwrap();
                open[next] = false;
                belief.observe(next, time(next));
                tried.push(next);
            }
            tried[20..].iter().filter(|next| **next / 10 == 1).count()
        };
        let sum = |proposer: &dyn Proposer| (1..40).map(|seed| of_two(proposer, seed)).sum::<usize>();
        let (learnt, even) = (sum(&Tpe), sum(&Sobol));
        assert!(learnt > 2 * even, "{learnt} against {even}");
    }
}

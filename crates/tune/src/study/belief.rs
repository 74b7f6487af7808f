//! The estimates for all configurations after some trials, tried or not. Owns a normal distribution
//! over their logarithms (a Gaussian process over a finite space: Rasmussen and Williams 2006,
//! chapter 2); refuses to say how certain a gain is, because its prior is not evidence.

use super::space::Space;

/// Prior standard deviation of the level that all configurations share, as a logarithm: unrestricted.
const LEVEL: f64 = 10.0;

/// Prior standard deviation of one setting's own effect.
const ALONE: f64 = 0.25;

/// Prior standard deviation of effects that settings only have in combination.
const TOGETHER: f64 = 0.2;

/// For combined effects, the similarity of two configurations in a setting where they differ.
const UNLIKE: f64 = 0.5;

/// Standard deviation of what a block shares: a slow or fast spell of the machine.
const BLOCK: f64 = 0.1;

/// Standard deviation of one trial.
const NOISE: f64 = 0.12;

/// Outcomes more than this many standard deviations off get less weight.
const FAR: f64 = 2.5;

/// The distribution. Its last variable is what the present block shares.
#[derive(Clone, Debug)]
pub struct Belief {
    count: usize,
    mean: Vec<f64>,
    covariance: Vec<Vec<f64>>,
}

impl Belief {
    /// The prior, before any trial.
    pub fn new(space: &Space) -> Belief {
        let count = space.len();
        let alike = |one: usize, other: usize| {
            let (alone, together) = space
                .alike(one, other)
                .fold((0.0, 1.0), |(sum, product), alike| (sum + alike, product * (UNLIKE + (1.0 - UNLIKE) * alike)));
            LEVEL * LEVEL + ALONE * ALONE * alone + TOGETHER * TOGETHER * together
        };
        let row = |one: usize| {
            if one == count {
                return vec![0.0; count + 1];
            }
            (0..count).map(|other| alike(one, other)).chain([0.0]).collect()
        };
        let covariance = (0..=count).map(row).collect();
        let mut belief = Belief { count, mean: vec![0.0; count + 1], covariance };
        belief.open_block();
        belief
    }

    /// Drops what the last block shared, and begins a new block.
    pub fn open_block(&mut self) {
        for row in &mut self.covariance {
            if let Some(shared) = row.get_mut(self.count) {
                *shared = 0.0;
            }
        }
        if let Some(row) = self.covariance.get_mut(self.count) {
            row.fill(0.0);
            if let Some(own) = row.get_mut(self.count) {
                *own = BLOCK * BLOCK;
            }
        }
        if let Some(mean) = self.mean.get_mut(self.count) {
            *mean = 0.0;
        }
    }

    /// Adds a trial of `configuration` in the present block with the outcome `logarithm`.
    pub fn observe(&mut self, configuration: usize, logarithm: f64) {
        let at = |row: &Vec<f64>, index: usize| row.get(index).copied().unwrap_or(0.0);
        let gain: Vec<f64> = self.covariance.iter().map(|row| at(row, configuration) + at(row, self.count)).collect();
        let surprise = logarithm - at(&self.mean, configuration) - at(&self.mean, self.count);
        let known = at(&gain, configuration) + at(&gain, self.count);
        let mut spread = known + NOISE * NOISE;
        let far = surprise.abs() / spread.sqrt();
        if far > FAR {
            spread = known + NOISE * NOISE * (far / FAR) * (far / FAR);
        }
        for ((row, mean), gained) in self.covariance.iter_mut().zip(&mut self.mean).zip(&gain) {
            *mean += gained * surprise / spread;
            for (entry, other) in row.iter_mut().zip(&gain) {
                *entry -= gained * other / spread;
            }
        }
    }

    /// The mean of the logarithm; infinite if the number is no configuration.
    pub fn mean(&self, configuration: usize) -> f64 {
        self.mean.get(configuration).copied().filter(|_| configuration < self.count).unwrap_or(f64::INFINITY)
    }

    /// How much lower than `other`'s the logarithm of `configuration` may still be: the standard
    /// deviation of their difference.
    pub fn doubt(&self, configuration: usize, other: usize) -> f64 {
        self.sum(&[(configuration, 1.0), (other, -1.0)]).1
    }

    /// Mean and standard deviation of a weighted sum of logarithms.
    pub fn sum(&self, weights: &[(usize, f64)]) -> (f64, f64) {
        let of = |row: &Vec<f64>| -> f64 {
            weights.iter().filter_map(|(other, weight)| Some(row.get(*other)? * weight)).sum()
        };
        let one = |(number, weight): &(usize, f64)| self.covariance.get(*number).map_or(0.0, |row| of(row) * weight);
        (of(&self.mean), weights.iter().map(one).sum::<f64>().max(0.0).sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn space() -> Space {
        let names = ["-N1 -A1m", "-N1 -A2m", "-N1 -A64m", "-N2 -A1m", "-N2 -A2m", "-N2 -A64m"];
        Space::new(names.map(str::to_owned).into(), 0).unwrap()
    }

    #[test]
    fn trials_inform_similar_configurations() {
        let mut belief = Belief::new(&space());
        for (configuration, logarithm) in [(0, 3.0), (2, 2.7), (3, 2.8)] {
            belief.observe(configuration, logarithm);
        }
        assert!((belief.mean(0) - 3.0).abs() < 0.1, "{}", belief.mean(0));
        assert!(belief.mean(5) < belief.mean(2) && belief.mean(5) < belief.mean(3));
        assert!(belief.mean(1) > belief.mean(2));
        assert!(belief.doubt(2, 0) < belief.doubt(5, 0));
        assert_eq!((belief.mean(6), belief.mean(99)), (f64::INFINITY, f64::INFINITY));
    }

    #[test]
    fn a_slow_block_is_no_slow_configuration() {
        let difference_of = |slow: f64| {
            let mut belief = Belief::new(&space());
            for block in 0..6 {
                belief.open_block();
                let shift = if block % 2 == 0 { slow } else { 0.0 };
                belief.observe(0, 1.0 + shift);
                if block % 2 == 0 {
                    belief.observe(2, 1.0 + shift);
                } else {
                    belief.observe(5, 1.0 + shift);
                }
            }
            belief.mean(2) - belief.mean(5)
        };
        // Six blocks settle most of it, but not all.
        assert!(difference_of(0.1) < 0.07, "{}", difference_of(0.1));
    }

    #[test]
    fn one_odd_trial_counts_less() {
        let after = |odd: f64| {
            let mut belief = Belief::new(&space());
            for logarithm in [1.0, 1.0, 1.0, odd] {
                belief.open_block();
                belief.observe(0, 1.0);
                belief.observe(2, logarithm);
            }
            belief.mean(2)
        };
        assert!(after(3.0) - after(1.0) < 0.3, "{}", after(3.0) - after(1.0));
        assert!(after(1.2) > after(1.0));
    }
}

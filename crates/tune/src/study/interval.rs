//! Intervals of a mean from few differences. Owns Student's interval, and how several looks and
//! several candidates share the allowed error; refuses an interval of fewer than two values.

use serde::{Deserialize, Serialize};

/// An estimate and its interval.
#[derive(Copy, Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Interval {
    /// Lower end of the interval.
    pub low: f64,
    /// The estimated mean.
    pub mean: f64,
    /// Upper end of the interval.
    pub high: f64,
}

impl Interval {
    /// Converts an interval of logarithms to one of ratios.
    pub fn exp(self) -> Interval {
        Interval { low: self.low.exp(), mean: self.mean.exp(), high: self.high.exp() }
    }

    /// Whether `value` lies between the ends.
    pub fn holds(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }
}

/// The two-sided interval of the mean of `values` that is wrong in `error` of all cases; `None` for
/// fewer than two values.
pub fn of_mean(values: &[f64], error: f64) -> Option<Interval> {
    let freedom = values.len().checked_sub(1).filter(|freedom| *freedom > 0)?;
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    around(mean, (squares / freedom as f64 / count).sqrt(), freedom, error)
}

/// A configuration's mean logarithm in a block.
pub(crate) fn mean_of(block: &[(usize, f64)], configuration: usize) -> Option<f64> {
    let own = block.iter().filter(|(other, _)| *other == configuration).map(|(_, value)| *value);
    let (sum, count) = own.fold((0.0, 0usize), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / count as f64)
}

/// The interval around an estimate with this standard error and this many degrees of freedom; `None`
/// for 0.
pub fn around(mean: f64, standard_error: f64, freedom: usize, error: f64) -> Option<Interval> {
    let half = (freedom > 0).then(|| quantile(1.0 - error, freedom) * standard_error)?;
    Some(Interval { low: mean - half, mean, high: mean + half })
}

/// The `t` for which Student's distribution has `share` between -t and t.
fn quantile(share: f64, freedom: usize) -> f64 {
    let (mut low, mut high) = (0.0, 1e6);
    for _ in 0..100 {
        let middle = f64::midpoint(low, high);
        if within(middle, freedom) < share { low = middle } else { high = middle }
    }
    high
}

/// The share of Student's distribution between -t and t (Abramowitz and Stegun, 26.7.3 and 4).
fn within(t: f64, freedom: usize) -> f64 {
    let angle = (t / (freedom as f64).sqrt()).atan();
    let square = angle.cos() * angle.cos();
    let odd = freedom % 2 == 1;
    let (mut term, mut sum) = if odd { (angle.cos(), 0.0) } else { (1.0, 0.0) };
    let mut step = if odd { 3 } else { 2 };
    for _ in 0..freedom / 2 {
        sum += term;
        term *= square * (step - 1) as f64 / step as f64;
        step += 2;
    }
    if odd { (angle + angle.sin() * sum) * std::f64::consts::FRAC_2_PI } else { angle.sin() * sum }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rtscope_model::chance::Chance;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (freedom, share, known) in [
            (1, 0.95, 12.706),
            (2, 0.95, 4.303),
            (5, 0.95, 2.571),
            (9, 0.95, 2.262),
            (5, 0.99, 4.032),
            (120, 0.95, 1.980),
        ] {
            let found = quantile(share, freedom);
            assert!((found - known).abs() < 0.001, "{freedom} {share}: {found}");
        }
    }

    #[test]
    fn few_values_have_no_interval() {
        assert_eq!((of_mean(&[], 0.05), of_mean(&[1.0], 0.05)), (None, None));
        let same = of_mean(&[2.0, 2.0], 0.05).unwrap();
        assert_eq!((same.low, same.mean, same.high), (2.0, 2.0, 2.0));
        let found = of_mean(&[1.0, 2.0, 3.0], 0.05).unwrap();
        assert!((found.high - 2.0 - 4.303 / 3f64.sqrt()).abs() < 0.001, "{found:?}");
        assert!(found.holds(2.0) && !found.holds(9.0));
    }

    #[test]
    fn it_errs_as_often_as_stated() {
        let mut chance = Chance::new(5);
        let mut uniform = || chance.below(1 << 30) as f64 / (1u64 << 30) as f64;
        let held = (0..1_000)
            .filter(|_| {
                let values: Vec<f64> = (0..8).map(|_| uniform() + uniform() + uniform()).collect();
                of_mean(&values, 0.05).unwrap().holds(1.5)
            })
            .count();
        assert!((930..=970).contains(&held), "{held} of 1000");
    }
}

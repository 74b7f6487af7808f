//! Medians of few measurements, with intervals. Owns the arithmetic; refuses an interval if there are
//! too few runs for one.

use rtscope_model::chance::Chance;
use serde::Serialize;

/// Fewest values for which a median has an interval: the median lies between the smallest and the
/// largest of six values in 1 - 2 * 0.5^6 = 97 of 100 cases, of five in 94.
pub const INTERVAL_FROM: usize = 6;

/// Number of resampled medians.
const RESAMPLES: usize = 4_000;

/// A median and its interval.
#[derive(Copy, Clone, Debug, PartialEq, Serialize)]
pub struct Median {
    /// The median of the measured values.
    pub median: f64,
    /// The ends of the 95 % interval; `None`: fewer than [`INTERVAL_FROM`] values.
    pub interval: Option<(f64, f64)>,
}

/// The median; `None` for no values, or if a value is not a number.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    of(&mut sorted)
}

fn of(values: &mut [f64]) -> Option<f64> {
    if values.iter().any(|value| value.is_nan()) {
        return None;
    }
    values.sort_unstable_by(f64::total_cmp);
    let (high, low) = (values.get(values.len() / 2)?, values.get((values.len() - 1) / 2)?);
    Some(low + (high - low) / 2.0)
}

/// The median with its percentile bootstrap interval (Efron 1979), which `seed` determines.
pub fn bootstrap(values: &[f64], seed: u64) -> Option<Median> {
    let median = median(values)?;
    if values.len() < INTERVAL_FROM {
        return Some(Median { median, interval: None });
    }
    let mut chance = Chance::new(seed);
    let mut sample = Vec::with_capacity(values.len());
    let mut draw = || {
        sample.clear();
        sample.extend(values.iter().filter_map(|_| values.get(chance.below(values.len() as u64) as usize)));
        of(&mut sample)
    };
    let mut medians: Vec<f64> = (0..RESAMPLES).filter_map(|_| draw()).collect();
    medians.sort_unstable_by(f64::total_cmp);
    let at = |share: f64| medians.get((medians.len().saturating_sub(1) as f64 * share) as usize).copied();
    Some(Median { median, interval: at(0.025).zip(at(0.975)) })
}

/// The centre of differences with a symmetric distribution: lower end, the median of the means of all
/// pairs, upper end (Hodges and Lehmann 1963; the ends are those that Wilcoxon's test does not reject
/// in 95 of 100 cases). One outlier in thirty measurements does not harm it. `None` for fewer than
/// [`INTERVAL_FROM`] values, or if one is not a number.
pub fn centre(values: &[f64]) -> Option<(f64, f64, f64)> {
    let count = values.len();
    if count < INTERVAL_FROM {
        return None;
    }
    let means = |(index, one): (usize, &f64)| {
        let one = *one;
        values.iter().skip(index).map(move |other| one + (other - one) / 2.0)
    };
    let mut means: Vec<f64> = values.iter().enumerate().flat_map(means).collect();
    let middle = of(&mut means)?;
    let count = count as f64;
    let expected = count * (count + 1.0) / 4.0;
    let deviation = (count * (count + 1.0) * (2.0 * count + 1.0) / 24.0).sqrt();
    let beyond = (expected - 1.96 * deviation - 0.5).max(0.0) as usize;
    Some((*means.get(beyond)?, middle, *means.get(means.len().checked_sub(1 + beyond)?)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_that_is_far_off_does_not_move_the_centre() {
        assert_eq!(centre(&[1.0; 5]), None);
        assert_eq!(centre(&[f64::NAN; 9]), None);
        // Of six values, the range without the smallest and the largest holds it in fewer than 95 of 100 cases.
        assert_eq!(centre(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), Some((1.0, 3.5, 6.0)));
        let mut values: Vec<f64> = (0..30).map(f64::from).collect();
        let (low, middle, high) = centre(&values).unwrap();
        assert!((middle - 14.5).abs() < 1e-9 && low > 10.0 && high < 19.0, "{low} {high}");
        assert!((low + high - 29.0).abs() < 1e-9);
        values[29] = 1e9;
        let (_, with, far) = centre(&values).unwrap();
        assert!((with - 14.5).abs() <= 0.5 && far < 20.0, "{with} {far}");
    }

    #[test]
    fn its_interval_holds_the_truth_as_often_as_stated() {
        let mut chance = Chance::new(7);
        let mut normal = || (0..12).map(|_| chance.below(1 << 20) as f64 / f64::from(1 << 20)).sum::<f64>() - 6.0;
        let held = (0..2_000).filter(|_| {
            let values: Vec<f64> = (0..30).map(|_| normal()).collect();
            centre(&values).is_some_and(|(low, _, high)| low <= 0.0 && 0.0 <= high)
        });
        let share = held.count() as f64 / 2_000.0;
        assert!((0.935..=0.97).contains(&share), "{share}");
    }

    #[test]
    fn medians() {
        assert_eq!((median(&[]), median(&[f64::NAN, 1.0])), (None, None));
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
    }

    #[test]
    fn the_interval_holds_the_median_and_narrows_with_the_spread() {
        let of = |scale: f64| (0..31).map(|i| 1.0 + f64::from(i - 15) * scale).collect::<Vec<_>>();
        let width = |values: &[f64]| {
            let found = bootstrap(values, 7).unwrap();
            let (low, high) = found.interval.unwrap();
            assert!(low < found.median && found.median < high, "{found:?}");
            high - low
        };
        assert!(width(&of(0.001)) < width(&of(0.01)));
        assert_eq!(bootstrap(&of(0.01), 7), bootstrap(&of(0.01), 7));
    }

    #[test]
    fn few_values_have_no_interval() {
        assert_eq!(bootstrap(&[1.0; 5], 1), Some(Median { median: 1.0, interval: None }));
        assert_eq!(bootstrap(&[1.0; 6], 1), Some(Median { median: 1.0, interval: Some((1.0, 1.0)) }));
        assert_eq!(bootstrap(&[], 1), None);
    }

    /// Over many series with a known median, the interval contains it in about 95 of 100.
    #[test]
    fn the_interval_is_as_wide_as_stated() {
        let mut chance = Chance::new(11);
        let mut uniform = || chance.below(1 << 30) as f64 / (1u64 << 30) as f64;
        let held = (0..400)
            .filter(|seed| {
                let values: Vec<f64> = (0..12).map(|_| uniform()).collect();
                let (low, high) = bootstrap(&values, *seed).unwrap().interval.unwrap();
                low <= 0.5 && 0.5 <= high
            })
            .count();
        assert!((360..=396).contains(&held), "{held} of 400");
    }
}

//! Medians and their bootstrap intervals, with a fixed seed: the same figures give the same interval. Owns
//! the arithmetic of benchmarks.

/// A median with its 95 % interval.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Interval {
    /// The median of the values.
    pub median: f64,
    /// 2.5 % quantile of resampled medians.
    pub low: f64,
    /// 97.5 % quantile of resampled medians.
    pub high: f64,
}

impl std::fmt::Display for Interval {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.4} [{:.4}, {:.4}]", self.median, self.low, self.high)
    }
}

/// The median; 0 for no values.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match (sorted.get(sorted.len() / 2), sorted.get(sorted.len().saturating_sub(1) / 2)) {
        (Some(high), Some(low)) => (high + low) / 2.0,
        _ => 0.0,
    }
}

/// The median and its percentile bootstrap interval (Efron 1979), 4000 resamples.
pub fn bootstrap(values: &[f64]) -> Interval {
    const RESAMPLES: usize = 4000;
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut medians: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            let sample: Vec<f64> =
                values.iter().map(|_| values[(random(&mut state) % values.len() as u64) as usize]).collect();
            median(&sample)
        })
        .collect();
    medians.sort_by(f64::total_cmp);
    let at = |share: f64| medians[((RESAMPLES - 1) as f64 * share) as usize];
    Interval { median: median(values), low: at(0.025), high: at(0.975) }
}

/// The median of the ratios, pair by pair.
pub fn ratio(over: &[f64], under: &[f64]) -> Interval {
    let ratios: Vec<f64> = over.iter().zip(under).map(|(a, b)| a / b).collect();
    bootstrap(&ratios)
}

/// Shuffles `items` in an order that `seed` determines (Fisher and Yates).
pub fn shuffle<T>(items: &mut [T], seed: u64) {
    let mut state = seed.max(1);
    for last in (1..items.len()).rev() {
        items.swap(last, (random(&mut state) % (last as u64 + 1)) as usize);
    }
}

/// The next random number (xorshift64*); the state must not be 0.
pub fn random(state: &mut u64) -> u64 {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        assert_eq!(median(&[]), 0.0);
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
    }

    #[test]
    fn the_interval_holds_the_median_and_narrows_with_the_spread() {
        let wide: Vec<f64> = (0..31).map(|i| 1.0 + f64::from(i - 15) / 100.0).collect();
        let narrow: Vec<f64> = (0..31).map(|i| 1.0 + f64::from(i - 15) / 1000.0).collect();
        let (wide, narrow) = (bootstrap(&wide), bootstrap(&narrow));
        assert_eq!(wide.median, 1.0);
        assert!(wide.low < 1.0 && wide.high > 1.0 && narrow.high - narrow.low < wide.high - wide.low);
        assert_eq!(ratio(&[2.0, 4.0], &[1.0, 2.0]), Interval { median: 2.0, low: 2.0, high: 2.0 });
    }
}

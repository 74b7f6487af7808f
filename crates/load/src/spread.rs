//! The distribution of times: a histogram of nanoseconds to three digits, and its figures. Owns the
//! bounds and the interval of a quantile; refuses to know what was timed.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// Longer times (a day) count as this.
const HIGHEST_NS: u64 = 86_400_000_000_000;

/// Half a 95 % interval, in standard deviations.
const Z: f64 = 1.96;

/// A histogram under construction.
#[derive(Clone, Debug)]
pub(crate) struct Spread {
    /// `None` only if the bounds were invalid, which they are not.
    histogram: Option<Histogram<u64>>,
}

impl Default for Spread {
    fn default() -> Spread {
        let mut histogram = Histogram::new(3).ok();
        if let Some(histogram) = &mut histogram {
            histogram.auto(true);
        }
        Spread { histogram }
    }
}

/// Number of times and their figures; null if there are none.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct SpreadFigures {
    pub count: u64,
    pub min_ns: Option<u64>,
    pub mean_ns: Option<f64>,
    pub p50_ns: Option<u64>,
    pub p90_ns: Option<u64>,
    pub p99_ns: Option<u64>,
    /// 95 % interval of `p99_ns` by ranks, as if requests were independent; null if there are too few.
    pub p99_interval_ns: Option<[u64; 2]>,
    /// 999 of 1,000 took no longer.
    pub p999_ns: Option<u64>,
    pub max_ns: Option<u64>,
}

impl Spread {
    pub(crate) fn add(&mut self, ns: u64) {
        if let Some(histogram) = &mut self.histogram {
            // Cannot fail: the value is bounded and the histogram grows.
            let _ = histogram.record(ns.min(HIGHEST_NS));
        }
    }

    pub(crate) fn merge(&mut self, other: &Spread) {
        if let (Some(histogram), Some(other)) = (&mut self.histogram, &other.histogram) {
            // Cannot fail for the same reason.
            let _ = histogram.add(other);
        }
    }

    pub(crate) fn count(&self) -> u64 {
        self.histogram.as_ref().map_or(0, Histogram::len)
    }

    /// The value that this share (0 to 1) does not exceed; `None` if there are none.
    pub(crate) fn quantile(&self, share: f64) -> Option<u64> {
        let histogram = self.histogram.as_ref().filter(|histogram| !histogram.is_empty())?;
        Some(histogram.value_at_quantile(share))
    }

    pub(crate) fn max(&self) -> Option<u64> {
        let histogram = self.histogram.as_ref().filter(|histogram| !histogram.is_empty())?;
        Some(histogram.max())
    }

    /// Quantiles for a plot: shares ever closer to 1, ten for each nine, as far as the count supports them.
    pub(crate) fn curve(&self) -> Vec<(f64, u64)> {
        let steps = (self.count() as f64).log10() * 10.0;
        let share = |step: u32| 1.0 - 10f64.powf(-f64::from(step) / 10.0);
        let point = |step: u32| Some((share(step), self.quantile(share(step))?));
        (0..=steps.clamp(0.0, 200.0) as u32).filter_map(point).collect()
    }

    /// 95 % interval of a quantile by the binomial spread of its rank.
    fn interval(&self, share: f64) -> Option<[u64; 2]> {
        let count = self.count() as f64;
        let off = Z * (share * (1.0 - share) / count).sqrt();
        let (low, high) = (share - off, share + off);
        if !(low > 0.0 && high < 1.0) {
            return None;
        }
        Some([self.quantile(low)?, self.quantile(high)?])
    }

    pub(crate) fn figures(&self) -> SpreadFigures {
        let Some(histogram) = self.histogram.as_ref().filter(|histogram| !histogram.is_empty()) else {
            return SpreadFigures::default();
        };
        SpreadFigures {
            count: histogram.len(),
            min_ns: Some(histogram.min()),
            mean_ns: Some(histogram.mean()),
            p50_ns: self.quantile(0.5),
            p90_ns: self.quantile(0.9),
            p99_ns: self.quantile(0.99),
            p99_interval_ns: self.interval(0.99),
            p999_ns: self.quantile(0.999),
            max_ns: self.max(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(value: Option<u64>, expected: f64) -> bool {
        value.is_some_and(|value| (value as f64 / expected - 1.0).abs() < 2e-3)
    }

    #[test]
    fn quantiles_are_exact_to_three_digits() {
        let (mut even, mut odd) = (Spread::default(), Spread::default());
        for ns in 1..=100_000_u64 {
            if ns % 2 == 0 { even.add(ns * 1000) } else { odd.add(ns * 1000) }
        }
        even.merge(&odd);
        let figures = even.figures();
        assert_eq!(figures.count, 100_000);
        assert!(near(figures.p50_ns, 5e7) && near(figures.p99_ns, 9.9e7) && near(figures.max_ns, 1e8));
        let [low, high] = figures.p99_interval_ns.unwrap();
        // 1.96 * sqrt(0.99 * 0.01 / 100,000) is 0.06 % of the ranks on either side.
        assert!(near(Some(low), 9.894e7) && near(Some(high), 9.906e7), "{low} {high}");
    }

    #[test]
    fn the_curve_rises_as_far_as_there_are_requests() {
        let mut spread = Spread::default();
        assert!(spread.curve().is_empty());
        (1..=1_000_u64).for_each(|ns| spread.add(ns * 1000));
        let curve = spread.curve();
        assert_eq!(curve.len(), 31);
        assert!(curve.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1));
        assert!(near(curve.last().map(|point| point.1), 999_000.0), "{curve:?}");
    }

    #[test]
    fn few_have_no_interval_and_none_have_no_figure() {
        let mut spread = Spread::default();
        assert_eq!(spread.figures(), SpreadFigures::default());
        spread.add(u64::MAX);
        spread.add(0);
        let figures = spread.figures();
        assert_eq!((figures.count, figures.min_ns, figures.p99_interval_ns), (2, Some(0), None));
        assert!(near(figures.max_ns, HIGHEST_NS as f64));
    }
}

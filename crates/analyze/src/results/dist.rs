//! A distribution of durations in bounded memory. Quantiles have three digits (hdrhistogram), or two where there may
//! be very many distributions; count, sum, minimum and maximum are exact.

use super::Distribution;
use hdrhistogram::Histogram;

/// Longer durations (a day) count as this in quantiles.
const HIGHEST_NS: u64 = 86_400_000_000_000;

/// Precision of quantiles.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Default)]
pub enum Quantiles {
    /// To three digits.
    #[default]
    Fine,
    /// To two digits, in an eighth of the memory.
    Coarse,
    /// No quantiles: only sums are needed.
    Unknown,
}

/// A distribution that grows.
#[derive(Default)]
pub struct Dist {
    histogram: Option<Histogram<u64>>,
    count: u64,
    /// Exact sum, nanoseconds.
    pub sum: u64,
    min: Option<u64>,
    max: Option<u64>,
    quantiles: Quantiles,
}

impl Dist {
    /// A distribution with quantiles of this precision.
    pub fn with(quantiles: Quantiles) -> Dist {
        Dist { quantiles, ..Dist::default() }
    }

    pub fn add(&mut self, ns: u64) {
        self.count += 1;
        self.sum = self.sum.saturating_add(ns);
        self.min = Some(self.min.map_or(ns, |min| min.min(ns)));
        self.max = Some(self.max.map_or(ns, |max| max.max(ns)));
        if let Some(histogram) = self.histogram() {
            // Cannot fail: the value is bounded and the histogram grows.
            let _ = histogram.record(ns.min(HIGHEST_NS));
        }
    }

    pub fn merge(&mut self, other: &Dist) {
        self.count += other.count;
        self.sum = self.sum.saturating_add(other.sum);
        self.min = [self.min, other.min].into_iter().flatten().min();
        self.max = self.max.max(other.max);
        let Some(more) = &other.histogram else { return };
        if let Some(histogram) = self.histogram() {
            // Cannot fail: values are bounded and the histogram grows.
            let _ = histogram.add(more);
        }
    }

    /// The histogram, which resizes itself.
    fn histogram(&mut self) -> Option<&mut Histogram<u64>> {
        if self.histogram.is_none() {
            let digits = match self.quantiles {
                Quantiles::Fine => 3,
                Quantiles::Coarse => 2,
                Quantiles::Unknown => return None,
            };
            self.histogram = Histogram::new(digits).ok();
            self.histogram.iter_mut().for_each(|histogram| histogram.auto(true));
        }
        self.histogram.as_mut()
    }

    /// The values for a report. Quantiles stay within the exact extremes.
    pub fn values(&self) -> Distribution {
        let quantile = |q: f64| {
            let value = self.histogram.as_ref()?.value_at_quantile(q);
            Some(value.clamp(self.min?, self.max?))
        };
        Distribution {
            count: self.count,
            sum: (self.count > 0).then_some(self.sum),
            mean: (self.count > 0).then(|| self.sum as f64 / self.count as f64),
            min: self.min,
            p50: quantile(0.5),
            p90: quantile(0.9),
            p99: quantile(0.99),
            p999: quantile(0.999),
            max: self.max,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_and_ends_are_exact_and_quantiles_close() {
        let mut dist = Dist::default();
        (1..=100_000u64).for_each(|ns| dist.add(ns * 1_000 + 7));
        let values = dist.values();
        assert_eq!((values.min, values.max), (Some(1_007), Some(100_000_007)));
        assert_eq!(values.sum, Some((1..=100_000u64).map(|ns| ns * 1_000 + 7).sum::<u64>()));
        let p99 = values.p99.unwrap() as f64;
        assert!((p99 / 99_000_007.0 - 1.0).abs() < 0.001, "{p99}");
    }

    #[test]
    fn a_coarse_one_has_quantiles_to_two_digits() {
        let mut dist = Dist::with(Quantiles::Coarse);
        (1..=100_000u64).for_each(|ns| dist.add(ns * 1_000 + 7));
        let values = dist.values();
        let p99 = values.p99.unwrap() as f64;
        assert!((p99 / 99_000_007.0 - 1.0).abs() < 0.01, "{p99}");
        assert_eq!(values.max, Some(100_000_007));
    }

    #[test]
    fn sums_need_no_quantiles() {
        let mut dist = Dist::with(Quantiles::Unknown);
        [3, 5].into_iter().for_each(|ns| dist.add(ns));
        let mut sum = Dist::with(Quantiles::Unknown);
        sum.merge(&dist);
        let values = sum.values();
        assert_eq!((values.count, values.sum, values.max, values.p50), (2, Some(8), Some(5), None));
    }

    #[test]
    fn nothing_is_null_not_zero() {
        let values = Dist::default().values();
        assert_eq!((values.count, values.p50, values.min, values.mean), (0, None, None, None));
    }

    #[test]
    fn any_value_is_taken() {
        let mut dist = Dist::default();
        [0, 1, u64::MAX, u64::MAX].iter().for_each(|ns| dist.add(*ns));
        assert_eq!(dist.values().max, Some(u64::MAX));
    }
}

//! What few looks say about all time. Owns the bounds, two standard deviations wide (Wilson's); refuses to know what
//! was seen.

/// Upper bound of the true share, given this share of `looks`.
pub(super) fn at_most(share: f64, looks: u64) -> f64 {
    let (middle, off, whole) = interval(share, looks);
    (middle + off) / whole
}

/// Lower bound of the true share; 0 without looks.
pub(super) fn at_least(share: f64, looks: u64) -> f64 {
    let (middle, off, whole) = interval(share, looks);
    ((middle - off) / whole).max(0.0)
}

fn interval(share: f64, looks: u64) -> (f64, f64, f64) {
    let each = 1.0 / looks.max(1) as f64;
    let off = (share * (1.0 - share) * each + each * each).sqrt();
    (share + 2.0 * each, 2.0 * off, 1.0 + 4.0 * each)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_looks_may_have_missed_something() {
        assert!((at_most(0.0, 12) - 0.25).abs() < 1e-9, "{}", at_most(0.0, 12));
        assert!(at_most(0.0, 1_000) < 0.005 && at_most(0.6, 10) > 0.8);
        assert!((at_most(1.0, 7) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn few_looks_may_have_met_something_by_chance() {
        assert!((at_least(1.0, 4) - 0.5).abs() < 1e-9, "{}", at_least(1.0, 4));
        assert!((at_least(1.0, 1) - 0.2).abs() < 1e-9 && at_least(0.0, 9).abs() < 1e-9);
        assert!(at_least(0.5, 10_000) > 0.49 && at_least(0.25, 4) < 0.06);
    }
}

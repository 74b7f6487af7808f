//! A bounded sample of many values, spread over all of them: every value, then every second, then every fourth. Owns
//! that thinning.

/// Up to `MAX` of the values offered.
pub struct Thinned<T, const MAX: usize> {
    kept: Vec<T>,
    step: u64,
    seen: u64,
}

impl<T, const MAX: usize> Default for Thinned<T, MAX> {
    fn default() -> Self {
        Thinned { kept: Vec::new(), step: 1, seen: 0 }
    }
}

impl<T, const MAX: usize> Thinned<T, MAX> {
    /// Offers a value; `make` runs only if the value is kept.
    pub fn offer(&mut self, make: impl FnOnce() -> T) {
        if self.seen.is_multiple_of(self.step) {
            self.kept.push(make());
        }
        self.seen += 1;
        if self.kept.len() >= MAX {
            let mut keep = false;
            self.kept.retain(|_| {
                keep = !keep;
                keep
            });
            self.step = self.step.saturating_mul(2);
        }
    }

    /// The values kept, in order.
    pub fn kept(&self) -> &[T] {
        &self.kept
    }

    /// How many were offered.
    pub fn seen(&self) -> u64 {
        self.seen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_bounded_and_spread_over_all() {
        let mut thinned = Thinned::<u64, 8>::default();
        (0..1_000).for_each(|value| thinned.offer(|| value));
        let kept = thinned.kept();
        assert!(kept.len() < 8 && kept.len() >= 4, "{kept:?}");
        let step = kept[1] - kept[0];
        assert!(kept.windows(2).all(|pair| pair[1] - pair[0] == step) && kept[0] == 0, "{kept:?}");
        assert_eq!(thinned.seen(), 1_000);
    }
}

//! When requests are due: phases of a constant or changing rate, one after the other. Owns the
//! arithmetic, in nanoseconds from the start; refuses to read a clock.

use std::time::Duration;
use thiserror::Error;

/// The highest rate of a phase, requests per second.
const HIGHEST_RATE: f64 = 1e6;

/// Most requests in a profile.
const MOST_REQUESTS: f64 = 1e10;

const MOST_PHASES: usize = 10_000;

/// Relative error of a sum of rates times durations.
const EXACT: f64 = 1e-6;

/// A phase in which the rate changes linearly from one value to another; both are equal for a
/// constant rate.
#[derive(Copy, Clone, PartialEq, Debug)]
pub struct Phase {
    /// Requests per second at its start.
    pub from: f64,
    /// Requests per second at its end.
    pub to: f64,
    /// Its duration.
    pub lasts: Duration,
}

impl Phase {
    /// A phase with a constant rate.
    pub fn constant(rate: f64, lasts: Duration) -> Phase {
        Phase { from: rate, to: rate, lasts }
    }

    /// Steps from one rate to another; both are included if `by` leads there.
    ///
    /// # Errors
    /// `by` is not above 0 or leads to too many steps.
    pub fn steps(from: f64, to: f64, by: f64, each: Duration) -> Result<Vec<Phase>, ProfileError> {
        let steps = ((to - from).abs() / by + EXACT).floor();
        if !(by > 0.0 && steps < MOST_PHASES as f64) {
            return Err(ProfileError::Steps);
        }
        let way = if to < from { -by } else { by };
        Ok((0..=steps as u32).map(|step| Phase::constant(from + way * f64::from(step), each)).collect())
    }

    /// Its number of requests; a fraction carries over to the next phase.
    fn requests(&self) -> f64 {
        (self.from + self.to) / 2.0 * self.lasts.as_secs_f64()
    }

    /// Seconds from its start until this many requests were due.
    fn moment(&self, requests: f64) -> f64 {
        if requests <= 0.0 {
            return 0.0;
        }
        // The area under the line from `from`, solved for time in the form that does not divide by the
        // slope, which may be 0.
        let slope = (self.to - self.from) / self.lasts.as_secs_f64();
        let root = (self.from * self.from + 2.0 * slope * requests).max(0.0).sqrt();
        2.0 * requests / (self.from + root)
    }
}

/// Why phases do not form a profile.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Error)]
pub enum ProfileError {
    /// A rate is 0 throughout, negative, too high or not a number.
    #[error("a rate must be above 0 and at most 1,000,000 requests a second")]
    Rate,
    /// A phase has no duration.
    #[error("a rate must hold for some time")]
    Time,
    /// The steps lead nowhere, or are too many.
    #[error("steps must be above 0, and at most 10,000")]
    Steps,
    /// There are more requests than can be counted.
    #[error("it must be at least one request and at most 10,000,000,000")]
    Requests,
}

/// Validated phases.
#[derive(Clone, PartialEq, Debug)]
pub struct Profile {
    pub(crate) phases: Vec<Phase>,
}

impl Profile {
    /// A profile of these phases, one after the other.
    ///
    /// # Errors
    /// A rate or a duration is invalid, or there are too many requests.
    pub fn new(phases: Vec<Phase>) -> Result<Profile, ProfileError> {
        if phases.len() > MOST_PHASES {
            return Err(ProfileError::Steps);
        }
        for phase in &phases {
            let legal = |rate: f64| (0.0..=HIGHEST_RATE).contains(&rate);
            if !legal(phase.from) || !legal(phase.to) || phase.from + phase.to <= 0.0 {
                return Err(ProfileError::Rate);
            }
            if phase.lasts.is_zero() {
                return Err(ProfileError::Time);
            }
        }
        let requests: f64 = phases.iter().map(Phase::requests).sum();
        if !(EXACT..=MOST_REQUESTS).contains(&requests) {
            return Err(ProfileError::Requests);
        }
        Ok(Profile { phases })
    }

    /// This profile after a warm-up at its first rate, or at its highest if the first is 0.
    pub(crate) fn after_warm_up(&self, lasts: Duration) -> Profile {
        let mut phases = self.phases.clone();
        if !lasts.is_zero() {
            let first = self.phases.first().map_or(0.0, |phase| phase.from);
            let rate = if first > 0.0 { first } else { self.highest() };
            phases.insert(0, Phase::constant(rate, lasts));
        }
        Profile { phases }
    }

    /// Its total duration.
    pub fn lasts(&self) -> Duration {
        self.phases.iter().map(|phase| phase.lasts).fold(Duration::ZERO, Duration::saturating_add)
    }

    fn highest(&self) -> f64 {
        self.phases.iter().flat_map(|phase| [phase.from, phase.to]).fold(0.0, f64::max)
    }

    /// Due times of every `of`th request, starting with number `first`: nanoseconds from the start, sorted.
    pub fn moments(&self, first: u64, of: u64) -> Moments<'_> {
        Moments { phases: &self.phases, before: 0.0, started_ns: 0, next: first, step: of.max(1) }
    }
}

/// Iterator over the due times of a [`Profile`].
pub struct Moments<'p> {
    phases: &'p [Phase],
    /// Requests due before the first of `phases`, including a fraction.
    before: f64,
    started_ns: u64,
    next: u64,
    step: u64,
}

impl Iterator for Moments<'_> {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        loop {
            let (phase, later) = self.phases.split_first()?;
            let into = self.next as f64 - self.before;
            if into < phase.requests() - EXACT {
                self.next += self.step;
                let lasts = phase.lasts.as_secs_f64();
                return Some(self.started_ns + (phase.moment(into).min(lasts) * 1e9).round() as u64);
            }
            self.before += phase.requests();
            self.started_ns += crate::clock::ns(phase.lasts);
            self.phases = later;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn moments(phases: Vec<Phase>) -> Vec<u64> {
        Profile::new(phases).unwrap().moments(0, 1).collect()
    }

    #[test]
    fn a_constant_rate_is_evenly_spaced() {
        let due = moments(vec![Phase::constant(4.0, SECOND)]);
        assert_eq!(due, [0, 250_000_000, 500_000_000, 750_000_000]);
        assert_eq!(moments(vec![Phase::constant(1000.0, 60 * SECOND)]).len(), 60_000);
        assert_eq!(moments(vec![Phase::constant(0.1, 30 * SECOND)]).len(), 3);
        // The last request of an hour is due as exactly as the first.
        let hour = Profile::new(vec![Phase::constant(20_000.0, 3600 * SECOND)]).unwrap();
        assert_eq!(hour.moments(71_999_998, 1).collect::<Vec<_>>(), [3_599_999_900_000, 3_599_999_950_000]);
    }

    #[test]
    fn a_line_has_the_requests_of_its_mean_rate() {
        // 0 to 8 per second within a second: request n is due when 4 t² = n.
        let due = moments(vec![Phase { from: 0.0, to: 8.0, lasts: SECOND }]);
        assert_eq!(due, [0, 500_000_000, 707_106_781, 866_025_404]);
        let down = moments(vec![Phase { from: 8.0, to: 0.0, lasts: SECOND }]);
        assert_eq!(down, [0, 133_974_596, 292_893_219, 500_000_000]);
        assert_eq!(moments(vec![Phase { from: 100.0, to: 2000.0, lasts: 60 * SECOND }]).len(), 63_000);
    }

    #[test]
    fn phases_follow_each_other_without_a_gap() {
        let steps = Phase::steps(1.0, 3.0, 1.0, SECOND).unwrap();
        assert_eq!(steps.len(), 3);
        let due = moments(steps);
        assert_eq!(due, [0, 1_000_000_000, 1_500_000_000, 2_000_000_000, 2_333_333_333, 2_666_666_667]);
        // One and a half requests: the next phase completes the second one.
        let odd = moments(vec![Phase::constant(1.5, SECOND), Phase::constant(1.0, SECOND)]);
        assert_eq!(odd, [0, 666_666_667, 1_500_000_000]);
        let down = Phase::steps(300.0, 100.0, 100.0, SECOND).unwrap();
        assert_eq!(down.iter().map(|phase| phase.from).collect::<Vec<_>>(), [300.0, 200.0, 100.0]);
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let with = |from, to, lasts| Profile::new(vec![Phase { from, to, lasts }]).unwrap_err();
        assert_eq!(with(0.0, 0.0, SECOND), ProfileError::Rate);
        assert_eq!(with(-1.0, 5.0, SECOND), ProfileError::Rate);
        assert_eq!(with(f64::NAN, 5.0, SECOND), ProfileError::Rate);
        assert_eq!(with(1.0, 2e6, SECOND), ProfileError::Rate);
        assert_eq!(with(1.0, 1.0, Duration::ZERO), ProfileError::Time);
        assert_eq!(with(1e6, 1e6, 20_000 * SECOND), ProfileError::Requests);
        assert_eq!(Profile::new(Vec::new()).unwrap_err(), ProfileError::Requests);
        for by in [0.0, -1.0, f64::NAN, 1e-9] {
            assert_eq!(Phase::steps(1.0, 2.0, by, SECOND).unwrap_err(), ProfileError::Steps);
        }
    }

    #[test]
    fn a_warm_up_has_the_first_rate() {
        let ramp = Profile::new(vec![Phase { from: 0.0, to: 50.0, lasts: SECOND }]).unwrap();
        assert_eq!(ramp.after_warm_up(SECOND).phases[0], Phase::constant(50.0, SECOND));
        let flat = Profile::new(vec![Phase::constant(10.0, SECOND)]).unwrap();
        assert_eq!(flat.after_warm_up(SECOND).lasts(), 2 * SECOND);
        assert_eq!(flat.after_warm_up(Duration::ZERO), flat);
    }

    proptest! {
        #[test]
        fn shares_of_workers_are_the_whole_in_order(
            rates in prop::collection::vec((0.5_f64..500.0, 0.5_f64..500.0, 1_u64..3000), 1..6),
            of in 1_u64..5,
        ) {
            let phase = |(from, to, ms)| Phase { from, to, lasts: Duration::from_millis(ms) };
            let profile = Profile::new(rates.into_iter().map(phase).collect()).unwrap();
            let whole: Vec<u64> = profile.moments(0, 1).collect();
            prop_assert!(whole.is_sorted());
            prop_assert!(whole.last().is_none_or(|last| Duration::from_nanos(*last) <= profile.lasts()));
            let mut shares: Vec<u64> = (0..of).flat_map(|first| profile.moments(first, of)).collect();
            shares.sort_unstable();
            prop_assert_eq!(shares, whole);
        }
    }
}

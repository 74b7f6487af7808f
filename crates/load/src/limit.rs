//! When a load is given up: a figure stays above a limit. Owns the judgement, second by second;
//! refuses to measure and to parse.

use std::time::Duration;

/// The figure that a limit is about.
#[derive(Copy, Clone, PartialEq, Debug)]
pub enum Figure {
    /// Failed requests as a share of those that ended, 0 to 1.
    Errors,
    /// A quantile (0 to 1) of latency, nanoseconds.
    Latency(f64),
}

/// A figure that must not stay above a value.
#[derive(Clone, PartialEq, Debug)]
pub struct Limit {
    /// The limited figure.
    pub figure: Figure,
    /// The limit: a share or nanoseconds.
    pub above: f64,
    /// How long the figure must stay above it, in whole seconds, at least one.
    pub lasts: Duration,
    /// The limit as the user wrote it.
    pub text: String,
}

/// A limit, and for how many seconds it has been exceeded.
#[derive(Clone, Debug)]
pub(crate) struct WatchedLimit<'l> {
    pub(crate) limit: &'l Limit,
    broken: u64,
}

impl<'l> WatchedLimit<'l> {
    pub(crate) fn new(limit: &'l Limit) -> WatchedLimit<'l> {
        WatchedLimit { limit, broken: 0 }
    }

    /// Takes the figure of a whole second, `None` if it has none; returns the limit once it has been
    /// exceeded for long enough.
    pub(crate) fn second(&mut self, figure: Option<f64>) -> Option<&'l Limit> {
        match figure {
            Some(value) if value > self.limit.above => self.broken += 1,
            _ => self.broken = 0,
        }
        (self.broken >= self.limit.lasts.as_secs().max(1)).then_some(self.limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_seconds_in_a_row_count() {
        let lasts = Duration::from_secs(3);
        let limit = Limit { figure: Figure::Errors, above: 0.05, lasts, text: "errors > 5% for 3s".into() };
        let mut watched = WatchedLimit::new(&limit);
        let broken: Vec<bool> = [Some(0.06), Some(0.5), Some(0.05), Some(0.06), None, Some(1.0), Some(1.0), Some(1.0)]
            .into_iter()
            .map(|share| watched.second(share).is_some())
            .collect();
        assert_eq!(broken, [false, false, false, false, false, false, false, true]);
    }
}

//! The truth suite: each workload many times, is its finding the first one? Owns
//! counting hits, misses and false alarms.

use crate::runner::Runner;
use crate::toolchain::Toolchain;
use crate::workload::{NOTHING, Workload};
use std::collections::BTreeMap;

/// Runs of one workload on one toolchain.
#[derive(Clone, Debug, Default)]
pub struct Score {
    /// The right finding first (or rightly none).
    pub hits: usize,
    /// Another finding first, or none where there is one.
    pub misses: usize,
    /// A finding where there is none to be found.
    pub false_alarms: usize,
    /// Runs that gave no report.
    pub failures: usize,
    /// What came first, how often.
    pub first: BTreeMap<String, usize>,
}

impl Score {
    /// Adds one run.
    pub fn add(&mut self, expect: &str, first: &str) {
        *self.first.entry(first.to_owned()).or_default() += 1;
        match (first == expect, expect == NOTHING) {
            (true, _) => self.hits += 1,
            (false, true) => self.false_alarms += 1,
            (false, false) => self.misses += 1,
        }
    }

    /// 19 of 20 for a finding; never a false alarm.
    pub fn passes(&self) -> bool {
        let runs = self.hits + self.misses + self.false_alarms + self.failures;
        self.false_alarms == 0 && self.failures == 0 && self.misses * 20 <= runs
    }
}

/// Runs `workload` so many times; `say` gets each run that is no hit.
pub fn score(
    runner: &Runner,
    workload: &Workload,
    toolchain: &Toolchain,
    runs: usize,
    say: &mut dyn FnMut(&str),
) -> Score {
    let mut score = Score::default();
    for run in 1..=runs {
        match runner.run(workload, toolchain) {
            Ok(outcome) => {
                score.add(&workload.expect, outcome.first());
                if outcome.first() != workload.expect {
                    let found = outcome.findings().join(", ");
                    say(&format!("{} on {}, run {run}: [{found}]", workload.name, toolchain.name));
                }
            }
            Err(error) => {
                score.failures += 1;
                say(&format!("{} on {}, run {run}: {error:#}", workload.name, toolchain.name));
            }
        }
    }
    score
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_miss_in_twenty_is_allowed_a_false_alarm_is_not() {
        let mut score = Score::default();
        (0..19).for_each(|_| score.add("preempted", "preempted"));
        score.add("preempted", NOTHING);
        assert!(score.passes());
        score.add("preempted", "oversubscribed");
        assert!(!score.passes());
        let mut healthy = Score::default();
        healthy.add(NOTHING, "preempted");
        assert_eq!((healthy.false_alarms, healthy.misses, healthy.passes()), (1, 0, false));
    }
}

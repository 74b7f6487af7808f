//! The truth suite: each workload many times, is its finding the first one? Owns
//! counting hits, misses and false alarms.

use crate::runner::Runner;
use crate::statistics::shuffle;
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

/// Which workload runs on which toolchain, each `runs` times with the toolchains
/// in turn, all in one random order: a spell of noise then hits no workload alone.
pub fn order(workloads: usize, toolchains: usize, runs: usize, seed: u64) -> Vec<(usize, usize)> {
    let one = |run: usize| (0..workloads).map(move |workload| (workload, (run + workload) % toolchains.max(1)));
    let mut order: Vec<_> = (0..runs).flat_map(one).collect();
    shuffle(&mut order, seed);
    order
}

/// Runs everything; `say` gets each run that is no hit. Gives a score for each workload.
pub fn score(
    runner: &Runner,
    workloads: &[Workload],
    toolchains: &[Toolchain],
    order: &[(usize, usize)],
    say: &mut dyn FnMut(&str),
) -> Vec<Score> {
    let mut scores = vec![Score::default(); workloads.len()];
    for &(number, on) in order {
        let (workload, toolchain) = (&workloads[number], &toolchains[on]);
        match runner.run(workload, toolchain) {
            Ok(outcome) => {
                scores[number].add(&workload.expect, outcome.first());
                if outcome.first() != workload.expect {
                    let found = outcome.findings().join(", ");
                    say(&format!("{} on {}: [{found}]", workload.name, toolchain.name));
                }
            }
            Err(error) => {
                scores[number].failures += 1;
                say(&format!("{} on {}: {error:#}", workload.name, toolchain.name));
            }
        }
    }
    scores
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_workload_runs_so_often_and_on_each_toolchain() {
        let order = order(4, 3, 6, 7);
        assert_eq!(order.len(), 24);
        for (workload, toolchain) in (0..4).flat_map(|workload| (0..3).map(move |on| (workload, on))) {
            assert_eq!(order.iter().filter(|run| **run == (workload, toolchain)).count(), 2);
        }
        assert_ne!(order, super::order(4, 3, 6, 8));
    }

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

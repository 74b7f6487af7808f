//! In which order the runs of a suite take place. Owns the order; it follows from a
//! seed, so that a suite that was killed goes on as it began.

use crate::statistics::shuffle;

/// Which workload runs on which toolchain, each `runs` times with the toolchains
/// in turn, all in one random order: a spell of noise then hits no workload alone.
pub fn order(workloads: usize, toolchains: usize, runs: usize, seed: u64) -> Vec<(usize, usize)> {
    let one = |run: usize| (0..workloads).map(move |workload| (workload, (run + workload) % toolchains.max(1)));
    let mut order: Vec<_> = (0..runs).flat_map(one).collect();
    shuffle(&mut order, seed);
    order
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
}

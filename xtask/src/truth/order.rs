//! The order in which the runs of a suite take place. Owns the order; it follows from a seed, so that a killed
//! suite continues in the same order.

use crate::statistics::shuffle;

/// Which workload runs on which toolchain: each `runs` times, cycling through the toolchains that compile it
/// (`on`, one list per workload), all in one random order, so that noise does not hit a single workload.
pub fn order(on: &[Vec<usize>], runs: usize, seed: u64) -> Vec<(usize, usize)> {
    let place = |run: usize, workload: usize, on: &Vec<usize>| {
        on.get((run + workload) % on.len().max(1)).map(|toolchain| (workload, *toolchain))
    };
    let one = |run: usize| on.iter().enumerate().filter_map(move |(workload, on)| place(run, workload, on));
    let mut order: Vec<_> = (0..runs).flat_map(one).collect();
    shuffle(&mut order, seed);
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_workload_runs_so_often_and_on_each_toolchain() {
        let on = vec![vec![0, 1, 2]; 4];
        let order = order(&on, 6, 7);
        assert_eq!(order.len(), 24);
        for (workload, toolchain) in (0..4).flat_map(|workload| (0..3).map(move |on| (workload, on))) {
            assert_eq!(order.iter().filter(|run| **run == (workload, toolchain)).count(), 2);
        }
        assert_ne!(order, super::order(&on, 6, 8));
    }

    #[test]
    fn a_workload_runs_only_where_it_compiles() {
        let order = order(&[vec![0, 1, 2], vec![1, 2], vec![]], 6, 7);
        let of = |workload, on| order.iter().filter(|run| **run == (workload, on)).count();
        assert_eq!((of(0, 0), of(0, 1), of(0, 2)), (2, 2, 2));
        assert_eq!((of(1, 0), of(1, 1), of(1, 2)), (0, 3, 3));
        assert_eq!(order.len(), 12);
    }
}

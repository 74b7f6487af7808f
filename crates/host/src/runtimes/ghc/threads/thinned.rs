//! Which stacks one sample walks where there are many: of threads that are blocked for one reason, a random part, of
//! which each stands for some others. Those that wait for one variable together count by themselves, so that no lock is
//! lost among thousands of sleepers. Owns the size of that part. Walks runs of neighbours on the list, which mostly lie
//! near each other.

use super::layout::Why;
use super::list::Tso;
use rtscope_model::chance::Chance;
use std::collections::HashMap;

/// Stacks walked for one reason, and neighbours walked together.
const STACKS_MAX: usize = 1024;
const RUN: usize = 64;

/// For each thread the number of threads that it stands for, itself among them; 0: its stack is not walked.
pub fn weights(threads: &[Tso], chance: &mut Chance) -> Vec<u32> {
    let mut weights = vec![1; threads.len()];
    if threads.len() <= STACKS_MAX {
        return weights;
    }
    let mut waiters: HashMap<u64, u32> = HashMap::new();
    threads.iter().filter_map(|thread| thread.object).for_each(|object| *waiters.entry(object).or_default() += 1);
    let shared = |object: &u64| waiters.get(object).is_some_and(|count| *count > 1);
    let mut reasons: HashMap<(Why, Option<u64>), Vec<usize>> = HashMap::new();
    for (index, thread) in threads.iter().enumerate() {
        reasons.entry((thread.why, thread.object.filter(shared))).or_default().push(index);
    }
    for members in reasons.into_values().filter(|members| members.len() > STACKS_MAX) {
        let mut runs: Vec<&[usize]> = members.chunks(RUN).collect();
        chance.shuffle(&mut runs);
        runs.truncate(STACKS_MAX / RUN);
        let walked = runs.concat();
        let (each, rest) = (members.len() / walked.len().max(1), members.len() % walked.len().max(1));
        let mut set = |index: usize, weight: usize| {
            if let Some(known) = weights.get_mut(index) {
                *known = u32::try_from(weight).unwrap_or(u32::MAX);
            }
        };
        members.iter().for_each(|index| set(*index, 0));
        walked.iter().enumerate().for_each(|(order, index)| set(*index, each + usize::from(order < rest)));
    }
    weights
}

#[cfg(test)]
mod tests {
    use super::*;

    fn threads(counts: &[(Why, u64)]) -> Vec<Tso> {
        let of = |(why, count): &(Why, u64)| {
            let thread = |id| Tso { address: id, id, why: *why, stack: id, label: None, object: None };
            (0..*count).map(thread).collect::<Vec<_>>()
        };
        counts.iter().flat_map(of).collect()
    }

    #[test]
    fn a_part_stands_for_all_and_a_rare_reason_for_itself() {
        for count in [1025, 10_000, 100_001] {
            let threads = threads(&[(Why::MVar, 7), (Why::Stm, count), (Why::Call, 1)]);
            let weights = weights(&threads, &mut Chance::new(count));
            let by = |why| threads.iter().zip(&weights).filter(move |(thread, _)| thread.why == why).map(|of| *of.1);
            assert_eq!(by(Why::Stm).map(u64::from).sum::<u64>(), count);
            assert!((900..=STACKS_MAX).contains(&by(Why::Stm).filter(|weight| *weight > 0).count()), "{count}");
            assert!(by(Why::MVar).chain(by(Why::Call)).all(|weight| weight == 1));
        }
        let few = threads(&[(Why::Stm, 1024)]);
        assert_eq!(weights(&few, &mut Chance::new(1)), [1; 1024]);
    }

    #[test]
    fn those_that_wait_for_one_variable_are_all_walked() {
        let mut threads = threads(&[(Why::MVar, 10_000)]);
        threads.iter_mut().for_each(|thread| thread.object = Some(if thread.id < 9_000 { thread.id } else { 0 }));
        threads.truncate(9_010);
        let weights = weights(&threads, &mut Chance::new(1));
        assert_eq!((weights.iter().sum::<u32>(), &weights[9_000..]), (9_010, &[1; 10][..]));
    }

    #[test]
    fn each_sample_walks_others() {
        let threads = threads(&[(Why::Delay, 10_000)]);
        let mut chance = Chance::new(1);
        assert_ne!(weights(&threads, &mut chance), weights(&threads, &mut chance));
    }
}

//! Which processes descend from one, whatever their parent is now: known from perf's records of forks and exits. Owns
//! that family; refuses to say which of its members still run.

use super::records::{EXIT, FORK, word};
use std::collections::{HashMap, HashSet};

/// Rings are read one after the other, so a child's own fork may be read a round before the fork that made the child,
/// and after the record of the child's end.
const ROUNDS: u64 = 2;

/// A process began or ended.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct Task {
    pid: u32,
    /// Its parent; `None`: it ended.
    parent: Option<u32>,
}

/// The beginning or end of a process, if the record reports one.
pub fn task(kind: u32, record: &[u8]) -> Option<Task> {
    if !matches!(kind, EXIT | FORK) {
        return None;
    }
    let (pid, parent, tid) = (word(record, 8)?, word(record, 12)?, word(record, 16)?);
    let process = if kind == FORK { pid != parent } else { pid == tid };
    process.then_some(Task { pid, parent: (kind == FORK).then_some(parent) })
}

/// A process and its descendants.
#[derive(Debug, Default)]
pub struct Forks {
    /// With the round in which the process's end was seen.
    family: HashMap<u32, Option<u64>>,
    /// Forks of processes not known to be in the family, with the round in which they were read.
    strangers: Vec<(u64, u32, u32)>,
    round: u64,
}

impl Forks {
    pub fn follow(&mut self, pids: &[u32]) {
        self.family.extend(pids.iter().map(|pid| (*pid, None)));
    }

    /// Takes in one round of all rings.
    pub fn take_round(&mut self, tasks: &[Task]) {
        if self.family.is_empty() {
            return;
        }
        let round = self.round;
        self.strangers.extend(tasks.iter().filter_map(|task| Some((round, task.pid, task.parent?))));
        loop {
            let before = self.strangers.len();
            let family = &mut self.family;
            self.strangers.retain(|(_, pid, parent)| {
                let own = family.contains_key(parent);
                if own {
                    family.insert(*pid, None);
                }
                !own
            });
            if self.strangers.len() == before {
                break;
            }
        }
        self.gone(tasks.iter().filter(|task| task.parent.is_none()).map(|task| task.pid));
        self.round += 1;
        self.strangers.retain(|(read, ..)| read + ROUNDS > round + 1);
        self.family.retain(|_, gone| gone.is_none_or(|gone| gone + ROUNDS > round));
    }

    /// Marks these as ended. Each is still known for a while: its forks may not have been read yet.
    pub fn gone(&mut self, pids: impl IntoIterator<Item = u32>) {
        for pid in pids {
            if let Some(gone) = self.family.get_mut(&pid) {
                gone.get_or_insert(self.round);
            }
        }
    }

    /// Members whose end has not been seen.
    pub fn family(&self) -> HashSet<u32> {
        self.family.iter().filter(|(_, gone)| gone.is_none()).map(|(pid, _)| *pid).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: u32, words: [u32; 4]) -> Option<Task> {
        let mut bytes = [kind.to_ne_bytes(), [0; 4]].concat();
        bytes.extend(words.iter().flat_map(|word| word.to_ne_bytes()));
        task(kind, &bytes)
    }

    fn fork(pid: u32, parent: u32) -> Task {
        Task { pid, parent: Some(parent) }
    }

    fn exit(pid: u32) -> Task {
        Task { pid, parent: None }
    }

    #[test]
    fn threads_are_no_processes() {
        assert_eq!(record(FORK, [8, 7, 8, 7]), Some(fork(8, 7)));
        assert_eq!(record(FORK, [7, 7, 9, 7]), None);
        assert_eq!(record(EXIT, [8, 7, 8, 7]), Some(exit(8)));
        assert_eq!(record(EXIT, [7, 1, 9, 1]), None);
        assert_eq!(record(9, [8, 7, 8, 7]), None);
        assert_eq!(task(FORK, &[0; 12]), None);
    }

    #[test]
    fn a_daemon_is_found_whatever_the_order_of_the_rings() {
        for rounds in [
            vec![vec![fork(8, 7), exit(7), fork(9, 8), exit(8)]],
            vec![vec![fork(9, 8), exit(8)], vec![fork(8, 7), exit(7)]],
            vec![vec![fork(8, 7), exit(8), exit(7)], vec![fork(9, 8)]],
        ] {
            let mut forks = Forks::default();
            forks.follow(&[7]);
            rounds.iter().for_each(|round| forks.take_round(round));
            assert!(forks.family().contains(&9), "{rounds:?}");
            (0..4).for_each(|_| forks.take_round(&[]));
            assert_eq!(forks.family.len(), forks.family().len(), "{rounds:?}");
        }
    }

    #[test]
    fn strangers_are_forgotten() {
        let mut forks = Forks::default();
        forks.follow(&[7]);
        for pid in 100..200 {
            forks.take_round(&[fork(pid, 1), exit(pid)]);
        }
        assert_eq!((forks.family(), forks.strangers.len() < 3), (HashSet::from([7]), true));
    }
}

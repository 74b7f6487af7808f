//! How much of what looks say is true. Owns how known threads are matched with those that were seen: looks
//! have groups without thread numbers, so each known thread is paired with at most one member of a group, the
//! best matches first. An unpaired thread is wrong in everything.

use super::known::{KnownWait, Look, Truth, Waiters};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap, HashSet};

/// A number of answers, and how many of them are right.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Right {
    /// Number of answers.
    pub of: u64,
    /// Number of right answers.
    pub right: u64,
}

impl Right {
    fn add(&mut self, right: bool) {
        self.of += 1;
        self.right += u64::from(right);
    }

    /// Sum of both.
    pub fn and(self, other: Right) -> Right {
        Right { of: self.of + other.of, right: self.right + other.right }
    }

    /// The share that is right; 1 if there are none.
    pub fn share(self) -> f64 {
        if self.of == 0 { 1.0 } else { self.right as f64 / self.of as f64 }
    }
}

/// What looks said about some threads; each thread counts once per look.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Score {
    /// The kind of wait.
    pub kind: Right,
    /// The object: the threads of one object have one address, and no others have it.
    pub object: Right,
    /// The holder, and what it does.
    pub holder: Right,
    /// The function on top of the stack.
    pub place: Right,
    /// The C function that was called.
    pub callee: Right,
}

impl Score {
    /// Sum of both.
    pub fn and(self, other: Score) -> Score {
        Score {
            kind: self.kind.and(other.kind),
            object: self.object.and(other.object),
            holder: self.holder.and(other.holder),
            place: self.place.and(other.place),
            callee: self.callee.and(other.callee),
        }
    }
}

/// The score of the looks during the phases, by case; and the number of looks.
pub fn score(truth: &Truth, looks: &[Look]) -> (BTreeMap<String, Score>, u64) {
    let (mut by, mut count) = (BTreeMap::<String, Score>::new(), 0);
    for (phase, (from, to)) in &truth.phases {
        let threads: Vec<&KnownWait> = truth.threads.iter().filter(|known| known.phase == *phase).collect();
        for look in looks.iter().filter(|look| (*from..=*to).contains(&look.time)) {
            count += 1;
            judge(&threads, look, &mut by);
        }
    }
    (by, count)
}

fn judge(threads: &[&KnownWait], look: &Look, by: &mut BTreeMap<String, Score>) {
    let paired = pairs(threads, &look.groups);
    let objects = objects(threads, &paired);
    let mut waiters: HashMap<&str, u32> = HashMap::new();
    threads
        .iter()
        .filter_map(|known| known.object.as_deref())
        .for_each(|object| *waiters.entry(object).or_default() += 1);
    for (known, group) in threads.iter().zip(&paired) {
        let score = by.entry(known.case.clone()).or_default();
        score.kind.add(group.is_some_and(|group| group.kind == known.kind));
        if let Some(object) = &known.object {
            // An object that a single thread waits for, and no thread holds, cannot be identified.
            let unidentifiable = known.holder.is_none() && waiters.get(object.as_str()) == Some(&1);
            score.object.add(group.is_some_and(|group| match group.object {
                None => unidentifiable,
                Some(address) => objects.get(object.as_str()) == Some(&address),
            }));
            score.holder.add(group.is_some_and(|group| is_held(known, group)));
        }
        let holds = |seen: &Option<String>, wanted: &str| seen.as_ref().is_some_and(|seen| seen.contains(wanted));
        score.place.add(group.is_some_and(|group| holds(&group.place, &known.place)));
        if let Some(callee) = &known.callee {
            score.callee.add(group.is_some_and(|group| holds(&group.callee, callee)));
        }
    }
}

fn is_held(known: &KnownWait, group: &Waiters) -> bool {
    match (known.holder, &group.holder) {
        (None, None) => true,
        (Some(thread), Some(seen)) => seen.thread == thread && known.doing.contains(&seen.doing),
        _ => false,
    }
}

/// The group that each thread is paired with.
fn pairs<'g>(threads: &[&KnownWait], groups: &'g [Waiters]) -> Vec<Option<&'g Waiters>> {
    let agrees = |known: &KnownWait, group: &Waiters| -> u32 {
        let thread = |holder: &super::known::LookHolder| holder.thread;
        let holder = u32::from(known.holder == group.holder.as_ref().map(thread));
        let place = u32::from(group.place.as_ref().is_some_and(|place| place.contains(&known.place)));
        8 * u32::from(group.kind == known.kind)
            + 4 * holder
            + 2 * place
            + u32::from(known.object.is_some() == group.object.is_some())
    };
    let mut all: Vec<(u32, usize, usize)> = threads
        .iter()
        .enumerate()
        .flat_map(|(thread, known)| {
            groups.iter().enumerate().map(move |(group, seen)| (agrees(known, seen), thread, group))
        })
        .collect();
    all.sort_by_key(|(agrees, thread, group)| (std::cmp::Reverse(*agrees), *thread, *group));
    let mut left: Vec<u32> = groups.iter().map(|group| group.count).collect();
    let mut paired = vec![None; threads.len()];
    for (_, thread, group) in all {
        if paired[thread].is_none() && left[group] > 0 {
            left[group] -= 1;
            paired[thread] = Some(&groups[group]);
        }
    }
    paired
}

/// The address that most threads of an object have, unless more threads of another object have it.
fn objects<'k>(threads: &[&'k KnownWait], paired: &[Option<&Waiters>]) -> HashMap<&'k str, u64> {
    let mut votes: BTreeMap<(&str, u64), u32> = BTreeMap::new();
    for (known, group) in threads.iter().zip(paired) {
        if let (Some(object), Some(address)) = (known.object.as_deref(), group.and_then(|group| group.object)) {
            *votes.entry((object, address)).or_default() += 1;
        }
    }
    let mut votes: Vec<_> = votes.into_iter().collect();
    votes.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let (mut named, mut taken) = (HashMap::new(), HashSet::new());
    for ((object, address), _) in votes {
        if !named.contains_key(object) && taken.insert(address) {
            named.insert(object, address);
        }
    }
    named
}

#[cfg(test)]
mod tests {
    use super::super::known::LookHolder;
    use super::*;

    fn known(thread: u64, kind: &str, place: &str, object: Option<&str>, holder: Option<u64>) -> KnownWait {
        let doing = holder.map(|_| "time".to_owned()).into_iter().collect();
        let (kind, place, object) = (kind.into(), place.into(), object.map(Into::into));
        KnownWait { phase: 1, thread, case: "case".into(), kind, place, object, holder, doing, callee: None }
    }

    fn group(kind: &str, count: u32, object: Option<u64>, place: &str, holder: Option<(u64, &str)>) -> Waiters {
        let holder = holder.map(|(thread, doing)| LookHolder { thread, doing: doing.into() });
        Waiters { kind: kind.into(), count, object, place: Some(place.into()), callee: None, holder }
    }

    fn judged(groups: Vec<Waiters>) -> Score {
        let threads = vec![
            known(1, "lock", "take", Some("a"), Some(9)),
            known(2, "lock", "take", Some("a"), Some(9)),
            known(3, "lock", "take", Some("b"), Some(8)),
            known(4, "time", "nap", None, None),
        ];
        let truth = Truth { threads, phases: [(1, (5, 9))].into() };
        let looks =
            [Look { time: 4, groups: Vec::new() }, Look { time: 7, groups }, Look { time: 10, groups: Vec::new() }];
        let (by, count) = score(&truth, &looks);
        assert_eq!(count, 1);
        by["case"]
    }

    fn right(score: Score) -> [u64; 4] {
        assert_eq!([score.kind.of, score.object.of, score.holder.of, score.place.of], [4, 3, 3, 4]);
        [score.kind, score.object, score.holder, score.place].map(|right| right.right)
    }

    #[test]
    fn all_that_is_true_is_right() {
        let score = judged(vec![
            group("time", 1, None, "Main.nap", None),
            group("lock", 2, Some(64), "Main.take", Some((9, "time"))),
            group("lock", 1, Some(72), "Main.take", Some((8, "time"))),
            group("no work", 3, None, "manager", None),
        ]);
        assert_eq!((right(score), score.callee.share()), ([4, 3, 3, 4], 1.0));
    }

    #[test]
    fn what_is_wrong_counts_where_it_is_wrong() {
        // One object for two, a holder that does something else, a place without a name, an unseen thread.
        let unnamed = Waiters { place: None, ..group("lock", 1, Some(64), "", Some((8, "runs"))) };
        let score = judged(vec![group("lock", 2, Some(64), "take", Some((9, "time"))), unnamed]);
        assert_eq!(right(score), [3, 2, 2, 2]);
        assert_eq!(right(judged(Vec::new())), [0; 4]);
        // Reporting more threads than there are does not improve the score.
        assert_eq!(right(judged(vec![group("lock", 90, Some(64), "take", Some((9, "time")))])), [3, 2, 2, 3]);
    }
}

//! The account of the slowest pauses alone: what lanes did during a few long ones, which a sum over the whole
//! run hides.
//!
//! Owns the choice of these pauses. A pause is known as a whole when the sweep reaches it, so sums are kept only for
//! pauses longer than one of the slowest so far. Refuses to count a moment twice: a pause that begins within another
//! one counts from the end of that one.

use super::sums::AccountSums;
use rtscope_model::Time;
use std::collections::VecDeque;

/// How many pauses these are.
const SLOWEST: usize = 10;

#[derive(Default)]
pub(super) struct Slowest {
    /// Start and end of the pauses that the sweep has yet to pass.
    expected: VecDeque<(Time, Time)>,
    /// Sums of the first expected pause. Empty again when it has passed, since only pauses that will be kept
    /// are counted.
    sums: AccountSums,
    /// Pauses that have passed: their lengths and sums.
    kept: Vec<(u64, AccountSums)>,
}

/// The slowest pauses together.
#[derive(Default)]
pub struct Together {
    pub pauses: u64,
    /// The length of the shortest of them, nanoseconds.
    pub least_ns: u64,
    /// What lanes did meanwhile.
    pub sums: AccountSums,
}

impl Slowest {
    /// Announces a pause; pauses come in order.
    pub fn expect(&mut self, begin: Time, released: Time) {
        self.expected.push_back((begin, released));
    }

    /// The sums of the pause that covers the moment from `at` on, if it may be one of the slowest. `at`
    /// never decreases.
    pub fn around(&mut self, at: Time) -> Option<&mut AccountSums> {
        while self.expected.front().is_some_and(|pause| pause.1 <= at) {
            let (begin, released) = self.expected.pop_front()?;
            self.keep(released.since(begin));
        }
        let least_ns = self.least_ns();
        let (begin, released) = self.expected.front().filter(|pause| pause.0 <= at)?;
        (released.since(*begin) > least_ns).then_some(&mut self.sums)
    }

    /// The length that a pause has to exceed.
    fn least_ns(&self) -> u64 {
        self.kept.last().filter(|_| self.kept.len() >= SLOWEST).map_or(0, |least| least.0)
    }

    fn keep(&mut self, ns: u64) {
        if ns > self.least_ns() {
            let sums = std::mem::take(&mut self.sums);
            let place = self.kept.partition_point(|kept| kept.0 >= ns);
            self.kept.insert(place, (ns, sums));
            self.kept.truncate(SLOWEST);
        }
    }

    pub fn without_kernel(&mut self) {
        self.kept.iter_mut().map(|(_, sums)| sums).chain([&mut self.sums]).for_each(AccountSums::without_kernel);
    }

    /// All of them, once the sweep has ended. `None`: there was no pause.
    pub fn together(mut self) -> Option<Together> {
        self.around(Time(u64::MAX));
        let least_ns = self.kept.last()?.0;
        let mut sums = AccountSums::default();
        self.kept.iter().for_each(|(_, of_one)| sums.and(of_one));
        Some(Together { pauses: self.kept.len() as u64, least_ns, sums })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::part::AccountPart;
    use rtscope_model::LaneId;

    /// Counts the nanoseconds of one lane one by one.
    fn passed(pauses: &[(u64, u64)], until: u64) -> Together {
        let mut slowest = Slowest::default();
        pauses.iter().for_each(|(begin, released)| slowest.expect(Time(*begin), Time(*released)));
        for at in 0..until {
            if let Some(sums) = slowest.around(Time(at)) {
                sums.add(LaneId(0), AccountPart::Collecting, 1);
            }
        }
        slowest.together().unwrap()
    }

    #[test]
    fn only_the_longest_count() {
        let pauses: Vec<(u64, u64)> = (0..30).map(|index| (100 * index, 100 * index + 1 + (index * 7) % 30)).collect();
        let all = passed(&pauses, 3_000);
        assert_eq!((all.pauses, all.least_ns, all.sums.ns()), (10, 21, (21..=30).sum()));
    }

    #[test]
    fn no_moment_counts_for_two_pauses() {
        let all = passed(&[(10, 30), (20, 40), (40, 45)], 100);
        assert_eq!((all.pauses, all.least_ns, all.sums.ns()), (3, 5, 35));
    }

    #[test]
    fn without_pauses_there_are_none() {
        assert!(Slowest::default().together().is_none());
    }
}

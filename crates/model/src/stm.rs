//! Counts of a program's transactions (STM), as found by one look. Counts are cumulative since the program's start.
//! Owns the types; each look says where they were read from, and which of them the program has.

use crate::time::Time;
use serde::{Deserialize, Serialize};

/// Counts with names, also available as an array in the order of the names; fields after them are not counts.
macro_rules! counts {
    ($(#[$meta:meta])* $name:ident: [$number:expr] {
        $($(#[$doc:meta])* $count:ident,)*
    } $($(#[$other_doc:meta])* $other:ident,)*) => {
        $(#[$meta])*
        #[derive(Copy, Clone, Eq, PartialEq, Debug, Default, Serialize, Deserialize)]
        pub struct $name {
            $($(#[$doc])* pub $count: u64,)*
            $($(#[$other_doc])* pub $other: u32,)*
        }

        impl $name {
            /// All counts, in the order of the fields.
            pub fn counts(&self) -> [u64; $number] {
                [$(self.$count),*]
            }

            /// The counts from an array, with the other fields.
            pub fn of(counts: [u64; $number] $(, $other: u32)*) -> $name {
                let [$($count),*] = counts;
                $name { $($count,)* $($other,)* }
            }

            /// The counts since `before`; 0 where a count fell.
            pub fn since(&self, before: &$name) -> $name {
                $name { $($count: self.$count.saturating_sub(before.$count),)* $($other: self.$other,)* }
            }

            /// The sum of both; fields that are not counts are taken from `self`.
            pub fn plus(&self, other: &$name) -> $name {
                $name { $($count: self.$count.saturating_add(other.$count),)* $($other: self.$other,)* }
            }
        }
    };
}

counts! {
    /// The counts of one lane. An attempt is one try of an outermost transaction.
    StmCounts: [STM_COUNTS] {
        /// Tries begun: first ones and repeated ones.
        attempts,
        /// Tries that took effect; for a running program this includes tries in progress.
        commits,
        /// Finished, but discarded: another transaction had changed what they read.
        conflicts,
        /// Blocked in `retry`.
        waits,
        /// Reached `retry`, but discarded: what they read had changed.
        wait_conflicts,
        /// Woken from `retry` and run again.
        wakes,
        /// Woken from `retry` in vain.
        idle_wakes,
        /// Raised an exception after inconsistent reads, and discarded instead.
        invalid,
        /// Ended by an exception.
        exceptions,
        /// Parts (`orElse`, `catchSTM`) that were refused.
        nested_conflicts,
        /// Times that the scheduler delayed a try after a conflict.
        backoffs,
        /// Total of these delays in nanoseconds.
        backoff_ns,
        /// Times that the scheduler held a try back because enough were running.
        limited,
        /// Total of these delays in nanoseconds.
        limited_ns,
        /// Decisions of the scheduler.
        decisions,
        /// Discarded because a part was refused.
        restarts,
    }
    /// Current action of the scheduler: 0 none, 1 delays after conflicts, 2 limits running transactions.
    arm,
    /// The current limit of running transactions.
    limit,
}

/// Number of counts in [`StmCounts`], without the scheduler's state.
pub const STM_COUNTS: usize = 16;

/// Capabilities from this number on share a lane, along with those that could not be distinguished.
pub const STM_SHARED_LANE: u16 = 255;

impl StmCounts {
    /// Attempts whose work was discarded and repeated.
    pub fn lost(&self) -> u64 {
        [self.wait_conflicts, self.invalid, self.restarts].into_iter().fold(self.conflicts, u64::saturating_add)
    }
}

counts! {
    /// The counts of transactions with one name.
    StmNamed: [4] {
        /// Tries begun: first ones and repeated ones.
        attempts,
        /// Tries that took effect.
        commits,
        /// Blocked in `retry`.
        waits,
        /// Ended by an exception.
        exceptions,
    }
}

impl StmNamed {
    /// Attempts that neither took effect nor waited nor failed: their work was discarded. Attempts in
    /// progress count too.
    pub fn lost(&self) -> u64 {
        let ended = self.commits.saturating_add(self.waits).saturating_add(self.exceptions);
        self.attempts.saturating_sub(ended)
    }
}

/// A result of a look at a program.
#[derive(Clone, Eq, PartialEq, Debug)]
pub enum StmSeen {
    /// What can be read from now on.
    Source {
        /// Whether it was there since the program's start: counts begin at 0.
        whole: bool,
        /// Whether commits and conflicts are counted, not only attempts.
        outcomes: bool,
        /// Why nothing can be read, or only attempts; a sentence.
        why: Option<String>,
    },
    /// What its scheduler may do: 0 nothing, 1 what it measures to be best, 2 and 3 always the same.
    Mode(u32),
    /// Counts of one lane; the last possible lane ([`STM_SHARED_LANE`]) is shared.
    Lane(u16, StmCounts),
    /// Counts of the transactions with one name; a name keeps its number.
    Name(u16, String, StmNamed),
    /// Attempts as counted by the runtime itself, including nested ones.
    Attempts(u64),
    /// The last look, which found no change.
    Last,
    /// The process had ended since the look before.
    Gone,
}

/// A result of a look, with its time and process.
#[derive(Clone, Eq, PartialEq, Debug)]
pub struct StmLine {
    /// Time of the look.
    pub time: Time,
    /// Id of the process.
    pub pid: u32,
    /// The result.
    pub seen: StmSeen,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_go_to_an_array_and_back() {
        let numbers: [u64; STM_COUNTS] = std::array::from_fn(|index| index as u64 + 1);
        let counts = StmCounts::of(numbers, 2, 7);
        assert_eq!(counts.counts(), numbers);
        assert_eq!((counts.attempts, counts.exceptions, counts.nested_conflicts, counts.decisions), (1, 9, 10, 15));
        assert_eq!((counts.restarts, counts.lost()), (16, 3 + 5 + 8 + 16));
        assert_eq!((counts.arm, counts.limit), (2, 7));
    }

    #[test]
    fn differences_never_fall_below_nothing() {
        let few = StmCounts { attempts: 5, commits: 9, ..StmCounts::default() };
        let more = StmCounts { attempts: 7, commits: 4, arm: 1, ..StmCounts::default() };
        assert_eq!(more.since(&few), StmCounts { attempts: 2, arm: 1, ..StmCounts::default() });
        assert_eq!(more.plus(&few).commits, 13);
        let named = StmNamed { attempts: 10, commits: 6, waits: 1, exceptions: 1 };
        assert_eq!((named.lost(), named.since(&named)), (2, StmNamed::default()));
        assert_eq!(StmNamed { attempts: 1, commits: 5, ..named }.lost(), 0);
    }
}

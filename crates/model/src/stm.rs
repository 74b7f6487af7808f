//! What is counted of a program's transactions (STM), as one look found it. Counts are
//! cumulative since the program's start. Owns the words; where they are read from, and
//! which of them a program has at all, is said with each look.

use crate::time::Time;
use serde::{Deserialize, Serialize};

/// Counts that are known by name and as an array in the order of their names; what follows them is no count.
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
            /// The counts, in the order of the fields.
            pub fn counts(&self) -> [u64; $number] {
                [$(self.$count),*]
            }

            /// The same from an array, with what else there is.
            pub fn of(counts: [u64; $number] $(, $other: u32)*) -> $name {
                let [$($count),*] = counts;
                $name { $($count,)* $($other,)* }
            }

            /// What was counted since `before`; 0 where a count fell.
            pub fn since(&self, before: &$name) -> $name {
                $name { $($count: self.$count.saturating_sub(before.$count),)* $($other: self.$other,)* }
            }

            /// Both together; what is no count is this one's.
            pub fn plus(&self, other: &$name) -> $name {
                $name { $($count: self.$count.saturating_add(other.$count),)* $($other: self.$other,)* }
            }
        }
    };
}

counts! {
    /// What one lane has done: an attempt is an outermost transaction, each try of it.
    StmCounts: [STM_COUNTS] {
        /// Begun: first tries and every try again.
        attempts,
        /// Took effect; of a program that runs on, those under way are among them.
        commits,
        /// Came to its end and was thrown away: another transaction had changed what it read.
        conflicts,
        /// Blocked in `retry`.
        waits,
        /// Came to `retry` and was thrown away: what it read had changed.
        wait_conflicts,
        /// Woken in `retry`, and run again.
        wakes,
        /// Woken in `retry` in vain.
        idle_wakes,
        /// Raised an exception after reading what did not fit together, and was thrown away instead.
        invalid,
        /// Ended by an exception.
        exceptions,
        /// Parts (of `orElse`, `catchSTM`) that were refused.
        nested_conflicts,
        /// Times that the scheduler let one wait after a conflict.
        backoffs,
        /// How long, nanoseconds.
        backoff_ns,
        /// Times that the scheduler held one back because enough were running.
        limited,
        /// How long, nanoseconds.
        limited_ns,
        /// Times that the scheduler chose anew what to do.
        decisions,
        /// Thrown away because a part of it was refused.
        restarts,
    }
    /// What the scheduler does now: 0 nothing, 1 waits after conflicts, 2 limits how many run.
    arm,
    /// That limit.
    limit,
}

/// Counts in [`StmCounts`], without what the scheduler does now.
pub const STM_COUNTS: usize = 16;

/// Capabilities from this number on count together, and so do those that could not be told
/// apart.
pub const STM_SHARED_LANE: u16 = 255;

impl StmCounts {
    /// Attempts whose work was thrown away to be done again.
    pub fn lost(&self) -> u64 {
        [self.wait_conflicts, self.invalid, self.restarts].into_iter().fold(self.conflicts, u64::saturating_add)
    }
}

counts! {
    /// What transactions of one name have done.
    StmNamed: [4] {
        /// Begun: first tries and every try again.
        attempts,
        /// Took effect.
        commits,
        /// Blocked in `retry`.
        waits,
        /// Ended by an exception.
        exceptions,
    }
}

impl StmNamed {
    /// Attempts that neither took effect nor waited nor failed: their work was thrown away. One
    /// that is under way counts too.
    pub fn lost(&self) -> u64 {
        let ended = self.commits.saturating_add(self.waits).saturating_add(self.exceptions);
        self.attempts.saturating_sub(ended)
    }
}

/// One thing that a look at a program found.
#[derive(Clone, Eq, PartialEq, Debug)]
pub enum StmSeen {
    /// What can be read of it from now on.
    Source {
        /// It was there from the program's start on: counts begin at 0.
        whole: bool,
        /// Commits and conflicts are counted, not attempts alone.
        outcomes: bool,
        /// Why nothing can be read, or attempts alone; a sentence.
        why: Option<String>,
    },
    /// What its scheduler may do: 0 nothing, 1 what it measures to be best, 2 and 3 always the
    /// same.
    Mode(u32),
    /// Counts of one lane; the last that there can be ([`STM_SHARED_LANE`]) is of several.
    Lane(u16, StmCounts),
    /// Counts of the transactions of one name, which keeps its number.
    Name(u16, String, StmNamed),
    /// Attempts as the runtime itself counts them: nested ones too.
    Attempts(u64),
    /// The last look, which found nothing else than the one before.
    Last,
    /// The process was gone: it ended after the look before.
    Gone,
}

/// What was found, when, in which process.
#[derive(Clone, Eq, PartialEq, Debug)]
pub struct StmLine {
    /// When.
    pub time: Time,
    /// In which process.
    pub pid: u32,
    /// What.
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

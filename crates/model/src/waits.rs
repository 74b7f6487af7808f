//! What threads of a program wait for, as seen from outside while the program runs: looks, each with groups of
//! threads that wait for one thing at one place. Owns the kinds of waits, and which of them are threads waiting for
//! each other. Refuses to know a runtime: its terms are in the texts.

use crate::time::Time;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;

crate::listed! {
    /// The kind of a thread's wait.
    #[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Hash, Debug, Default)]
    pub enum WaitKind: word {
        /// A mutable variable or a mutex that other threads must fill, empty or release.
        Lock = "lock",
        /// A value that another thread computes.
        Value = "value",
        /// A change of the variables that a transaction has read.
        Transaction = "transaction",
        /// A point in time.
        Time = "time",
        /// Bytes, a connection, another process: anything from outside.
        InputOutput = "io",
        /// The end of a call into foreign code that is in progress.
        ForeignCall = "call",
        /// The receipt of a message by another thread.
        Message = "message",
        /// Its turn on the lane that it migrates to.
        Moved = "moved",
        /// The end of a thread or a lane that it started.
        Child = "child",
        /// A signal on a condition.
        Condition = "condition",
        /// The lock that allows one of a lane's threads to run.
        RuntimeLock = "runtime lock",
        /// Work for a thread of the runtime that has none.
        NoWork = "no work",
        /// Unknown; the group gives the reason.
        #[default]
        Unknown = "unknown",
    }
}

impl WaitKind {
    /// Whether it ends by something outside the program, or by the clock.
    pub fn is_for_outside(self) -> bool {
        matches!(self, WaitKind::Time | WaitKind::InputOutput | WaitKind::ForeignCall)
    }

    /// Whether another thread of the same program has to act first. Waiting for time, for something outside, or for a
    /// call in progress is not waiting for each other.
    pub fn is_for_each_other(self) -> bool {
        match self {
            WaitKind::Lock
            | WaitKind::Value
            | WaitKind::Transaction
            | WaitKind::Message
            | WaitKind::Child
            | WaitKind::Condition
            | WaitKind::RuntimeLock => true,
            WaitKind::Time
            | WaitKind::InputOutput
            | WaitKind::ForeignCall
            | WaitKind::Moved
            | WaitKind::NoWork
            | WaitKind::Unknown => false,
        }
    }

    /// The kind with this word.
    pub fn of(word: &str) -> Option<WaitKind> {
        WaitKind::ALL.into_iter().find(|kind| kind.word() == word)
    }
}

/// What a thread is doing.
#[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Hash, Debug, Default)]
pub enum Doing {
    /// It runs on a lane.
    Runs,
    /// It is runnable, but has no lane.
    Ready,
    /// It waits for something.
    Waits(WaitKind),
    /// Not known.
    #[default]
    Unknown,
}

impl Doing {
    /// Its word; for a waiting thread the word of its kind.
    pub fn word(self) -> &'static str {
        match self {
            Doing::Runs => "runs",
            Doing::Ready => "ready",
            Doing::Waits(WaitKind::Unknown) => "waits",
            Doing::Waits(kind) => kind.word(),
            Doing::Unknown => "unknown",
        }
    }

    /// The activity with this word.
    pub fn of(word: &str) -> Option<Doing> {
        Some(match word {
            "runs" => Doing::Runs,
            "ready" => Doing::Ready,
            "waits" => Doing::Waits(WaitKind::Unknown),
            "unknown" => Doing::Unknown,
            kind => Doing::Waits(WaitKind::of(kind)?),
        })
    }
}

/// Serializes as words; a word that only a later version knows becomes unknown.
macro_rules! as_words {
    ($($what:ident)*) => {$(
        impl Serialize for $what {
            fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
                out.serialize_str(self.word())
            }
        }

        impl<'de> Deserialize<'de> for $what {
            fn deserialize<D: Deserializer<'de>>(input: D) -> Result<$what, D::Error> {
                Ok($what::of(&Cow::<str>::deserialize(input)?).unwrap_or_default())
            }
        }
    )*};
}

as_words!(WaitKind Doing);

/// Number of a text in the same process: see [`WaitSeen::Text`].
pub type TextId = u32;

/// The thread that holds what others wait for.
#[derive(Copy, Clone, Eq, PartialEq, Hash, Debug)]
pub struct Holder {
    /// The thread: its number, and its name if it has one.
    pub thread: TextId,
    /// What it is doing.
    pub doing: Doing,
    /// The place at the top of its stack, as far as known.
    pub place: Option<TextId>,
    /// See [`WaitGroup::callee`].
    pub callee: Option<TextId>,
}

/// Threads that wait for one thing at one place.
#[derive(Copy, Clone, Eq, PartialEq, Hash, Debug, Default)]
pub struct WaitGroup {
    /// The kind of wait.
    pub kind: WaitKind,
    /// Address of the thing: distinguishes things within one look only, since collections move them.
    pub object: Option<u64>,
    /// Its holder; `None`: it has none, or it is not known.
    pub holder: Option<Holder>,
    /// The place at the top of their stacks, or why a kind is not known.
    pub place: Option<TextId>,
    /// The function that this place called, if it is foreign code and has a name.
    pub callee: Option<TextId>,
    /// Number of threads.
    pub count: u32,
}

/// One look at all threads of a process.
#[derive(Clone, Eq, PartialEq, Debug, Default)]
pub struct WaitLook {
    /// Groups of waiting threads.
    pub groups: Vec<WaitGroup>,
    /// Number of threads of the program and its runtime.
    pub threads: u32,
    /// Of these, the number that do not wait.
    pub awake: u32,
    /// Of these, the number for which `groups` had no room.
    pub left_out: u32,
}

/// A sample of the old objects of a heap; `P` identifies code.
#[derive(Clone, Eq, PartialEq, Debug, Default)]
pub struct OldObjects<P> {
    /// Size of all objects in bytes.
    pub bytes: u64,
    /// Of these, bytes of unevaluated thunks: expressions of a lazy language that have not been evaluated yet.
    pub thunk_bytes: u64,
    /// The code that creates most of them, with the bytes of each.
    pub thunks: Vec<(P, u64)>,
}

/// The content of a line.
#[derive(Clone, Eq, PartialEq, Debug)]
pub enum WaitSeen {
    /// A look at all threads.
    Look(WaitLook),
    /// A sample of old objects.
    Old(OldObjects<TextId>),
    /// The number of threads created since the program began.
    Made(u64),
    /// The text for a number: a thread or a place. It applies from the start on; a later text replaces it.
    Text(TextId, String),
    /// There are no looks from now on, for this reason.
    Not(String),
    /// The number of looks since the last line that failed because of a collection.
    Missed(u32),
}

/// A line of a capture's `waits.jsonl`.
#[derive(Clone, Eq, PartialEq, Debug)]
pub struct WaitLine {
    /// Time of the look.
    pub time: Time,
    /// Id of the process.
    pub pid: u32,
    /// The content.
    pub seen: WaitSeen,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_word_stands_for_one_thing() {
        for kind in WaitKind::ALL {
            assert_eq!(WaitKind::of(kind.word()), Some(kind));
            assert_eq!(Doing::of(Doing::Waits(kind).word()), Some(Doing::Waits(kind)));
        }
        for doing in [Doing::Runs, Doing::Ready, Doing::Unknown, Doing::Waits(WaitKind::Unknown)] {
            assert_eq!(Doing::of(doing.word()), Some(doing));
        }
        assert_eq!(Doing::of("sleeps"), None);
    }

    #[test]
    fn time_and_what_comes_from_outside_are_not_each_other() {
        let others: Vec<&str> =
            WaitKind::ALL.into_iter().filter(|kind| !kind.is_for_each_other()).map(WaitKind::word).collect();
        assert_eq!(others, ["time", "io", "call", "moved", "no work", "unknown"]);
    }
}

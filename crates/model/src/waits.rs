//! What threads of a program wait for, as it was seen from outside while the program ran: looks, each
//! with groups of threads that wait for one thing at one place. Owns the kinds of waits and which of
//! them are threads that wait for each other. Refuses to know a runtime: its nouns are in the texts.

use crate::time::Time;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;

crate::listed! {
    /// What a thread waits for.
    #[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Hash, Debug, Default)]
    pub enum WaitKind: word {
        /// A mutable variable or a mutex that others have to fill, empty or release.
        Lock = "lock",
        /// A value that another thread computes.
        Value = "value",
        /// A change of what a transaction has read.
        Transaction = "transaction",
        /// A moment.
        Time = "time",
        /// Bytes, a connection, another process: whatever comes from outside.
        InputOutput = "io",
        /// The end of a call into foreign code that goes on meanwhile.
        ForeignCall = "call",
        /// The receipt of a message by another thread.
        Message = "message",
        /// Its turn on the lane that it moves to.
        Moved = "moved",
        /// The end of a thread or a lane that was started.
        Child = "child",
        /// A signal on a condition.
        Condition = "condition",
        /// The lock that lets one of a lane's threads run.
        RuntimeLock = "runtime lock",
        /// Work: a thread of the runtime's that has none.
        NoWork = "no work",
        /// Unknown; the group says why.
        #[default]
        Unknown = "unknown",
    }
}

impl WaitKind {
    /// Whether it ends by what comes from outside the program, or by the clock.
    pub fn is_for_outside(self) -> bool {
        matches!(self, WaitKind::Time | WaitKind::InputOutput | WaitKind::ForeignCall)
    }

    /// Whether another thread of the same program has to do something first. Time and what comes from
    /// outside are not waiting for each other, nor is a call that goes on.
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

    /// The kind of this word.
    pub fn of(word: &str) -> Option<WaitKind> {
        WaitKind::ALL.into_iter().find(|kind| kind.word() == word)
    }
}

/// What a thread does.
#[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Hash, Debug, Default)]
pub enum Doing {
    /// It has a lane.
    Runs,
    /// It could run and has no lane.
    Ready,
    /// It waits.
    Waits(WaitKind),
    /// Nothing tells.
    #[default]
    Unknown,
}

impl Doing {
    /// Its word: that of the kind, for one that waits.
    pub fn word(self) -> &'static str {
        match self {
            Doing::Runs => "runs",
            Doing::Ready => "ready",
            Doing::Waits(WaitKind::Unknown) => "waits",
            Doing::Waits(kind) => kind.word(),
            Doing::Unknown => "unknown",
        }
    }

    /// What this word says.
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

/// As words; one that only a later rtscope knows is unknown.
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

/// The number of a text in the same process: see [`WaitSeen::Text`].
pub type TextId = u32;

/// Who has what others wait for.
#[derive(Copy, Clone, Eq, PartialEq, Hash, Debug)]
pub struct Holder {
    /// The thread: its number, with its name where it has one.
    pub thread: TextId,
    /// What it does.
    pub doing: Doing,
    /// The place on top of its stack, as far as known.
    pub place: Option<TextId>,
    /// See [`WaitGroup::callee`].
    pub callee: Option<TextId>,
}

/// Threads that wait for one thing at one place.
#[derive(Copy, Clone, Eq, PartialEq, Hash, Debug, Default)]
pub struct WaitGroup {
    /// What for.
    pub kind: WaitKind,
    /// Where the thing lies in memory: tells things of one look apart, since collections move them.
    pub object: Option<u64>,
    /// Who has it; `None`: nobody, or not known.
    pub holder: Option<Holder>,
    /// The place on top of their stacks, or why a kind is not known.
    pub place: Option<TextId>,
    /// The function that this place called, where that is foreign code and has a name.
    pub callee: Option<TextId>,
    /// How many threads.
    pub count: u32,
}

/// One look at all threads of a process.
#[derive(Clone, Eq, PartialEq, Debug, Default)]
pub struct WaitLook {
    /// Threads that wait.
    pub groups: Vec<WaitGroup>,
    /// Threads that there are, of the program and of its runtime.
    pub threads: u32,
    /// Of these, how many wait for nothing.
    pub awake: u32,
    /// Of these, how many there was no room for in `groups`.
    pub left_out: u32,
}

/// A sample of the old objects of a heap; `P` identifies code.
#[derive(Clone, Eq, PartialEq, Debug, Default)]
pub struct OldObjects<P> {
    /// Bytes of all.
    pub bytes: u64,
    /// Of these, bytes of unevaluated thunks: expressions of a lazy language that have no value yet.
    pub thunk_bytes: u64,
    /// Which code makes most of them, with the bytes of each.
    pub thunks: Vec<(P, u64)>,
}

/// What is said at one moment.
#[derive(Clone, Eq, PartialEq, Debug)]
pub enum WaitSeen {
    /// A look.
    Look(WaitLook),
    /// A sample of old objects.
    Old(OldObjects<TextId>),
    /// So many threads were made since the program began.
    Made(u64),
    /// What a number stands for from the start on: a thread or a place. A later one of the same number counts.
    Text(TextId, String),
    /// Nothing is looked at from now on, and why.
    Not(String),
    /// So many looks since the last line came to nothing, because a collection came between.
    Missed(u32),
}

/// One line of a capture's `waits.jsonl`.
#[derive(Clone, Eq, PartialEq, Debug)]
pub struct WaitLine {
    /// When.
    pub time: Time,
    /// The process.
    pub pid: u32,
    /// What.
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

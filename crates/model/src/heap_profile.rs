//! Heap profiles: what a runtime found alive at moments of a run, by label. Owns the words
//! for them; refuses to know how a runtime counts.

use crate::names::NameId;

/// An event of a heap profile. A sample is a [`HeapProfile::Begin`], its labels and a
/// [`HeapProfile::End`]; samples do not overlap.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum HeapProfile {
    /// What the labels of this log stand for.
    By(Breakdown),
    /// A sample begins.
    Begin,
    /// So much of the sample has this label; several of one label are added up.
    Label {
        /// Of the runtime stream's table; `None`: one of those that are not told apart.
        label: Option<NameId>,
        /// Bytes.
        bytes: u64,
    },
    /// It ends.
    End,
}

/// What the labels of a heap profile stand for.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum Breakdown {
    /// Who allocated it: the innermost cost centre.
    CostCentre,
    /// The module that allocated it.
    Module,
    /// A description of the closure.
    ClosureDescription,
    /// The type of the value, as far as the compiler knew it.
    Type,
    /// Who keeps it alive.
    Retainer,
    /// What will become of it: lag, use, drag, void.
    Biography,
    /// The kind of closure; for data its constructor.
    ClosureType,
    /// The place in the source that made it.
    InfoTable,
    /// When it was made.
    Era,
    /// Something else.
    Other,
}

const WORDS: [(Breakdown, &str); 10] = [
    (Breakdown::CostCentre, "cost centre"),
    (Breakdown::Module, "module"),
    (Breakdown::ClosureDescription, "closure description"),
    (Breakdown::Type, "type"),
    (Breakdown::Retainer, "retainer"),
    (Breakdown::Biography, "biography"),
    (Breakdown::ClosureType, "closure type"),
    (Breakdown::InfoTable, "info table"),
    (Breakdown::Era, "era"),
    (Breakdown::Other, "other"),
];

impl Breakdown {
    /// What reports and traces call it.
    pub fn word(self) -> &'static str {
        WORDS.iter().find(|(known, _)| *known == self).map_or("other", |(_, word)| word)
    }

    /// What is called so.
    pub fn of_word(word: &[u8]) -> Option<Breakdown> {
        WORDS.iter().find(|(_, known)| known.as_bytes() == word).map(|(known, _)| *known)
    }
}

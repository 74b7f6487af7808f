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

crate::listed! {
    /// What the labels of a heap profile stand for.
    #[derive(Copy, Clone, Eq, PartialEq, Debug)]
    pub enum Breakdown: word {
        /// Who allocated it: the innermost cost centre.
        CostCentre = "cost centre",
        /// The module that allocated it.
        Module = "module",
        /// A description of the closure.
        ClosureDescription = "closure description",
        /// The type of the value, as far as the compiler knew it.
        Type = "type",
        /// Who keeps it alive.
        Retainer = "retainer",
        /// What will become of it: lag, use, drag, void.
        Biography = "biography",
        /// The kind of closure; for data its constructor.
        ClosureType = "closure type",
        /// The place in the source that made it.
        InfoTable = "info table",
        /// When it was made.
        Era = "era",
        /// Something else.
        Other = "other",
    }
}

impl Breakdown {
    /// What is called so.
    pub fn of_word(word: &[u8]) -> Option<Breakdown> {
        Breakdown::ALL.into_iter().find(|known| known.word().as_bytes() == word)
    }
}

//! Heap profiles: what a runtime found alive at moments of a run, by label. Owns the terms; refuses to know how
//! a runtime counts.

use crate::names::NameId;

/// An event of a heap profile. A sample is a [`HeapProfile::Begin`], its labels and a
/// [`HeapProfile::End`]; samples do not overlap.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum HeapProfile {
    /// What the labels of this log stand for.
    By(Breakdown),
    /// A sample begins.
    Begin,
    /// Size of one label in the sample; several events with the same label are added up.
    Label {
        /// In the runtime stream's table; `None`: a label that is not distinguished.
        label: Option<NameId>,
        /// Size in bytes.
        bytes: u64,
    },
    /// A sample ends.
    End,
}

crate::listed! {
    /// What the labels of a heap profile stand for.
    #[derive(Copy, Clone, Eq, PartialEq, Debug)]
    pub enum Breakdown: word {
        /// The innermost cost centre that allocated it.
        CostCentre = "cost centre",
        /// The module that allocated it.
        Module = "module",
        /// A description of the closure.
        ClosureDescription = "closure description",
        /// The type of the value, as far as the compiler knows it.
        Type = "type",
        /// The retainers that keep it alive.
        Retainer = "retainer",
        /// Its phase of life: lag, use, drag, void.
        Biography = "biography",
        /// The kind of closure; for data its constructor.
        ClosureType = "closure type",
        /// The place in the source where it was created.
        InfoTable = "info table",
        /// The era in which it was created.
        Era = "era",
        /// Any other breakdown.
        Other = "other",
    }
}

impl Breakdown {
    /// The breakdown with this name.
    pub fn of_word(word: &[u8]) -> Option<Breakdown> {
        Breakdown::ALL.into_iter().find(|known| known.word().as_bytes() == word)
    }
}

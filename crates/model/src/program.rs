//! What a program is linked from, what its link allows and how it may be started, in words that
//! reading a binary, planning and starting share. Owns these words; refuses to find them out.

/// A GHC version: 9, 0, 2.
pub type Version = (u32, u32, u32);

/// What decides which options of its runtime a program takes.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Default)]
pub struct Link {
    /// Its compiler; `None`: not known.
    pub version: Option<Version>,
    /// Linked with the runtime of several lanes; `None`: not known.
    pub threaded: Option<bool>,
    /// Which options it takes from outside; `None`: not known.
    pub rtsopts: Option<Rtsopts>,
}

/// Why a program does not take an option of its runtime from outside.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum Refusal {
    /// Only the runtime of several lanes has it, and the program is linked with the other one.
    NotThreaded,
    /// It is not known with which.
    PerhapsNotThreaded,
    /// It came with this version.
    Since(Version),
    /// What the link lets through is not known.
    Unknown,
    /// The link lets nothing through, or not this.
    Link(Rtsopts),
}

/// How the kernel is to schedule a program.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Default)]
pub enum SchedPolicy {
    /// As any process.
    #[default]
    Normal,
    /// `SCHED_BATCH`: it pushes nobody off a CPU when it wakes.
    Batch,
}

crate::listed! {
    /// Value of GHC's `-rtsopts`.
    #[derive(Copy, Clone, Eq, PartialEq, Debug)]
    pub enum Rtsopts: name {
        /// None, from nowhere.
        None = "none",
        /// Those that do no harm: GHC's default.
        Some = "some",
        /// All.
        All = "all",
        /// `+RTS` on the command line is the program's own; `GHCRTS` counts, with every option.
        Ignore = "ignore",
        /// Neither counts.
        IgnoreAll = "ignoreAll",
    }
}

//! What a program is linked from, what its link allows and how it may be started, in words that
//! reading a binary, planning and starting share. Owns these words; refuses to find them out.

/// A GHC version: 9, 0, 2.
pub type Version = (u32, u32, u32);

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

//! What a program is linked from, what its link allows and how it can be started: terms shared by reading a binary,
//! planning and starting. Owns these types; refuses to determine their values.

/// A GHC version: `(9, 0, 2)`.
pub type Version = (u32, u32, u32);

/// The facts about a program that decide which options of its runtime it accepts.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Default)]
pub struct Link {
    /// Version of its compiler; `None`: not known.
    pub version: Option<Version>,
    /// Whether it is linked with the runtime with several lanes; `None`: not known.
    pub threaded: Option<bool>,
    /// Which options it accepts from outside; `None`: not known.
    pub rtsopts: Option<Rtsopts>,
}

/// Why a program does not accept an option of its runtime from outside.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum Refusal {
    /// Only the runtime with several lanes has the option, and the program is linked with the other one.
    NotThreaded,
    /// Only the runtime with several lanes has the option, and the program's runtime is not known.
    PerhapsNotThreaded,
    /// The option was added in this version.
    Since(Version),
    /// It is not known what the link allows.
    Unknown,
    /// The link allows no options, or not this one.
    Link(Rtsopts),
}

/// The kernel's scheduling policy for a program.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Default)]
pub enum SchedPolicy {
    /// The default policy.
    #[default]
    Normal,
    /// `SCHED_BATCH`: it does not preempt other threads when it wakes.
    Batch,
}

crate::listed! {
    /// Value of GHC's `-rtsopts`.
    #[derive(Copy, Clone, Eq, PartialEq, Debug)]
    pub enum Rtsopts: name {
        /// No options from anywhere.
        None = "none",
        /// Only harmless options: GHC's default.
        Some = "some",
        /// All options.
        All = "all",
        /// `+RTS` on the command line is left to the program; `GHCRTS` applies, with every option.
        Ignore = "ignore",
        /// Neither `+RTS` nor `GHCRTS` applies.
        IgnoreAll = "ignoreAll",
    }
}

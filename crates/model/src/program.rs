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

/// Value of GHC's `-rtsopts`.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum Rtsopts {
    /// None, from nowhere.
    None,
    /// Those that do no harm: GHC's default.
    Some,
    /// All.
    All,
    /// `+RTS` on the command line is the program's own; `GHCRTS` counts, with every option.
    Ignore,
    /// Neither counts.
    IgnoreAll,
}

impl Rtsopts {
    /// As `-rtsopts=` spells it.
    pub fn name(self) -> &'static str {
        match self {
            Rtsopts::None => "none",
            Rtsopts::Some => "some",
            Rtsopts::All => "all",
            Rtsopts::Ignore => "ignore",
            Rtsopts::IgnoreAll => "ignoreAll",
        }
    }

    /// The value that is spelled `name`.
    pub fn of_name(name: &str) -> Option<Rtsopts> {
        let all = [Rtsopts::None, Rtsopts::Some, Rtsopts::All, Rtsopts::Ignore, Rtsopts::IgnoreAll];
        all.into_iter().find(|known| known.name() == name)
    }
}

//! Identifiers. Small newtypes, so that a lane is not confused with a thread.

use serde::{Deserialize, Serialize};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Hash, Debug, Default, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub $inner);

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

id!(
    /// The unit that a runtime stops: a GHC capability, an OCaml domain.
    LaneId(u16)
);
id!(
    /// An operating-system thread, in the recorder's pid namespace. 0 is idle.
    Tid(u32)
);
id!(
    /// An operating-system process (thread group).
    Pid(u32)
);
id!(
    /// A logical processor.
    Cpu(u16)
);
id!(
    /// A thread of the language (a GHC `ThreadId`), truncated as in the log.
    GreenThread(u32)
);
id!(
    /// A control group, as an index into the manifest's list.
    GroupId(u16)
);

impl LaneId {
    /// The lane of events posted without holding a lane (GHC's global buffer).
    pub const NONE: LaneId = LaneId(u16::MAX);

    /// Whether this is a lane.
    pub fn is_some(self) -> bool {
        self != LaneId::NONE
    }
}

impl Tid {
    /// The kernel's idle task.
    pub const IDLE: Tid = Tid(0);
}

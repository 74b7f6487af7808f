//! GHC's runtime as data.

use crate::runtime::{Knobs, LaneThreads, Posts, RuntimeInfo};

/// GHC 9.0 and later.
pub static GHC: RuntimeInfo = RuntimeInfo {
    id: "ghc",
    name: "GHC",
    language: "Haskell",
    lane: ("capability", "capabilities"),
    log: "eventlog",
    own_count: "+RTS -s says",
    posts: Posts { runs: true, idle: true, writes: true, leadership: false },
    // A safe foreign call gives the capability up, and another thread takes it.
    lane_threads: LaneThreads::PerPause,
    knobs: Knobs { lanes: Some("+RTS -N"), sequential: Some("+RTS -qg") },
};

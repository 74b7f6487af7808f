//! The runtime of OCaml 5 as data.

use crate::runtime::{Knobs, LaneThreads, Posts, RuntimeInfo};

/// OCaml 5.0 and later.
pub static OCAML: RuntimeInfo = RuntimeInfo {
    id: "ocaml",
    name: "OCaml",
    language: "OCaml",
    lane: ("domain", "domains"),
    log: "ring",
    own_count: "the runtime itself counts",
    // Rings are written word by word: that holds no domain at a time, and is not posted.
    posts: Posts { runs: false, idle: false, writes: false, leadership: true },
    // A domain's own thread, its backup thread and the threads that the program made there.
    lane_threads: LaneThreads::Fixed,
    // A program spawns as many domains as its own code says, and all of them collect.
    knobs: Knobs { lanes: None, sequential: None },
};

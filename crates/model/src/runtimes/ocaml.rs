//! The description of the runtime of OCaml 5.

use crate::finding::Figure;
use crate::options::Spelling;
use crate::runtime::{Change, ForeignCall, Knobs, LaneThreads, Posts, RuntimeInfo, UNKNOWN};

/// OCaml 5.0 and later.
pub static OCAML: RuntimeInfo = RuntimeInfo {
    id: "ocaml",
    name: "OCaml",
    language: "OCaml",
    lane: ("domain", "domains"),
    generations: &["minor", "major"],
    lock: ("mutex", "mutexes"),
    writing: &[
        "Stdlib.output",
        "Stdlib.print",
        "Stdlib.flush",
        "Stdlib.close_out",
        "Out_channel.",
        "Unix.write",
        "Unix.single_write",
        "Unix.send",
    ],
    buffering: "Read and write through channels (`Unix.in_channel_of_descr`, `Unix.out_channel_of_descr`), and flush them (`flush`, \
                `%!`, `print_endline`) only where what they hold is waited for.",
    locking: &[(
        "Stdlib.output",
        "Take the channel's lock less often: write more with each call, or give each domain a buffer of its own.",
    )],
    unevaluated: "",
    first_thread: "",
    log: "ring",
    log_is_off: "its runtime events are off and cannot be switched on from outside; \
                 start it with OCAML_RUNTIME_EVENTS_START=1",
    followed: "an\nOCaml 5 program whose runtime events are on (OCAML_RUNTIME_EVENTS_START=1)",
    own_args: UNKNOWN.own_args,
    spelling: Spelling { variables: &["OCAMLRUNPARAM", "CAMLRUNPARAM"], between: ",", equals: "=", ..Spelling::PLAIN },
    own_count: "the runtime itself counts",
    // Rings are written word by word: this does not hold up a domain noticeably, and is not posted.
    posts: Posts { runs: false, idle: false, writes: false, leadership: true },
    // A domain's main thread, its backup thread and the threads that the program created there.
    lane_threads: LaneThreads::Fixed,
    // The program's code determines how many domains it spawns, and all of them collect.
    knobs: Knobs {
        foreign_call: Some(ForeignCall {
            text: "Let {} (or whatever calls it) give the domain up around its work, and take it back before it \
                   touches an OCaml value again: collections then do not wait for it.",
            line: "caml_release_runtime_system(); …; caml_acquire_runtime_system();",
        }),
        old_heap: &[Change {
            text: "Let the old heap grow further before it is collected: fewer cycles, and fewer stops at their ends.",
            or: false,
            option: Some("o=200"),
            needs_cpu: false,
            falls: Figure { path: "pauses.collect_ns.sum", shows: "fewer stops of generation 1, less time in pauses" },
        }],
        ..Knobs::NONE
    },
};

/// Releases of OCaml that can be distinguished by names in their runtimes, and that differ in a plan.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum OcamlRelease {
    /// 4 or older: no domains.
    Before5,
    /// 5.0 to 5.2: the parameter `d` does not exist.
    Before5_3,
    /// 5.3 or later.
    From5_3,
}

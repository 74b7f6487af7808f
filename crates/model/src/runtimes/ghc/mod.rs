//! The description of GHC's runtime.

pub mod options;

use crate::finding::Figure;
use crate::runtime::{Change, ForeignCall, Knobs, LaneThreads, OwnArgs, Posts, RuntimeInfo};

/// GHC 9.0 and later.
pub static GHC: RuntimeInfo = RuntimeInfo {
    id: "ghc",
    name: "GHC",
    language: "Haskell",
    lane: ("capability", "capabilities"),
    generations: &[],
    lock: ("MVar", "MVars"),
    writing: &["writeRawBufferPtr", "threadWaitWrite", "hPutBuf"],
    buffering: "`hSetBuffering handle (BlockBuffering Nothing)`, and `hFlush` only where what it holds is waited for; or read and write \
                whole `ByteString`s.",
    locking: &[
        (
            "GHC.IO.Handle.",
            "Take the handle's lock less often: buffer it (`hSetBuffering handle (BlockBuffering Nothing)`), write more with \
             each call, or let one thread write for all.",
        ),
        ("GHC.Event.PSQ.", TIMERS),
        ("GHC.Event.TimerManager.", TIMERS),
    ],
    unevaluated: "Evaluate results in the threads that compute them (`evaluate`, `force`, `$!` before a `putMVar` or an insert): what they \
                  leave unevaluated is computed by the thread that first needs it.",
    first_thread: "Keep the main thread out of it: `main = runInUnboundThread $ …`. It is bound to a thread of the operating system, so \
                   each switch to it or from it is one of the system's, not of the runtime's.",
    log: "eventlog",
    log_is_off: "it writes no eventlog, which cannot be switched on from outside; start it with `+RTS -l`",
    followed: "a GHC program that writes an eventlog (+RTS -l) and was not stripped",
    own_args: OwnArgs { words: Some(["+RTS", "-RTS", "--RTS"]), of_log: &["-l", "-ol", "--eventlog"] },
    spelling: options::SPELLING,
    own_count: "+RTS -s says",
    posts: Posts { runs: true, idle: true, writes: true, leadership: false },
    // A safe foreign call releases the capability, and another thread takes it.
    lane_threads: LaneThreads::PerPause,
    knobs: Knobs {
        lanes: Some("-N"),
        sequential: Some("-qg"),
        heap_size: Some("-H"),
        return_at_once: Some("--disable-delayed-os-memory-return"),
        foreign_call: Some(ForeignCall {
            text: "Import {} (or whatever calls it) `safe` instead of `unsafe`: the call then costs about 100 ns more \
                   and gives its capability up first.",
            line: "foreign import ccall safe \"{}\" …",
        }),
        old_heap: &OLD_HEAP,
    },
};

const TIMERS: &str = "Start fewer timers: put one `timeout` around more work. Each `timeout` and `threadDelay` enters and \
                      leaves one queue, which all threads of the program change in turn.";

static OLD_HEAP: [Change; 3] = [
    Change {
        text: "Collect the old generation concurrently with the program: only the stops at its two ends are left. It needs a CPU \
               of its own meanwhile and slows the program, some by a few per cent, some by a third: measure how much gets done, too.",
        or: false,
        option: Some("--nonmoving-gc"),
        needs_cpu: true,
        falls: Figure { path: "pauses.pause_ns.max", shows: "the longest pauses are a few milliseconds" },
    },
    Change {
        text: "Keep large data that no longer changes in a compact region (package `ghc-compact`), or outside the \
               heap: it is then copied no more.",
        or: false,
        option: None,
        needs_cpu: false,
        falls: Figure {
            path: "pauses.collect_ns.sum",
            shows: "bytes copied by collections of the old generation fall",
        },
    },
    Change {
        text: "Let it grow further before it is collected: half as many collections, each as long as before{}.",
        or: true,
        option: Some("-F4"),
        needs_cpu: false,
        falls: Figure {
            path: "pauses.collect_ns.sum",
            shows: "fewer collections of the old generation, less time in pauses",
        },
    },
];

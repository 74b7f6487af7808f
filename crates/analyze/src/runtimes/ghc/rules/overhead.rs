//! What GHC's runtime does for a program that the program can avoid: see `overhead`.

use crate::findings::Rule;
use crate::findings::overhead::{self, OverheadWork};

pub static RULE: Rule = Rule { check: |facts| overhead::check(facts, &WORK), ..overhead::BASE };

static WORK: [OverheadWork; 11] = [
    OverheadWork::of(
        &["purpose:log-writing"],
        "thread switches and other events of every class that is logged",
        "Log fewer classes: `+RTS -l-ag` is enough for collections.",
    ),
    // Waking a capability\'s thread goes through the kernel.
    OverheadWork::of(
        &["purpose:scheduling", "kernel:futex"],
        "a thread for each small piece of work, threads that wake each other for each piece, and `yield` in a loop",
        "Start fewer threads and give each more to do, hand over more at a time, let a thread that has to wait block \
                 (`MVar`, `retry`), and keep the main thread out of it (`runInUnboundThread`): each switch from or to a bound \
                 thread is one of the operating system's.",
    ),
    OverheadWork::of(
        &["purpose:locks"],
        "capabilities that use the same of the runtime's tables: stable names and pointers, `ForeignPtr`, weak pointers",
        "Make fewer of them at a time, or let one thread make them.",
    ),
    OverheadWork::of(
        &["purpose:thread-locks"],
        "threads that take and put the same `MVar`",
        "Use one for each part of the data, or `atomicModifyIORef'` where one variable is all that is changed.",
    ),
    OverheadWork::of(
        &["purpose:black-holes"],
        "threads that need a value which another one computes",
        "Evaluate shared values before they are shared (`force`), or let each thread compute its own part.",
    ),
    OverheadWork::of(
        &["purpose:exceptions"],
        "exceptions that are thrown and caught for an ordinary result, and `timeout`",
        "Return a value (`Maybe`, `Either`) where the other result is no error.",
    ),
    OverheadWork::of(
        &["purpose:stack-growth"],
        "deep recursion",
        "Fold from the left and strictly (`foldl'`), or give stacks larger chunks (`-kc`).",
    ),
    OverheadWork::of(
        &["purpose:write-barrier"],
        "writes to `IORef`s and mutable arrays that are old",
        "Collect what changes and write it once, or keep it in unboxed arrays, whose writes need no note.",
    ),
    OverheadWork::of(
        &["purpose:timers"],
        "threads that start and stop many waits for time (`threadDelay`, `timeout`)",
        "Let one thread watch over many waits, or make them longer.",
    ),
    OverheadWork::of(
        &["purpose:transactions"],
        "transactions that read many variables, that many threads wait in for one variable (`retry`), or that run again because \
                another one committed first (`rtscope-stm` counts those)",
        "Read what need not be consistent outside the transaction (`readTVarIO`), and give each part of the data a \
                 variable of its own.",
    ),
    OverheadWork::of(&["purpose:sparks"], "sparks that are small", "Offer larger pieces (`parListChunk`)."),
];

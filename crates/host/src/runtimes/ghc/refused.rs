//! What to do about a program whose heap or threads cannot be read. Owns the advice; refuses to find out why.

use super::heap::{Failed, Refusal};
use crate::runtimes::recorded::{NoHeap, Then};

/// A running process may become a GHC program later, or may be one that has just ended.
pub(super) fn no_heap(failed: &Failed) -> NoHeap {
    let then = match failed {
        Failed::Refused(Refusal::Gone(_)) => Then::Gone,
        Failed::Refused(Refusal::NotGhc(..) | Refusal::NoHeap(_)) => Then::TryAgain,
        Failed::Refused(Refusal::Io(..)) => Then::Failed,
        Failed::Refused(Refusal::NotPermitted(_)) => {
            Then::Never(": record as root, or as its own user with `sysctl kernel.yama.ptrace_scope=0`")
        }
        _ => Then::Never(""),
    };
    NoHeap { why: failed.to_string(), then }
}

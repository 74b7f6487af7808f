//! Counts of a live program's transactions, read from its memory without stopping it. There are
//! two counters: the package `rtscope-stm`, if it is linked in, counts the outcome of each
//! attempt; the threaded runtime itself counts only attempts, including nested ones. Owns how both
//! are found and when a figure is not trusted; refuses to draw conclusions from them.
//!
//! The runtime gives each capability tokens for 1024 attempts at a time and counts the tokens
//! given: that total minus the tokens that capabilities have left is the number of attempts begun. No
//! symbol shows where a capability keeps its tokens; the code that takes one does (see `code`).

mod changes;
mod code;
mod counts;
mod place;
mod watch;

pub use super::heap::Refusal;
pub use changes::Changes;
pub use counts::{Outcomes, StmCounters, StmLook};
pub use place::{find, look};
pub use watch::StmOutput;
pub(crate) use watch::Watcher;

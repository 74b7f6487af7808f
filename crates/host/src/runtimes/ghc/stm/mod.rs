//! Counts of a live program's transactions, read from its memory without stopping it. Two
//! things count: the package `rtscope-stm`, where it is linked in, says what became of each
//! attempt; the threaded runtime itself counts attempts alone, nested ones too. Owns how both are
//! found and when a figure is not believed; refuses to say what follows from them.
//!
//! The runtime gives each capability tokens for 1024 attempts at a time and counts what it
//! gave: what was given less what capabilities have left is how many were begun. It has no
//! symbol for where a capability keeps its tokens; the code that takes one tells (see `code`).

mod changes;
mod code;
mod counts;
mod place;
mod watch;

pub use super::heap::Refusal;
pub use changes::Changes;
pub use counts::{Counted, Look, Outcomes};
pub use place::{find, look};
pub use watch::Kept;
pub(crate) use watch::Watcher;

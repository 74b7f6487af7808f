//! Diagnosis rules. A rule is data: its name, what it needs, its threshold, the rules it yields to; and a function:
//! `check` looks at the sums of a recording and returns its verdict.
//!
//! Owns the shape of rules, the rules that hold for every runtime, and what they share: minimum costs, ranking, what
//! makes a rule blind. Refuses to know a runtime: a runtime supplies the rules that only it has (see `runtimes`),
//! flags come from its `RuntimeInfo`. Refuses to count a moment for two causes: the holders of a CPU are exclusive by
//! construction (see `blame`), with a quota before a neighbour.

mod blocked_in_kernel;
mod blocked_output;
pub(crate) mod collected;
mod cpu_throttled;
mod facts;
mod foreign_call;
mod hand_over;
mod host_steal;
mod idle;
mod lock_convoy;
mod long_major_gc;
pub(crate) mod looks;
pub(crate) mod needs;
pub(crate) mod nodes;
pub(crate) mod overhead;
pub(crate) mod oversubscribed;
mod preempted;
mod rule;
mod spelled;
mod too_little_parallelism;
mod unbuffered_io;
pub(crate) mod with_work;
mod words;

pub use facts::*;
pub use needs::{LOOKS_MIN, Need};
pub use rule::*;
pub(crate) use words::*;

/// The rules that hold for every runtime that stops the world, even an unknown one.
pub static RULES: [&Rule; 18] = [
    &cpu_throttled::RULE,
    &preempted::RULE,
    &oversubscribed::BASE,
    &foreign_call::RULE,
    &blocked_in_kernel::RULE,
    &host_steal::RULE,
    &long_major_gc::RULE,
    &lock_convoy::RULE,
    &too_little_parallelism::RULE,
    &hand_over::RULE,
    &blocked_output::RULE,
    &nodes::COLLECTING,
    &nodes::STANDING_STILL,
    &nodes::NO_CPU,
    &nodes::KEPT,
    &idle::RULE,
    &overhead::BASE,
    &unbuffered_io::RULE,
];

//! Where the program's code was, and what for, as samples found it. Values only.

use serde::Serialize;

/// Where the program's code was, from samples.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Code {
    /// CPU time that one sample stands for, nanoseconds.
    pub period_ns: u64,
    /// Samples of running threads.
    pub samples: u64,
    /// Places, most CPU time first.
    pub top: Vec<Place>,
    /// What the CPU did, most CPU time first; parts sum to all samples.
    pub purposes: Vec<PurposeTime>,
}

/// CPU time by what it was for.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct PurposeTime {
    /// Whether a collection was at work: between its `stopped` and `collected`.
    pub inside: bool,
    /// Whose code: the caller's, where the kernel or the C library worked for it.
    pub kind: rtscope_model::CodeKind,
    /// Whether the kernel did it: a call, a fault.
    pub in_kernel: bool,
    /// What the runtime's code was for; null: not the runtime's code, or not known.
    pub purpose: Option<rtscope_model::PurposeId>,
    /// Nanoseconds that samples stand for.
    pub ns: u64,
}

/// One place in the code.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Place {
    /// Its name.
    pub symbol: String,
    /// Executable or library.
    pub module: String,
    /// Whose code.
    pub kind: rtscope_model::CodeKind,
    /// File and span, where known.
    pub source: Option<String>,
    /// CPU time found there, nanoseconds.
    pub running_ns: u64,
    /// Of this, while the world waited for that thread.
    pub waited_ns: u64,
}

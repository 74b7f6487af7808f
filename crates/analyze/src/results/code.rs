//! Where the program's code was, and its purpose, as samples found it. Values only.

use serde::Serialize;

/// Where the program's code was, from samples.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Code {
    /// CPU time that one sample stands for, nanoseconds.
    pub period_ns: u64,
    /// Samples of running threads.
    pub samples: u64,
    /// Places, most CPU time first.
    pub top: Vec<CodePlace>,
    /// What the CPU did, most CPU time first; parts sum to all samples.
    pub purposes: Vec<PurposeTime>,
}

/// CPU time by purpose.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct PurposeTime {
    /// Whether a collection was at work: between its `stopped` and `collected`.
    pub inside: bool,
    /// Owner of the code: the caller, if the kernel or the C library worked for it.
    pub kind: rtscope_model::CodeKind,
    /// Whether it was in the kernel: a call, a fault.
    pub in_kernel: bool,
    /// Purpose of the runtime's code; null: not the runtime's code, or not known.
    pub purpose: Option<rtscope_model::PurposeId>,
    /// Nanoseconds that samples stand for.
    pub ns: u64,
}

/// One place in the code.
#[derive(Clone, Debug, Default, Serialize)]
pub struct CodePlace {
    /// Name of the symbol.
    pub symbol: String,
    /// Executable or library.
    pub module: String,
    /// Owner of the code.
    pub kind: rtscope_model::CodeKind,
    /// File and span, where known.
    pub source: Option<String>,
    /// CPU time found there, nanoseconds.
    pub running_ns: u64,
    /// The part of `running_ns` in which the world waited for that thread, nanoseconds.
    pub waited_ns: u64,
}

//! Losses as data: what could not be seen, where, and how much.

use crate::time::Time;
use serde::{Deserialize, Serialize};

/// The kind of a loss.
#[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LossKind {
    /// The log ends inside a block: the rest was never written. Count: bytes known to be missing, or 0 if that
    /// cannot be known.
    Truncated,
    /// Bytes that could not be decoded as events; decoding continued after them.
    Damaged,
    /// Records that the kernel dropped (its ring was full).
    KernelRecords,
    /// Records whose tag the log's header does not describe.
    UnknownRecord,
    /// The program was killed and its last buffers were not recovered.
    /// Count: nanoseconds not written.
    Unwritten,
    /// Events that came later than the reorder window allows.
    OutOfOrder,
    /// Words that the runtime overwrote before they were copied. Count: words.
    RingWords,
    /// The program switched its events off for a while; how much it would have written is unknown. Count: 0.
    Paused,
    /// Several processes wrote into one log.
    MixedProcesses,
    /// Requested stops of the world that were not seen to happen. Count: how many.
    Unfinished,
    /// A sample or drain of the recorder came too late.
    RecorderLate,
    /// The disk was full: recording stopped while the program ran on.
    DiskFull,
    /// A whole source was not available (permission, missing feature).
    SourceMissing,
}

/// A loss. Without times it affects the whole capture.
#[derive(Clone, Eq, PartialEq, Debug, Serialize, Deserialize)]
pub struct Loss {
    /// Affected stream: a file name of the capture, or "kernel", "samples".
    pub source: String,
    /// What was lost.
    pub kind: LossKind,
    /// The amount, in the unit that [`LossKind`] gives (else: records).
    pub count: u64,
    /// First time affected.
    pub from: Option<Time>,
    /// Last time affected.
    pub to: Option<Time>,
    /// One sentence for the user, with a remedy if there is one.
    pub note: String,
}

impl Loss {
    /// A loss without times.
    pub fn new(source: &str, kind: LossKind, count: u64, note: impl Into<String>) -> Loss {
        Loss { source: source.to_owned(), kind, count, from: None, to: None, note: note.into() }
    }

    /// Whether this loss can affect results about `[from, to]`.
    pub fn touches(&self, from: Time, to: Time) -> bool {
        self.from.is_none_or(|start| start <= to) && self.to.is_none_or(|end| end >= from)
    }
}

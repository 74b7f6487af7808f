//! Loss as data: everything that was not seen, with where and how much.

use crate::time::Time;
use serde::{Deserialize, Serialize};

/// What kind of thing was lost.
#[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LossKind {
    /// The log ends inside a block: the rest was never written. Count: bytes
    /// known to be missing, 0 where that cannot be known.
    Truncated,
    /// Bytes that could not be read as events; decoding went on behind them.
    Damaged,
    /// Records that the kernel dropped (its ring was full).
    KernelRecords,
    /// Records whose tag the log's header does not describe.
    UnknownRecord,
    /// The program was killed and its last buffers were not recovered.
    /// Count: nanoseconds not written.
    Unwritten,
    /// Events later than the reorder window allows.
    OutOfOrder,
    /// Words that the runtime overwrote before they were copied. Count: words.
    RingWords,
    /// The program switched its events off for a while; how much it would have
    /// written is not known. Count: 0.
    Paused,
    /// Several processes wrote into one log.
    MixedProcesses,
    /// Stops of the world that were asked for and not seen to take place. Count: how many.
    Unfinished,
    /// A sample or drain of the recorder came too late.
    RecorderLate,
    /// The disk was full: recording stopped while the program ran on.
    DiskFull,
    /// A whole source could not be had (permission, missing feature).
    SourceMissing,
}

/// One loss. A loss without times touches the whole capture.
#[derive(Clone, Eq, PartialEq, Debug, Serialize, Deserialize)]
pub struct Loss {
    /// Which stream: a file name of the capture, or "kernel", "samples".
    pub source: String,
    /// What was lost.
    pub kind: LossKind,
    /// How much, in the unit that [`LossKind`] names (else: records).
    pub count: u64,
    /// First moment touched.
    pub from: Option<Time>,
    /// Last moment touched.
    pub to: Option<Time>,
    /// One sentence for a person, with what to do if there is something.
    pub note: String,
}

impl Loss {
    /// A loss without times.
    pub fn new(source: &str, kind: LossKind, count: u64, note: impl Into<String>) -> Loss {
        Loss { source: source.to_owned(), kind, count, from: None, to: None, note: note.into() }
    }

    /// Whether this loss can change what is said of `[from, to]`.
    pub fn touches(&self, from: Time, to: Time) -> bool {
        self.from.is_none_or(|start| start <= to) && self.to.is_none_or(|end| end >= from)
    }
}

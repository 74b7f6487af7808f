//! What a log says besides its events: of its program before the first of them, and how many
//! of each type it holds. An exported trace carries the former, so that a report on the trace
//! gives the figures of a report on the recording. Owns these shapes; refuses to read a log.

use crate::loss::Loss;
use crate::manifest::Manifest;
use crate::runtime::{self, RuntimeInfo};
use crate::time::ClockMap;
use serde::{Deserialize, Serialize};

/// The schema name that this code writes.
pub const SCHEMA: &str = "rtscope/exported/1";

/// Facts of a recording, known before its first event. A log that knows one of them not leaves
/// it empty.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Exported {
    /// [`SCHEMA`], where it was exported.
    pub schema: String,
    /// The runtime's id; null where none was seen.
    pub family: Option<String>,
    /// Of the runtime: "9.6.6", "5.4.1".
    pub version: Option<String>,
    /// Way of the runtime: "thr".
    pub way: Option<String>,
    /// Command line as the runtime's log has it.
    pub args: Vec<String>,
    /// Whether the runtime can stop several lanes, where known.
    pub threaded: Option<bool>,
    /// Configured generations of the heap.
    pub generations: Option<u16>,
    /// Configured allocation area per lane, bytes.
    pub nursery_bytes: Option<u64>,
    /// The process that wrote the events, in the recorder's pid namespace.
    pub program_pid: Option<u32>,
    /// How the runtime's clock was joined. Times of the export are converted already.
    pub clock: ClockMap,
    /// Every run and stop of green threads is among the events.
    pub every_green_event: bool,
    /// What the kernel side could not see.
    pub kernel_missing: Vec<String>,
    /// Losses known before the first event.
    pub losses: Vec<Loss>,
    /// What was counted of transactions, as `rtscope-analyze` keeps it: a JSON document.
    #[serde(default)]
    pub transactions: Option<String>,
    /// What looks at waiting threads came to, likewise.
    #[serde(default)]
    pub waits: Option<String>,
    /// Of the capture, where there is one.
    pub manifest: Option<Manifest>,
}

impl Exported {
    /// The runtime that wrote the events.
    pub fn runtime(&self) -> &'static RuntimeInfo {
        runtime::find(self.family.as_deref())
    }
}

/// Records or events of one type.
#[derive(Clone, Eq, PartialEq, Debug, Serialize)]
pub struct TypeCount {
    /// Number of the type in its log.
    pub tag: u16,
    /// Its name.
    pub name: String,
    /// How many.
    pub count: u64,
}

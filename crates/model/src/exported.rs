//! The facts of a log in addition to its events: about its program, known before the first event, and the number of
//! events of each type. An exported trace carries the former, so that a report on the trace has the same figures as a
//! report on the recording. Owns these types; refuses to read a log.

use crate::loss::Loss;
use crate::manifest::Manifest;
use crate::runtime::{self, RuntimeInfo};
use crate::time::ClockMap;
use serde::{Deserialize, Serialize};

/// The schema name that this code writes.
pub const SCHEMA: &str = "rtscope/exported/1";

/// Facts of a recording, known before its first event. Facts that a log does not contain are empty.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Exported {
    /// [`SCHEMA`] if it was exported.
    pub schema: String,
    /// The runtime's id; null where none was seen.
    pub family: Option<String>,
    /// Version of the runtime: "9.6.6", "5.4.1".
    pub version: Option<String>,
    /// Way of the runtime: "thr".
    pub way: Option<String>,
    /// Command line from the runtime's log.
    pub args: Vec<String>,
    /// Whether the runtime can stop several lanes, where known.
    pub threaded: Option<bool>,
    /// Configured generations of the heap.
    pub generations: Option<u16>,
    /// Configured allocation area per lane, bytes.
    pub nursery_bytes: Option<u64>,
    /// The process that wrote the events, in the recorder's pid namespace.
    pub program_pid: Option<u32>,
    /// How the runtime's clock was mapped. Times in the export are already converted.
    pub clock: ClockMap,
    /// Whether every run and stop of green threads is among the events.
    pub every_green_event: bool,
    /// What could not be seen of the kernel side.
    pub kernel_missing: Vec<String>,
    /// Losses known before the first event.
    pub losses: Vec<Loss>,
    /// Transaction counts as `rtscope-analyze` stores them: a JSON document.
    #[serde(default)]
    pub transactions: Option<String>,
    /// Results of the looks at waiting threads, as a JSON document too.
    #[serde(default)]
    pub waits: Option<String>,
    /// The manifest of the capture, where there is one.
    pub manifest: Option<Manifest>,
}

impl Exported {
    /// The runtime that wrote the events.
    pub fn runtime(&self) -> &'static RuntimeInfo {
        runtime::find(self.family.as_deref())
    }
}

/// Number of records or events of one type.
#[derive(Clone, Eq, PartialEq, Debug, Serialize)]
pub struct TypeCount {
    /// Number of the type in its log.
    pub tag: u16,
    /// Name of the type.
    pub name: String,
    /// Number of records.
    pub count: u64,
}

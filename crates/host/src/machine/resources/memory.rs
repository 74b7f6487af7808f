//! How much memory there is: the machine's, or the smallest limit above a process.

use crate::machine::reading::{Reading, quoted};
use crate::system::procfs;

const MEMINFO: &str = "/proc/meminfo";

/// The memory that a process may fill.
pub(super) struct Memory {
    pub(super) bytes: Option<u64>,
    pub(super) path: Option<String>,
    /// Whether a control group sets it.
    pub(super) limited: bool,
}

/// Memory of the machine in bytes.
pub(super) fn total(reading: &mut Reading<'_>) -> Option<u64> {
    let Some(text) = reading.text(MEMINFO) else {
        reading.note(format!("{MEMINFO} cannot be read: the machine's memory is unknown"));
        return None;
    };
    let field = procfs::field(&text, "MemTotal").unwrap_or("");
    let bytes = procfs::number(&text, "MemTotal").and_then(|kib| kib.checked_mul(1024)).filter(|bytes| *bytes > 0);
    reading.said("memory of the machine", MEMINFO, &format!("MemTotal: {field}"));
    if bytes.is_none() {
        reading.note(format!("{MEMINFO} says MemTotal {}: the machine's memory is unknown", quoted(field)));
    }
    bytes
}

/// The smaller of the groups' limit and the machine's memory.
pub(super) fn smallest(limit: Option<(u64, String)>, total: Option<u64>) -> Memory {
    match (limit, total) {
        (Some((bytes, path)), total) if total.is_none_or(|total| bytes < total) => {
            Memory { bytes: Some(bytes), path: Some(path), limited: true }
        }
        (_, total) => Memory { bytes: total, path: total.map(|_| MEMINFO.to_owned()), limited: false },
    }
}

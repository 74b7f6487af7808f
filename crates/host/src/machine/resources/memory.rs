//! How much memory there is: the machine's, or the smallest limit that applies to a process.

use crate::machine::reading::{Reading, quoted};
use crate::system::procfs;

const MEMINFO: &str = "/proc/meminfo";

/// Memory of the machine in bytes.
pub(super) fn total(reading: &mut Reading<'_>) -> Option<u64> {
    let Some(text) = reading.text(MEMINFO) else {
        reading.note(format!("{MEMINFO} cannot be read: the machine's memory is unknown"));
        return None;
    };
    let field = procfs::field(&text, "MemTotal").unwrap_or("");
    let bytes = procfs::number(&text, "MemTotal").and_then(|kib| kib.checked_mul(1024)).filter(|bytes| *bytes > 0);
    reading.add_source("memory of the machine", MEMINFO, &format!("MemTotal: {field}"));
    if bytes.is_none() {
        reading.note(format!("{MEMINFO} says MemTotal {}: the machine's memory is unknown", quoted(field)));
    }
    bytes
}

/// The memory that a process may use, with its source: the smaller of the groups' limit and the machine's
/// memory. Also whether a control group sets it.
pub(super) fn smallest(limit: Option<(u64, String)>, total: Option<u64>) -> (Option<(u64, String)>, bool) {
    match limit.filter(|(bytes, _)| total.is_none_or(|total| *bytes < total)) {
        Some(limit) => (Some(limit), true),
        None => (total.map(|bytes| (bytes, MEMINFO.to_owned())), false),
    }
}

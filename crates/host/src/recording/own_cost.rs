//! What recording costs: CPU time and memory of the recorder with all of its processes. Owns which these are.

use crate::system::procfs::{self, Host};
use crate::{clock, sandbox};

/// CPU time in nanoseconds of this process, its ended sandboxes, and its opener.
pub fn cpu_ns(host: &Host) -> u64 {
    let opener = host.opener().map_or(0, |opener| opener.cpu_ns());
    clock::own_cpu_ns().saturating_add(sandbox::spent_ns()).saturating_add(opener)
}

/// Peak memory of this process in bytes.
pub(crate) fn rss_max(host: &Host) -> u64 {
    let status = host.process_text(std::process::id(), "status").unwrap_or_default();
    procfs::number(&status, "VmHWM").unwrap_or(0).saturating_mul(1024)
}

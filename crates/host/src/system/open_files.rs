//! The limit of open files: raised to the maximum for the recorder, which needs some for each thread of a
//! program, and restored for every program that it starts (one that uses `select` breaks above 1,024).

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::sync::OnceLock;

/// Reserved for everything but events of threads.
const SPARE: u64 = 256;

static ORIGINAL: OnceLock<Rlimit> = OnceLock::new();

/// Raises the limit of this process as far as permitted.
pub fn raise() {
    let limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum && setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }).is_ok()
    {
        let _ = ORIGINAL.set(limit);
    }
}

/// The limit for started programs, if it differs from this process's.
pub(crate) fn original() -> Option<Rlimit> {
    ORIGINAL.get().copied()
}

/// Files that can still be opened for events.
pub(crate) fn room() -> u64 {
    let open = std::fs::read_dir("/proc/self/fd").map_or(0, |files| files.count() as u64);
    let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    limit.saturating_sub(open + SPARE.min(limit / 4))
}

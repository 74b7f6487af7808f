//! Limits that bound recording.

use super::check::{Check, State};
use super::perf::effective_capabilities;
use rustix::process::{Resource, getrlimit};
use std::fs;
use std::path::Path;

/// Rings smaller than this drop records on a busy CPU.
const RING_KB_WANTED: u64 = 256;
const CAP_IPC_LOCK: u32 = 14;

/// `kernel.perf_event_mlock_kb` and the limit of locked memory.
pub fn locked_memory(root: &Path) -> Check {
    const PATH: &str = "proc/sys/kernel/perf_event_mlock_kb";
    let name = "locked-memory";
    let each = fs::read_to_string(root.join(PATH)).ok().and_then(|text| text.trim().parse::<u64>().ok());
    let limit = getrlimit(Resource::Memlock).current;
    let limit_text = limit.map_or("unlimited".to_owned(), |bytes| format!("{} KiB", bytes / 1024));
    let Some(each) = each else {
        return Check::new(name, State::Degraded, format!("/{PATH} cannot be read"), "Ring sizes are found by trying.");
    };
    let free = effective_capabilities(root).is_some_and(|held| held & (1 << CAP_IPC_LOCK) != 0);
    let found = format!("/{PATH} is {each} per CPU, RLIMIT_MEMLOCK is {limit_text}");
    let (state, means) = match (free, each >= RING_KB_WANTED) {
        (true, _) => (State::Ok, "With CAP_IPC_LOCK neither binds."),
        (false, true) => (State::Ok, "Rings of 256 KiB per CPU fit."),
        (false, false) => {
            (State::Degraded, "Rings are smaller than wished: a busy program may lose records (counted).")
        }
    };
    Check::new(name, state, found, means).mended_by("sudo sysctl kernel.perf_event_mlock_kb=516")
}

/// Open files: attaching takes one per thread and CPU.
pub fn open_files(root: &Path) -> Check {
    let cpus = fs::read_to_string(root.join("proc/cpuinfo"))
        .map_or(1, |text| text.lines().filter(|line| line.starts_with("processor")).count().max(1) as u64);
    let limit = getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX);
    let threads = limit.saturating_sub(64) / cpus;
    let found = format!("RLIMIT_NOFILE is at most {limit}, {cpus} CPUs");
    let state = if threads >= 64 { State::Ok } else { State::Degraded };
    let means = format!("Without privilege, `record --pid` can watch a process of up to {threads} threads.");
    Check::new("open-files", state, found, &means).mended_by("sudo prlimit --pid $$ --nofile=1048576:1048576")
}

#[cfg(test)]
mod tests {
    use super::super::tests::tree;
    use super::*;

    #[test]
    fn ring_memory() {
        let check = |kb: &str, caps: &str| {
            let root = tree(&[("proc/sys/kernel/perf_event_mlock_kb", kb), ("proc/self/status", caps)]);
            locked_memory(root.path()).state
        };
        assert_eq!(check("516\n", "CapEff:\t0\n"), State::Ok);
        assert_eq!(check("64\n", "CapEff:\t0\n"), State::Degraded);
        assert_eq!(check("64\n", "CapEff:\t4000\n"), State::Ok);
        assert_eq!(check("x", "CapEff:\t0\n"), State::Degraded);
    }
}

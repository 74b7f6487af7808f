//! The host's clocks: `CLOCK_MONOTONIC` (the trace clock) and its distance to `CLOCK_REALTIME`.

use rtscope_model::Time;
use rustix::time::{ClockId, clock_gettime};
use std::io;
use std::time::Duration;

const NS_PER_S: i64 = 1_000_000_000;
/// Attempts from which the tightest pairing of two clocks is used.
const PAIRING_TRIES: usize = 20;
/// Added to the error of a pairing for the granularity of the clocks compared with it.
const PAIRING_STEP_NS: u64 = 1_000;

/// Current time on the trace clock.
pub fn monotonic() -> Time {
    Time(nanoseconds(ClockId::Monotonic).max(0) as u64)
}

/// Time since the machine was started, in nanoseconds, including suspend: the clock of the kernel's
/// start times of processes.
pub fn since_boot_ns() -> u64 {
    nanoseconds(ClockId::Boottime).max(0) as u64
}

/// CPU time that this process has used, in nanoseconds.
pub(crate) fn own_cpu_ns() -> u64 {
    nanoseconds(ClockId::ProcessCPUTime).max(0) as u64
}

/// CPU time that a process has used, in nanoseconds; 0 if it is gone.
pub(crate) fn cpu_ns_of(pid: libc::pid_t) -> u64 {
    let mut clock = 0;
    let mut used = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: both write to their struct on this stack only.
    let done = unsafe {
        libc::clock_getcpuclockid(pid, &raw mut clock) == 0 && libc::clock_gettime(clock, &raw mut used) == 0
    };
    if done { (used.tv_sec as u64).saturating_mul(NS_PER_S as u64).saturating_add(used.tv_nsec as u64) } else { 0 }
}

/// Waits for the end of a child and reaps it: its status, then the CPU time in nanoseconds and the peak memory in bytes
/// of it and the children that it waited for.
pub(crate) fn reap(pid: libc::pid_t) -> io::Result<(libc::c_int, u64, u64)> {
    let mut status = 0;
    // SAFETY: `rusage` is plain data for which zero is valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: writes one number and one struct, both on this stack.
    while unsafe { libc::wait4(pid, &raw mut status, 0, &raw mut usage) } == -1 {
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    let ns = |time: libc::timeval| time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_usec.unsigned_abs() * 1_000;
    let cpu_ns = ns(usage.ru_utime).saturating_add(ns(usage.ru_stime));
    Ok((status, cpu_ns, usage.ru_maxrss.unsigned_abs() * 1024))
}

/// CPU time that the calling thread has used, in nanoseconds.
pub fn thread_cpu_ns() -> u64 {
    nanoseconds(ClockId::ThreadCPUTime).max(0) as u64
}

/// A clock tick of the kernel's counters in nanoseconds.
pub(crate) fn tick_ns() -> u64 {
    1_000_000_000 / rustix::param::clock_ticks_per_second().max(1)
}

/// A duration in nanoseconds.
pub fn ns_of(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

fn nanoseconds(clock: ClockId) -> i64 {
    let now = clock_gettime(clock);
    now.tv_sec.saturating_mul(NS_PER_S).saturating_add(now.tv_nsec)
}

/// `CLOCK_REALTIME - CLOCK_MONOTONIC` and its possible error.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct RealtimeOffset {
    /// Nanoseconds to add to a monotonic stamp.
    pub offset_ns: i64,
    /// Half of the bracket it was read in, plus one microsecond.
    pub error_ns: u64,
}

/// Reads both clocks back to back, and keeps the tightest of several attempts.
pub fn realtime_offset() -> RealtimeOffset {
    let mut best = RealtimeOffset { offset_ns: 0, error_ns: u64::MAX };
    for _ in 0..PAIRING_TRIES {
        let before = nanoseconds(ClockId::Monotonic);
        let realtime = nanoseconds(ClockId::Realtime);
        let after = nanoseconds(ClockId::Monotonic);
        let half = (after - before) / 2;
        let error_ns = half.unsigned_abs() + PAIRING_STEP_NS;
        if error_ns < best.error_ns {
            best = RealtimeOffset { offset_ns: realtime - before - half, error_ns };
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pairing_is_tight_and_agrees_with_the_system_time() {
        let pair = realtime_offset();
        assert!(pair.error_ns < 1_000_000, "{pair:?}");
        let system = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos() as i64;
        let paired = monotonic().0 as i64 + pair.offset_ns;
        assert!((system - paired).abs() < 50_000_000, "{system} {paired}");
    }
}

//! The one clock of a load, and waking up at a given time. Owns the timer: it uses the kernel's,
//! because an event loop's timer wheel turns in milliseconds, and busy waiting would take a CPU that
//! the server may need.

use rtscope_model::Time;
use rustix::fd::OwnedFd;
use rustix::time::{ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec};
use rustix::time::{clock_gettime, timerfd_create, timerfd_settime};
use std::io;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

pub(crate) fn now() -> Time {
    let now = clock_gettime(ClockId::Monotonic);
    let (seconds, ns) = (u64::try_from(now.tv_sec).unwrap_or(0), u64::try_from(now.tv_nsec).unwrap_or(0));
    Time(seconds.saturating_mul(1_000_000_000).saturating_add(ns))
}

/// The current time, nanoseconds since 1970.
pub(crate) fn unix_ns() -> u64 {
    ns(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default())
}

/// A duration in nanoseconds, saturating.
pub(crate) fn ns(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// Wakes one task at a time.
pub(crate) struct Timer {
    fd: AsyncFd<OwnedFd>,
}

impl Timer {
    /// A timer in this thread's event loop.
    #[allow(
        deprecated,
        reason = "deprecated for what is no owned descriptor; what replaces it is unsafe, which only host may be"
    )]
    pub(crate) fn new() -> io::Result<Timer> {
        let fd = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)?;
        Ok(Timer { fd: AsyncFd::with_interest(fd, Interest::READABLE)? })
    }

    /// Waits until `moment`; yields to other tasks even if it has passed.
    pub(crate) async fn until(&self, moment: Time) -> io::Result<()> {
        // 0 would disarm the timer.
        let ns = moment.0.max(1);
        let value = Timespec {
            tv_sec: (ns / 1_000_000_000).try_into().unwrap_or(i64::MAX),
            tv_nsec: (ns % 1_000_000_000).try_into().unwrap_or(0),
        };
        let never = Timespec { tv_sec: 0, tv_nsec: 0 };
        timerfd_settime(
            self.fd.get_ref(),
            TimerfdTimerFlags::ABSTIME,
            &Itimerspec { it_interval: never, it_value: value },
        )?;
        loop {
            let mut ready = self.fd.readable().await?;
            let mut count = [0_u8; 8];
            if let Ok(read) = ready.try_io(|fd| Ok(rustix::io::read(fd.get_ref(), &mut count)?)) {
                return read.map(drop);
            }
        }
    }
}

//! Whether descriptors are readable: a process's that has ended, a pipe's with something in it; and eventfds that one thread
//! makes readable for another.

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::time::Timespec;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// Whether it is. One that cannot be asked is not.
pub(crate) fn is_ready(descriptor: &impl AsFd) -> bool {
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    matches!(poll(&mut [PollFd::new(descriptor, PollFlags::IN)], Some(&at_once)), Ok(1..))
}

/// Waits until one of them is, for at most so long. Interrupted or not: who waits looks at everything.
pub(crate) fn wait(descriptors: &mut [PollFd<'_>], timeout_ns: Option<u64>) {
    let timeout =
        timeout_ns.map(|ns| Timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as i64 });
    let _ = poll(descriptors, timeout.as_ref());
}

/// What one thread makes readable for another.
#[derive(Debug)]
pub(crate) struct Bell(OwnedFd);

impl Bell {
    pub fn new() -> io::Result<Bell> {
        Ok(Bell(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?))
    }

    /// Makes it readable. Only a full counter can refuse, and then it is readable already.
    pub fn ring(&self) {
        let _ = rustix::io::write(&self.0, &1_u64.to_ne_bytes());
    }

    /// It is not readable any more.
    pub fn clear(&self) {
        let _ = rustix::io::read(&self.0, &mut [0; 8]);
    }
}

impl AsFd for Bell {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.0.as_fd()
    }
}

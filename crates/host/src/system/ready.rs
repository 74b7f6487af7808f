//! Whether descriptors are readable: of a process that has ended, of a pipe with data in it; and eventfds that one
//! thread makes readable for another.

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::time::Timespec;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// Whether it is readable. One that cannot be polled is not.
pub(crate) fn is_ready(descriptor: &impl AsFd) -> bool {
    matches!(poll(&mut [PollFd::new(descriptor, PollFlags::IN)], Some(&Timespec::default())), Ok(1..))
}

/// Waits until one of them is ready, at most until the timeout, and returns each one's events. Interrupted or not:
/// the caller checks everything.
pub(crate) fn wait<'f>(
    descriptors: impl IntoIterator<Item = BorrowedFd<'f>>,
    timeout_ns: Option<u64>,
) -> Vec<PollFlags> {
    let timeout = timeout_ns.and_then(|ns| Timespec::try_from(Duration::from_nanos(ns)).ok());
    let polled = descriptors.into_iter().map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN));
    let mut polled: Vec<PollFd<'f>> = polled.collect();
    let _ = poll(&mut polled, timeout.as_ref());
    polled.iter().map(PollFd::revents).collect()
}

/// Whether the other end is gone: such a descriptor stays ready for ever.
pub(crate) fn hung_up(revents: PollFlags) -> bool {
    revents.intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL)
}

/// An eventfd that one thread makes readable for another.
#[derive(Debug)]
pub(crate) struct Bell(OwnedFd);

impl Bell {
    pub fn new() -> io::Result<Bell> {
        Ok(Bell(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?))
    }

    /// Makes it readable. This fails only with a full counter, and then it is already readable.
    pub fn ring(&self) {
        let _ = rustix::io::write(&self.0, &1_u64.to_ne_bytes());
    }

    pub fn clear(&self) {
        let _ = rustix::io::read(&self.0, &mut [0; 8]);
    }
}

impl AsFd for Bell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

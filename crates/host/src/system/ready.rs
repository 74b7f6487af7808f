//! Whether a descriptor is readable now: a process's that has ended, a pipe's with something in it. Refuses to wait.

use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::Timespec;
use std::os::fd::AsFd;

/// Whether it is. One that cannot be asked is not.
pub(crate) fn is_ready(descriptor: &impl AsFd) -> bool {
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    matches!(poll(&mut [PollFd::new(descriptor, PollFlags::IN)], Some(&at_once)), Ok(1..))
}

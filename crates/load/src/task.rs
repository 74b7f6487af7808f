//! What a load is to do, and how it is given up. Refuses to run it.

use crate::limit::Limit;
use crate::profile::Profile;
use crate::target::Target;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

pub(crate) const RUNNING: u8 = 0;

pub(crate) const INTERRUPTED: u8 = 1;

pub(crate) const BROKEN: u8 = 2;

/// What a load is to do.
#[derive(Clone, Debug)]
pub struct Load {
    /// The URL and the request.
    pub target: Target,
    /// The schedule after the warm-up.
    pub profile: Profile,
    /// Requests due in this time are sent at the profile's first rate and not counted.
    pub warm_up: Duration,
    /// Most connections, at least one.
    pub connections: usize,
    /// Most concurrent requests per HTTP/2 connection, at least one.
    pub streams: usize,
    /// Sending threads, at least one and at most `connections`.
    pub threads: usize,
    /// Time from when a request is due until it counts as failed.
    pub timeout: Duration,
    /// Limits that end the load early.
    pub limits: Vec<Limit>,
    /// Most requests that are recorded in a file.
    pub keep: u64,
}

/// A handle that gives a load up from outside.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    pub(crate) state: Arc<AtomicU8>,
    pub(crate) takes_sigint: bool,
}

impl Stop {
    /// A handle that SIGINT triggers, too: the load takes over the signal for the whole process.
    pub fn by_sigint() -> Stop {
        Stop { takes_sigint: true, ..Stop::default() }
    }

    /// Ends the load within a tenth of a second, as if interrupted.
    pub fn now(&self) {
        let _ = self.state.compare_exchange(RUNNING, INTERRUPTED, Ordering::Relaxed, Ordering::Relaxed);
    }
}

//! What a load is to do, and how it is given up. Refuses to do it.

use crate::limit::Limit;
use crate::profile::Profile;
use crate::target::Target;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

pub(crate) const RUNNING: u8 = 0;

pub(crate) const INTERRUPTED: u8 = 1;

pub(crate) const BROKEN: u8 = 2;

/// What to do.
#[derive(Clone, Debug)]
pub struct Load {
    /// Where to and what.
    pub target: Target,
    /// When, behind the warm-up.
    pub profile: Profile,
    /// Requests of this time are sent and not counted; at the profile's first rate.
    pub warm_up: Duration,
    /// The most connections, at least one.
    pub connections: usize,
    /// The most requests at a time on one of HTTP/2, at least one.
    pub streams: usize,
    /// Threads that send, at least one and at most `connections`.
    pub threads: usize,
    /// From when a request is due until it has failed.
    pub timeout: Duration,
    /// What ends the load early.
    pub limits: Vec<Limit>,
    /// The most requests that are kept in a file.
    pub keep: u64,
}

/// Gives a load up from outside.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    pub(crate) state: Arc<AtomicU8>,
    pub(crate) takes_sigint: bool,
}

impl Stop {
    /// One that SIGINT gives up too: the load takes the signal over for the whole process.
    pub fn by_sigint() -> Stop {
        Stop { takes_sigint: true, ..Stop::default() }
    }

    /// The load ends within a tenth of a second, as one that was interrupted.
    pub fn now(&self) {
        let _ = self.state.compare_exchange(RUNNING, INTERRUPTED, Ordering::Relaxed, Ordering::Relaxed);
    }
}

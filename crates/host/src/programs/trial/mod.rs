//! A measured run of a program: started on idle CPUs, in a process group and a control
//! group of its own, and gone afterwards with everything it started. Owns what is
//! noted: how it ended, its time, CPU time and peak of memory, what others did to the
//! CPUs meanwhile. Refuses to say whether that is good.
//!
//! Unlike a recorded program ([`crate::programs::spawn`]) it does not outlive its parent: the
//! kernel kills it when the thread that started it ends.

mod group;
mod noise;
mod output;
mod running;
#[cfg(test)]
mod tests;

pub use noise::{Bounds, Gate, Noise, NotQuiet};
pub use output::Ends;
pub use running::{Ended, Running, start};

use crate::system::{clock, ready};
use rtscope_model::SchedPolicy;
use std::ffi::OsString;
use std::os::fd::BorrowedFd;
use std::time::Instant;

/// What to run. Its standard input is empty; the end of its output is kept.
#[derive(Clone, Eq, PartialEq, Debug, Default)]
pub struct Job {
    /// Program and arguments.
    pub argv: Vec<OsString>,
    /// Variables to set; they replace inherited ones of these names.
    pub set: Vec<(String, OsString)>,
    /// CPUs that it may use; `None`: those that this process may use.
    pub cpus: Option<Vec<u32>>,
    /// Scheduling policy of the program.
    pub class: SchedPolicy,
}

/// What ended a sleep early.
#[derive(Copy, Clone, Debug, Default)]
struct Woken {
    ended: bool,
    woken: bool,
}

/// Sleeps until then, until a process ends or `wake` is readable.
fn sleep_until(until: Instant, process: Option<BorrowedFd<'_>>, wake: Option<BorrowedFd<'_>>) -> Woken {
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let seen = ready::wait(process.into_iter().chain(wake), Some(clock::ns_of(left)));
        let mut ready = seen.iter().map(|events| !events.is_empty());
        let mut take = |fd: Option<BorrowedFd<'_>>| fd.is_some() && ready.next().unwrap_or(false);
        let seen = Woken { ended: take(process), woken: take(wake) };
        if seen.ended || seen.woken || Instant::now() >= until {
            return seen;
        }
    }
}

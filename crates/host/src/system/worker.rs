//! Threads of the recorder: their work while the program runs must not push the program off a CPU,
//! and a late clock measures itself. Owns how such threads are scheduled, the state that they share
//! with the thread that started them, and how long it waits for their end.

use super::ready::{self, Bell};
use std::io;
use std::ops::Deref;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Longest wait for a thread that was asked to end. One that is held up, by a file on a dead server or by an
/// obstacle in a target, must not delay the end of a recording.
const END_WITHIN: Duration = Duration::from_secs(2);

/// One or two ticks of the usual kernels.
const SLACK_NS: u64 = 4_000_000;

/// Makes the calling thread one that preempts no other when it wakes
/// (`SCHED_BATCH`: it waits for the next tick, a switch or an idle CPU), and lets
/// the kernel delay its timers until an interrupt comes anyway: on a virtual
/// machine a timer of its own costs more than the sampler's work. Both delays are
/// a few milliseconds at most, and children inherit neither. If it is refused the
/// thread stays as it was, which costs the program a little more.
pub fn use_batch_priority() {
    schedule(libc::SCHED_BATCH, 0);
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(SLACK_NS));
}

/// Lets the calling thread's timers be late by at most `ns`, and never by more than a
/// batch thread's.
pub fn wake_within(ns: u64) {
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(ns.clamp(1, SLACK_NS)));
}

/// Undoes [`use_batch_priority`], for a thread that came too late: it is an ordinary one again,
/// with priority over the program's if that is permitted.
pub fn restore_priority() {
    const NICE: i32 = -10;
    schedule(libc::SCHED_OTHER, 0);
    let _ = rustix::process::setpriority_process(None, NICE);
}

/// Makes the calling thread one that runs as soon as it wakes, whatever runs on the CPU
/// (`SCHED_FIFO`, the lowest of its priorities, not inherited): for a thread with a
/// schedule that needs little time for it. If it is refused the thread stays as it was.
pub fn use_realtime_priority() {
    schedule(libc::SCHED_FIFO, 1);
}

/// Sets the scheduling of the calling thread, not of its children. A refusal changes nothing.
fn schedule(policy: libc::c_int, sched_priority: libc::c_int) {
    let parameters = libc::sched_param { sched_priority };
    // SAFETY: reads one struct on this stack; 0 is the calling thread.
    unsafe { libc::sched_setscheduler(0, policy | libc::SCHED_RESET_ON_FORK, &raw const parameters) };
}

/// The state that a worker shares with the thread that started it.
#[derive(Debug)]
pub(crate) struct Shared<S> {
    stop: AtomicBool,
    disk_full: AtomicBool,
    written: AtomicU64,
    /// Readable until the worker has noticed that it is to continue at once.
    pub wake: Bell,
    /// Readable from new results until they are taken.
    pub news: Bell,
    state: Mutex<S>,
}

impl<S> Shared<S> {
    /// Errors: no more descriptors.
    pub fn new(state: S) -> io::Result<Arc<Shared<S>>> {
        Ok(Arc::new(Shared {
            stop: AtomicBool::default(),
            disk_full: AtomicBool::default(),
            written: AtomicU64::default(),
            wake: Bell::new()?,
            news: Bell::new()?,
            state: Mutex::new(state),
        }))
    }

    /// Locks the rest of the shared state. It stays valid when a thread panics with the lock held.
    pub fn lock(&self) -> MutexGuard<'_, S> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    pub fn stop(&self) {
        self.stop.store(true, Ordering::Release);
        self.wake.ring();
    }

    /// The worker waits until it is woken, one of `also` is readable or the time is over. False: it is to end.
    pub fn wait(&self, also: &[BorrowedFd<'_>], timeout_ns: Option<u64>) -> bool {
        ready::wait([self.wake.as_fd()].iter().chain(also).copied(), timeout_ns);
        self.wake.clear();
        !self.is_stopped()
    }

    pub fn written_bytes(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }

    pub fn add_written(&self, bytes: u64) {
        self.written.fetch_add(bytes, Ordering::Relaxed);
    }

    pub fn set_written(&self, bytes: u64) {
        self.written.store(bytes, Ordering::Relaxed);
    }

    pub fn disk_full(&self) -> bool {
        self.disk_full.load(Ordering::Relaxed)
    }

    /// Notes that the disk is full; returns whether that is new.
    pub fn fill_disk(&self) -> bool {
        !self.disk_full.swap(true, Ordering::Relaxed)
    }
}

/// A thread of the recorder with its shared state. Dropping it asks the thread to end.
#[derive(Debug)]
pub(crate) struct Worker<S> {
    shared: Arc<Shared<S>>,
    thread: Option<JoinHandle<()>>,
}

impl<S: Send + 'static> Worker<S> {
    /// Starts a thread that first calls `schedule`. Errors: no thread could be made.
    pub fn run(
        shared: Arc<Shared<S>>,
        name: &str,
        schedule: fn(),
        work: impl FnOnce(&Shared<S>) + Send + 'static,
    ) -> io::Result<Worker<S>> {
        let own = Arc::clone(&shared);
        let work = move || {
            schedule();
            work(&own);
        };
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(work)?;
        Ok(Worker { shared, thread: Some(thread) })
    }
}

impl<S> Worker<S> {
    /// Ends it. False: it panicked, or is abandoned because it does not end.
    pub fn end(&mut self) -> bool {
        self.shared.stop();
        self.thread.take().is_none_or(|thread| end_within(thread, END_WITHIN).is_some())
    }

    /// Waits for a thread that ends by itself.
    pub fn join(&mut self) {
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

impl<S> Deref for Worker<S> {
    type Target = Shared<S>;

    fn deref(&self) -> &Shared<S> {
        &self.shared
    }
}

impl<S> Drop for Worker<S> {
    fn drop(&mut self) {
        self.end();
    }
}

fn end_within<T>(thread: JoinHandle<T>, within: Duration) -> Option<T> {
    let deadline = Instant::now() + within;
    let mut pause = Duration::from_micros(50);
    while !thread.is_finished() {
        if Instant::now() >= deadline {
            return None;
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(5));
    }
    thread.join().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_does_not_end_is_abandoned() {
        let thread = std::thread::spawn(|| {
            std::thread::park();
            7
        });
        let held = thread.thread().clone();
        assert_eq!(end_within(thread, Duration::from_millis(20)), None);
        held.unpark();
        assert_eq!(end_within(std::thread::spawn(|| 7), END_WITHIN), Some(7));
    }
}

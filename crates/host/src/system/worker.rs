//! Threads that stand back: what the recorder does beside the program must not
//! push the program off a CPU. And threads that go before: a clock that is late measures
//! itself. Owns how such threads are scheduled, and how long their end is waited for.

use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Longest time that a thread that was asked to end is waited for. One that is held up, by a file on a dead server or
/// by what a target has put in its way, must not hold up the end of a recording.
const END_WITHIN: Duration = Duration::from_secs(2);

/// One or two ticks of the usual kernels.
const SLACK_NS: u64 = 4_000_000;

/// Makes the calling thread one that preempts nobody when it wakes
/// (`SCHED_BATCH`: it waits for the next tick, a switch or an idle CPU), and lets
/// the kernel put off its timers until an interrupt comes anyway: on a virtual
/// machine a timer of its own costs more than what a sampler does with it. Both
/// come to a few milliseconds at most, and neither is passed on to children.
/// Where it is refused the thread stays what it was, which costs the program a
/// little more.
pub fn stand_back() {
    let parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: reads one struct on this stack; 0 is the calling thread.
    let _ =
        unsafe { libc::sched_setscheduler(0, libc::SCHED_BATCH | libc::SCHED_RESET_ON_FORK, &raw const parameters) };
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(SLACK_NS));
}

/// Lets the calling thread's timers be late by at most so much, and never by more than a
/// thread that stands back allows itself.
pub fn wake_within(ns: u64) {
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(ns.clamp(1, SLACK_NS)));
}

/// Undoes [`stand_back`], for a thread that came too late: it is an ordinary one again,
/// and goes before the program's where that is permitted.
pub fn step_forward() {
    const NICE: libc::c_int = -10;
    let parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: both calls are about the calling thread (0); the first reads one struct on
    // this stack, the second takes numbers only.
    unsafe {
        libc::sched_setscheduler(0, libc::SCHED_OTHER | libc::SCHED_RESET_ON_FORK, &raw const parameters);
        libc::setpriority(libc::PRIO_PROCESS, 0, NICE);
    }
}

/// Makes the calling thread one that runs as soon as it wakes, whoever has the CPU
/// (`SCHED_FIFO`, the lowest of its priorities, not passed on): for one that keeps to a
/// schedule and needs little time for it. Where it is refused the thread stays what it was.
pub fn go_before() {
    let parameters = libc::sched_param { sched_priority: 1 };
    // SAFETY: reads one struct on this stack; 0 is the calling thread.
    let _ = unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, &raw const parameters) };
}

/// What a thread that was asked to end gives; `None`: it panicked, or is left behind because it does not end.
pub fn end<T>(thread: JoinHandle<T>) -> Option<T> {
    end_within(thread, END_WITHIN)
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
    fn a_thread_that_does_not_end_is_left_behind() {
        let thread = std::thread::spawn(|| {
            std::thread::park();
            7
        });
        let held = thread.thread().clone();
        assert_eq!(end_within(thread, Duration::from_millis(20)), None);
        held.unpark();
        assert_eq!(end(std::thread::spawn(|| 7)), Some(7));
    }
}

//! Threads that stand back: what the recorder does beside the program must not
//! push the program off a CPU. And threads that go before: a clock that is late measures
//! itself. Owns how such threads are scheduled.

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

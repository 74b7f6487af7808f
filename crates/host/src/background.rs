//! Threads that stand back: what the recorder does beside the program must not
//! push the program off a CPU. Owns the scheduling class of such threads.

/// Makes the calling thread one that preempts nobody when it wakes
/// (`SCHED_BATCH`): it waits for the next tick, a switch or an idle CPU, a few
/// milliseconds at most. Not passed on to children. Where it is refused the
/// thread stays what it was, which costs the program a little more.
pub fn stand_back() {
    let parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: reads one struct on this stack; 0 is the calling thread.
    let _ =
        unsafe { libc::sched_setscheduler(0, libc::SCHED_BATCH | libc::SCHED_RESET_ON_FORK, &raw const parameters) };
}

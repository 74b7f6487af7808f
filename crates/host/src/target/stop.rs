//! Stops a process for a moment. Owns that it is never left stopped: a thread of
//! its own attaches to each thread of the process, and whatever ends that thread (its work,
//! its time, the death of the whole program) makes the kernel release all of them.
//!
//! A system call that a stopped thread was blocked in continues afterwards, except those that
//! the kernel does not restart: `epoll_wait` and a few more return `EINTR`.

use crate::privileges::opener::StopOutcome;
use crate::system::procfs::Host;
use std::collections::BTreeMap;
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Searches for threads that were made while others were being stopped.
const PASSES_MAX: usize = 16;
/// Interval of checking whether a thread has stopped.
const LOOK: Duration = Duration::from_micros(50);

#[derive(Debug)]
pub struct Stop {
    over: Sender<()>,
    thread: JoinHandle<StopOutcome>,
}

impl Stop {
    /// Stops all threads of process `pid`, for at most `most`.
    /// Errors: not permitted, no such process, or a thread that does not stop in that time.
    pub fn begin(host: &Host, pid: u32, most: Duration) -> io::Result<Stop> {
        let (over, ended) = channel();
        let (ready, is_ready) = channel();
        let host = host.clone();
        let work = move || hold(&host, pid, most, &ready, &ended);
        let thread = std::thread::Builder::new().name("stop".into()).spawn(work)?;
        match is_ready.recv() {
            Ok(Ok(())) => Ok(Stop { over, thread }),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(io::Error::other("the thread that was to stop it ended")),
        }
    }

    /// Resumes it.
    pub fn end(self) -> StopOutcome {
        let _ = self.over.send(());
        self.thread.join().unwrap_or(StopOutcome { stopped: Duration::ZERO, cut: true })
    }
}

fn hold(host: &Host, pid: u32, most: Duration, ready: &Sender<io::Result<()>>, over: &Receiver<()>) -> StopOutcome {
    let started = Instant::now();
    let deadline = started + most;
    let mut threads = BTreeMap::new();
    let stopped = stop_all(host, pid, deadline, &mut threads);
    let worked = stopped.is_ok();
    let _ = ready.send(stopped);
    let mut cut = true;
    if worked {
        let left = deadline.saturating_duration_since(Instant::now());
        cut = matches!(over.recv_timeout(left), Err(RecvTimeoutError::Timeout));
    }
    for (tid, signal) in threads {
        // A thread that has not stopped cannot be detached by this: the end of this thread does it.
        let _ = request(libc::PTRACE_DETACH, tid, signal as usize);
    }
    StopOutcome { stopped: started.elapsed(), cut }
}

/// Stops the threads; `threads` receives those attached to, with the signal that each was about to get.
fn stop_all(host: &Host, pid: u32, deadline: Instant, threads: &mut BTreeMap<u32, i32>) -> io::Result<()> {
    for _ in 0..PASSES_MAX {
        let fresh: Vec<u32> = host.tids(pid).into_iter().filter(|tid| !threads.contains_key(tid)).collect();
        if fresh.is_empty() {
            return if threads.is_empty() { Err(io::Error::from_raw_os_error(libc::ESRCH)) } else { Ok(()) };
        }
        let mut waited = Vec::new();
        for tid in fresh {
            match attach(tid) {
                Ok(()) => waited.push(tid),
                // It has ended meanwhile.
                Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
                Err(error) => return Err(error),
            }
        }
        for tid in waited {
            threads.insert(tid, 0);
            if let Some(signal) = wait(tid, deadline)? {
                threads.insert(tid, signal);
            }
        }
    }
    Err(io::Error::other("it makes threads faster than they can be stopped"))
}

fn request(what: libc::c_uint, tid: u32, data: usize) -> io::Result<()> {
    let tid = libc::pid_t::try_from(tid).map_err(|_| io::ErrorKind::InvalidInput)?;
    let nothing = std::ptr::null_mut::<libc::c_void>();
    // SAFETY: the requests of this module (SEIZE, INTERRUPT, DETACH) take numbers in their
    // pointer arguments and write no memory of this process.
    let done = unsafe { libc::ptrace(what, tid, nothing, data as *mut libc::c_void) };
    if done == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn attach(tid: u32) -> io::Result<()> {
    request(libc::PTRACE_SEIZE, tid, 0)?;
    request(libc::PTRACE_INTERRUPT, tid, 0)
}

/// Waits until it has stopped: returns the signal that it was about to get, 0 for none;
/// `None`: it has ended.
fn wait(tid: u32, deadline: Instant) -> io::Result<Option<i32>> {
    let thread = libc::pid_t::try_from(tid).map_err(|_| io::ErrorKind::InvalidInput)?;
    loop {
        let mut status = 0;
        // SAFETY: writes one number on this stack.
        let done = unsafe { libc::waitpid(thread, &raw mut status, libc::__WALL | libc::WNOHANG) };
        match done {
            -1 if io::Error::last_os_error().raw_os_error() == Some(libc::EINTR) => {}
            -1 => return Ok(None),
            0 if Instant::now() >= deadline => {
                return Err(io::Error::new(
                    io::ErrorKind::TimedOut,
                    "a thread did not stop in time: it waits in the kernel",
                ));
            }
            0 => std::thread::sleep(LOOK),
            _ if libc::WIFSTOPPED(status) => {
                let event = status >> 16 == libc::PTRACE_EVENT_STOP;
                return Ok(Some(if event { 0 } else { libc::WSTOPSIG(status) }));
            }
            _ => return Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Child, Command};

    struct Ended(Child);

    impl Drop for Ended {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    fn state(pid: u32) -> String {
        let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        text.rsplit(") ").next().unwrap().split(' ').next().unwrap().to_owned()
    }

    #[test]
    fn a_process_stands_still_and_runs_on() {
        let child = Ended(Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap());
        let pid = child.0.id();
        let host = Host::default();
        let stop = Stop::begin(&host, pid, Duration::from_secs(5)).unwrap();
        assert_eq!(state(pid), "t");
        let held = stop.end();
        assert!(!held.cut && held.stopped < Duration::from_secs(5));
        assert_ne!(state(pid), "t");
        // Without a call of `end`, the time limit ends the stop.
        let stop = Stop::begin(&host, pid, Duration::from_millis(30)).unwrap();
        std::thread::sleep(Duration::from_millis(200));
        assert_ne!(state(pid), "t");
        assert!(stop.end().cut);
    }

    #[test]
    fn no_process_is_an_error() {
        assert!(Stop::begin(&Host::default(), 1 << 30, Duration::from_secs(1)).is_err());
    }
}

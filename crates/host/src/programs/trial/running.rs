//! Starts a trial's program, waits for it, stops it, and removes its remains. Owns that it and
//! its whole process group are gone and reaped at the end, whatever happened.

use super::group::TrialGroup;
use super::noise::{Meter, Noise};
use super::output::{Ends, Listener};
use super::{Job, sleep_until};
use crate::programs::launch::{self, Mask};
use crate::programs::spawn::{Image, SpawnError, exec_error, find_program, is_binary, no_command};
use crate::system::clock;
use crate::system::procfs::Host;
use rtscope_model::SchedPolicy;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Interval of polling for the program's end, without pidfd.
const POLL: Duration = Duration::from_millis(1);

/// A trial's program, started.
#[derive(Debug)]
pub struct Running {
    pid: Pid,
    pidfd: Option<OwnedFd>,
    group: Result<TrialGroup, String>,
    /// `None` once it was taken at the end.
    listener: Option<Listener>,
    meter: Meter,
    began: Instant,
    /// When its end was seen.
    ended: Option<Instant>,
    reaped: bool,
    stopped_by: Option<Signal>,
}

/// The result of a trial.
#[derive(Clone, PartialEq, Debug)]
pub struct Ended {
    /// How the program ended.
    pub status: ExitStatus,
    /// The last signal that [`Running::stop`] had sent by then.
    pub stopped_by: Option<i32>,
    /// From its start to its end, nanoseconds.
    pub wall_ns: u64,
    /// CPU time of the program and everything it started, nanoseconds.
    pub cpu_ns: u64,
    /// Peak of its memory, bytes.
    pub memory_peak_bytes: u64,
    /// The sources of these two figures, in words.
    pub how: String,
    /// Processes that the kernel killed for lack of memory.
    pub oom_kills: u64,
    /// What other programs did meanwhile.
    pub noise: Noise,
    /// The end of its output.
    pub output: Ends,
}

/// Starts the program. The calling thread has to live as long as the trial: the program is
/// killed with it.
pub fn start(host: &Host, job: &Job) -> Result<Running, SpawnError> {
    let group = TrialGroup::make(host);
    match begin(host, job, group) {
        // Entering the group may be what was refused.
        Err(SpawnError::Exec { reason, .. }) if reason == ENTERING => {
            begin(host, job, Err("entering a control group is not permitted".to_owned()))
        }
        other => other,
    }
}

/// Reports a failure to enter the group; exec never returns this error.
const NOT_ENTERED: i32 = libc::EXDEV;
const ENTERING: &str = "its control group cannot be entered";

fn begin(host: &Host, job: &Job, group: Result<TrialGroup, String>) -> Result<Running, SpawnError> {
    let (program, arguments) = job.argv.split_first().ok_or_else(no_command)?;
    let (out_read, out_write) = io::pipe()?;
    let (error_read, error_write) = io::pipe()?;
    let mut command = Command::new(program);
    command.args(arguments).envs(job.set.iter().map(|(name, value)| (name, value)));
    command.stdin(Stdio::null()).stdout(out_write).stderr(error_write).process_group(0);
    let before_exec = before_exec(job, group.as_ref().ok())?;
    // SAFETY: between fork and exec only async-signal-safe calls are made (prctl, getppid,
    // write, sched_setaffinity, sched_setscheduler, signal, execve); nothing is allocated or
    // locked.
    unsafe {
        command.pre_exec(before_exec);
    }
    let listener = Listener::start([out_read.into(), error_read.into()])?;
    let meter = Meter::begin(host, job.cpus.as_deref());
    let began = Instant::now();
    let child = command.spawn();
    // Drops our ends of the pipes: only the program's own must remain.
    drop(command);
    let child = child.map_err(|error| match error.raw_os_error() {
        Some(NOT_ENTERED) => SpawnError::Exec { program: String::new(), reason: ENTERING.to_owned(), status: 126 },
        _ => exec_error(program.to_string_lossy().into_owned(), &error),
    })?;
    let pid = Pid::from_child(&child);
    let pidfd = pidfd_open(pid, PidfdFlags::empty()).ok();
    Ok(Running {
        pid,
        pidfd,
        group,
        listener: Some(listener),
        meter,
        began,
        ended: None,
        reaped: false,
        stopped_by: None,
    })
}

/// What the forked child does before it becomes the program.
fn before_exec(
    job: &Job,
    group: Option<&TrialGroup>,
) -> io::Result<impl FnMut() -> io::Result<()> + Send + Sync + 'static> {
    let mut doors: Vec<File> = group.map_or(Ok(Vec::new()), TrialGroup::doors)?;
    let mask = job.cpus.as_deref().map(Mask::of);
    let batch = job.class == SchedPolicy::Batch;
    let parent = rustix::process::getpid();
    let path = job.argv.first().and_then(|program| find_program(program)).filter(|path| is_binary(path));
    let set: Vec<(&str, &std::ffi::OsString)> = job.set.iter().map(|(name, value)| (name.as_str(), value)).collect();
    let image = path.and_then(|path| Image::new(&path, &job.argv, &set));
    Ok(move || {
        launch::die_with(parent)?;
        for door in &mut doors {
            door.write_all(b"0").map_err(|_| io::Error::from_raw_os_error(NOT_ENTERED))?;
        }
        if let Some(mask) = &mask {
            mask.apply()?;
        }
        let parameters = libc::sched_param { sched_priority: 0 };
        // SAFETY: reads one struct on this stack; 0 is the calling process.
        if batch && unsafe { libc::sched_setscheduler(0, libc::SCHED_BATCH, &raw const parameters) } != 0 {
            return Err(io::Error::last_os_error());
        }
        // Ignored signals would stay ignored, and the program could not be stopped.
        for signal in [libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGHUP] {
            crate::programs::signals::restore_default(signal);
        }
        image.as_ref().map_or(Ok(()), Image::exec)
    })
}

impl Running {
    /// Process id of the program.
    pub fn pid(&self) -> u32 {
        self.pid.as_raw_nonzero().get().unsigned_abs()
    }

    /// Waits until it has ended, and returns whether it has; at most until `until`, or until
    /// `wake` is readable.
    pub fn wait(&mut self, until: Instant, wake: Option<BorrowedFd<'_>>) -> bool {
        while self.ended.is_none() {
            let step = if self.pidfd.is_some() { until } else { until.min(Instant::now() + POLL) };
            let seen = sleep_until(step, self.pidfd.as_ref().map(AsFd::as_fd), wake);
            if seen.ended || self.pidfd.is_none() && is_over(self.pid) {
                self.ended = Some(Instant::now());
            } else if seen.woken || Instant::now() >= until {
                return false;
            }
        }
        true
    }

    /// Ends it as its user would, with Ctrl-C: a runtime with statistics writes them then. If it
    /// has not ended after `grace` it gets SIGTERM, and after as long again it is killed.
    ///
    /// # Errors
    /// The kernel does not report how it ended.
    pub fn stop(mut self, grace: Duration) -> io::Result<Ended> {
        for signal in [Signal::INT, Signal::TERM] {
            if self.wait(Instant::now(), None) {
                break;
            }
            self.stopped_by = Some(signal);
            let _ = kill_process_group(self.pid, signal);
            self.wait(Instant::now() + grace, None);
        }
        if self.ended.is_none() {
            self.stopped_by = Some(Signal::KILL);
        }
        self.end()
    }

    /// Kills what is left of it and returns the result.
    ///
    /// # Errors
    /// The kernel does not report how it ended.
    pub fn end(mut self) -> io::Result<Ended> {
        let (status, waited_ns, largest_bytes) = self.reap()?;
        let ended = self.ended.unwrap_or_else(Instant::now);
        let counted = self.group.as_ref();
        let everything_gone = counted.is_ok_and(TrialGroup::kill);
        let cpu = counted.ok().and_then(TrialGroup::cpu_ns);
        let peak = counted.ok().and_then(TrialGroup::memory_peak);
        // CPU time of a process whose parent did not wait for it is only in the group's figure.
        let noise = self.meter.noise(cpu.map_or(0, |cpu| cpu.saturating_sub(waited_ns)));
        let mut how = how(peak.is_some(), cpu.is_some(), counted.err());
        if counted.is_ok() && !everything_gone {
            how.push_str("; some of what it started does not go away");
        }
        Ok(Ended {
            status: ExitStatus::from_raw(status),
            stopped_by: self.stopped_by.map(Signal::as_raw),
            wall_ns: clock::ns_of(ended.duration_since(self.began)),
            cpu_ns: cpu.unwrap_or(waited_ns),
            memory_peak_bytes: peak.unwrap_or(largest_bytes),
            how,
            oom_kills: counted.map_or(0, TrialGroup::oom_kills),
            noise,
            output: self.listener.take().map_or_else(Ends::default, Listener::end),
        })
    }

    /// Kills its process group, including the program if it still runs, and reaps it. Until it is
    /// reaped, no other group can get its number.
    fn reap(&mut self) -> io::Result<(libc::c_int, u64, u64)> {
        let _ = kill_process_group(self.pid, Signal::KILL);
        let done = clock::reap(self.pid.as_raw_nonzero().get());
        self.reaped = true;
        done
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.reaped {
            let _ = self.reap();
        }
        if let Ok(group) = &self.group {
            group.kill();
        }
        self.listener.take().map(Listener::end);
    }
}

/// The sources of the memory's peak and of the CPU time.
fn how(peak: bool, cpu: bool, why_not: Option<&String>) -> String {
    const WAITED: &str = "as the kernel reports it to the parent";
    const LARGEST: &str = "the resident memory of its largest process, at least that of rtscope when it started it";
    match (peak, cpu) {
        (true, true) => "memory and CPU time of its control group".to_owned(),
        (true, false) => format!("memory of its control group, CPU time {WAITED}"),
        (false, true) => format!("CPU time of its control group, which counts no memory: that is {LARGEST}"),
        (false, false) => {
            let why = why_not.map_or("its control group counts nothing", String::as_str);
            format!("CPU time {WAITED}, memory: {LARGEST} ({why})")
        }
    }
}

/// Whether a child has ended; it stays to be reaped.
fn is_over(pid: Pid) -> bool {
    use rustix::process::{WaitId, WaitIdOptions, waitid};
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    !matches!(waitid(WaitId::Pid(pid), options), Ok(None))
}

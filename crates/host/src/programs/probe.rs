//! Whether a program's runtime accepts its flags: the program is started, watched until it has
//! a second thread or has ended, and killed with everything that it started. Owns that nothing
//! of it is left; refuses to interpret its error output.
//!
//! GHC's runtime first parses its flags and then makes threads, its ticker's at the latest, before it
//! calls `main`: a second thread means that the flags were accepted, and comes within milliseconds.

use crate::programs::spawn::{SpawnError, exec_error, no_command};
use crate::{launch, signals};
use rustix::fs::OFlags;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, WaitIdStatus, kill_process_group, waitid};
use std::ffi::OsString;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Most bytes kept of its standard error.
const WORDS_MAX: usize = 16 << 10;
/// Short, so that little of the program itself runs: with 0.5 ms a quarter of all starts reached
/// the first line of `main`, with this one in forty.
const POLL: Duration = Duration::from_micros(50);

/// What to start. Its standard input is empty, its standard output is dropped.
#[derive(Clone, Debug, Default)]
pub struct Start {
    /// Program and arguments.
    pub argv: Vec<OsString>,
    /// Variables to set; they replace inherited ones of these names.
    pub set: Vec<(String, String)>,
    /// CPUs to confine it to; `None`: those of this process.
    pub cpus: Option<Vec<u32>>,
    /// How long it may run without a second thread before it counts as running well.
    pub patience: Duration,
}

/// The result of a probe.
#[derive(Clone, Eq, PartialEq, Debug)]
pub enum Probed {
    /// It runs, or it has ended successfully.
    Runs,
    /// It ended, with an error or by a signal, before it had a second thread.
    Ended {
        /// `exit status 1`, `signal 6`.
        how: String,
        /// Its standard error, at most 16 KiB.
        stderr: String,
    },
}

/// Starts it, watches it, ends it.
///
/// # Errors
/// It cannot be started, or not on these CPUs.
pub fn probe(start: &Start) -> Result<Probed, SpawnError> {
    // A thread of its own: the program inherits its mask and dies with it.
    std::thread::scope(|scope| {
        let done = std::thread::Builder::new().name("probe".into()).spawn_scoped(scope, || watch(start))?;
        done.join().unwrap_or_else(|_| Err(SpawnError::Own(io::Error::other("the probing thread failed"))))
    })
}

fn watch(start: &Start) -> Result<Probed, SpawnError> {
    if let Some(cpus) = &start.cpus {
        launch::confine(cpus)?;
    }
    let mut running = begin(start)?;
    let began = Instant::now();
    loop {
        if let Some(how) = running.ended()? {
            let stderr = running.words();
            return Ok(how.map_or(Probed::Runs, |how| Probed::Ended { how, stderr }));
        }
        if running.threads() > 1 || began.elapsed() >= start.patience {
            return Ok(Probed::Runs);
        }
        std::thread::sleep(POLL);
    }
}

fn begin(start: &Start) -> Result<ProbedProgram, SpawnError> {
    let (program, arguments) = start.argv.split_first().ok_or_else(no_command)?;
    let mut command = Command::new(program);
    command.args(arguments).envs(start.set.iter().map(|(name, value)| (name, value)));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).process_group(0);
    let parent = rustix::process::getpid();
    let before_exec = move || {
        signals::restore_default(libc::SIGPIPE);
        launch::die_with(parent)
    };
    // SAFETY: between fork and exec only async-signal-safe calls are made (signal, prctl,
    // getppid); nothing is allocated or locked.
    unsafe {
        command.pre_exec(before_exec);
    }
    let child = command.spawn().map_err(|error| exec_error(program.to_string_lossy().into_owned(), &error))?;
    Ok(ProbedProgram { child })
}

/// A started program; dropping it ends its process group and reaps it.
struct ProbedProgram {
    child: Child,
}

impl ProbedProgram {
    /// `Some`: it has ended; the inner value says how, if not successfully. It is not reaped, so that
    /// its number stays its group's.
    fn ended(&self) -> io::Result<Option<Option<String>>> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let status = waitid(WaitId::Pid(Pid::from_child(&self.child)), options)?;
        Ok(status.map(|status| how(&status)))
    }

    fn threads(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/task", self.child.id())).map_or(0, Iterator::count)
    }

    /// What is in the pipe, without waiting for other processes that hold it open.
    fn words(&mut self) -> String {
        let Some(pipe) = self.child.stderr.take() else { return String::new() };
        let mut bytes = Vec::new();
        if rustix::fs::fcntl_setfl(pipe.as_fd(), OFlags::NONBLOCK).is_ok() {
            // Ends with an error if others hold it open; what came before is there.
            let _ = pipe.take(WORDS_MAX as u64).read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

fn how(status: &WaitIdStatus) -> Option<String> {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(0), _) => None,
        (Some(code), _) => Some(format!("exit status {code}")),
        (_, Some(signal)) => Some(format!("signal {signal}")),
        _ => Some("an unknown status".to_owned()),
    }
}

impl Drop for ProbedProgram {
    fn drop(&mut self) {
        // Fails if all of them are gone.
        let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(words: &[&str]) -> Start {
        let patience = Duration::from_secs(20);
        Start { argv: words.iter().map(OsString::from).collect(), patience, ..Start::default() }
    }

    #[test]
    fn last_words_and_the_end_are_seen() {
        let script = "echo out; echo \"x: no $GHCRTS\" >&2; exit 3";
        let start = Start { set: vec![("GHCRTS".into(), "-A1k".into())], ..of(&["sh", "-c", script]) };
        let wanted = Probed::Ended { how: "exit status 3".into(), stderr: "x: no -A1k\n".into() };
        assert_eq!(probe(&start).unwrap(), wanted);
        let Probed::Ended { how, stderr } = probe(&of(&["sh", "-c", "kill -6 $$"])).unwrap() else { panic!("it runs") };
        assert_eq!((how.as_str(), stderr.as_str()), ("signal 6", ""));
        assert_eq!(probe(&of(&["true"])).unwrap(), Probed::Runs, "a short program that ended well");
    }

    #[test]
    fn words_beyond_the_limit_and_a_pipe_that_stays_open_do_not_matter() {
        let script = "yes x | head -c 60000 >&2; exit 1";
        let Probed::Ended { stderr, .. } = probe(&of(&["sh", "-c", script])).unwrap() else { panic!("it runs") };
        assert_eq!(stderr.len(), WORDS_MAX);
        // The sleeper holds standard error open until it is killed with its group.
        let Probed::Ended { stderr, .. } = probe(&of(&["sh", "-c", "sleep 600 & echo $! >&2; exit 1"])).unwrap() else {
            panic!("it runs")
        };
        gone(stderr.trim());
    }

    #[test]
    fn what_runs_is_ended_with_its_children() {
        let folder = tempfile::tempdir().unwrap();
        let note = folder.path().join("pid");
        let script = format!("sleep 600 & echo $! > {}; wait", note.display());
        let start = Start { patience: Duration::from_millis(500), ..of(&["sh", "-c", &script]) };
        assert_eq!(probe(&start).unwrap(), Probed::Runs);
        gone(std::fs::read_to_string(note).unwrap().trim());
    }

    /// It was killed, and reaped by the process that adopts orphans: until then it is a zombie.
    fn gone(pid: &str) {
        let state = || std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let over = || state().is_empty() || state().contains(") Z ");
        for _ in 0..2_000 {
            if over() {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        panic!("process {pid} is still there: {}", state());
    }

    #[test]
    fn a_second_thread_is_enough() {
        // This test program itself: it runs its tests on threads.
        let own = std::env::current_exe().unwrap().into_os_string();
        let argv = vec![own, "--exact".into(), "programs::probe::tests::sleeps".into(), "--include-ignored".into()];
        let start = Start { argv, set: vec![("RTSCOPE_SLEEPS".into(), "1".into())], ..of(&[]) };
        let began = Instant::now();
        assert_eq!(probe(&start).unwrap(), Probed::Runs);
        assert!(began.elapsed() < start.patience, "the second thread was not seen");
    }

    /// For the test above; does nothing unless it is asked for.
    #[test]
    fn sleeps() {
        if std::env::var_os("RTSCOPE_SLEEPS").is_some() {
            std::thread::sleep(Duration::from_secs(600));
        }
        assert!(std::env::var_os("RTSCOPE_SLEEPS").is_none());
    }

    #[test]
    fn a_failed_start_is_an_error() {
        let error = probe(&of(&["/no/such/program"])).unwrap_err();
        assert!(matches!(error, SpawnError::Exec { status: 127, .. }), "{error}");
        assert!(matches!(probe(&of(&[])), Err(SpawnError::Own(_))));
        let nowhere = Start { cpus: Some(vec![4_000_000]), ..of(&["true"]) };
        assert!(matches!(probe(&nowhere), Err(SpawnError::Own(_))));
    }
}

//! A workload that serves requests: started in its surroundings, available at its address, ended. Owns its
//! processes; sends no request.

use crate::runner::Runner;
use crate::surroundings::Surroundings;
use crate::toolchain::Toolchain;
use crate::workload::Workload;
use anyhow::{Context, Result, bail, ensure};
use rustix::process::{Pid, Signal, kill_process_group};
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// What a server prints before its address.
const LISTENS: &str = "listening on ";
/// Time limit from the signal to the end.
const ENDS_WITHIN: Duration = Duration::from_secs(30);

/// A listening server. Dropping it kills it.
#[derive(Debug)]
pub struct Serving {
    child: Child,
    // Stays open as long as the server runs: it may print.
    printed: BufReader<ChildStdout>,
    /// Its surroundings, which stay until the server has ended.
    around: Surroundings,
    /// Where to send requests: `http://127.0.0.1:40123/quiz`.
    pub url: String,
}

impl Serving {
    /// Builds `workload`, starts the command that `started` makes from its command (`runner::plainly`, or a
    /// recorder's) on a free port, and waits until it listens.
    pub fn start(
        runner: &Runner,
        workload: &Workload,
        toolchain: &Toolchain,
        started: impl FnOnce(&[OsString]) -> Command,
    ) -> Result<Serving> {
        let server = workload.server.as_ref().with_context(|| format!("{} is no server", workload.name))?;
        let program = workload.build(toolchain, &runner.builds)?;
        let around = Surroundings::make(workload, &runner.scratch)?;
        let mut command = runner.started(workload, toolchain, &program, &around, started);
        // A process group of its own: an interrupt reaches everything that was started, as from a terminal.
        command.process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let printed = BufReader::new(child.stdout.take().context("no standard output")?);
        let mut serving = Serving { child, printed, around, url: String::new() };
        let mut line = String::new();
        serving.printed.read_line(&mut line)?;
        let Some(address) = line.trim().strip_prefix(LISTENS) else {
            // It may go on and print without end.
            serving.signal(Signal::KILL);
            bail!("{} does not listen: {line}{}", workload.name, serving.complaints()?);
        };
        serving.url = format!("{address}{}", server.path);
        Ok(serving)
    }

    /// The process that was started: the server itself unless a launcher precedes it.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Interrupts it; returns its status and its standard error, where runtimes write figures.
    pub fn end(mut self) -> Result<Output> {
        self.signal(Signal::INT);
        let asked = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait()? {
                break status;
            }
            ensure!(asked.elapsed() < ENDS_WITHIN, "the server did not end in {ENDS_WITHIN:?} after SIGINT");
            std::thread::sleep(Duration::from_millis(10));
        };
        let mut stdout = Vec::new();
        self.printed.read_to_end(&mut stdout)?;
        Ok(Output { status, stdout, stderr: self.complaints()?.into_bytes() })
    }

    /// Periods in which its quota ran out so far, if it has one.
    pub fn throttled_periods(&self) -> Option<u64> {
        self.around.group.as_ref()?.throttled_periods()
    }

    fn signal(&self, signal: Signal) {
        // A process that has gone needs none.
        let _ = kill_process_group(Pid::from_child(&self.child), signal);
    }

    fn complaints(&mut self) -> Result<String> {
        let mut stderr = Vec::new();
        self.child.stderr.take().context("no standard error")?.read_to_end(&mut stderr)?;
        Ok(String::from_utf8_lossy(&stderr).into_owned())
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // After the wait, the pid may belong to another process.
        if matches!(self.child.try_wait(), Ok(None)) {
            self.signal(Signal::KILL);
            let _ = self.child.wait();
        }
    }
}

//! A workload that serves: started, asked at its address by whoever holds it, ended.
//! Owns the process; sends no request.

use crate::runner::arguments;
use crate::toolchain::Toolchain;
use crate::workload::{PORT, Workload};
use anyhow::{Context, Result, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStdout, Output, Stdio};
use std::time::{Duration, Instant};

/// What a server prints before its address.
const LISTENS: &str = "listening on ";
/// From a signal to the end.
const ENDS_WITHIN: Duration = Duration::from_secs(30);

/// A server that listens. Dropped, it is killed.
#[derive(Debug)]
pub struct Serving {
    child: Child,
    // Open as long as the server: it may print.
    printed: BufReader<ChildStdout>,
    /// Where to ask: `http://127.0.0.1:40123/quiz`.
    pub url: String,
}

impl Serving {
    /// Builds `workload` below `builds`, starts it on a port that is free, with `more`
    /// behind its arguments (`+RTS -N2`), and waits until it listens.
    pub fn start(workload: &Workload, toolchain: &Toolchain, builds: &Path, more: &[&str]) -> Result<Serving> {
        let server = workload.server.as_ref().with_context(|| format!("{} is no server", workload.name))?;
        let program = workload.build(toolchain, builds)?;
        let mut command = toolchain.command(program.as_os_str(), builds, &[builds]);
        command.args(arguments(workload).into_iter().map(|word| if word == PORT { "0".into() } else { word }));
        command.args(more).envs(&workload.environment);
        if let Some(runparam) = &workload.runparam {
            command.env("OCAMLRUNPARAM", runparam);
        }
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let printed = BufReader::new(child.stdout.take().context("no standard output")?);
        let mut serving = Serving { child, printed, url: String::new() };
        let mut line = String::new();
        serving.printed.read_line(&mut line)?;
        let Some(address) = line.trim().strip_prefix(LISTENS) else {
            // What is no server ends, or is ended, before its errors are read.
            let _ = serving.child.kill();
            let mut said = String::new();
            serving.child.stderr.take().context("no standard error")?.read_to_string(&mut said)?;
            bail!("{} does not listen: {line}{said}", workload.name);
        };
        serving.url = format!("{address}{}", server.path);
        Ok(serving)
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Interrupts it; gives its status and what it wrote to standard error, which is
    /// where GHC and OCaml write figures.
    pub fn end(mut self) -> Result<Output> {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, Signal::INT)?;
        let asked = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait()? {
                break status;
            }
            ensure!(asked.elapsed() < ENDS_WITHIN, "the server did not end in {ENDS_WITHIN:?} after SIGINT");
            std::thread::sleep(Duration::from_millis(10));
        };
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        self.printed.read_to_end(&mut stdout)?;
        self.child.stderr.take().context("no standard error")?.read_to_end(&mut stderr)?;
        Ok(Output { status, stdout, stderr })
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // Does nothing to one that has been waited for.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

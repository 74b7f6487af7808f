//! Haskell programs whose heap is read while they run: builds, starts and controls them. Owns the
//! programs and the dialogue with them; refuses to judge what is read of their heaps.

pub mod core;

use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};
use xtask::cache::cache;
use xtask::missing;
use xtask::toolchain::{Spec, Toolchain};

/// Keeps a list of byte strings, then a tenth of it: every tenth, or the first tenth. Prints when it
/// has collected, and waits for a line.
pub const PINNED: &str = crate::source!("haskell/pinned-list/Main.hs");

/// Threads that each keep some byte strings and replace them, with a major collection after a number
/// of replacements; finally each prints the sum of the first bytes of those that it keeps.
pub const CHURN: &str = crate::source!("haskell/byte-churn/Main.hs");

/// What [`CHURN`] prints at its end.
pub fn churned(threads: u64, kept: u64, until: u64) -> u64 {
    let last = |slot: u64| until - 1 - (until - 1 - slot) % kept;
    (1..=threads).flat_map(|thread| (0..kept).map(move |slot| (last(slot) + thread) % 256)).sum()
}

pub struct Ground {
    pub toolchain: Toolchain,
    pub folder: tempfile::TempDir,
}

impl Ground {
    pub fn of(name: &str) -> Option<Ground> {
        let Some(toolchain) = Spec::find(name).unwrap().installed(&cache()) else {
            missing(&format!("{name}: `cargo xtask toolchains --only {name}`"));
            return None;
        };
        Some(Ground { toolchain, folder: tempfile::tempdir().unwrap() })
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn build(&self, name: &str, text: &str, flags: &[&str]) -> PathBuf {
        let sources = self.path(&format!("{name}.d"));
        std::fs::create_dir_all(&sources).unwrap();
        std::fs::write(sources.join("Main.hs"), text).unwrap();
        let output = self.path(name);
        self.toolchain.compile(&[&sources], flags, &output).unwrap();
        output
    }

    pub fn start(&self, program: &Path, arguments: &[&str]) -> Running {
        let folder = self.folder.path();
        let mut command = self.toolchain.command(program.as_os_str(), folder, &[folder]);
        Running::of(command.args(arguments))
    }
}

pub struct Running {
    pub child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Running {
    pub fn of(command: &mut Command) -> Running {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Running { child, input, output }
    }

    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line.trim().to_owned()
    }

    pub fn go_on(&mut self) {
        self.input.as_mut().unwrap().write_all(b"\n").unwrap();
    }

    pub fn pid(&self) -> String {
        self.child.id().to_string()
    }

    /// The document; the exit status must be one of `statuses`.
    pub fn heap(&self, options: &[&str], statuses: &[i32]) -> Value {
        document(&rtscope(&[&["heap", "--json", &self.pid()], options].concat()), statuses)
    }

    /// The program's output until its end.
    pub fn output(mut self) -> Output {
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        self.output.read_to_end(&mut stdout).unwrap();
        self.child.stderr.take().map(|mut errors| errors.read_to_end(&mut stderr).unwrap());
        Output { status: self.child.wait().unwrap(), stdout, stderr }
    }

    pub fn ends(mut self, with: &str) {
        assert_eq!(self.line(), with);
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn rtscope(arguments: &[&str]) -> Output {
    Command::new(crate::rtscope()).args(arguments).output().unwrap()
}

pub fn document(output: &Output, statuses: &[i32]) -> Value {
    let printed = (String::from_utf8_lossy(&output.stderr), String::from_utf8_lossy(&output.stdout));
    let status = output.status.code();
    assert!(status.is_some_and(|status| statuses.contains(&status)), "{status:?} {} {:.2000}", printed.0, printed.1);
    serde_json::from_slice(&output.stdout).unwrap()
}

pub fn figure(of: &Value, key: &str) -> f64 {
    of.pointer(key).and_then(Value::as_f64).unwrap_or_else(|| panic!("{key} in {of:.3000}"))
}

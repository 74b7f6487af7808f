//! Core files of programs that a signal ends: makes sure that each gets one, in the program's folder, and
//! what a debugger reads in it. Owns the process's core limit and, for the time being, the kernel's core
//! pattern; refuses to leave the pattern changed.

use crate::toolchain::{Toolchain, is_root};
use anyhow::{Context, Result};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const KERNEL: &str = "/proc/sys/kernel/core_pattern";
/// Lines of the debugger's output that are printed; the file has all.
const SHOWN_LINES: usize = 60;

/// Allows core files of any size until it is dropped.
#[derive(Debug)]
pub struct Limit(Rlimit);

impl Limit {
    /// # Errors
    /// The kernel refuses the limit.
    pub fn raise() -> Result<Limit> {
        let before = getrlimit(Resource::Core);
        let maximum = if is_root() { None } else { before.maximum };
        setrlimit(Resource::Core, Rlimit { current: maximum, maximum }).context("ulimit -c unlimited")?;
        Ok(Limit(before))
    }
}

impl Drop for Limit {
    fn drop(&mut self) {
        let _ = setrlimit(Resource::Core, self.0);
    }
}

/// Where the kernel writes core files.
#[derive(Debug)]
pub struct Pattern {
    /// Whether that is the working directory.
    here: bool,
    /// What to write back, and the file that records it in case this process is killed.
    before: Option<(String, PathBuf)>,
}

impl Pattern {
    /// Directs core files to the working directory of the process that ends, if possible. A pattern that is a
    /// file name without a folder already does so; any other one is replaced, as root, and written back when
    /// this is dropped, by this process or, if it was killed, by the next.
    ///
    /// # Errors
    /// The pattern cannot be read, or changed as root.
    pub fn into_working_directory(keep: &Path, print: &dyn Fn(&str)) -> Result<Pattern> {
        let now = fs::read_to_string(KERNEL).context(KERNEL)?.trim_end().to_owned();
        let noted = keep.join("core_pattern.before");
        let before = fs::read_to_string(&noted).unwrap_or_else(|_| now.clone());
        if is_working_directory(&before) || !is_root() {
            let here = is_working_directory(&now);
            if !here {
                print(&format!("core files go where this machine's core_pattern says: {now}"));
            }
            return Ok(Pattern { here, before: None });
        }
        fs::write(&noted, &before)?;
        fs::write(KERNEL, "core").context(KERNEL)?;
        print(&format!("core_pattern is `core` until this ends; it was `{before}` ({})", noted.display()));
        Ok(Pattern { here: true, before: Some((before, noted)) })
    }
}

impl Drop for Pattern {
    fn drop(&mut self) {
        if let Some((before, noted)) = &self.before
            && fs::write(KERNEL, before).is_ok()
        {
            let _ = fs::remove_file(noted);
        }
    }
}

fn is_working_directory(pattern: &str) -> bool {
    !pattern.is_empty() && !pattern.starts_with('|') && !pattern.contains('/')
}

/// The folder of runs and of what they leave.
#[derive(Debug)]
pub struct RunFolder<'p> {
    pub keep: &'p Path,
    pub pattern: &'p Pattern,
}

impl RunFolder<'_> {
    /// The core file in a run's folder.
    pub fn core(&self, folder: &Path) -> Option<PathBuf> {
        let files = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
        let core = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("core"));
        self.pattern.here.then(|| files.into_iter().find(core)).flatten()
    }
}

/// Writes what a debugger reads in a core file to `backtrace.txt` next to it, or the kernel's log lines if
/// there is no debugger or no core. Returns the beginning.
pub fn explain(toolchain: &Toolchain, program: &Path, core: Option<&Path>, folder: &Path) -> String {
    let found = core.and_then(|core| debugged(toolchain, program, core)).unwrap_or_default();
    let text = format!("{}{found}", kernel_lines());
    let _ = fs::write(folder.join("backtrace.txt"), &text);
    text.lines().take(SHOWN_LINES).map(|line| format!("  {line}\n")).collect()
}

fn debugged(toolchain: &Toolchain, program: &Path, core: &Path) -> Option<String> {
    let mut gdb = Command::new("gdb");
    gdb.args(["-batch", "-nx"]);
    if let Some(root) = &toolchain.root {
        // The tree's libraries; the program is not in the tree and goes by its own path.
        gdb.args(["-iex", &format!("set sysroot {}", root.display())]);
    }
    for words in ["info registers", "x/i $pc", "p $_siginfo", "bt", "thread apply all bt 12"] {
        gdb.args(["-ex", words]);
    }
    let done = gdb.arg(program).arg(core).output().ok()?;
    let stdout = String::from_utf8_lossy(&done.stdout).into_owned();
    Some(stdout.lines().filter(|line| !line.starts_with("[New LWP")).map(|line| format!("{line}\n")).collect())
}

/// The last faults that the kernel logged, of any program.
fn kernel_lines() -> String {
    let Ok(done) = Command::new("dmesg").output() else { return String::new() };
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    let faults: Vec<&str> =
        text.lines().filter(|line| line.contains("segfault") || line.contains("general protection")).collect();
    faults[faults.len().saturating_sub(3)..].iter().map(|line| format!("kernel: {line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_plain_name_goes_into_the_working_directory() {
        assert!(is_working_directory("core") && is_working_directory("core.%e.%p"));
        for other in ["", "|/usr/lib/systemd/systemd-coredump %P", "/var/cores/%p", "cores/%p"] {
            assert!(!is_working_directory(other), "{other}");
        }
    }

    /// A process ended by a signal leaves a core file, and its registers are read.
    #[test]
    fn root_a_fault_leaves_a_core_and_what_a_debugger_reads_in_it() {
        let keep = tempfile::tempdir().unwrap();
        let _unlimited = Limit::raise().unwrap();
        let pattern = Pattern::into_working_directory(keep.path(), &|_| ()).unwrap();
        let place = RunFolder { keep: keep.path(), pattern: &pattern };
        let sleep = Path::new("/bin/sleep");
        let mut child = Command::new(sleep).arg("60").current_dir(keep.path()).spawn().unwrap();
        let pid = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(pid, rustix::process::Signal::SEGV).unwrap();
        child.wait().unwrap();
        let core = place.core(keep.path()).expect("a core file");
        let own = Toolchain { name: "x", version: "9.0.2".into(), root: None };
        let text = explain(&own, sleep, Some(&core), keep.path());
        if Command::new("gdb").arg("-v").output().is_ok() {
            assert!(text.contains("rip"), "{text}");
        }
        assert!(keep.path().join("backtrace.txt").exists());
    }
}

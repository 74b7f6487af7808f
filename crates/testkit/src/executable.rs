//! Executable files that a test starts. Owns that none of them is ever open for writing in the test
//! process: a process that another thread starts at that moment would inherit the descriptor until
//! its `exec`, and the kernel refuses to run a file that is open for writing ("Text file busy").
//! A separate process therefore writes each file, and has ended before the file is started.

use std::ffi::OsStr;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Copies an executable, with its mode, so that it can be started at once.
pub fn copy(from: impl AsRef<Path>, to: impl AsRef<Path>) {
    let (from, to) = (from.as_ref(), to.as_ref());
    let done = Command::new("cp").arg("--").args([from, to]).stdin(Stdio::null()).status().expect("cp");
    assert!(done.success(), "{} could not be copied to {}", from.display(), to.display());
}

/// Writes an executable that all users may run, so that it can be started at once.
pub fn write(path: impl AsRef<Path>, bytes: impl AsRef<[u8]>) {
    let path = path.as_ref();
    let script = r#"cat > "$0" && chmod 755 "$0""#;
    let words = [OsStr::new("-c"), OsStr::new(script), path.as_os_str()];
    let mut writer = Command::new("sh").args(words).stdin(Stdio::piped()).spawn().expect("sh");
    let mut input = writer.stdin.take().expect("a pipe");
    input.write_all(bytes.as_ref()).expect("the writer reads all of it");
    drop(input);
    assert!(writer.wait().expect("the writer ends").success(), "{} could not be written", path.display());
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};

    /// Other threads start programs all the time.
    #[test]
    fn what_was_written_or_copied_starts_at_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    while !over.load(Ordering::Relaxed) {
                        Command::new("true").status().expect("true");
                    }
                });
            }
            for round in 0..30 {
                let [written, copied] = ["written", "copied"].map(|name| folder.path().join(format!("{name}{round}")));
                write(&written, "#!/bin/sh\nexit 7\n");
                copy(&written, &copied);
                for path in [written, copied] {
                    let done = Command::new(&path).status();
                    assert_eq!(done.expect("it starts").code(), Some(7), "{}", path.display());
                }
            }
            over.store(true, Ordering::Relaxed);
        });
    }
}

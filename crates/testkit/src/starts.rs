//! Shared by tests with very many starts or threads: a program that ends when it is asked to, and one
//! with very many threads. Owns no assertion.

use crate::output::text;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::OnceLock;

/// Does nothing, works for a while, or fills its log for a while.
const PROGRAM: &str = crate::source!("haskell/short-run/Main.hs");

const MANY_THREADS: &str = r#"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static void *wait_long(void *unused) { for (;;) usleep(200000); return unused; }
int main(int count, char **words) {
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 65536);
  for (int i = 0; i < atoi(words[1]); i++) {
    pthread_t thread;
    if (pthread_create(&thread, &small, wait_long, 0)) return 1;
  }
  puts("ready");
  fflush(stdout);
  for (volatile long turns = 0;; turns++) if (turns % 100000 == 0) usleep(1000);
}
"#;

/// Both programs.
pub struct Ground {
    _folder: tempfile::TempDir,
    /// Path of `short-run`.
    pub program: PathBuf,
    /// Program that takes `COUNT`: prints `ready` once it has that many threads, and works in one of them.
    pub threads: PathBuf,
}

/// The programs; `None` without GHC.
pub fn ground() -> Option<&'static Ground> {
    static GROUND: OnceLock<Option<Ground>> = OnceLock::new();
    let made = GROUND.get_or_init(|| {
        Command::new("ghc").arg("--version").output().ok()?;
        let folder = tempfile::tempdir().unwrap();
        let (program, threads) = (folder.path().join("program"), folder.path().join("threads"));
        fs::write(folder.path().join("Main.hs"), PROGRAM).unwrap();
        fs::write(folder.path().join("threads.c"), MANY_THREADS).unwrap();
        run_in(folder.path(), &["ghc", "-O1", "-threaded", "-rtsopts", "-eventlog", "Main.hs", "-o", "program"]);
        run_in(folder.path(), &["cc", "-O1", "-pthread", "threads.c", "-o", "threads"]);
        Some(Ground { _folder: folder, program, threads })
    });
    if made.is_none() {
        xtask::missing("a ghc on this machine");
    }
    made.as_ref()
}

fn run_in(folder: &Path, words: &[&str]) {
    let built = Command::new(words[0]).args(&words[1..]).current_dir(folder).output().unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
}

/// `rtscope record` with `options`; the caller adds the command.
pub fn rtscope(capture: &Path, options: &[&str]) -> Command {
    let mut command = Command::new(crate::rtscope());
    command.args(["record", "-o", text(capture)]).args(options).env_remove("GHCRTS");
    command
}

/// A child that is ended even if the test fails.
pub struct Ending(pub Child);

impl Drop for Ending {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

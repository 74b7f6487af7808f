//! Shared by tests of recording: a program with many ways to end, compiled once per test binary, and
//! runs of `rtscope` on it. Owns no assertion about results.
pub mod kills;

pub use crate::output::stderr;

use rtscope_decode::capture::Capture;
use serde_json::Value;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};
use xtask::missing;
use xtask::toolchain::Toolchain;

/// `seconds S` collects for that long. The other modes are named after what they do.
const PROGRAM: &str = crate::source!("haskell/faulty/Main.hs");

/// A compiled [`PROGRAM`].
pub struct Ground {
    /// The folder of the program; every user can read it.
    pub folder: tempfile::TempDir,
    /// Path of the program.
    pub program: PathBuf,
}

impl Ground {
    /// A command: the program collects for a second, on three lanes.
    pub fn a_second(&self) -> [&OsStr; 6] {
        let [seconds, one, rts, lanes, area] = ["seconds", "1", "+RTS", "-N3", "-A1m"].map(OsStr::new);
        [self.program.as_os_str(), seconds, one, rts, lanes, area]
    }
}

/// The program, or `None` without GHC (a message was printed).
pub fn ground() -> Option<&'static Ground> {
    static GROUND: OnceLock<Option<Ground>> = OnceLock::new();
    let made = GROUND.get_or_init(|| {
        let toolchain = Toolchain::of_this_machine()?;
        let folder = scratch();
        let source = folder.path().join("source");
        fs::create_dir(&source).unwrap();
        fs::write(source.join("Main.hs"), PROGRAM).unwrap();
        let program = folder.path().join("faulty");
        toolchain.compile(&[&source], &["-threaded"], &program).unwrap();
        Some(Ground { folder, program })
    });
    if made.is_none() {
        missing("ghc");
    }
    made.as_ref()
}

/// A linker option with which the program finds the tree's loader and libraries by itself.
pub fn at_home(toolchain: &Toolchain) -> Option<String> {
    let root = toolchain.root.as_ref()?;
    let libraries = root.join("usr/lib").join(format!("{}-linux-gnu", std::env::consts::ARCH));
    let loader = fs::read_dir(&libraries).unwrap().flatten().map(|entry| entry.path());
    let mut loader =
        loader.filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("ld-linux")));
    Some(format!("-Wl,--dynamic-linker={},-rpath,{}", loader.next().unwrap().display(), libraries.display()))
}

/// A temporary folder that other users may enter.
pub fn scratch() -> tempfile::TempDir {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

/// `rtscope record -o CAPTURE OPTIONS -- PROGRAM`, not yet started.
pub fn recorder(capture: &Path, options: &[&str], program: &[&OsStr]) -> Command {
    let mut command = Command::new(crate::rtscope());
    command.arg("record").arg("-o").arg(capture).args(options).arg("--").args(program);
    command.env_remove("GHCRTS").stdin(Stdio::null());
    command
}

/// Records a program to its end.
pub fn record(capture: &Path, options: &[&str], program: &[&OsStr]) -> Output {
    recorder(capture, options, program).output().unwrap()
}

/// `rtscope report --json`: exit status, document and standard error.
pub fn report(capture: &Path) -> (Option<i32>, Value, String) {
    let done = Command::new(crate::rtscope()).args(["report", "--json"]).arg(capture).output().unwrap();
    let stderr = String::from_utf8_lossy(&done.stderr).into_owned();
    (done.status.code(), serde_json::from_slice(&done.stdout).unwrap_or(Value::Null), stderr)
}

/// The document of a report that must exist, with or without losses.
pub fn reported(capture: &Path) -> Value {
    let (status, report, stderr) = report(capture);
    assert!(matches!(status, Some(0 | 3)), "report ended with {status:?}: {stderr}");
    report
}

/// Seconds from the request of the first pause to the release of the last.
pub fn paused_seconds(capture: &Path) -> f64 {
    let pauses = crate::output::pauses(capture);
    let at = |pause: Option<&Value>, key: &str| pause.and_then(|pause| pause[key].as_u64());
    let ends = pauses.iter().filter_map(|pause| pause["released_ns"].as_u64()).max();
    let (from, to) = (at(pauses.first(), "requested_ns").unwrap_or(0), ends.unwrap_or(0));
    to.saturating_sub(from) as f64 / 1e9
}

/// The capture's manifest.
pub fn manifest(capture: &Path) -> Value {
    serde_json::from_slice(&fs::read(capture.join("manifest.json")).unwrap()).unwrap()
}

/// Id of the process that writes the first log, once the manifest names it.
pub fn logging_pid(capture: &Path) -> u32 {
    let mut pid = 0;
    wait_for("the log's process in the manifest", || {
        // The manifest file lags its journal by seconds.
        pid = Capture::open(capture).ok().and_then(|capture| Some(capture.manifest().logs.first()?.pid)).unwrap_or(0);
        pid != 0
    });
    pid
}

/// Sends a signal by name.
pub fn kill(signal: &str, pid: u32) {
    assert!(Command::new("kill").args(["-s", signal, &pid.to_string()]).status().unwrap().success());
}

/// Waits up to 20 s until a condition holds.
pub fn wait_for(what: &str, mut until: impl FnMut() -> bool) {
    let start = Instant::now();
    while !until() {
        assert!(start.elapsed() < Duration::from_secs(20), "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

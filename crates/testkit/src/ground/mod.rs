//! What tests of recording share: a program with many ways to end, compiled once
//! per test binary, and running `rtscope` over it. Owns no assertion about results.
pub mod kills;

pub use crate::said::said;

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

/// `seconds S`: collect for so long. The others are named after what they do.
const PROGRAM: &str = crate::source!("haskell/faulty/Main.hs");

/// A compiled [`PROGRAM`].
pub struct Ground {
    /// Holds the program; readable by everybody.
    pub folder: tempfile::TempDir,
    /// The program.
    pub program: PathBuf,
}

impl Ground {
    /// A command: the program collects for a second, on three lanes.
    pub fn a_second(&self) -> [&OsStr; 6] {
        let [seconds, one, rts, lanes, area] = ["seconds", "1", "+RTS", "-N3", "-A1m"].map(OsStr::new);
        [self.program.as_os_str(), seconds, one, rts, lanes, area]
    }
}

/// The program, or `None` where there is no GHC (said by then).
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

/// An option for the linker: the program finds the tree's loader and libraries by itself.
pub fn at_home(toolchain: &Toolchain) -> Option<String> {
    let root = toolchain.root.as_ref()?;
    let libraries = root.join("usr/lib").join(format!("{}-linux-gnu", std::env::consts::ARCH));
    let loader = fs::read_dir(&libraries).unwrap().flatten().map(|entry| entry.path());
    let mut loader =
        loader.filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("ld-linux")));
    Some(format!("-Wl,--dynamic-linker={},-rpath,{}", loader.next().unwrap().display(), libraries.display()))
}

/// A folder that others may enter.
pub fn scratch() -> tempfile::TempDir {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

/// `rtscope record -o CAPTURE OPTIONS -- PROGRAM`, not started yet.
pub fn recorder(capture: &Path, options: &[&str], program: &[&OsStr]) -> Command {
    let mut command = Command::new(crate::rtscope());
    command.arg("record").arg("-o").arg(capture).args(options).arg("--").args(program);
    command.env_remove("GHCRTS").stdin(Stdio::null());
    command
}

/// Records to the end.
pub fn record(capture: &Path, options: &[&str], program: &[&OsStr]) -> Output {
    recorder(capture, options, program).output().unwrap()
}

/// `rtscope report --json`: its exit status, its document, what it said.
pub fn report(capture: &Path) -> (Option<i32>, Value, String) {
    let done = Command::new(crate::rtscope()).args(["report", "--json"]).arg(capture).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    (done.status.code(), serde_json::from_slice(&done.stdout).unwrap_or(Value::Null), said)
}

/// A report that has to be there, with losses or without.
pub fn reported(capture: &Path) -> Value {
    let (status, report, said) = report(capture);
    assert!(matches!(status, Some(0 | 3)), "report ended with {status:?}: {said}");
    report
}

/// From the first pause's request to the last one's release, in seconds.
pub fn paused_seconds(capture: &Path) -> f64 {
    let pauses = crate::said::pauses(capture);
    let at = |pause: Option<&Value>, key: &str| pause.and_then(|pause| pause[key].as_u64());
    let ends = pauses.iter().filter_map(|pause| pause["released_ns"].as_u64()).max();
    let (from, to) = (at(pauses.first(), "requested_ns").unwrap_or(0), ends.unwrap_or(0));
    to.saturating_sub(from) as f64 / 1e9
}

/// The manifest.
pub fn manifest(capture: &Path) -> Value {
    serde_json::from_slice(&fs::read(capture.join("manifest.json")).unwrap()).unwrap()
}

/// The process that writes the first log, once the manifest names it.
pub fn logging_pid(capture: &Path) -> u32 {
    let mut pid = 0;
    wait_for("the log's process in the manifest", || {
        // The manifest alone is seconds behind its journal.
        pid = Capture::open(capture).ok().and_then(|capture| Some(capture.manifest().logs.first()?.pid)).unwrap_or(0);
        pid != 0
    });
    pid
}

/// Sends a signal by name.
pub fn kill(signal: &str, pid: u32) {
    assert!(Command::new("kill").args(["-s", signal, &pid.to_string()]).status().unwrap().success());
}

/// Waits up to 20 s.
pub fn wait_for(what: &str, mut until: impl FnMut() -> bool) {
    let start = Instant::now();
    while !until() {
        assert!(start.elapsed() < Duration::from_secs(20), "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

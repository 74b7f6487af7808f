//! One run of rtscope, with limits and measurements. Owns the hostile programs, compiled once, and what
//! must hold for any run: it ends in time, with a documented status and message, in little memory,
//! with clean text, without the secret.

use super::world::{World, has_secret, unclean};
use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};
use xtask::missing;

/// How much longer than requested a run may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// Largest memory use of a run, and of any process that it starts.
const PEAK_KIB_MAX: u64 = 256 << 10;

/// The hostile programs.
pub struct Tools {
    folder: PathBuf,
}

/// An empty folder inside the build's folder.
pub fn kept(name: &str) -> PathBuf {
    let folder = crate::made().join(crate::tier()).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

impl Tools {
    /// `forged`: with a runtime's symbols; `plain`: without; `library`: the library with symbols that both
    /// load; `sparse`: the library with a symbol table of 1 GiB.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
}

/// The tools, compiled once; `None` without a compiler (a message was printed).
pub fn tools() -> Option<&'static Tools> {
    static TOOLS: OnceLock<Option<Tools>> = OnceLock::new();
    let made = TOOLS.get_or_init(|| {
        let tools = Tools { folder: kept("tools") };
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/hostile");
        for (name, source, more) in [
            ("forged", "target.c", &["-DFORGED", "-pthread"][..]),
            ("plain", "target.c", &["-pthread"]),
            ("library", "forged.c", &["-shared", "-fPIC"]),
        ] {
            let mut cc = Command::new("cc");
            cc.args(["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-o"]).arg(tools.path(name));
            let Ok(done) = cc.arg(sources.join(source)).args(more).arg("-ldl").output() else {
                missing("cc (package gcc)");
                return None;
            };
            assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        }
        let sparse = [OsString::from("sparse"), tools.path("library").into(), tools.path("sparse").into()];
        assert!(Command::new(tools.path("plain")).args(sparse).status().unwrap().success());
        Some(tools)
    });
    made.as_ref()
}

/// A run of rtscope to make.
pub struct Asked {
    /// Its arguments.
    pub words: Vec<OsString>,
    /// How long the run takes by itself.
    pub takes: Duration,
    /// The documented exit statuses.
    pub statuses: &'static [i32],
    /// It runs until ^C, which is sent once it has printed a line.
    pub serves: bool,
}

/// The result of a run.
struct Ran {
    code: Option<i32>,
    peak_kib: u64,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
}

/// Runs rtscope in `out`; returns its faults, in words. `meanwhile` gets its pid.
pub fn run(world: &World, asked: &Asked, meanwhile: impl FnOnce(&str)) -> Vec<String> {
    let mut faults = Vec::new();
    let ran = measured(world, asked, meanwhile, &mut faults);
    let stderr = String::from_utf8_lossy(&ran.stderr).into_owned();
    let last = stderr.lines().last().unwrap_or_default();
    match ran.code {
        None => {}
        Some(code) if !asked.statuses.contains(&code) => {
            let end: Vec<&str> = stderr.lines().filter(|line| !line.trim().is_empty()).take(4).collect();
            faults.push(format!("ended with {code} (above 1000: a signal): {end:?}"));
        }
        Some(1 | 125..=127) if !last.starts_with("rtscope: ") => {
            faults.push(format!("failed without a word: {stderr:?}"))
        }
        Some(_) if stderr.contains("panicked") => faults.push(format!("panicked: {stderr:?}")),
        Some(_) => {}
    }
    if ran.peak_kib > PEAK_KIB_MAX {
        faults.push(format!("took {} MiB of memory", ran.peak_kib >> 10));
    }
    for (name, bytes) in [("stdout", &ran.stdout), ("stderr", &ran.stderr)] {
        if let Some(letter) = unclean(bytes) {
            let text = String::from_utf8_lossy(bytes).into_owned();
            let line = text.lines().find(|line| line.contains(letter)).unwrap_or_default();
            faults.push(format!("{name} is not clean: {:?}", line.chars().take(200).collect::<String>()));
        }
        if has_secret(bytes) {
            faults.push(format!("{name} holds what only root may read"));
        }
    }
    faults
}

fn measured(world: &World, asked: &Asked, meanwhile: impl FnOnce(&str), faults: &mut Vec<String>) -> Ran {
    let [file, stdout, stderr] = ["measured", "stdout", "stderr"].map(|name| world.path("home").join(name));
    let mut command = Command::new(tools().unwrap().path("plain"));
    command.arg("measure").arg(&file).arg(crate::rtscope()).args(&asked.words);
    command.current_dir(world.path("out")).stdin(Stdio::null());
    command.stdout(File::create(&stdout).unwrap()).stderr(File::create(&stderr).unwrap());
    for name in ["GHCRTS", "OCAMLRUNPARAM", "OCAML_RUNTIME_EVENTS_DIR", "OCAML_RUNTIME_EVENTS_START", "DISPLAY"] {
        command.env_remove(name);
    }
    command.env("HOME", world.path("home")).env("XDG_CACHE_HOME", world.path("home/.cache"));
    command.env("TMPDIR", world.path("home/tmp"));
    let mut child = command.spawn().unwrap();
    let pid = || fs::read_to_string(&file).unwrap_or_default().lines().next().unwrap_or_default().to_owned();
    while pid().is_empty() && child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(1));
    }
    meanwhile(&pid());
    let mut over = ended_within(&mut child, asked.takes + PATIENCE, || {
        asked.serves && fs::read(&stdout).is_ok_and(|text| text.contains(&b'\n'))
    });
    if asked.serves && !over && fs::read(&stdout).is_ok_and(|text| text.contains(&b'\n')) {
        assert!(Command::new("kill").args(["-INT", &pid()]).status().unwrap().success());
        over = ended_within(&mut child, PATIENCE, || false);
    }
    if !over {
        let at = waits_at(&pid());
        // The processes that it started die with it.
        child.kill().unwrap();
        child.wait().unwrap();
        faults.push(format!("hung: not over {} s after it should have been; {at:?}", PATIENCE.as_secs()));
    }
    let text = fs::read_to_string(&file).unwrap_or_default();
    let numbers: Vec<u64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let (code, peak_kib) = (numbers.get(1).map(|code| *code as i32), numbers.get(2).copied().unwrap_or(0));
    Ran { code, peak_kib, stdout: fs::read(stdout).unwrap(), stderr: fs::read(stderr).unwrap() }
}

/// The kernel function in which each thread of a process waits; "0": it runs.
fn waits_at(pid: &str) -> Vec<String> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    threads.map(|thread| fs::read_to_string(thread.path().join("wchan")).unwrap_or_default()).collect()
}

/// Waits for the end of `child`; false: it still runs, or `enough` became true.
fn ended_within(child: &mut Child, most: Duration, enough: impl Fn() -> bool) -> bool {
    let start = Instant::now();
    while start.elapsed() < most && !enough() {
        if child.try_wait().unwrap().is_some() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    child.try_wait().unwrap().is_some()
}

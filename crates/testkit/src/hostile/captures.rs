//! Another user's capture against each command that reads one. Owns what can be drawn.

use super::run::{Asked, kept, run, tools};
use super::world::{World, all_below, give};
use super::{ESCAPES, OTHER, Random, SECRET, SECRET_BEGINS, in_turn};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, Permissions};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, lchown, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

/// Names in a capture that something else replaces. Their number and the two below are coprime.
const NAMES: [&str; 17] = [
    "manifest.json",
    "samples.jsonl",
    "stm.jsonl",
    "eventlog/0.eventlog",
    "rings/0.ring",
    "unflushed/7-0.0",
    "sched/cpu0.perf.zst",
    "sched/sched_switch.format",
    "sched/threads.json",
    "code/cpu0.perf.zst",
    "code/symbols.json",
    "heap/0.json",
    "eventlog",
    "sched",
    "heap",
    "unflushed",
    "levels",
];
/// The replacements; the last three are names that the manifest gives the file.
const KINDS: [&str; 11] =
    ["fifo", "socket", "device", "link", "dangling", "directory", "growing", "sparse", "absolute", "dotdot", "endless"];
const COMMANDS: [&str; 13] = [
    "report C",
    "report C --json",
    "report C --pauses",
    "report C --html page.html",
    "report C --compare BASE",
    "view C --no-open",
    "export C --to chrome -o -",
    "export C --to perfetto -o trace",
    "export C --to parquet -o tables",
    "heap C",
    "stm C",
    "stm C --json",
    "top C --plain --for 1s",
];
/// The program's name in the corpus log inside the capture; its replacement has the same length.
const LOGGED: &str = "............................../ghc-9.0/threaded/throttled";

/// An intact capture, recorded once and completed by hand.
fn base() -> &'static Path {
    static BASE: OnceLock<PathBuf> = OnceLock::new();
    BASE.get_or_init(|| {
        let capture = kept("base").join("c");
        make_base(&capture);
        capture
    })
}

fn make_base(capture: &Path) {
    let mut command = Command::new(crate::rtscope());
    command.args(["record", "-q", "-o"]).arg(capture).args(["--", "sleep", "0.3"]);
    assert!(command.stdin(Stdio::null()).status().unwrap().success());
    for name in ["eventlog", "rings", "unflushed", "heap", "code", "levels", "sched"] {
        fs::create_dir_all(capture.join(name)).unwrap();
    }
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/ghc-9.0/parallel.eventlog");
    fs::copy(corpus, capture.join("eventlog/0.eventlog")).unwrap();
    let ring = [u64::from_le_bytes(*b"RTSRING1"), 128, 8, 1, 7, 0, 0, 0];
    let write = |name: &str, bytes: &[u8]| fs::write(capture.join(name), bytes).unwrap();
    write("rings/0.ring", &ring.map(u64::to_le_bytes).concat());
    write("unflushed/7-0.0", &[&[0, 18][..], &[0; 22]].concat());
    write("heap/0.json", br#"{"schema":"rtscope/heap/1","of":"sleep","time":9}"#);
    write("stm.jsonl", b"{\"t\":1,\"pid\":7,\"names\":[\"sleep\"]}\n");
    let mut manifest: Value = serde_json::from_slice(&fs::read(capture.join("manifest.json")).unwrap()).unwrap();
    let clock = json!({"offset_ns": 0, "error_ns": null, "method": "log-own"});
    let log = json!({"path": "eventlog/0.eventlog", "pid": 7, "clock": clock, "classes": "", "version": null});
    manifest["logs"] = json!([log]);
    write("manifest.json", &serde_json::to_vec(&manifest).unwrap());
    // A tier that wrote other files lacks these names.
    for (name, text) in [
        ("sched/cpu0.perf.zst", "sleep"),
        ("code/cpu0.perf.zst", "sleep"),
        ("code/symbols.json", "{}"),
        ("sched/sched_switch.format", "sleep"),
    ] {
        if !capture.join(name).exists() {
            write(name, text.as_bytes());
        }
    }
}

#[derive(Debug)]
struct Case {
    command: &'static str,
    wrong: Vec<(&'static str, &'static str)>,
    escapes: bool,
}

fn case(seed: u64) -> Case {
    let mut random = Random::new(seed);
    let mut wrong = vec![(in_turn(&NAMES, seed), in_turn(&KINDS, seed))];
    if random.once_in(3) {
        let more = (random.pick(&NAMES), random.pick(&KINDS));
        // A growing file under a name that becomes a link would make root's file grow.
        wrong.extend((more.0 != wrong[0].0).then_some(more));
    }
    Case { command: in_turn(&COMMANDS, seed), wrong, escapes: random.once_in(2) }
}

/// Makes one draw; returns its description and its faults.
pub fn one(seed: u64) -> (String, Vec<String>) {
    let case = case(seed);
    let what = format!("{case:?}");
    let world = World::made();
    let name = if case.escapes { format!("c{ESCAPES}.rtscope") } else { "c.rtscope".to_owned() };
    let capture = world.path("other").join(name);
    copy(base(), &capture);
    secrets(&world);
    if case.escapes {
        escape(&capture);
    }
    let mut growing = Vec::new();
    for (name, kind) in &case.wrong {
        put(&world, &capture, name, kind, &mut growing);
    }
    for path in all_below(&capture) {
        lchown(path, Some(OTHER), Some(OTHER)).unwrap();
    }
    let before = world.look();
    let mut faults = run(&world, &asked(&case, &capture), |_| ());
    for mut child in growing {
        let _ = child.kill();
        let _ = child.wait();
    }
    let outputs = ["page.html", "trace", "tables"].map(|name| world.path("out").join(name));
    faults.extend(world.faults(&before, &outputs));
    if let Some(letter) = fs::read(&outputs[0]).ok().and_then(|page| super::world::unclean(&page)) {
        faults.push(format!("the page is not clean: {letter:?}"));
    }
    (what, faults)
}

fn asked(case: &Case, capture: &Path) -> Asked {
    let word = |word: &str| match word {
        "C" => capture.as_os_str().to_owned(),
        "BASE" => base().as_os_str().to_owned(),
        other => OsString::from(other),
    };
    let statuses: &[i32] = match case.command.split(' ').next() {
        // A comparison that is not possible is a usage error.
        Some("report") if case.command.contains("--compare") => &[0, 1, 2, 3],
        Some("report" | "export" | "heap") => &[0, 1, 3],
        _ => &[0, 1],
    };
    let takes = if case.command.contains("--for") { Duration::from_secs(1) } else { Duration::ZERO };
    let serves = case.command.starts_with("view");
    Asked { words: case.command.split(' ').map(word).collect(), takes, statuses, serves }
}

fn copy(from: &Path, to: &Path) {
    DirBuilder::new().mode(0o755).create(to).unwrap();
    for path in all_below(from).into_iter().skip(1) {
        let to = to.join(path.strip_prefix(from).unwrap());
        if path.is_dir() { fs::create_dir(to).unwrap() } else { _ = fs::copy(&path, to).unwrap() }
    }
}

/// Root's own copy of the capture, with the secret in place of every name: links lead there.
fn secrets(world: &World) {
    let to = world.path("secret/capture");
    copy(base(), &to);
    let longer = format!("{SECRET:.<width$}", width = LOGGED.len());
    for path in all_below(&to) {
        let mode = if path.is_dir() { 0o700 } else { 0o600 };
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        if path.is_dir() {
            continue;
        }
        let binary = path.extension().is_some_and(|ending| ending == "perf" || ending == "eventlog");
        let name = if binary { format!("{SECRET_BEGINS}\0") } else { SECRET.to_owned() };
        let bytes = fs::read(&path).unwrap();
        let bytes = replaced(&bytes, if binary { b"sleep\0\0\0" } else { b"sleep" }, name.as_bytes());
        world.keep_secret(&path, &replaced(&bytes, LOGGED.as_bytes(), longer.as_bytes()));
    }
}

fn replaced(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(first) = rest.first() {
        match rest.strip_prefix(from) {
            Some(after) => {
                out.extend(to);
                rest = after;
            }
            None => {
                out.push(*first);
                rest = &rest[1..];
            }
        }
    }
    out
}

/// Puts escape sequences into each text of the manifest.
fn escape(capture: &Path) {
    let path = capture.join("manifest.json");
    let mut manifest: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    manifest["command"] = json!([format!("sleep{ESCAPES}"), ESCAPES]);
    manifest["notes"] = json!([format!("note{ESCAPES}")]);
    manifest["directory"] = json!(format!("/{ESCAPES}"));
    manifest["binary"]["path"] = json!(format!("/{ESCAPES}"));
    manifest["binary"]["note"] = json!(format!("note{ESCAPES}"));
    manifest["machine"]["model"] = json!(format!("model{ESCAPES}"));
    let loss = json!({"source": format!("s{ESCAPES}"), "kind": "disk-full", "count": 1, "from": null, "to": null,
        "note": format!("loss{ESCAPES}")});
    manifest["losses"] = json!([loss]);
    fs::write(path, serde_json::to_vec(&manifest).unwrap()).unwrap();
}

/// Replaces `name` as `kind` says.
fn put(world: &World, capture: &Path, name: &str, kind: &str, growing: &mut Vec<Child>) {
    let path = capture.join(name);
    let secret = world.path("secret/capture").join(name);
    // Another draw of this case may have replaced its folder.
    if path.parent().is_none_or(|folder| !fs::symlink_metadata(folder).is_ok_and(|found| found.is_dir())) {
        return;
    }
    let clear = || {
        let _ = fs::remove_file(&path);
        let _ = fs::remove_dir_all(&path);
    };
    match kind {
        "growing" if path.is_file() => {
            give(&path);
            // Keep this file open: if its folder is replaced next, the path leads elsewhere.
            let file = File::open(&path).unwrap();
            let mut command = Command::new(tools().unwrap().path("plain"));
            growing.push(command.args(["grow", "/dev/stdin"]).stdin(file).spawn().unwrap());
        }
        "sparse" if path.is_file() => {
            let file = File::options().write(true).open(&path).unwrap();
            // The largest size that this file system accepts.
            assert!((30..=40).rev().any(|power| file.set_len(1 << power).is_ok()));
        }
        "absolute" | "dotdot" | "endless" if name != "manifest.json" && path.is_file() => {
            let to = match kind {
                "absolute" => secret.display().to_string(),
                "dotdot" => format!("../../secret/capture/{name}"),
                _ => "/dev/zero".to_owned(),
            };
            rename_in_manifest(capture, name, &to);
        }
        "fifo" => {
            clear();
            assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        }
        "socket" => {
            clear();
            // The paths of sockets must be short.
            let short = world.path("s");
            drop(UnixListener::bind(&short).unwrap());
            fs::rename(short, &path).unwrap();
        }
        "device" => {
            clear();
            let made = Command::new("mknod").arg(&path).args(["c", "1", "5"]).stderr(Stdio::null()).status();
            if !made.unwrap().success() {
                symlink("/dev/zero", &path).unwrap();
            }
        }
        "dangling" => {
            clear();
            symlink(world.path("secret/canary.folder/new"), &path).unwrap();
        }
        "directory" => {
            clear();
            fs::create_dir(&path).unwrap();
        }
        _ => {
            clear();
            let to: PathBuf = if secret.exists() { secret } else { world.path("secret/canary.folder") };
            symlink(to, &path).unwrap();
        }
    }
}

/// Changes the name of the file `name` in the manifest to `to`.
fn rename_in_manifest(capture: &Path, name: &str, to: &str) {
    let path = capture.join("manifest.json");
    // The draw may have replaced it.
    if !fs::symlink_metadata(&path).is_ok_and(|found| found.is_file()) {
        return;
    }
    let Ok(text) = fs::read_to_string(&path) else { return };
    fs::write(path, text.replace(&format!("\"{name}\""), &json!(to).to_string())).unwrap();
}

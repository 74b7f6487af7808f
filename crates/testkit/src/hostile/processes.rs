//! A hostile process against each command that takes or starts a process. Owns what can be drawn.

use super::run::{Asked, run, tools};
use super::world::{World, give};
use super::{ESCAPES, OTHER, Random, SECRET, in_turn};
use crate::executable;
use std::ffi::OsString;
use std::fs::{self, DirBuilder, Permissions};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Files of a target: its program, a runtime's library, a mapped file, its log, its ring.
const NAMES: [&str; 5] = ["program", "library", "mapped", "log", "ring"];
/// What replaces one of them.
const KINDS: [&str; 7] = ["fifo", "socket", "device", "link", "directory", "growing", "missing"];
/// The number of commands and the two above are coprime: 280 consecutive seeds give all triples.
const COMMANDS: [Which; 8] = [
    Which::Record,
    Which::RecordHeap,
    Which::Start,
    Which::Top,
    Which::Heap,
    Which::HeapStop,
    Which::Stm,
    Which::Machine,
];
const HEAPS: [&str; 4] = ["usual", "wrap", "all", "reserve"];
/// Longest delay after which a pid is reused once rtscope holds the first process, milliseconds.
const REUSED_MS_MAX: u64 = 400;
/// After this time without a hold, the draw is skipped: rtscope would rightly look at the second process.
const HELD_WITHIN: Duration = Duration::from_millis(800);
/// A recording ends with any exit status of its target; this target exits by SIGALRM.
const ALARM: i32 = 128 + 14;

#[derive(Copy, Clone, Eq, PartialEq, Debug)]
enum Which {
    Record,
    RecordHeap,
    Start,
    Top,
    Heap,
    HeapStop,
    Stm,
    Machine,
}

/// Where a recording is written.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
enum Output {
    Own,
    /// No `-o`: the name derives from the target's.
    Named,
    /// An empty folder of the other user, who puts links into it.
    Empty,
    /// A new folder in one of the other user's, who replaces it by a link.
    Inside,
}

#[derive(Debug)]
struct Case {
    command: Which,
    program: &'static str,
    library: &'static str,
    words: Vec<String>,
    output: Output,
    reused_ms: Option<u64>,
}

fn case(seed: u64) -> Case {
    let mut random = Random::new(seed);
    let command = in_turn(&COMMANDS, seed);
    let first = in_turn(&NAMES, seed);
    let mut words = vec![format!("seed={seed}"), format!("{first}={}", in_turn(&KINDS, seed))];
    for name in NAMES.into_iter().filter(|name| *name != first) {
        if random.once_in(5) {
            words.push(format!("{name}={}", random.pick(&KINDS)));
        }
    }
    words.push(format!("heap={}", random.pick(&HEAPS)));
    for word in ["dance=1", "churn=1", "shift=1"] {
        if random.once_in(3) {
            words.push(word.to_owned());
        }
    }
    if random.once_in(4) {
        words.push(format!("ends={}", random.pick(&[u64::MAX, 1 << 40, 4097, 0])));
    }
    let records = matches!(command, Which::Record | Which::RecordHeap | Which::Start);
    let looks_on = records || matches!(command, Which::Top | Which::Stm);
    let outputs = [Output::Own, Output::Own, Output::Named, Output::Empty, Output::Inside];
    let output = if records { random.pick(&outputs) } else { Output::Own };
    let reused = looks_on && command != Which::Start && output == Output::Own && random.once_in(4);
    Case {
        command,
        program: random.pick(&["forged", "forged", "plain"]),
        library: random.pick(&["library", "library", "library", "sparse"]),
        words,
        output,
        reused_ms: reused.then(|| random.below(REUSED_MS_MAX)),
    }
}

/// Makes one draw; returns its description and its faults.
pub fn one(seed: u64) -> (String, Vec<String>) {
    let case = case(seed);
    let what = format!("{case:?}");
    let world = World::made();
    let place = world.path("other/place");
    lay(&place, &case);
    if case.reused_ms.is_some() {
        DirBuilder::new().mode(0o700).create(world.path("root")).unwrap();
        for name in library_names().into_iter().chain([program_name()]) {
            copy(&place.join(&name), &world.path("root").join(&name));
        }
    }
    let (capture, words) = output(&world, &case);
    let before = world.look();
    let mut target = match start(&world, &place, &case, &words) {
        Ok(target) => target,
        Err(fault) => return (what, vec![fault]),
    };
    let asked = asked(&case, &world, &words, target.as_ref().map(|target| target.1));
    let mut faults = run(&world, &asked, |rtscope| {
        if let (Some(after), Some((child, pid))) = (case.reused_ms, &mut target)
            && holds(rtscope, *pid)
        {
            std::thread::sleep(Duration::from_millis(after));
            let _ = child.stdin.as_mut().unwrap().write_all(b"\n");
        }
    });
    if let Some((child, _)) = &mut target {
        let _ = child.kill();
        let _ = child.wait();
    }
    world.end_all();
    faults.extend(world.faults(&before, &capture));
    (what, faults)
}

/// Waits until process `rtscope` has a descriptor of process `pid`.
fn holds(rtscope: &str, pid: u32) -> bool {
    let begun = Instant::now();
    let folder = format!("/proc/{pid}");
    let of_it = |link: &Path| link.starts_with(&folder) || link.as_os_str() == "anon_inode:[pidfd]";
    while begun.elapsed() < HELD_WITHIN {
        let links = fs::read_dir(format!("/proc/{rtscope}/fd")).into_iter().flatten().flatten();
        if links.flat_map(|entry| fs::read_link(entry.path())).any(|link| of_it(&link)) {
            return true;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    false
}

fn program_name() -> String {
    format!("evil{ESCAPES}")
}

fn library_names() -> [String; 2] {
    // These are the names in target.c.
    ["libHSrts-1.0.2.so".to_owned(), "lib\u{1b}[31m\u{1b}]0;x\u{7}\r.so".to_owned()]
}

/// Creates the target's own folder.
fn lay(place: &Path, case: &Case) {
    let tools = tools().unwrap();
    fs::create_dir(place).unwrap();
    executable::copy(tools.path(case.program), place.join(program_name()));
    for name in library_names() {
        copy(&tools.path(case.library), &place.join(name));
    }
    give(place);
    fs::set_permissions(place, Permissions::from_mode(0o755)).unwrap();
}

/// Copies a file and keeps its holes.
fn copy(from: &Path, to: &Path) {
    assert!(Command::new("cp").arg("--").args([from, to]).status().unwrap().success());
}

/// The possible places of the capture, and the target's arguments for its attack there.
fn output(world: &World, case: &Case) -> (Vec<PathBuf>, Vec<String>) {
    let mut words = case.words.clone();
    words.push(format!("canary={}", world.path("secret/canary").display()));
    match case.output {
        Output::Own => (vec![world.path("out/c")], words),
        Output::Named => (vec![world.path("out")], words),
        Output::Empty => {
            let folder = world.path("other/empty");
            DirBuilder::new().mode(0o777).create(&folder).unwrap();
            give(&folder);
            fs::set_permissions(&folder, Permissions::from_mode(0o777)).unwrap();
            words.push(format!("plant={}", folder.display()));
            (vec![folder], words)
        }
        Output::Inside => {
            let folder = world.path("other/c");
            words.push(format!("move={}", folder.display()));
            (vec![folder, world.path("other/c.moved")], words)
        }
    }
}

fn as_other() -> [String; 4] {
    [format!("--reuid={OTHER}"), format!("--regid={OTHER}"), "--clear-groups".to_owned(), "--".to_owned()]
}

/// Starts the target unless rtscope does, and waits until it is ready.
fn start(world: &World, place: &Path, case: &Case, words: &[String]) -> Result<Option<(Child, u32)>, String> {
    if case.command == Which::Start {
        return Ok(None);
    }
    let program = place.join(program_name());
    let mut command = match case.reused_ms {
        Some(_) => {
            let mut command = Command::new(tools().unwrap().path(case.program));
            let secret = world.path("home/secret");
            fs::write(&secret, format!("hdrb {SECRET}\n")).unwrap();
            command.arg("reuse").arg(secret).arg(format!("self={}", program_name())).stdin(Stdio::piped());
            command
        }
        None => {
            let mut command = Command::new("setpriv");
            command.args(as_other()).arg(&program).stdin(Stdio::null());
            command
        }
    };
    command.args(words).current_dir(place).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut pid = child.id();
    if case.reused_ms.is_some() {
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        match line.trim().parse() {
            Ok(first) => pid = first,
            // This system cannot assign a pid: nothing to test.
            Err(_) => {
                return if child.wait().unwrap().code() == Some(77) { Ok(None) } else { Err("no target".to_owned()) };
            }
        }
    }
    let begun = Instant::now();
    while !place.join("ready").exists() {
        if begun.elapsed() > Duration::from_secs(10) {
            world.end_all();
            let _ = child.kill();
            let _ = child.wait();
            return Err("the target did not get ready".to_owned());
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    Ok(Some((child, pid)))
}

fn asked(case: &Case, world: &World, words: &[String], pid: Option<u32>) -> Asked {
    // A draw that cannot be made looks for a process that does not exist.
    let pid = pid.unwrap_or(u32::MAX >> 1).to_string();
    let second = Duration::from_secs(1);
    let words_of = |text: &str| text.split(' ').map(OsString::from).collect::<Vec<_>>();
    let into = match case.output {
        Output::Own => vec!["-o".into(), world.path("out/c").into()],
        Output::Named => Vec::new(),
        Output::Empty => vec!["-o".into(), world.path("other/empty").into()],
        Output::Inside => vec!["-o".into(), world.path("other/c").into_os_string()],
    };
    let (line, takes, statuses): (String, Duration, &[i32]) = match case.command {
        Which::Record => (format!("record --pid {pid} --for 1s"), second, &[0, 125, 126, 127]),
        Which::RecordHeap => (format!("record --pid {pid} --for 1s --heap-every 200ms"), second, &[0, 125, 126, 127]),
        Which::Start => ("record --flush-every 100ms".to_owned(), second, &[ALARM, 125, 126, 127]),
        Which::Top => (format!("top {pid} --plain --for 1s"), second, &[0, 1]),
        Which::Heap => (format!("heap {pid}"), Duration::ZERO, &[0, 1, 3]),
        Which::HeapStop => (format!("heap {pid} --stop"), Duration::ZERO, &[0, 1, 3]),
        Which::Stm => (format!("stm {pid} --for 1s"), second, &[0, 1]),
        Which::Machine => (format!("machine --pid {pid}"), Duration::ZERO, &[0, 1]),
    };
    let mut arguments = words_of(&line);
    if line.starts_with("record") {
        arguments.extend(into);
    }
    if case.command == Which::Start {
        arguments.extend(["--".into(), "setpriv".into()]);
        arguments.extend(as_other().map(OsString::from));
        let chdir = format!("cd '{}' && exec \"$@\"", world.path("other/place").display());
        arguments.extend(["sh", "-c", &chdir, "sh"].map(OsString::from));
        arguments.push(format!("./{}", program_name()).into());
        arguments.extend(words.iter().map(OsString::from));
        arguments.push("life=1000".into());
    }
    Asked { words: arguments, takes, statuses, serves: false }
}

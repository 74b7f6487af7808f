//! Recordings of very many programs and threads, of programs that leave others running, and of more than there is room
//! for: bounded in time and bytes, or said.

use rtscope_decode::capture::Capture;
use rtscope_model::manifest::{OwnCost, Status, Tier};
use rtscope_model::{Loss, LossKind};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};
use testkit::said::{said, text};

const STARTS: usize = 1500;
const THREADS: usize = 1500;

/// Does nothing, works for a time, or fills its log for a time.
const PROGRAM: &str = testkit::source!("haskell/short-run/Main.hs");

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

struct Ground {
    _folder: tempfile::TempDir,
    program: PathBuf,
    threads: PathBuf,
}

/// The programs; nothing where no GHC is there.
fn ground() -> Option<&'static Ground> {
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

fn rtscope(capture: &Path, options: &[&str]) -> Command {
    let mut command = Command::new(testkit::rtscope());
    command.args(["record", "-o", text(capture)]).args(options).env_remove("GHCRTS");
    command
}

/// Ends it, whatever becomes of the test.
struct Ending(Child);

impl Drop for Ending {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn storm(program: &Path, starts: usize) -> String {
    format!("i=0; while [ $i -lt {starts} ]; do {}; i=$((i+1)); done", text(program))
}

const LEAN: [&str; 5] = ["--no-kernel", "--sample-code", "0", "--sample-every", "100ms"];

/// Records so many starts; their cost and the bytes of the manifest.
fn recorded(path: &Path, program: &Path, starts: usize) -> (OwnCost, u64) {
    let begun = Instant::now();
    let output = rtscope(path, &LEAN).args(["--", "sh", "-c", &storm(program, starts)]).output().unwrap();
    let seconds = begun.elapsed().as_secs_f64();
    assert!(output.status.success(), "{}", said(&output));
    let capture = Capture::open(path).unwrap();
    let manifest = capture.manifest();
    let bytes = fs::metadata(path.join("manifest.json")).unwrap().len();
    let cost = manifest.own_cost;
    let known = manifest.logs.iter().filter(|log| log.pid != 0).count();
    println!("{starts} starts in {seconds:.1} s, manifest {bytes} bytes, {cost:?}, {known} writers known");
    assert_eq!(manifest.logs.len(), starts);
    assert!(!path.join("journal.jsonl").exists());
    // Two manifests of each size that it had, at the most a megabyte a second, and a journal.
    assert!((cost.written_bytes as f64) < 6.0 * bytes as f64 + seconds * 1e6, "{} bytes", cost.written_bytes);
    (cost, bytes)
}

/// CPU time that so many starts take without a recorder.
fn cpu_ns_alone(program: &Path, starts: usize) -> f64 {
    let output = Command::new("sh").args(["-c", &format!("{}; times", storm(program, starts))]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    // User and system, of the shell and of its children: `0m0.50s 0m1.20s`.
    let seconds = |time: &str| {
        let (minutes, seconds) = time.strip_suffix('s')?.split_once('m')?;
        Some(minutes.parse::<f64>().ok()? * 60.0 + seconds.parse::<f64>().ok()?)
    };
    let total: f64 = text.split_ascii_whitespace().map(|time| seconds(time).expect(&text)).sum();
    assert!(total > 0.0, "{text}");
    total * 1e9
}

#[test]
fn a_storm_of_starts_costs_as_much_as_its_starts() {
    let Some(ground) = ground() else { return };
    // Where files that others remove cost nothing: ext4 passes over each of them for minutes before it gives an inode.
    let folder = tempfile::tempdir_in("/dev/shm").unwrap();
    let (few, few_bytes) = recorded(&folder.path().join("few"), &ground.program, STARTS / 5);
    let (many, bytes) = recorded(&folder.path().join("many"), &ground.program, STARTS);
    let alone_ns = cpu_ns_alone(&ground.program, STARTS / 5) * 5.0;
    println!("{:.2} of what the starts take without a recorder", many.cpu_ns as f64 / alone_ns);
    // With all of the recorder's processes. A share, as machines differ; measured: 0.5 to 0.6.
    assert!((many.cpu_ns as f64) < 0.8 * alone_ns, "{} ns of CPU, {alone_ns} without", many.cpu_ns);
    // Five times as many: no start costs more for those before it.
    assert!(many.cpu_ns < 2 * 5 * few.cpu_ns, "{} and {} ns of CPU", few.cpu_ns, many.cpu_ns);
    assert!(bytes < 2 * 5 * few_bytes, "{few_bytes} and {bytes} bytes");
}

#[test]
fn a_recorder_killed_in_a_storm_leaves_all_logs_named() {
    let Some(ground) = ground() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c");
    let mut command = rtscope(&path, &LEAN);
    command.args(["--", "sh", "-c", &storm(&ground.program, STARTS)]).stderr(Stdio::null()).process_group(0);
    let mut recorder = Ending(command.spawn().unwrap());
    let _storm = Group(recorder.0.id());
    let written = || {
        let files = fs::read_dir(path.join("eventlog")).into_iter().flatten().flatten();
        let is_log = |file: &fs::DirEntry| file.file_name().to_string_lossy().ends_with(".eventlog");
        files.filter(|file| is_log(file) && file.metadata().is_ok_and(|file| file.len() > 0)).count()
    };
    let begun = Instant::now();
    while written() < 300 {
        assert!(begun.elapsed() < Duration::from_secs(60), "no storm");
        std::thread::sleep(Duration::from_millis(5));
    }
    recorder.0.kill().unwrap();
    recorder.0.wait().unwrap();
    // Programs that run on share the last file.
    let capture = Capture::open(&path).unwrap();
    assert_eq!(capture.manifest().status, Status::Recording);
    let (listed, written) = (capture.manifest().logs.len(), written());
    assert!(listed + 1 >= written, "{listed} of {written}");
    let classes = capture.manifest().logs.iter().filter(|log| !log.classes.is_empty()).count();
    assert!(classes + 50 >= listed, "the journal names {classes} of {listed}");
}

/// What goes on after its recorder was killed: not beyond the test.
struct Group(u32);

impl Drop for Group {
    fn drop(&mut self) {
        let _ = Command::new("kill").args(["-KILL", "--", &format!("-{}", self.0)]).status();
    }
}

#[test]
fn threads_are_recorded_with_the_usual_limit_of_files() {
    let Some(ground) = ground() else { return };
    let folder = tempfile::tempdir().unwrap();
    let threads = Command::new(&ground.threads).arg(THREADS.to_string()).stdout(Stdio::piped()).spawn().unwrap();
    let mut threads = Ending(threads);
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(threads.0.stdout.take().unwrap()), &mut line).unwrap();
    assert_eq!(line, "ready\n");
    let pid = threads.0.id().to_string();
    let record = |name: &str, limit: &str| {
        let path = folder.path().join(name);
        let recorder = testkit::rtscope();
        let line = format!(
            "ulimit {limit} 1024 && exec {recorder} record -o {} --tier own-switches --pid {pid} --for 1s",
            text(&path)
        );
        let output = Command::new("sh").args(["-c", &line]).output().unwrap();
        assert!(output.status.success(), "{}", said(&output));
        (Capture::open(&path).unwrap(), said(&output))
    };
    let (capture, said) = record("soft", "-Sn");
    let manifest = capture.manifest();
    if manifest.kernel.missing.iter().any(|missing| missing.contains("EACCES")) {
        return xtask::missing("permission to watch own threads (perf_event_paranoid)");
    }
    assert_eq!(manifest.kernel.tier, Tier::OwnSwitches, "{said} {:?}", manifest.kernel.missing);
    assert!(manifest.code.is_some(), "{said}");
    let (capture, said) = record("hard", "-n");
    let manifest = capture.manifest();
    let words = format!("{said} {} {}", manifest.kernel.missing.join(" "), manifest.notes.join(" "));
    assert!(words.contains("EMFILE") && words.contains("ulimit -n"), "{words}");
    let wrong = ["perf_event_paranoid", "seccomp"];
    assert!(!wrong.iter().any(|advice| words.contains(advice)), "{words}");
}

#[test]
fn a_program_gets_the_limit_of_files_that_its_recorder_was_given() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c");
    let recorder = testkit::rtscope();
    let line = format!("ulimit -Sn 1000; exec {recorder} record -o {} -- sh -c 'ulimit -Sn; ulimit -Hn'", text(&path));
    let output = Command::new("sh").args(["-c", &line]).output().unwrap();
    let hard = Command::new("sh").args(["-c", "ulimit -Hn"]).output().unwrap().stdout;
    assert_eq!(output.stdout, [&b"1000\n"[..], &hard].concat());
}

#[test]
fn a_daemon_is_recorded_until_it_ends() {
    let Some(ground) = ground() else { return };
    for (name, options) in [("kernel", &[][..]), ("code", &["--no-kernel"])] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        let parent = folder.path().join("parent");
        let line = format!(
            "(setsid sh -c 'sleep 0.2; ps -o ppid= -p $$ > {}; exec {} work 2' >/dev/null 2>&1 &) ; exit 3",
            text(&parent),
            text(&ground.program)
        );
        let output = rtscope(&path, options).args(["--", "sh", "-c", &line]).output().unwrap();
        assert_eq!(output.status.code(), Some(3), "{}", said(&output));
        assert!(said(&output).contains("the program has ended and left"), "{}", said(&output));
        let capture = Capture::open(&path).unwrap();
        let manifest = capture.manifest();
        assert_eq!((manifest.logs.len(), manifest.status), (1, Status::Complete), "{}", said(&output));
        assert_ne!(manifest.logs[0].pid, 0);
        assert!(fs::read(path.join(&manifest.logs[0].path)).unwrap().ends_with(&[0xff, 0xff]));
        assert!(manifest.ended.since(manifest.started) > 2_000_000_000);
        // Nobody has become its parent for that.
        let own = std::process::id().to_string();
        let parent = fs::read_to_string(&parent).unwrap();
        assert!(
            parent.trim() != own && parent.trim().parse::<u32>().is_ok_and(|parent| !is_rtscope(parent)),
            "{parent}"
        );
    }
}

fn is_rtscope(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.trim() == "rtscope")
}

#[test]
fn a_recording_of_what_was_left_ends_with_a_signal() {
    let folder = tempfile::tempdir().unwrap();
    let (path, pid) = (folder.path().join("c"), folder.path().join("pid"));
    let line = format!("setsid sleep 60 >/dev/null 2>&1 & echo $! > {}", text(&pid));
    let recorder = rtscope(&path, &[]).args(["--", "sh", "-c", &line]).stderr(Stdio::piped()).spawn().unwrap();
    let told = Instant::now();
    while !fs::read_to_string(path.join("manifest.json")).is_ok_and(|text| text.contains("running (")) {
        assert!(told.elapsed() < Duration::from_secs(20), "not told");
        std::thread::sleep(Duration::from_millis(20));
    }
    let sent = Instant::now();
    assert!(Command::new("kill").args(["-TERM", &recorder.id().to_string()]).status().unwrap().success());
    let output = recorder.wait_with_output().unwrap();
    let took = sent.elapsed();
    let sleep = fs::read_to_string(&pid).unwrap();
    assert!(Command::new("kill").arg(sleep.trim()).status().unwrap().success(), "the daemon did not run on");
    assert!(took < Duration::from_secs(5), "{took:?}");
    assert_eq!(output.status.code(), Some(0));
    assert!(said(&output).contains("still run and are not recorded any more"), "{}", said(&output));
}

/// What the files of a folder take on the disk.
fn on_disk(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let sizes = entries.map(|entry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => on_disk(&entry.path()),
        _ => entry.metadata().map_or(0, |file| file.blocks() * 512),
    });
    sizes.sum()
}

fn loss_of<'a>(losses: &'a [Loss], words: &str) -> &'a Loss {
    let found = losses.iter().find(|loss| loss.kind == LossKind::DiskFull && loss.note.contains(words));
    found.unwrap_or_else(|| panic!("{losses:?}"))
}

#[test]
fn a_capture_keeps_to_its_size_while_the_program_runs_on() {
    const MAX: u64 = 16 << 20;
    let Some(ground) = ground() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c");
    let program = ["--", text(&ground.program), "fill", "6"];
    // What other programs make the kernel say comes on top, for as long as it takes to end.
    let options = ["--max-size", "16M", "--detail", "full", "--no-kernel"];
    let mut command = rtscope(&path, &options);
    let command = command.args(program).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut recorder = Ending(command.spawn().unwrap());
    let (mut largest, mut longest) = (0, 0);
    while recorder.0.try_wait().unwrap().is_none() {
        largest = largest.max(on_disk(&path));
        longest = longest.max(fs::metadata(path.join("eventlog/0.eventlog")).map_or(0, |file| file.len()));
        std::thread::sleep(Duration::from_millis(5));
    }
    println!("at most {} KiB on the disk of a log of {} KiB", largest >> 10, longest >> 10);
    let status = recorder.0.wait().unwrap();
    let mut out = String::new();
    std::io::Read::read_to_string(&mut recorder.0.stdout.take().unwrap(), &mut out).unwrap();
    assert_eq!((status.code(), out.as_str()), (Some(0), "done\n"));
    assert!(longest > 2 * MAX, "the program wrote {longest} bytes only");
    assert!(largest < MAX + (8 << 20), "{largest}");
    let capture = Capture::open(&path).unwrap();
    assert_eq!(capture.manifest().status, Status::Complete);
    loss_of(&capture.losses(), "--max-size");
    let log = fs::read(path.join("eventlog/0.eventlog")).unwrap();
    assert!(log.len() > 1 << 20 && (log.len() as u64) < MAX + (8 << 20), "{}", log.len());
    assert!(log.iter().rev().take(4096).any(|byte| *byte != 0), "ends in a hole");
    let report = Command::new(testkit::rtscope()).args(["report", text(&path)]).output().unwrap();
    // Without the kernel's side not all causes can be looked for.
    assert_eq!(report.status.code(), Some(3), "{}", said(&report));
}

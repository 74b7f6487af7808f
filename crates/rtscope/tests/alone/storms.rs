//! Recordings of very many programs, and of more than there is room for: bounded in time and bytes, or reported.

use rtscope_decode::capture::Capture;
use rtscope_model::manifest::{OwnCost, Status};
use rtscope_model::{Loss, LossKind};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use testkit::output::{stderr, text};
use testkit::starts::{Ending, ground, rtscope};

const STARTS: usize = 1000;

fn storm(program: &Path, starts: usize) -> String {
    format!("i=0; while [ $i -lt {starts} ]; do {}; i=$((i+1)); done", text(program))
}

const LEAN: [&str; 5] = ["--no-kernel", "--sample-code", "0", "--sample-every", "100ms"];

/// Records so many starts; gives their cost and the bytes of the manifest.
fn recorded(path: &Path, program: &Path, starts: usize) -> (OwnCost, u64) {
    let begun = Instant::now();
    let output = rtscope(path, &LEAN).args(["--", "sh", "-c", &storm(program, starts)]).output().unwrap();
    let seconds = begun.elapsed().as_secs_f64();
    assert!(output.status.success(), "{}", stderr(&output));
    let capture = Capture::open(path).unwrap();
    let manifest = capture.manifest();
    let bytes = fs::metadata(path.join("manifest.json")).unwrap().len();
    let cost = manifest.own_cost;
    let known = manifest.logs.iter().filter(|log| log.pid != 0).count();
    println!("{starts} starts in {seconds:.1} s, manifest {bytes} bytes, {cost:?}, {known} writers known");
    // Two starts that share a log are one too few, and a loss says so.
    assert_eq!(manifest.logs.len(), starts, "{:?}", capture.losses());
    assert!(!path.join("journal.jsonl").exists());
    // Two manifests of each size that it had, at most a megabyte per second, and a journal.
    assert!((cost.written_bytes as f64) < 6.0 * bytes as f64 + seconds * 1e6, "{} bytes", cost.written_bytes);
    (cost, bytes)
}

/// CPU time of so many starts without a recorder.
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
    // Where files removed by others cost nothing: ext4 passes over each for minutes before it gives an inode.
    let folder = tempfile::tempdir_in("/dev/shm").unwrap();
    let (few, few_bytes) = recorded(&folder.path().join("few"), &ground.program, STARTS / 5);
    let (many, bytes) = recorded(&folder.path().join("many"), &ground.program, STARTS);
    let alone_ns = cpu_ns_alone(&ground.program, STARTS / 5) * 5.0;
    println!("{:.2} of what the starts take without a recorder", many.cpu_ns as f64 / alone_ns);
    // Including all of the recorder's processes. A share, as machines differ; measured: 0.5 to 0.6.
    assert!((many.cpu_ns as f64) < 0.8 * alone_ns, "{} ns of CPU, {alone_ns} without", many.cpu_ns);
    // Five times as many: earlier starts make no start more expensive.
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
    // Programs that keep running share the last file.
    let capture = Capture::open(&path).unwrap();
    assert_eq!(capture.manifest().status, Status::Recording);
    let (listed, written) = (capture.manifest().logs.len(), written());
    assert!(listed + 1 >= written, "{listed} of {written}");
    let classes = capture.manifest().logs.iter().filter(|log| !log.classes.is_empty()).count();
    assert!(classes + 50 >= listed, "the journal names {classes} of {listed}");
}

/// What outlives its killed recorder, but not the test.
struct Group(u32);

impl Drop for Group {
    fn drop(&mut self) {
        let _ = Command::new("kill").args(["-KILL", "--", &format!("-{}", self.0)]).status();
    }
}

/// Disk space that the files of a folder use.
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
    // Kernel records of other programs come on top, for as long as ending takes.
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
    let report = Command::new(testkit::rtscope()).args(["report", "-v", text(&path)]).output().unwrap();
    // Without the kernel's records not all causes can be looked for.
    assert_eq!(report.status.code(), Some(3), "{}", stderr(&report));
}

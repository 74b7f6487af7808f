//! `rtscope record` against real GHC programs, compiled here.
//!
//! A test that lacks something (a compiler, root) says what, and fails if it could have been installed.

use rtscope_decode::capture::{Capture, UnflushedBlock};
use rtscope_model::manifest::{Manifest, Status};
use rtscope_model::{Body, ClockMethod, LossKind, Sample};
use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::Duration;
use testkit::executable;
use testkit::ground::{kill, wait_for};
use testkit::output::text;
use xtask::toolchain;

const CHURN: &str = testkit::source!("haskell/many-ends/Main.hs");

/// Where the programs are; removed by the system's own cleaning of /tmp.
struct CompiledPrograms {
    folder: tempfile::TempDir,
    churn: PathBuf,
    plain: PathBuf,
}

fn ground() -> Option<&'static CompiledPrograms> {
    static GROUND: OnceLock<Option<CompiledPrograms>> = OnceLock::new();
    let ground = GROUND.get_or_init(|| {
        if Command::new("ghc").arg("--version").output().is_err() {
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("churn.hs"), CHURN).unwrap();
        compile(folder.path(), "churn", &["-eventlog"]);
        compile(folder.path(), "plain", &[]);
        let (churn, plain) = (folder.path().join("churn"), folder.path().join("plain"));
        Some(CompiledPrograms { folder, churn, plain })
    });
    if ground.is_none() {
        xtask::missing("a ghc on this machine");
    }
    ground.as_ref()
}

fn compile(folder: &Path, name: &str, flags: &[&str]) {
    let built = Command::new("ghc")
        .current_dir(folder)
        .args(["-O1", "-threaded", "-rtsopts", "churn.hs", "-o", name, "-outputdir", &format!("{name}.o")])
        .args(flags)
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
}

fn rtscope(arguments: &[&str]) -> Command {
    let mut command = Command::new(testkit::rtscope());
    command.arg("record").args(arguments).env_remove("GHCRTS");
    command
}

fn record(capture: &Path, options: &[&str], program: &[&str]) -> Output {
    let capture = capture.to_str().unwrap();
    rtscope(&[&["-o", capture][..], options, &["--"], program].concat()).output().unwrap()
}

fn scratch() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

/// The log's own table of payload sizes by tag, `None` for a variable size.
fn sizes_of(log: &[u8]) -> HashMap<u16, Option<u16>> {
    assert_eq!(&log[..8], b"hdrbhetb");
    let (mut sizes, mut at) = (HashMap::new(), 8);
    while log[at..at + 4] == *b"etb\0" {
        let tag = u16::from_be_bytes([log[at + 4], log[at + 5]]);
        let size = u16::from_be_bytes([log[at + 6], log[at + 7]]);
        sizes.insert(tag, (size != 0xffff).then_some(size));
        let name = u32::from_be_bytes(log[at + 8..at + 12].try_into().unwrap()) as usize;
        // After the name: the length of the empty extension and the end mark.
        at += 12 + name + 8;
    }
    sizes
}

/// Stamps of the whole events of a block, without its marker.
fn stamps(block: &[u8], log: &[u8]) -> Vec<u64> {
    let (sizes, mut at, mut found) = (sizes_of(log), 24, Vec::new());
    while let Some(head) = block.get(at..at + 10) {
        let tag = u16::from_be_bytes([head[0], head[1]]);
        let size = match sizes[&tag] {
            Some(size) => usize::from(size),
            None => match block.get(at + 10..at + 12) {
                Some(length) => 2 + usize::from(u16::from_be_bytes([length[0], length[1]])),
                None => break,
            },
        };
        if at + 10 + size > block.len() {
            break;
        }
        found.push(u64::from_be_bytes(head[2..].try_into().unwrap()));
        at += 10 + size;
    }
    found
}

/// Every block that was copied from memory is a piece of the log, if the program had time to write it.
fn assert_blocks_are_in(log: &[u8], blocks: &[UnflushedBlock]) {
    assert!(!blocks.is_empty());
    for block in blocks {
        // The last copy's last byte may be one that the program had not written yet.
        let Some((_, events)) = block.bytes[24..].split_last() else {
            // Only the open marker: the buffer had just been written out.
            continue;
        };
        if events.is_empty() {
            continue;
        }
        let key = &events[..events.len().min(64)];
        let at = log.windows(key.len()).position(|window| window == key).expect("block start in the log");
        assert_eq!(&log[at..at + events.len()], events, "capability {}", block.capability);
    }
}

/// The offset that the log's own pairing with the wall clock gives.
fn wall_clock_offset(log: &[u8], manifest: &Manifest) -> i64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    let found = log.windows(26).find_map(|event| {
        let number =
            |from: usize, to: usize| event[from..to].iter().fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte));
        let (seconds, nanoseconds) = (number(14, 22), number(22, 26));
        let near = seconds.abs_diff(now) < 3600;
        let plausible = number(0, 2) == 43 && number(10, 14) < 2 && near && nanoseconds < 1_000_000_000;
        plausible.then(|| (seconds * 1_000_000_000 + nanoseconds) as i64 - number(2, 10) as i64)
    });
    found.expect("a WALL_CLOCK_TIME event") - manifest.realtime_offset_ns
}

#[test]
fn the_programs_own_status_is_passed_on() {
    let Some(ground) = ground() else { return };
    let folder = scratch();
    let run = |name: &str, program: &[&str]| record(&folder.path().join(name), &[], program).status.code();
    assert_eq!(run("seven", &[text(&ground.churn), "exit", "7"]), Some(7));
    assert_eq!(run("zero", &["true"]), Some(0));
    assert_eq!(run("killed", &["sh", "-c", "kill -9 $$"]), Some(137));
    let capture = Capture::open(&folder.path().join("killed")).unwrap();
    assert_eq!(capture.manifest().exit.unwrap().signal, Some(9));
    for (program, status) in [("/no/such/program", 127), ("no-such-program-anywhere", 127), ("/", 126)] {
        let output = record(&folder.path().join("none"), &[], &[program]);
        assert_eq!(output.status.code(), Some(status), "{program}");
        assert!(String::from_utf8_lossy(&output.stderr).contains(program));
        assert!(!folder.path().join("none").exists(), "an empty capture was left");
    }
    let again = record(&folder.path().join("seven"), &[], &["true"]);
    assert_eq!(again.status.code(), Some(125));
    assert!(String::from_utf8_lossy(&again.stderr).contains("exists already"));
}

#[test]
fn a_capture_holds_log_clock_and_samples() {
    let Some(ground) = ground() else { return };
    let folder = scratch();
    let path = folder.path().join("with a space.rtscope");
    let output = record(&path, &["--flush-every", "200ms"], &[text(&ground.churn), "1.5", "+RTS", "-N2"]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(output.stdout, b"done\n");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
    let capture = Capture::open(&path).unwrap();
    let manifest = capture.manifest();
    assert_eq!(manifest.status, Status::Complete);
    assert_eq!(manifest.logs.len(), 1);
    assert_eq!(manifest.binary.family.as_deref(), Some("ghc"));
    assert!(!manifest.losses.iter().any(|loss| loss.kind == LossKind::Unwritten), "{:?}", manifest.losses);
    let log = fs::read(capture.path().join(&manifest.logs[0].path)).unwrap();
    assert!(log.ends_with(&[0xff, 0xff]));
    assert_blocks_are_in(&log, &capture.unflushed(manifest.logs[0].pid));
    let clock = manifest.logs[0].clock;
    assert_eq!(clock.method, ClockMethod::RuntimeStatic);
    let apart = clock.offset_ns - wall_clock_offset(&log, manifest);
    println!("runtime static and wall clock pairing are {apart} ns apart");
    assert!(apart.abs() < 200_000, "{apart}");
    let mut samples = capture.samples().unwrap();
    let events: Vec<_> = samples.by_ref().collect();
    assert!(samples.losses().is_empty());
    let rss =
        events.iter().filter(|event| matches!(event.body, Body::Sample(Sample::Rss { bytes }) if bytes > 1 << 20));
    assert!(rss.count() > 10);
    let threads =
        events.iter().filter(|event| matches!(event.body, Body::Sample(Sample::Thread { cpu_ns, .. }) if cpu_ns > 0));
    assert!(threads.count() > 5);
}

#[test]
fn a_recording_into_one_file_leaves_one_file() {
    let Some(ground) = ground() else { return };
    let scratch = scratch();
    let file = scratch.path().join("c.rtscope.zst");
    let output = record(&file, &[], &[text(&ground.churn), "exit", "3"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("c.rtscope.zst; explain it with"), "{said}");
    assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 1);
    let capture = Capture::open(&file).unwrap();
    assert_eq!((capture.manifest().status, capture.losses().len()), (Status::Complete, 0));
    assert!(capture.samples().unwrap().count() > 0 && capture.folder().size("eventlog/0.eventlog") > 0);
}

#[test]
fn a_terminated_program_keeps_all_but_its_last_second() {
    let Some(ground) = ground() else { return };
    let folder = scratch();
    let path = folder.path().join("c");
    let program = [text(&ground.churn), "30", "+RTS", "-N2"];
    let arguments = [&["-o", text(&path), "--"], &program[..]].concat();
    let mut recorder = rtscope(&arguments).stderr(Stdio::null()).spawn().unwrap();
    wait_for("the log's process", || logging_pid(&path).is_some());
    std::thread::sleep(Duration::from_secs(4));
    kill("TERM", logging_pid(&path).unwrap());
    assert_eq!(recorder.wait().unwrap().code(), Some(143));
    let capture = Capture::open(&path).unwrap();
    let log = fs::read(capture.path().join(&capture.manifest().logs[0].path)).unwrap();
    let blocks = capture.unflushed(capture.manifest().logs[0].pid);
    for capability in [0, 1] {
        let of_it = blocks.iter().filter(|block| block.capability == capability);
        let last = of_it.flat_map(|block| stamps(&block.bytes, &log)).max().unwrap();
        assert!(last >= 2_800_000_000, "capability {capability} ends at {last} ns");
    }
    assert!(capture.losses().iter().any(|loss| loss.kind == LossKind::Unwritten && loss.from.is_some()));
}

fn logging_pid(capture: &Path) -> Option<u32> {
    let capture = Capture::open(capture).ok()?;
    capture.manifest().logs.first().map(|log| log.pid).filter(|pid| *pid != 0)
}

#[test]
fn a_killed_recorder_harms_no_process() {
    let Some(ground) = ground() else { return };
    let folder = scratch();
    // -qg: the spinning parallel collector of 9.0 takes seconds on a busy machine.
    // Spread over set-up, run and end; the exact moments differ from run to run.
    let start = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().subsec_nanos();
    for round in 0..20_u64 {
        let path = folder.path().join(format!("c{round}"));
        let out = folder.path().join(format!("out{round}"));
        let arguments =
            ["-o", text(&path), "--flush-every", "50ms", "--", text(&ground.churn), "0.6", "+RTS", "-N2", "-qg"];
        let mut recorder =
            rtscope(&arguments).stdout(fs::File::create(&out).unwrap()).stderr(Stdio::null()).spawn().unwrap();
        let micros = (round * 40_000 + u64::from(start) / 7 * (round + 1) % 40_000) * u64::from(round > 0);
        std::thread::sleep(Duration::from_micros(micros));
        recorder.kill().unwrap();
        recorder.wait().unwrap();
        check_after_kill(&path, &out, micros);
    }
}

fn check_after_kill(path: &Path, out: &Path, micros: u64) {
    // Killed before the program was started at all: check only that what there is does not confuse a reader.
    let started = path.join("samples.jsonl").exists() && path.join("manifest.json").exists();
    if !started {
        if let Ok(capture) = Capture::open(path) {
            assert_eq!(capture.manifest().status, Status::Recording, "killed after {micros} us");
        }
        return;
    }
    wait_for("the program's end", || fs::read(out).is_ok_and(|text| text == b"done\n"));
    let capture = Capture::open(path).unwrap();
    for log in &capture.manifest().logs {
        let bytes = fs::read(capture.path().join(&log.path)).unwrap();
        if bytes.len() > 3000 && log.pid != 0 {
            wait_for("the log's end", || fs::read(capture.path().join(&log.path)).unwrap().ends_with(&[0xff, 0xff]));
            let bytes = fs::read(capture.path().join(&log.path)).unwrap();
            let blocks = capture.unflushed(log.pid);
            if !blocks.is_empty() {
                assert_blocks_are_in(&bytes, &blocks);
            }
        }
    }
    let mut samples = capture.samples().unwrap();
    samples.by_ref().for_each(drop);
    assert!(samples.losses().is_empty(), "killed after {micros} us");
}

#[test]
fn wrappers_and_children_get_logs_of_their_own() {
    let Some(ground) = ground() else { return };
    let folder = scratch();
    let path = folder.path().join("bash");
    let line = format!("{} 0.3 && {} 0.3", text(&ground.churn), text(&ground.churn));
    assert_eq!(record(&path, &[], &["bash", "-c", &line]).status.code(), Some(0));
    assert_two_logs(&path);
    let path = folder.path().join("parent");
    let output = record(&path, &[], &[text(&ground.churn), "parent", text(&ground.churn)]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(output.stdout, b"done\ndone\n");
    assert_two_logs(&path);
}

#[test]
fn a_program_that_forks_or_execs_writes_two_logs() {
    let Some(ground) = ground() else { return };
    let folder = scratch();
    let path = folder.path().join("fork");
    let output = record(&path, &[], &[text(&ground.churn), "fork"]);
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(0), &b"done\ndone\n"[..]));
    assert_two_logs(&path);
    let path = folder.path().join("exec");
    let output = record(&path, &["--flush-every", "100ms"], &[text(&ground.churn), "exec", text(&ground.churn)]);
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(0), &b"done\ndone\n"[..]));
    let capture = Capture::open(&path).unwrap();
    let logs = &capture.manifest().logs;
    assert_eq!(logs.len(), 2);
    assert_eq!(logs[0].pid, logs[1].pid);
    let losses = capture.losses();
    let unwritten = losses.iter().find(|loss| loss.kind == LossKind::Unwritten).expect("exec loses the buffers");
    assert_eq!(unwritten.source, logs[0].path);
    assert!(unwritten.to < Some(capture.manifest().ended.minus(200_000_000)), "bounded by the exec");
}

fn assert_two_logs(path: &Path) {
    let capture = Capture::open(path).unwrap();
    let logs = &capture.manifest().logs;
    assert_eq!(logs.len(), 2);
    assert!(logs[0].pid != 0 && logs[1].pid != 0 && logs[0].pid != logs[1].pid);
    for log in logs {
        let bytes = fs::read(capture.path().join(&log.path)).unwrap();
        assert!(bytes.starts_with(b"hdrb") && bytes.ends_with(&[0xff, 0xff]));
        assert_eq!(log.clock.method, ClockMethod::RuntimeStatic);
    }
    assert_eq!(capture.manifest().binary.family.as_deref(), Some("ghc"));
    assert!(!capture.losses().iter().any(|loss| loss.kind == LossKind::MixedProcesses));
    let names: Vec<_> = fs::read_dir(path.join("eventlog")).unwrap().collect();
    assert_eq!(names.len(), 2, "unused files were left");
}

#[test]
fn options_of_the_users_own_are_merged() {
    let Some(ground) = ground() else { return };
    let folder = scratch();
    let path = folder.path().join("c");
    let mine = folder.path().join("mine.eventlog");
    let ol = format!("-ol{}", text(&mine));
    let output = record(&path, &[], &[text(&ground.churn), "0.3", "+RTS", "-l-au", &ol, "-RTS"]);
    assert_eq!(output.status.code(), Some(0));
    let capture = Capture::open(&path).unwrap();
    let log = &capture.manifest().logs[0];
    assert_eq!(log.classes, "-l-agpu");
    let own = fs::read(&mine).unwrap();
    assert!(own.ends_with(&[0xff, 0xff]));
    assert_eq!(fs::read(capture.path().join(&log.path)).unwrap(), own);
    assert!(log.path.starts_with("eventlog/"), "{}", log.path);
    assert_eq!(log.clock.method, ClockMethod::RuntimeStatic);
    assert!(sizes_of(&own).contains_key(&9));
}

#[test]
fn a_program_that_cannot_log_runs_as_ever() {
    let Some(ground) = ground() else { return };
    let folder = scratch();
    for (name, program) in
        [("direct", vec![text(&ground.plain), "0.2"]), ("wrapped", vec!["env", "A=1", text(&ground.plain), "0.2"])]
    {
        let path = folder.path().join(name);
        let output = record(&path, &[], &program);
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.stdout, b"done\n");
        let capture = Capture::open(&path).unwrap();
        assert!(capture.manifest().logs.is_empty());
        assert!(
            capture.manifest().notes.iter().any(|note| note.contains("-eventlog")),
            "{:?}",
            capture.manifest().notes
        );
        assert!(capture.samples().unwrap().count() > 5);
    }
    let path = folder.path().join("off");
    assert_eq!(record(&path, &["--no-eventlog"], &[text(&ground.churn), "0.2"]).status.code(), Some(0));
    assert!(Capture::open(&path).unwrap().manifest().added.is_empty());
}

#[test]
fn a_running_process_is_recorded_for_a_time() {
    let Some(ground) = ground() else { return };
    let folder = scratch();
    let log = folder.path().join("own.eventlog");
    let mut program = Command::new(&ground.churn)
        .args(["4", "+RTS", "-l-ag", &format!("-ol{}", text(&log))])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(300));
    let path = folder.path().join("c");
    let arguments = ["-o", text(&path), "--pid", &program.id().to_string(), "--for", "1.5s"];
    assert!(rtscope(&arguments).status().unwrap().success());
    assert!(program.wait().unwrap().success());
    let capture = Capture::open(&path).unwrap();
    let manifest = capture.manifest();
    assert_eq!((manifest.logs.len(), manifest.exit), (1, None));
    assert_eq!(manifest.logs[0].clock.method, ClockMethod::RuntimeStatic);
    assert!(!capture.unflushed(program.id()).is_empty());
    let gone = rtscope(&["-o", text(&folder.path().join("d")), "--pid", "4194303", "--for", "1s"]).output().unwrap();
    assert_eq!(gone.status.code(), Some(125));
}

#[test]
fn a_recording_may_end_before_its_program() {
    let Some(ground) = ground() else { return };
    let folder = scratch();
    let path = folder.path().join("c");
    let output = record(&path, &["--for", "500ms", "--redact"], &[text(&ground.churn), "1.2"]);
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(0), &b"done\n"[..]));
    let manifest = fs::read_to_string(path.join("manifest.json")).unwrap();
    assert!(!manifest.contains(text(ground.folder.path())), "{manifest}");
    let capture = Capture::open(&path).unwrap();
    assert_eq!(capture.manifest().exit, None);
    assert!(capture.manifest().ended.since(capture.manifest().started) < 1_100_000_000);
}

#[test]
fn a_full_disk_does_not_reach_the_program() {
    let Some(ground) = ground() else { return };
    let folder = scratch();
    let disk = folder.path().join("disk");
    fs::create_dir(&disk).unwrap();
    let recorder = testkit::rtscope();
    let script = format!(
        "mount -t tmpfs -o size=400k tmpfs {disk} || exit 99\n{recorder} record --flush-every 100ms -o {disk}/c -- {} 3 +RTS -N2\n\
         status=$?\ncp -r {disk}/c {disk}/../kept\nexit $status",
        text(&ground.churn),
        disk = text(&disk),
    );
    let output = Command::new("unshare").args(["-m", "sh", "-c", &script]).output().unwrap();
    if output.status.code() == Some(99) || !folder.path().join("kept").exists() {
        xtask::missing("the permission to mount a small disk");
        return;
    }
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stdout.ends_with(b"done\n"));
    let capture = Capture::open(&folder.path().join("kept")).unwrap();
    assert_eq!(capture.manifest().status, Status::Complete);
    assert!(capture.losses().iter().any(|loss| loss.kind == LossKind::DiskFull), "{:?}", capture.losses());
    assert!(String::from_utf8_lossy(&output.stderr).contains("disk is full"));
}

#[test]
fn a_group_that_the_program_is_moved_into_is_followed() {
    let Some(ground) = ground() else { return };
    if !Path::new("/sys/fs/cgroup/cpu").is_dir() {
        eprintln!("not run: this kernel has its cpu controller in version 2; the workloads with a quota test that");
        return;
    }
    let group = PathBuf::from(format!("/sys/fs/cgroup/cpu/rtscope-test-{}", std::process::id()));
    if fs::create_dir(&group).is_err() || fs::write(group.join("cpu.cfs_quota_us"), "20000").is_err() {
        let _ = fs::remove_dir(&group);
        xtask::missing("a cpu control group (v1) that can be made");
        return;
    }
    let folder = scratch();
    let path = folder.path().join("c");
    let line = format!("echo $$ > {}/cgroup.procs && exec {} 1 +RTS -N2", group.display(), text(&ground.churn));
    let output = record(&path, &[], &["sh", "-c", &line]);
    let _ = fs::remove_dir(&group);
    assert_eq!(output.status.code(), Some(0));
    let capture = Capture::open(&path).unwrap();
    assert_eq!(capture.manifest().machine.quota_cpus, Some(0.2));
    let throttled = capture.samples().unwrap().filter_map(|event| match event.body {
        Body::Sample(Sample::Quota { group, throttled, .. })
            if capture.manifest().groups[usize::from(group.0)].quota_cpus.is_some() =>
        {
            Some(throttled)
        }
        _ => None,
    });
    assert!(throttled.max().unwrap_or(0) > 0);
}

/// `/proc` in another root, for as long as this lives.
struct Mounted(PathBuf);

impl Mounted {
    fn proc(root: &Path) -> Mounted {
        let target = root.join("proc");
        let done = Command::new("mount").args(["--bind", "/proc", text(&target)]).status().unwrap();
        assert!(done.success(), "mount on {}", target.display());
        Mounted(target)
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").args(["--lazy", text(&self.0)]).status();
    }
}

/// Programs of newer GHCs live in other roots, as in containers.
#[test]
fn programs_in_other_roots_are_recorded() {
    for name in ["ghc-9.6", "ghc-9.10"] {
        let found = toolchain::Spec::find(name).unwrap().installed(&xtask::cache::cache());
        let Some((toolchain, root)) = found.and_then(|found| Some((found.clone(), found.root?))) else {
            xtask::missing(&format!("{name}: cargo xtask toolchains"));
            continue;
        };
        if !toolchain::is_root() {
            xtask::missing("root, to change the root folder");
            return;
        }
        let build = scratch();
        fs::write(build.path().join("Main.hs"), CHURN).unwrap();
        let program = build.path().join("churn");
        toolchain.compile(&[build.path()], &["-O1", "-threaded"], &program).unwrap();
        let inside = format!("/tmp/rtscope-test-{}", std::process::id());
        let outside = root.join(inside.trim_start_matches('/'));
        fs::create_dir_all(&outside).unwrap();
        executable::copy(&program, outside.join("churn"));
        let mounted = Mounted::proc(&root);
        record_in_root(&root, &inside);
        drop(mounted);
        fs::remove_dir_all(&outside).unwrap();
    }
}

fn record_in_root(root: &Path, inside: &str) {
    let folder = scratch();
    let path = folder.path().join("c d");
    let program = format!("{inside}/churn");
    let output = record(&path, &["--flush-every", "300ms"], &["chroot", text(root), &program, "1.2", "+RTS", "-N2"]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.stdout, b"done\n");
    let capture = Capture::open(&path).unwrap();
    let manifest = capture.manifest();
    assert_eq!(manifest.logs.len(), 1);
    assert_eq!(manifest.binary.can_log, Some(true));
    let log = fs::read(capture.path().join(&manifest.logs[0].path)).unwrap();
    assert!(log.ends_with(&[0xff, 0xff]));
    assert_blocks_are_in(&log, &capture.unflushed(manifest.logs[0].pid));
    let apart = manifest.logs[0].clock.offset_ns - wall_clock_offset(&log, manifest);
    println!("{}: clocks {apart} ns apart", root.display());
    assert!(apart.abs() < 200_000, "{apart}");
}

/// Signals sent to the recorder reach the program.
#[test]
fn a_signal_for_the_recorder_is_passed_on() {
    let folder = scratch();
    let ready = folder.path().join("ready");
    let script = format!("trap 'exit 9' TERM; : > {}; while :; do sleep 0.05; done", text(&ready));
    let path = folder.path().join("c");
    let arguments = ["-o", text(&path), "--", "sh", "-c", &script];
    let mut recorder: Child = rtscope(&arguments).stderr(Stdio::null()).spawn().unwrap();
    wait_for("the script", || ready.exists());
    kill("TERM", recorder.id());
    assert_eq!(recorder.wait().unwrap().code(), Some(9));
}

//! Recordings of programs that leave others running, and of very many threads: they end when all has ended or
//! on request, and say what is missing.

use rtscope_decode::capture::Capture;
use rtscope_model::manifest::{Status, Tier};
use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use testkit::output::{stderr, text};
use testkit::starts::{Ending, ground, rtscope};

const THREADS: usize = 1500;

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
        assert!(output.status.success(), "{}", stderr(&output));
        (Capture::open(&path).unwrap(), stderr(&output))
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
        assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
        assert!(stderr(&output).contains("the program has ended and left"), "{}", stderr(&output));
        let capture = Capture::open(&path).unwrap();
        let manifest = capture.manifest();
        assert_eq!((manifest.logs.len(), manifest.status), (1, Status::Complete), "{}", stderr(&output));
        assert_ne!(manifest.logs[0].pid, 0);
        assert!(fs::read(path.join(&manifest.logs[0].path)).unwrap().ends_with(&[0xff, 0xff]));
        assert!(manifest.ended.since(manifest.started) > 2_000_000_000);
        // No process of rtscope's, nor this one, became its parent for that.
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
    let began = Instant::now();
    while !fs::read_to_string(path.join("manifest.json")).is_ok_and(|text| text.contains("running (")) {
        assert!(began.elapsed() < Duration::from_secs(20), "not reported");
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
    assert!(stderr(&output).contains("still run and are not recorded any more"), "{}", stderr(&output));
}

//! Live: programs and places with faults. Each is recorded as far as possible, keeps its own result, and the
//! message says what to do.

use testkit::executable;
use testkit::ground;

use ground::kills::kill_recorders;
use ground::{
    ground, kill, logging_pid, manifest, paused_seconds, record, recorder, report, reported, scratch, stderr,
};
use serde_json::Value;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

fn words<'a>(program: &'a Path, arguments: &[&'a str]) -> Vec<&'a OsStr> {
    std::iter::once(program.as_os_str()).chain(arguments.iter().map(|word| OsStr::new(*word))).collect()
}

fn losses<'a>(manifest: &'a Value, kind: &str) -> Vec<&'a Value> {
    manifest["losses"].as_array().unwrap().iter().filter(|loss| loss["kind"] == kind).collect()
}

#[test]
fn live_a_program_that_cannot_start_leaves_a_message_and_nothing_else() {
    let folder = scratch();
    let file = |name: &str, bytes: &[u8], mode: u32| {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    };
    let plain = file("plain", b"#!/bin/sh\n", 0o644);
    let noise = file("noise", b"\x01\x02\x03 no format at all", 0o755);
    let other = file("other", b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x02\0\xf3\0\x01\0\0\0", 0o755);
    let orphan = file("orphan", b"#!/no/such/interpreter\n", 0o755);
    let absent = folder.path().join("absent");
    for (program, status, words) in [
        (&absent, 127, "check the spelling"),
        (&orphan, 127, "interpreter"),
        (&plain, 126, "chmod +x"),
        (&noise, 126, "format"),
        (&other, 126, "format"),
    ] {
        let capture = folder.path().join("c");
        let output = record(&capture, &[], &[program.as_os_str()]);
        assert_eq!(output.status.code(), Some(status), "{}: {}", program.display(), stderr(&output));
        let message = stderr(&output);
        assert!(message.contains(words) && message.contains(program.to_str().unwrap()), "{message}");
        assert!(!capture.exists(), "an empty capture was left for {}", program.display());
    }
}

#[test]
fn live_an_output_folder_that_exists_is_not_touched() {
    let folder = scratch();
    let capture = folder.path().join("mine");
    fs::create_dir(&capture).unwrap();
    fs::write(capture.join("letter"), "dear").unwrap();
    let mark = folder.path().join("ran");
    let output = record(&capture, &[], &["touch".as_ref(), mark.as_os_str()]);
    assert_eq!(output.status.code(), Some(125));
    assert!(stderr(&output).contains("exists already"), "{}", stderr(&output));
    assert_eq!(fs::read_dir(&capture).unwrap().count(), 1);
    assert_eq!(fs::read_to_string(capture.join("letter")).unwrap(), "dear");
    assert!(!mark.exists(), "the program was run without being recorded");
}

#[test]
fn live_a_program_that_dies_at_once_keeps_its_status() {
    let Some(ground) = ground() else { return };
    let folder = scratch();
    let capture = folder.path().join("c");
    assert_eq!(record(&capture, &[], &words(&ground.program, &["exit", "3"])).status.code(), Some(3));
    assert_eq!(manifest(&capture)["exit"]["code"], 3);
    assert!(reported(&capture)["source"]["events"].as_u64() > Some(0));
    let capture = folder.path().join("sh");
    assert_eq!(record(&capture, &[], &["sh".as_ref(), "-c".as_ref(), "exit 3".as_ref()]).status.code(), Some(3));
    assert!(reported(&capture)["pauses"]["count"].is_null(), "no log was seen, so nothing is known of pauses");
}

/// What is lost of a program that is ended from outside: at most what it did since its memory was last copied.
fn ended_by(signal: &str, status: i32) {
    let Some(ground) = ground() else { return };
    let folder = scratch();
    let capture = folder.path().join("c");
    let program = words(&ground.program, &["seconds", "30", "+RTS", "-N2", "-qg"]);
    let mut recording = recorder(&capture, &[], &program).stderr(Stdio::null()).spawn().unwrap();
    let pid = logging_pid(&capture);
    std::thread::sleep(Duration::from_secs(4));
    kill(signal, pid);
    assert_eq!(recording.wait().unwrap().code(), Some(status));
    let (exit, report, _) = report(&capture);
    // The last copy may lie just before the end; more than a hundredth has to show in the status.
    let unwritten = losses(&report, "unwritten")[0]["count"].as_u64().unwrap();
    let share = unwritten as f64 / report["span_ns"].as_f64().unwrap();
    assert!(exit == Some(3) || exit == Some(0) && share <= 0.01, "exit {exit:?} with {share} unwritten");
    assert!(report["pauses"]["count"].as_u64() > Some(50));
    assert!(report["span_ns"].as_u64() >= Some(3_000_000_000));
    let seconds = paused_seconds(&capture);
    assert!(seconds >= 3.0, "pauses over {seconds} s only");
    let manifest = manifest(&capture);
    let lost = losses(&manifest, "unwritten");
    assert_eq!(lost.len(), 1);
    assert!(lost[0]["note"].as_str().unwrap().contains("copied from its memory"));
    assert!(lost[0]["count"].as_u64() <= Some(1_000_000_000), "{}", lost[0]);
}

#[test]
fn live_a_terminated_program_is_reported_up_to_its_last_second() {
    ended_by("TERM", 143);
}

#[test]
fn live_a_killed_program_is_reported_up_to_its_last_second() {
    ended_by("KILL", 137);
}

#[test]
fn live_a_stripped_program_that_is_killed_says_what_was_not_kept() {
    let Some(ground) = ground() else { return };
    let folder = scratch();
    let stripped = folder.path().join("stripped");
    executable::copy(&ground.program, &stripped);
    if !Command::new("strip").arg(&stripped).status().is_ok_and(|status| status.success()) {
        return xtask::missing("strip (package binutils)");
    }
    let capture = folder.path().join("c");
    // It is unknown whether a stripped program can log. Started by a wrapper that hides it, it is asked to.
    let line = format!("cd '{}' && exec ./stripped seconds 30 +RTS -N2 -qg", folder.path().display());
    let program = ["sh", "-c", &line].map(OsStr::new);
    let mut recording = recorder(&capture, &[], &program).stderr(Stdio::null()).spawn().unwrap();
    let pid = logging_pid(&capture);
    std::thread::sleep(Duration::from_millis(1500));
    kill("KILL", pid);
    assert_eq!(recording.wait().unwrap().code(), Some(137));
    let manifest = manifest(&capture);
    let lost = losses(&manifest, "unwritten");
    assert_eq!(lost.len(), 1, "{manifest:#}");
    let note = lost[0]["note"].as_str().unwrap();
    assert!(note.contains("no symbols") && note.contains("unstripped"), "{note}");
    assert!(lost[0]["count"].as_u64() >= Some(1_000_000_000) && note.contains("of its last"), "{}", lost[0]);
    let (status, report, said) = report(&capture);
    assert_eq!(status, Some(3), "{said}");
    assert!(!report["losses"].as_array().unwrap().is_empty());
}

#[test]
fn live_forks_and_execs_are_reported_log_by_log() {
    let Some(ground) = ground() else { return };
    let folder = scratch();
    for (name, arguments) in [("fork", vec!["fork"]), ("exec", vec!["exec", ground.program.to_str().unwrap()])] {
        let capture = folder.path().join(name);
        let output = record(&capture, &["--flush-every", "100ms"], &words(&ground.program, &arguments));
        assert_eq!((output.status.code(), &output.stdout[..]), (Some(0), &b"done\ndone\n"[..]), "{}", stderr(&output));
        assert_eq!(manifest(&capture)["logs"].as_array().unwrap().len(), 2, "{name}");
        for log in ["0", "1"] {
            let mut command = Command::new(testkit::rtscope());
            let done = command.args(["report", "--json", "--log", log]).arg(&capture).output().unwrap();
            assert!(matches!(done.status.code(), Some(0 | 3)), "{name}, log {log}: {}", stderr(&done));
            let report: Value = serde_json::from_slice(&done.stdout).unwrap();
            assert!(report["pauses"]["count"].as_u64() > Some(0), "{name}, log {log}");
        }
    }
}

#[test]
fn live_a_daemon_that_outlives_its_starter_is_recorded_to_its_end() {
    let Some(ground) = ground() else { return };
    let folder = scratch();
    let (capture, pid_file) = (folder.path().join("c"), folder.path().join("pid"));
    let program = words(&ground.program, &["daemon", pid_file.to_str().unwrap()]);
    let output = record(&capture, &[], &program);
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(0), &b"left\ndone\n"[..]), "{}", stderr(&output));
    let pid = fs::read_to_string(&pid_file).unwrap();
    let notes = manifest(&capture)["notes"].to_string();
    assert!(notes.contains("left 1 process running") && notes.contains(pid.trim()), "{notes}");
    assert!(stderr(&output).contains("left 1 process running"), "{}", stderr(&output));
    assert!(fs::read(capture.join("eventlog/1.eventlog")).unwrap().ends_with(&[0xff, 0xff]));
    assert_eq!(manifest(&capture)["status"], "complete");
    reported(&capture);
}

/// The recorder changes nothing in what such a program does with a log of its own.
#[test]
fn live_a_program_that_closes_every_descriptor_behaves_as_with_a_log_of_its_own() {
    let Some(ground) = ground() else { return };
    let folder = scratch();
    let log = format!("-ol{}", folder.path().join("own.eventlog").display());
    // -V0: the runtime's own timer reads from a descriptor, too.
    let plain = ["close-all", "+RTS", "-V0"];
    let alone = Command::new(&ground.program).args(plain).args(["-l-ag", &log]).output().unwrap();
    let capture = folder.path().join("c");
    let output = record(&capture, &["-q"], &words(&ground.program, &plain));
    assert_eq!(output.status.code(), alone.status.code().or(Some(128)), "{}", stderr(&output));
    assert_eq!(output.stdout, alone.stdout);
    assert!(manifest(&capture)["status"] == "complete");
    reported(&capture);
}

#[test]
fn live_odd_paths_and_arguments_are_taken_as_they_are() {
    let Some(ground) = ground() else { return };
    let folder = scratch();
    for (index, name) in [&b"with space"[..], b"tab\tand'quote\"", b"\xff\xfe not text", b"+RTS", "αβγ".as_bytes()]
        .into_iter()
        .enumerate()
    {
        let place = folder.path().join(OsStr::from_bytes(name));
        fs::create_dir(&place).unwrap();
        let program = place.join(OsStr::from_bytes(&[b"prog ", name].concat()));
        executable::copy(&ground.program, &program);
        let capture = place.join(OsStr::from_bytes(&[name, b".rtscope"].concat()));
        let output = record(&capture, &[], &words(&program, &["seconds", "0.3"]));
        assert_eq!(
            (output.status.code(), &output.stdout[..]),
            (Some(0), &b"done\n"[..]),
            "{index}: {}",
            stderr(&output)
        );
        assert!(reported(&capture)["pauses"]["count"].as_u64() > Some(0), "{index}");
        let log = &manifest(&capture)["logs"][0];
        assert_eq!((&log["path"], &log["clock"]["method"]), (&"eventlog/0.eventlog".into(), &"runtime-static".into()));
    }
    let raw = OsStr::from_bytes(b"\xff\xfe");
    let output = record(&folder.path().join("echo"), &[], &["printf".as_ref(), "%s".as_ref(), raw]);
    assert_eq!(output.stdout, b"\xff\xfe", "{}", stderr(&output));
}

#[test]
fn live_a_killed_recorder_harms_neither_program_nor_capture() {
    let Some(ground) = ground() else { return };
    println!("{:?}", kill_recorders(ground, 10));
}

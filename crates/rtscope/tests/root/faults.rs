//! As root: what takes privilege to set up, such as removing it. A test that creates a control group or a mount
//! removes it even if it fails.

use testkit::executable;
use testkit::ground;

use ground::{ground, manifest, record, reported, scratch, stderr};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;
use xtask::missing;
use xtask::toolchain::is_root;

/// A memory group (v1) of its own, removed when dropped.
struct MemoryGroup(PathBuf);

impl MemoryGroup {
    fn new(bytes: u64) -> Option<MemoryGroup> {
        let group = PathBuf::from(format!("/sys/fs/cgroup/memory/rtscope-test-{}", std::process::id()));
        fs::create_dir(&group).ok()?;
        let group = MemoryGroup(group);
        fs::write(group.0.join("memory.limit_in_bytes"), bytes.to_string()).ok()?;
        // Swap would only delay it.
        let _ = fs::write(group.0.join("memory.memsw.limit_in_bytes"), bytes.to_string());
        Some(group)
    }
}

impl Drop for MemoryGroup {
    fn drop(&mut self) {
        for _ in 0..50 {
            if fs::remove_dir(&self.0).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        eprintln!("{} could not be removed", self.0.display());
    }
}

#[test]
fn root_a_program_killed_for_memory_is_reported_with_the_reason() {
    let Some(ground) = ground() else { return };
    let group = if is_root() { MemoryGroup::new(64 << 20) } else { None };
    let Some(group) = group else { return missing("root and a memory control group (v1)") };
    let folder = scratch();
    let capture = folder.path().join("c");
    let script = format!("echo $$ > '{}/cgroup.procs' && exec \"$@\"", group.0.display());
    let words = ["sh", "-c", &script, "enter"].map(OsStr::new).into_iter().chain([ground.program.as_os_str()]);
    let words: Vec<&OsStr> = words.chain(["hog", "+RTS", "-N2", "-qg"].map(OsStr::new)).collect();
    let output = record(&capture, &["--flush-every", "200ms"], &words);
    assert_eq!(output.status.code(), Some(137), "{}", stderr(&output));
    let manifest = manifest(&capture);
    assert_eq!((&manifest["exit"]["signal"], &manifest["exit"]["oom_killed"]), (&9.into(), &true.into()));
    let limits = manifest["groups"].as_array().unwrap().iter().map(|group| group["memory_limit_bytes"].as_u64());
    assert!(limits.into_iter().any(|limit| limit == Some(64 << 20)), "{}", manifest["groups"]);
    let report = reported(&capture);
    assert!(report["pauses"]["count"].as_u64() > Some(0));
    let most = report["memory"]["rss_bytes"]["max"].as_u64().unwrap();
    assert!(most > 40 << 20, "only {most} bytes were seen");
}

#[test]
fn root_without_privilege_the_report_says_what_it_cannot_see() {
    let Some(ground) = ground() else { return };
    if !is_root() {
        return missing("root, to give it up");
    }
    let folder = scratch();
    let rtscope = folder.path().join("rtscope");
    executable::copy(testkit::rtscope(), &rtscope);
    let place = folder.path().join("place");
    fs::create_dir(&place).unwrap();
    fs::set_permissions(&place, fs::Permissions::from_mode(0o777)).unwrap();
    let capture = place.join("c");
    let unprivileged = |arguments: &[&OsStr]| {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"]).arg(&rtscope).args(arguments);
        command.current_dir(&place).env_remove("GHCRTS").stdin(Stdio::null()).output()
    };
    let words = ["record", "-o"].map(OsStr::new).into_iter().chain([capture.as_os_str(), OsStr::new("--")]);
    let words = words.chain([ground.program.as_os_str()]).chain(["seconds", "1", "+RTS", "-N2", "-qg"].map(OsStr::new));
    let Ok(output) = unprivileged(&words.collect::<Vec<_>>()) else { return missing("setpriv (package util-linux)") };
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(0), &b"done\n"[..]), "{}", stderr(&output));
    let manifest = manifest(&capture);
    assert_ne!(manifest["kernel"]["tier"], "tracepoints");
    let missing = manifest["kernel"]["missing"].to_string();
    assert!(missing.contains("run rtscope as root"), "{missing}");
    let report = reported(&capture);
    assert!(report["pauses"]["count"].as_u64() > Some(0));
    assert!(report["memory"]["rss_bytes"]["max"].as_u64() > Some(1 << 20));
    let text = unprivileged(&["report".as_ref(), "-v".as_ref(), capture.as_os_str()]).unwrap();
    let text = String::from_utf8_lossy(&text.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("Not seen") && text.contains("root"), "{text}");
}

#[test]
fn root_a_full_disk_ends_the_recording_not_the_program() {
    let Some(ground) = ground() else { return };
    if !is_root() {
        return missing("root, to mount a small disk");
    }
    let folder = scratch();
    let disk = folder.path().join("disk");
    fs::create_dir(&disk).unwrap();
    // In a mount namespace of its own, so that the disk goes whatever happens.
    let script = r#"
        mount -t tmpfs -o size=900k tmpfs "$1" || exit 99
        "$2" record --flush-every 100ms -o "$1/c" -- "$3" seconds 3 +RTS -N2 -qg
        status=$?
        cp -r "$1/c" "$1/../kept"
        exit $status
    "#;
    let output = Command::new("unshare")
        .args(["--mount", "--propagation", "private", "sh", "-c", script, "sh"])
        .args([disk.as_os_str(), testkit::rtscope().as_ref(), ground.program.as_os_str()])
        .output()
        .unwrap();
    if output.status.code() == Some(99) {
        return missing("permission to mount a small disk");
    }
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(0), &b"done\n"[..]), "{}", stderr(&output));
    assert!(stderr(&output).contains("disk is full"), "{}", stderr(&output));
    let kept = folder.path().join("kept");
    let manifest = manifest(&kept);
    assert_eq!(manifest["status"], "complete");
    let full = manifest["losses"].as_array().unwrap().iter().filter(|loss| loss["kind"] == "disk-full").count();
    assert!(full > 0, "{}", manifest["losses"]);
    reported(&kept);
}

/// Only root may trace a program that its user can execute but not read.
#[test]
fn root_threads_that_a_user_may_not_look_at_are_reported_and_the_rest_stands() {
    let Some(ground) = ground() else { return };
    if !is_root() {
        return missing("root, to give it up");
    }
    let folder = scratch();
    let [rtscope, program] = ["rtscope", "program"].map(|name| folder.path().join(name));
    executable::copy(testkit::rtscope(), &rtscope);
    executable::copy(&ground.program, &program);
    fs::set_permissions(&program, fs::Permissions::from_mode(0o711)).unwrap();
    let place = folder.path().join("place");
    fs::create_dir(&place).unwrap();
    fs::set_permissions(&place, fs::Permissions::from_mode(0o777)).unwrap();
    let capture = place.join("c");
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"]).arg(&rtscope);
    command.args(["record", "-o"]).arg(&capture).arg("--").arg(&program).args(["seconds", "1", "+RTS", "-N2"]);
    let output = command.current_dir(&place).env_remove("GHCRTS").stdin(Stdio::null()).output();
    let Ok(output) = output else { return missing("setpriv (package util-linux)") };
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(0), &b"done\n"[..]), "{}", stderr(&output));
    let report = reported(&capture);
    assert!(report["waits"]["looks"].as_u64().is_none_or(|looks| looks == 0), "{}", report["waits"]);
    let notes = manifest(&capture)["notes"].to_string();
    assert!(notes.contains("what threads wait for is not looked at"), "{notes}");
    assert!(report["account"]["lanes_ns"].is_number() || report["memory"].is_object(), "the rest stands");
}

//! Dropping privileges, in a test program of its own: it cannot be undone.

use rtscope_host::privileges;
use rustix::thread::{CapabilitySet, capabilities};
use std::sync::mpsc::channel;

fn permitted() -> CapabilitySet {
    capabilities(None).unwrap().permitted
}

#[test]
fn root_every_thread_gives_up_what_is_not_kept_and_nothing_comes_back() {
    let keep = CapabilitySet::SYS_PTRACE;
    assert!(privileges::any() && permitted().contains(keep), "this test needs root");
    let (go, wait) = channel::<()>();
    let early = std::thread::spawn(move || {
        wait.recv().unwrap();
        permitted()
    });
    // A thread that is blocked in a system call.
    let (waits, pen) = std::io::pipe().unwrap();
    let blocked = std::thread::spawn(move || {
        let read = std::io::Read::read(&mut &waits, &mut [0]).unwrap();
        (read, permitted())
    });
    privileges::give_up(keep).unwrap();
    // If limits of scheduling cannot be raised, that privilege stays.
    let keep = keep | (permitted() & CapabilitySet::SYS_NICE);
    assert_eq!(permitted(), keep);
    go.send(()).unwrap();
    std::io::Write::write_all(&mut &pen, b"x").unwrap();
    assert_eq!(early.join().unwrap(), keep);
    assert_eq!(blocked.join().unwrap(), (1, keep));
    assert_eq!(std::thread::spawn(permitted).join().unwrap(), keep);
    let cat = std::process::Command::new("cat").arg("/proc/self/status").output().unwrap();
    let status = String::from_utf8(cat.stdout).unwrap();
    for set in ["CapPrm", "CapEff", "CapBnd"] {
        let line = status.lines().find(|line| line.starts_with(set)).unwrap();
        // The bounding set allows what is kept, but a program that is started does not have it.
        let expected = if set == "CapBnd" { keep.bits() } else { 0 };
        assert_eq!(u64::from_str_radix(line.split_whitespace().last().unwrap(), 16).unwrap(), expected, "{line}");
    }
    privileges::give_up(CapabilitySet::empty()).unwrap();
    assert!((permitted() & !CapabilitySet::SYS_NICE).is_empty());
    // Files closed to all others are now closed to this process.
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("f");
    std::fs::write(&file, "x").unwrap();
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o000)).unwrap();
    assert_eq!(std::fs::read(&file).unwrap_err().kind(), std::io::ErrorKind::PermissionDenied);
    // A scheduled thread may still get priority over others.
    rustix::process::nice(-10).unwrap();
}

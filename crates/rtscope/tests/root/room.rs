//! A recording never fills up a disk, here one that the test creates.

use rtscope_decode::capture::Capture;
use rtscope_model::LossKind;
use rtscope_model::manifest::Status;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use testkit::output::text;

const FILL: &str = testkit::source!("haskell/disk-filler/Main.hs");

/// Runs `script` where `disk` is a disk of 64 MiB; `None` if that cannot be created.
fn on_a_disk(folder: &Path, script: &str) -> Option<Output> {
    let disk = folder.join("disk");
    fs::create_dir(&disk).unwrap();
    let script = format!("mount -t tmpfs -o size=64m tmpfs {} || exit 99\n{script}", text(&disk));
    let output = Command::new("unshare").args(["-m", "sh", "-c", &script]).output().unwrap();
    if output.status.code() == Some(99) {
        xtask::missing("the permission to mount a small disk");
        return None;
    }
    Some(output)
}

#[test]
fn root_a_share_of_the_disk_stays_free() {
    if Command::new("ghc").arg("--version").output().is_err() {
        return xtask::missing("a ghc on this machine");
    }
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("Fill.hs"), FILL).unwrap();
    let mut ghc = Command::new("ghc");
    ghc.args(["-O1", "-eventlog", "-rtsopts", "Fill.hs", "-o", "fill"]).current_dir(folder.path());
    assert!(ghc.output().unwrap().status.success());
    let (recorder, here) = (testkit::rtscope(), text(folder.path()));
    let script = format!(
        "(while :; do df --output=avail -k {here}/disk | tail -1 >> {here}/free; sleep 0.01; done) & watcher=$!\n\
         {recorder} record --keep-free 50 --detail full --no-kernel -o {here}/disk/c -- {here}/fill; status=$?\n\
         kill $watcher; cp -r {here}/disk/c {here}/kept; exit $status"
    );
    let Some(output) = on_a_disk(folder.path(), &script) else { return };
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stdout.ends_with(b"done\n"));
    let free = fs::read_to_string(folder.path().join("free")).unwrap();
    let least = free.lines().filter_map(|line| line.trim().parse::<u64>().ok()).min().unwrap();
    println!("at least {least} KiB were free");
    assert!(least > 24 << 10, "{least} KiB");
    let capture = Capture::open(&folder.path().join("kept")).unwrap();
    assert_eq!(capture.manifest().status, Status::Complete);
    let losses = capture.losses();
    assert!(
        losses.iter().any(|loss| loss.kind == LossKind::DiskFull && loss.note.contains("--keep-free")),
        "{losses:?}"
    );
}

#[test]
fn root_a_disk_without_room_is_refused_before_the_program_starts() {
    let folder = tempfile::tempdir().unwrap();
    let (recorder, here) = (testkit::rtscope(), text(folder.path()));
    let script = format!(
        "dd if=/dev/zero of={here}/disk/full bs=1M count=60 2>/dev/null\n\
         {recorder} record --keep-free 10 -o {here}/disk/c -- touch {here}/started; echo $?; ls {here}/disk"
    );
    let Some(output) = on_a_disk(folder.path(), &script) else { return };
    assert_eq!(output.stdout, b"125\nfull\n");
    assert!(!folder.path().join("started").exists());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("--keep-free") && said.contains("-o"), "{said}");
}

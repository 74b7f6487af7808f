//! `pack`: reports on a packed capture and on its folder are the same. Owns the command as typed.

use rtscope_model::ClockMap;
use rtscope_model::manifest::{Log, Status};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

fn run(folder: &Path, args: &[&str]) -> Output {
    Command::new(testkit::rtscope()).current_dir(folder).args(args).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A capture `a.rtscope` with a log of the corpus, in a folder of its own.
fn ground(status: Status) -> tempfile::TempDir {
    let ground = tempfile::tempdir().unwrap();
    let capture = ground.path().join("a.rtscope");
    fs::create_dir_all(capture.join("eventlog")).unwrap();
    let log = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/ghc-9.0/parallel.eventlog");
    fs::copy(log, capture.join("eventlog/0.eventlog")).unwrap();
    let mut manifest = rtscope_decode::capture::empty_manifest();
    let path = "eventlog/0.eventlog".to_owned();
    manifest.logs = vec![Log { path, pid: 7, clock: ClockMap::LOG_OWN, classes: String::new(), version: None }];
    (manifest.status, manifest.pid) = (status, 7);
    fs::write(capture.join("manifest.json"), serde_json::to_vec(&manifest).unwrap()).unwrap();
    fs::write(capture.join("samples.jsonl"), "{\"t\":1,\"rss\":2}\n").unwrap();
    ground
}

/// A report without the name of its input.
fn report(folder: &Path, of: &[&str]) -> Value {
    let output = run(folder, &[&["report", "--json"], of].concat());
    let mut report: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", said(&output)));
    report["source"] = Value::Null;
    report
}

#[test]
fn a_packed_capture_is_read_as_the_folder_is() {
    let ground = ground(Status::Complete);
    let folder = ground.path();
    let packed = run(folder, &["pack"]);
    assert!(packed.status.success() && said(&packed).contains("packed a.rtscope into a.rtscope.zst ("), "{packed:?}");
    let file = folder.join("a.rtscope.zst");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let whole = report(folder, &["a.rtscope"]);
    assert!(whole["pauses"]["count"].as_u64().unwrap() > 0, "{whole}");
    assert_eq!(report(folder, &["a.rtscope.zst"]), whole);
    fs::rename(&file, folder.join("any name")).unwrap();
    assert_eq!(report(folder, &["any name"]), whole);
    let again = run(folder, &["pack", "any name"]);
    assert!(said(&again).contains("any name is one file already"), "{again:?}");
    // The newest capture is the file, as the folder is gone.
    fs::rename(folder.join("any name"), &file).unwrap();
    fs::remove_dir_all(folder.join("a.rtscope")).unwrap();
    assert_eq!(report(folder, &[]), whole);
}

#[test]
fn nothing_is_written_over_and_nothing_half_done_is_left() {
    let ground = ground(Status::Complete);
    let folder = ground.path();
    fs::write(folder.join("a.rtscope.zst"), "kept").unwrap();
    let refused = run(folder, &["pack", "a.rtscope"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(said(&refused).contains("exists already; name another file with -o"), "{refused:?}");
    assert_eq!(fs::read(folder.join("a.rtscope.zst")).unwrap(), b"kept");
    let recorded = run(folder, &["record", "-o", "a.rtscope.zst", "true"]);
    assert_eq!(recorded.status.code(), Some(125), "{recorded:?}");
    assert!(said(&recorded).contains("exists already"), "{recorded:?}");
    let nowhere = run(folder, &["pack", "a.rtscope", "-o", "no/such"]);
    assert!(!nowhere.status.success() && said(&nowhere).contains("cannot write no/such"), "{nowhere:?}");
    // A truncated file is reported as such.
    assert!(run(folder, &["pack", "a.rtscope", "-o", "b"]).status.success());
    let whole = fs::read(folder.join("b")).unwrap();
    fs::write(folder.join("b"), &whole[..whole.len() - 1]).unwrap();
    let cut = run(folder, &["report", "b"]);
    assert!(said(&cut).contains("neither a folder nor a whole"), "{cut:?}");
}

#[test]
fn what_is_still_recorded_is_not_packed() {
    let ground = ground(Status::Recording);
    let refused = run(ground.path(), &["pack", "a.rtscope"]);
    assert!(said(&refused).contains("still being recorded; end the recording first"), "{refused:?}");
    assert!(!ground.path().join("a.rtscope.zst").exists());
}

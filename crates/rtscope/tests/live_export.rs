//! Live: a capture with the kernel's scheduling, samples and the program's code goes
//! through a Fuchsia trace, and the report stays the same, pause by pause and cause by
//! cause.

#![forbid(unsafe_code)]

mod ground;

use ground::{ground, record, reported, said, scratch};
use serde_json::Value;
use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

fn lines_of_pauses(file: &Path) -> String {
    let done = Command::new(env!("CARGO_BIN_EXE_rtscope")).args(["report", "--pauses"]).arg(file).output().unwrap();
    String::from_utf8(done.stdout).unwrap()
}

fn figures(file: &Path) -> Value {
    let mut report = reported(file);
    report.as_object_mut().unwrap().remove("source").expect("a source");
    report
}

#[test]
fn a_capture_gives_the_same_report_through_a_trace() {
    let Some(ground) = ground() else { return };
    let folder = scratch();
    let capture = folder.path().join("c.rtscope");
    let words = [ground.program.as_os_str(), OsStr::new("seconds"), OsStr::new("1"), OsStr::new("+RTS")];
    let more = ["-N3", "-A1m"].map(OsStr::new);
    let output = record(&capture, &["--detail", "full"], &[&words[..], &more].concat());
    assert!(output.status.success(), "{}", said(&output));
    let trace = folder.path().join("c.fxt");
    let mut command = Command::new(env!("CARGO_BIN_EXE_rtscope"));
    let done = command.args(["export", "--to", "fxt", "-o"]).arg(&trace).arg(&capture).output().unwrap();
    assert!(matches!(done.status.code(), Some(0 | 3)), "{}", said(&done));
    let pauses = lines_of_pauses(&capture);
    assert!(pauses.lines().count() > 10, "{pauses}");
    assert_eq!(pauses, lines_of_pauses(&trace));
    let (of_capture, of_trace) = (figures(&capture), figures(&trace));
    assert!(of_capture["program"]["command"].is_array(), "{of_capture}");
    assert_eq!(of_capture, of_trace);
}

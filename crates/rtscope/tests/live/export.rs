//! Live: a capture with the kernel's scheduling, samples and the program's code goes through a Fuchsia trace,
//! and the report stays the same for every pause and every cause.

use testkit::ground;

use ground::{ground, record, recorder, reported, scratch, stderr};
use serde_json::Value;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::Command;
use xtask::cache::cache;
use xtask::toolchain::Spec;
use xtask::{missing, workload};

fn lines_of_pauses(file: &Path) -> String {
    let done = Command::new(testkit::rtscope()).args(["report", "--pauses"]).arg(file).output().unwrap();
    String::from_utf8(done.stdout).unwrap()
}

fn figures(file: &Path) -> Value {
    let mut report = reported(file);
    report.as_object_mut().unwrap().remove("source").expect("a source");
    report
}

/// Exports `capture`, compares the report on the trace with that on the capture, and gives the latter.
fn goes_through_a_trace(capture: &Path) -> Value {
    let trace = capture.with_extension("fxt");
    let mut command = Command::new(testkit::rtscope());
    let done = command.args(["export", "--to", "fxt", "-o"]).arg(&trace).arg(capture).output().unwrap();
    assert!(matches!(done.status.code(), Some(0 | 3)), "{}", stderr(&done));
    let pauses = lines_of_pauses(capture);
    assert!(pauses.lines().count() > 10, "{pauses}");
    assert_eq!(pauses, lines_of_pauses(&trace));
    let figures = [capture, &trace].map(figures);
    assert_eq!(figures[0], figures[1]);
    figures[0].clone()
}

#[test]
fn a_capture_gives_the_same_report_through_a_trace() {
    let Some(ground) = ground() else { return };
    let folder = scratch();
    let capture = folder.path().join("c.rtscope");
    let output = record(&capture, &["--detail", "full"], &ground.a_second());
    assert!(output.status.success(), "{}", stderr(&output));
    let report = goes_through_a_trace(&capture);
    assert!(report["program"]["command"].is_array(), "{report}");
}

#[test]
fn a_capture_of_ocaml_gives_the_same_report_through_a_trace() {
    for name in ["ghc-9.6", "ghc-9.10"] {
        let Some(toolchain) = Spec::find(name).unwrap().installed(&cache()) else {
            missing(&format!("{name}: `cargo xtask toolchains --only {name}`"));
            continue;
        };
        let folder = scratch();
        let workload = workload::load("allocator-domains").unwrap();
        let program = workload.build(&toolchain, folder.path()).unwrap();
        let capture = folder.path().join("c.rtscope");
        let mut command: Vec<OsString> = toolchain.enter(&[folder.path()]);
        command.push(program.into());
        // Some thousand collections.
        command.extend(["domains", "2", "60"].map(OsString::from));
        let command: Vec<&OsStr> = command.iter().map(OsString::as_os_str).collect();
        let output = recorder(&capture, &[], &command).current_dir(folder.path()).output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        let report = goes_through_a_trace(&capture);
        assert_eq!(report["runtime"]["family"], "ocaml", "{report}");
    }
}

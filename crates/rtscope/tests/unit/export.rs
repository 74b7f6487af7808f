//! `rtscope export --to fxt`: the figures of a report on a recording and of a report on its export are exactly
//! the same; and what the command itself promises.

use rtscope::export::{self, ExportFormat, To};
use rtscope_analyze::results::BlamedPause;
use rtscope_model::{Names, Symbols};
use rtscope_read::input::{self, Input};
use rtscope_read::pipeline::{self, Options};

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use xtask::corpus;

fn options(path: &Path) -> Options {
    Options { threads: 2, ..Options::new(path) }
}

/// The report as JSON, without what it says about the file, and the lines of its pauses.
fn report(input: &Input, path: &Path) -> (Value, Vec<String>) {
    let mut lines = Vec::new();
    let on_pause = &mut |pause: &BlamedPause, names: &Names, symbols: &Symbols| {
        rtscope_report::pauses_json::write(&mut lines, pause, names, symbols).unwrap();
    };
    let (results, _) = pipeline::analyse(input, &options(path), on_pause).unwrap();
    let mut json = Vec::new();
    rtscope_report::json::write(&results, &mut json).unwrap();
    let mut json: Value = serde_json::from_slice(&json).unwrap();
    json.as_object_mut().unwrap().remove("source").unwrap();
    let lines = String::from_utf8(lines).unwrap();
    (json, lines.lines().map(str::to_owned).collect())
}

fn exported(input: &Input, path: &Path, out: &Path) -> export::Exit {
    let mut bytes = Vec::new();
    let exit = export::write(input, &options(path), ExportFormat::Fxt, To::Stream(&mut bytes)).unwrap().unwrap();
    std::fs::write(out, bytes).unwrap();
    exit
}

#[test]
fn a_report_on_an_export_is_the_report_on_the_log() {
    let folder = tempfile::tempdir().unwrap();
    // GHC's logs, and OCaml's rings, some of which lack their beginning.
    let all = corpus::logs(&["eventlog", "events"]).unwrap();
    assert!(all.len() >= 19, "{} logs", all.len());
    for log in all {
        let name = log.display();
        let trace = folder.path().join("log.fxt");
        let input = input::open(&log, None).unwrap();
        let exit = exported(&input, &log, &trace);
        let (json, pauses) = report(&input, &log);
        assert_eq!(exit.pauses, pauses.len() as u64, "{name}");
        let export = input::open(&trace, None).unwrap();
        assert_eq!((json, pauses), report(&export, &trace), "{name}");
        // An export of an export is the same, byte by byte.
        let again = folder.path().join("again.fxt");
        exported(&export, &trace, &again);
        assert!(std::fs::read(&trace).unwrap() == std::fs::read(&again).unwrap(), "{name}");
    }
}

fn rtscope(folder: &Path) -> Command {
    let mut command = Command::new(testkit::rtscope());
    command.current_dir(folder).stdin(Stdio::null());
    command
}

/// A trace that eio-trace 0.4 wrote of a program of OCaml 5.4.1.
fn eio_trace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/fxt/eio-trace-0.4-ocaml-5.4.1.fxt")
}

#[test]
fn a_trace_of_eio_trace_is_reported_and_goes_round() {
    let folder = tempfile::tempdir().unwrap();
    let trace = eio_trace();
    let input = input::open(&trace, None).unwrap();
    let (json, pauses) = report(&input, &trace);
    assert_eq!((pauses.len(), json["pauses"]["count"].as_u64()), (11, Some(11)));
    assert_eq!(json.pointer("/runtime/family").and_then(Value::as_str), Some("ocaml"));
    let out = folder.path().join("eio.fxt");
    let exit = exported(&input, &trace, &out);
    assert_eq!(exit.pauses, 11);
    assert_eq!((json, pauses), report(&input::open(&out, None).unwrap(), &out));
}

/// The run of [`eio_trace`] again, by the writer that olly uses, with its counters.
#[test]
fn a_trace_of_olly_gives_the_pauses_of_eio_trace() {
    let olly = eio_trace().with_file_name("olly-ocaml-5.4.1.fxt");
    let (json, lines) = report(&input::open(&olly, None).unwrap(), &olly);
    let (other, _) = report(&input::open(&eio_trace(), None).unwrap(), &eio_trace());
    assert_eq!(lines.len(), 11);
    for key in ["count", "total_ns", "time_to_stop_ns", "collect_ns", "release_ns"] {
        assert_eq!(json["pauses"][key], other["pauses"][key], "{key}");
    }
    assert!(json["lanes"][0]["allocated_bytes"].as_u64() > Some(0), "{}", json["lanes"]);
}

#[test]
fn the_command_names_its_output_and_says_what_it_wrote() {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("run.x");
    std::fs::copy(eio_trace(), &trace).unwrap();
    let done = rtscope(folder.path()).args(["export", "--to", "fxt", "run.x"]).output().unwrap();
    let said = String::from_utf8(done.stderr).unwrap();
    assert!(said.starts_with("rtscope: run.fxt: ") && said.contains("11 pauses"), "{said}");
    let piped = rtscope(folder.path()).args(["export", "--to", "fxt", "run.x", "-o", "-"]).output().unwrap();
    assert_eq!(piped.stdout, std::fs::read(folder.path().join("run.fxt")).unwrap());
    assert_eq!((done.status.code(), done.stdout), (piped.status.code(), Vec::new()));
    let again = rtscope(folder.path()).args(["export", "--to", "fxt", "run.x"]).output().unwrap();
    let said = String::from_utf8(again.stderr).unwrap();
    assert_eq!(said, "rtscope: run.fxt exists already; `-o run.fxt` replaces it\n");
    let replaced = rtscope(folder.path()).args(["export", "--to", "fxt", "run.x", "-o", "run.fxt"]).output().unwrap();
    assert_eq!((again.status.code(), replaced.status.code()), (Some(1), piped.status.code()));
}

#[test]
fn nothing_is_destroyed_and_nothing_half_written_is_left() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::copy(eio_trace(), folder.path().join("run.fxt")).unwrap();
    let over = rtscope(folder.path()).args(["export", "--to", "fxt", "run.fxt"]).output().unwrap();
    assert_eq!(over.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&over.stderr).contains("over itself"), "{over:?}");
    assert_eq!(std::fs::read(folder.path().join("run.fxt")).unwrap(), std::fs::read(eio_trace()).unwrap());
    let full = rtscope(folder.path()).args(["export", "--to", "fxt", "run.fxt", "-o", "/dev/full"]).output().unwrap();
    assert_eq!(full.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&full.stderr).contains("cannot write /dev/full"), "{full:?}");
    std::fs::write(folder.path().join("none"), b"nothing of the kind").unwrap();
    let none = rtscope(folder.path()).args(["export", "--to", "fxt", "none"]).output().unwrap();
    assert_eq!(none.status.code(), Some(1));
    assert!(!folder.path().join("none.fxt").exists());
    let wrong = rtscope(folder.path()).args(["export", "--to", "json", "run.fxt"]).output().unwrap();
    assert_eq!(wrong.status.code(), Some(2));
}

/// What each format writes of a log, and that it is the same each time.
#[test]
fn every_format_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let log = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/ghc-9.6/parallel.eventlog");
    let log = log.to_str().unwrap();
    for (format, out) in [("perfetto", "a.pftrace"), ("chrome", "a.json"), ("firefox", "b.json"), ("fxt", "a.fxt")] {
        let written = ["-o", out].map(str::to_owned);
        let done = rtscope(folder.path()).args(["export", "--to", format, log]).args(written).output().unwrap();
        assert!(matches!(done.status.code(), Some(0 | 3)), "{format}: {done:?}");
        let piped = rtscope(folder.path()).args(["export", "--to", format, log, "-o", "-"]).output().unwrap();
        let file = std::fs::read(folder.path().join(out)).unwrap();
        assert!(file.len() > 10_000 && file == piped.stdout, "{format}");
        if out.ends_with(".json") {
            serde_json::from_slice::<Value>(&file).unwrap();
        }
    }
}

#[test]
fn tables_go_into_a_folder_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::copy(eio_trace(), folder.path().join("run.fxt")).unwrap();
    let export = |out: &str| {
        let args = ["export", "--to", "parquet", "run.fxt", "-o", out];
        let done = rtscope(folder.path()).args(args).output().unwrap();
        (done.status.code(), String::from_utf8(done.stderr).unwrap())
    };
    assert!(matches!(export("tables").0, Some(0 | 3)));
    let mut files: Vec<String> = std::fs::read_dir(folder.path().join("tables"))
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    assert_eq!((files.len(), files[0].as_str()), (9, "causes.parquet"));
    let again = export("tables");
    assert!(again.0 == Some(1) && again.1.contains("not empty"), "{again:?}");
    let piped = export("-");
    assert!(piped.0 == Some(1) && piped.1.contains("-o"), "{piped:?}");
    let nowhere = export("none/tables");
    assert!(nowhere.0 == Some(1) && nowhere.1.contains("cannot write none/tables"), "{nowhere:?}");
}

#[test]
fn broken_traces_are_refused_in_words_or_reported_with_a_loss() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = std::fs::read(eio_trace()).unwrap();
    let path = folder.path().join("x");
    let refused = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        input::open(&path, None).err().map(|error| error.to_string()).unwrap_or_default()
    };
    let mut swapped = bytes.clone();
    swapped.chunks_exact_mut(8).for_each(<[u8]>::reverse);
    assert!(refused(&swapped).contains("big-endian"), "{}", refused(&swapped));
    assert_eq!(refused(&bytes[..bytes.len() - 3]), "");
    let cut = report(&input::open(&path, None).unwrap(), &path).0;
    assert!(cut["losses"].as_array().unwrap().iter().any(|loss| loss["kind"] == "truncated"), "{}", cut["losses"]);
}

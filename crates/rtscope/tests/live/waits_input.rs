//! Live: programs whose threads are hard to look at. Owns that what cannot be known is reported with its
//! reason, that the rest stands, and that the program ends as it would by itself.

use testkit::ground::{manifest, recorder, reported, scratch};
use testkit::rings;

use serde_json::Value;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use xtask::cache::cache;
use xtask::missing;
use xtask::toolchain::{Spec, Toolchain};
use xtask::workload::Language;

fn toolchain(name: &str) -> Option<Toolchain> {
    let toolchain = Spec::find(name).unwrap().installed(&cache());
    if toolchain.is_none() {
        missing(&format!("{name}: `cargo xtask toolchains --only {name}`"));
    }
    toolchain
}

/// Twelve GHC threads that wait for one that is in a call, and some more, for so many seconds.
fn waiting(toolchain: &Toolchain, flags: &[&str], folder: &Path) -> PathBuf {
    let program = folder.join("waits");
    let source = Language::Haskell.folder().join("waits");
    toolchain.compile(&[&source], &[&["-threaded"], flags].concat(), &program).unwrap();
    program
}

fn recorded(toolchain: &Toolchain, program: &Path, seconds: &str, folder: &Path) -> (Value, Value) {
    let capture = folder.join("c.rtscope");
    let mut line = toolchain.enter(&[folder]);
    line.push(program.into());
    line.extend(["12", "call", "4", seconds, "+RTS", "-N2"].map(Into::into));
    let line: Vec<&OsStr> = line.iter().map(AsRef::as_ref).collect();
    let done = recorder(&capture, &[], &line).current_dir(folder).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let report = reported(&capture);
    assert!(report["account"]["lanes_ns"].as_u64() > Some(0), "the rest stands: {report:#}");
    (report, manifest(&capture)["notes"].clone())
}

fn is_reported(notes: &Value, what: &str) {
    let notes = notes.to_string();
    assert!(notes.contains(what), "{what}: {notes}");
}

/// Average number of threads that wait for this.
fn threads(waits: &Value, kind: &str) -> f64 {
    let of = waits["by"].as_array().unwrap().iter().filter(|wait| wait["kind"] == kind);
    of.map(|wait| wait["threads_mean"].as_f64().unwrap()).sum()
}

#[test]
fn live_green_threads_of_a_stripped_program_are_not_known_and_why_is_reported() {
    let Some(toolchain) = toolchain("ghc-9.6") else { return };
    let folder = scratch();
    let program = waiting(&toolchain, &[], folder.path());
    assert!(Command::new("strip").arg(&program).status().unwrap().success());
    let (report, notes) = recorded(&toolchain, &program, "1", folder.path());
    assert_eq!(report["waits"]["looks"], 0);
    assert!(report["waits"]["why"].as_str().unwrap().contains("symbols are gone"), "{}", report["waits"]);
    is_reported(&notes, "do not `strip` it");
}

#[test]
fn live_kinds_of_a_stripped_ocaml_program_come_from_the_kernel() {
    let Some(ground) = rings::grounds().pop() else { return };
    fs::write(ground.path("program.ml"), "let () = Unix.sleepf 1.5").unwrap();
    // By default names stay in the dynamic symbol table, which `strip` leaves.
    ground.build("ocamlopt", &["-ccopt", "-Wl,--no-export-dynamic"], "program");
    assert!(Command::new("strip").arg(ground.path("program")).status().unwrap().success());
    assert!(ground.record("c", &[], &[]).status.success());
    let waits = reported(&ground.path("c"))["waits"].clone();
    let by = waits["by"].as_array().unwrap();
    assert!(waits["looks"].as_u64() >= Some(3) && threads(&waits, "time") > 0.8, "{waits:#}");
    let of_program = |wait: &&Value| wait["place"].as_str().is_some_and(|place| place.contains("Program"));
    assert!(!by.iter().any(|wait| of_program(&wait)), "{waits:#}");
    is_reported(&ground.manifest("c")["notes"], "have no names");
}

#[test]
fn live_a_runtime_that_is_a_library_is_looked_at() {
    let Some(toolchain) = toolchain("ghc-9.0") else { return };
    let folder = scratch();
    let program = waiting(&toolchain, &["-dynamic"], folder.path());
    let (report, notes) = recorded(&toolchain, &program, "2", folder.path());
    let waits = &report["waits"];
    assert!(threads(waits, "lock") >= 11.0 && threads(waits, "value") >= 2.5, "{waits:#} {notes}");
}

/// A program that names a version of GHC that does not exist.
#[test]
fn live_an_unknown_version_is_not_looked_at() {
    let Some(toolchain) = toolchain("ghc-9.0") else { return };
    let folder = scratch();
    let program = waiting(&toolchain, &[], folder.path());
    let mut bytes = fs::read(&program).unwrap();
    for (own, other) in [(&b"GHC 9.0.2"[..], &b"GHC 9.7.2"[..]), (b"lHSbase-4.15", b"lHSbase-4.77")] {
        let places: Vec<usize> =
            bytes.windows(own.len()).enumerate().filter(|(_, at)| *at == own).map(|at| at.0).collect();
        places.into_iter().for_each(|at| bytes[at..at + own.len()].copy_from_slice(other));
    }
    testkit::executable::write(folder.path().join("unknown"), bytes);
    let (report, notes) = recorded(&toolchain, &folder.path().join("unknown"), "1", folder.path());
    assert_eq!(report["waits"]["looks"], 0, "{notes}");
    is_reported(&notes, "is not known");
}

#[test]
fn live_a_program_may_end_while_it_is_looked_at() {
    let Some(toolchain) = toolchain("ghc-9.0") else { return };
    let folder = scratch();
    let program = waiting(&toolchain, &[], folder.path());
    for tenths in 3..7 {
        let capture = folder.path().join(format!("{tenths}.rtscope"));
        let line = ["timeout".as_ref(), "-s".as_ref(), "KILL".as_ref()];
        let time = format!("0.{tenths}");
        let words = ["12", "call", "900", "9"].map(OsStr::new);
        let line = line.into_iter().chain([time.as_ref(), program.as_os_str()]).chain(words).collect::<Vec<&OsStr>>();
        let done = recorder(&capture, &[], &line).output().unwrap();
        let said = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), Some(137), "{said}");
        assert!(!said.contains("panic") && reported(&capture)["source"]["kind"] == "capture", "{said}");
    }
}

/// GHC threads come and go, a thousand at a time.
const CHURN: &str = "import Control.Concurrent
import Control.Monad
main :: IO ()
main = forM_ [1 .. 150 :: Int] $ \\_ -> do
  ends <- replicateM 1000 $ do
    end <- newEmptyMVar
    _ <- forkIO (threadDelay 2000 >> putMVar end ())
    return end
  mapM_ takeMVar ends
";

#[test]
fn live_threads_may_come_and_go_while_they_are_looked_at() {
    let Some(toolchain) = toolchain("ghc-9.0") else { return };
    let folder = scratch();
    let source = folder.path().join("source");
    fs::create_dir(&source).unwrap();
    fs::write(source.join("Main.hs"), CHURN).unwrap();
    let program = folder.path().join("churn");
    toolchain.compile(&[&source], &["-threaded"], &program).unwrap();
    let (report, _) = recorded(&toolchain, &program, "1", folder.path());
    let waits = &report["waits"];
    let (looks, missed) = (waits["looks"].as_u64().unwrap(), waits["missed"].as_u64().unwrap());
    assert!(looks + missed > 0, "{waits:#}");
    assert!(waits["threads_max"].as_u64() <= Some(1100), "{waits:#}");
}

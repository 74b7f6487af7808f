//! Live: snapshots of the heap in captures of Haskell programs, on every GHC, and what an OCaml program's own
//! counters report of its memory. Owns programs of which it is known what stays alive.

use testkit::ground;
use testkit::rings;

use ground::{kill, recorder, reported, scratch, wait_for};
use serde_json::Value;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::{Command, Output};
use xtask::cache::cache;
use xtask::missing;
use xtask::toolchain::Spec;

/// Byte strings that stay, for so many milliseconds, among lists that come and go.
const HELD: &str = testkit::source!("haskell/pinned-held/Main.hs");

/// Arrays that stay, small and large ones, among lists that come and go.
const ARRAYS: &str = testkit::source!("ocaml/arrays/main.ml");

/// Few enough for the tests' slow build to read them in a tenth of a second.
const COUNT: &str = "4000";

/// `held` of one GHC: the words of its command line.
fn haskell(name: &str, folder: &Path) -> Option<Vec<OsString>> {
    let Some(toolchain) = Spec::find(name).unwrap().installed(&cache()) else {
        missing(&format!("{name}: `cargo xtask toolchains --only {name}`"));
        return None;
    };
    std::fs::write(folder.join("Main.hs"), HELD).unwrap();
    let program = folder.join("held");
    toolchain.compile(&[folder], &["-threaded"], &program).unwrap();
    let mut words = toolchain.enter(&[folder]);
    words.push(program.into());
    Some(words)
}

fn with<'w>(words: &'w [OsString], arguments: &'w [&'w str]) -> Vec<&'w OsStr> {
    words.iter().map(OsString::as_os_str).chain(arguments.iter().map(OsStr::new)).collect()
}

fn figure(of: &Value, key: &str) -> f64 {
    of.pointer(key).and_then(Value::as_f64).unwrap_or_else(|| panic!("{key} in {of:#}"))
}

fn heap(arguments: &[&OsStr]) -> Output {
    Command::new(testkit::rtscope()).arg("heap").args(arguments).output().unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// The snapshots of a capture, from its files.
fn snapshots(capture: &Path) -> Vec<Value> {
    let whole = |number| std::fs::read(capture.join(format!("heap/{number}.json"))).ok();
    let files = (0..).map_while(whole);
    files.map(|bytes| serde_json::from_slice(&bytes).expect("a whole document")).collect()
}

fn a_capture_has_snapshots(name: &str) {
    let folder = scratch();
    let Some(words) = haskell(name, folder.path()) else { return };
    let capture = folder.path().join("held.rtscope");
    let options = ["--heap-every", "200ms", "--heap-at", "RSS>1M", "--heap-at", "RSS>100G"];
    let line = with(&words, &[COUNT, "120", "+RTS", "-N2"]);
    let done = recorder(&capture, &options, &line).current_dir(folder.path()).output().unwrap();
    assert!(done.status.success(), "{}", text(&done));

    let heaps = snapshots(&capture);
    assert!(heaps.len() >= 3, "{} snapshots in six seconds", heaps.len());
    let manifest: Value = serde_json::from_slice(&std::fs::read(capture.join("manifest.json")).unwrap()).unwrap();
    let times: Vec<f64> = heaps.iter().map(|heap| figure(heap, "/time")).collect();
    assert!(times.windows(2).all(|pair| pair[0] < pair[1]), "{times:?}");
    assert!(figure(&manifest, "/started") < times[0] && times[times.len() - 1] < figure(&manifest, "/ended"));
    for heap in &heaps {
        let (rss, unexplained) = (figure(heap, "/rss_bytes"), figure(heap, "/unexplained_bytes"));
        assert!(unexplained.abs() <= 0.03 * rss, "{unexplained} of {rss} are not explained");
        let ledger: f64 = heap["ledger"].as_array().unwrap().iter().map(|line| figure(line, "/bytes")).sum();
        assert_eq!(ledger + unexplained, rss);
        assert!(figure(heap, "/stop_ns") == 0.0 && heap["census"].as_array().unwrap().len() <= 201);
    }
    // What the program holds is alive in the last one: 4000 byte strings of 1000 bytes.
    let live = figure(&heaps[heaps.len() - 1], "/pinned/live_bytes");
    assert!((4e6..4.4e6).contains(&live), "{live} bytes of pinned objects live");
    assert_eq!(figure(&manifest, "/own_cost/heap_snapshots"), heaps.len() as f64);
    assert!(figure(&manifest, "/own_cost/heap_cpu_ns") < figure(&manifest, "/own_cost/cpu_ns"));

    let report = reported(&capture);
    assert_eq!(report["heap_snapshots"].as_array().unwrap().len(), heaps.len());
    assert!(report["heap_snapshots"][0]["holders"].as_array().unwrap().len() <= 10);
    assert_eq!(report["memory_ledger_at"], heaps[heaps.len() - 1]["time"]);
    let shown = Command::new(testkit::rtscope()).args(["report", "-v"]).arg(&capture).output().unwrap();
    assert!(text(&shown).contains("Where the memory is"), "{}", text(&shown));
    what_is_kept_is_shown(&capture, &heaps);
}

fn what_is_kept_is_shown(capture: &Path, heaps: &[Value]) {
    let json = |at: &str| -> Value {
        let done = heap(&[capture.as_os_str(), "--json".as_ref(), "--at".as_ref(), at.as_ref()]);
        serde_json::from_slice(&done.stdout).unwrap_or_else(|_| panic!("{}", text(&done)))
    };
    assert_eq!(json("0"), heaps[0]);
    assert_eq!(json("last"), heaps[heaps.len() - 1]);
    let most = heaps.iter().map(|heap| figure(heap, "/rss_bytes")).fold(0.0, f64::max);
    assert_eq!(figure(&json("peak"), "/rss_bytes"), most);
    let page = text(&heap(&[capture.as_os_str()]));
    assert!(page.contains(&format!("the last of {} snapshots", heaps.len())) && page.contains("resident"), "{page}");
    let map = text(&heap(&[capture.as_os_str(), "--map".as_ref()]));
    assert!(map.contains("0x42") && map.contains('='), "{map}");
    assert_eq!(text(&heap(&[capture.join("heap/0.json").as_os_str()])).matches("resident").count(), 2);
    let none = heap(&[capture.as_os_str(), "--at".as_ref(), "4000".as_ref()]);
    assert!(text(&none).contains("has no snapshot 4000") && none.status.code() == Some(1), "{}", text(&none));
}

#[test]
fn live_9_0_a_capture_has_snapshots() {
    a_capture_has_snapshots("ghc-9.0");
}

#[test]
fn live_9_6_a_capture_has_snapshots() {
    a_capture_has_snapshots("ghc-9.6");
}

#[test]
fn live_9_10_a_capture_has_snapshots() {
    a_capture_has_snapshots("ghc-9.10");
}

#[test]
fn live_a_killed_recorder_leaves_whole_snapshots() {
    let folder = scratch();
    let Some(words) = haskell("ghc-9.0", folder.path()) else { return };
    for (round, after) in [1, 2, 4].into_iter().enumerate() {
        let capture = folder.path().join(format!("{round}.rtscope"));
        let line = with(&words, &[COUNT, "600"]);
        let mut running = recorder(&capture, &["--heap-every", "10ms"], &line).spawn().unwrap();
        wait_for("snapshots", || snapshots(&capture).len() >= after);
        kill("KILL", running.id());
        running.wait().unwrap();
        let opened = rtscope_decode::capture::Capture::open(&capture).unwrap();
        let names = opened.heap_names();
        assert!(names.len() >= after && names.iter().all(|name| opened.heap(name).is_ok()));
        assert!(text(&heap(&[capture.as_os_str()])).contains("resident"));
    }
}

#[test]
fn live_what_is_no_ghc_program_is_recorded_without() {
    let folder = scratch();
    let capture = folder.path().join("sleep.rtscope");
    let line = ["sleep", "0.3"].map(OsStr::new);
    let done = recorder(&capture, &["--heap-every", "50ms"], &line).output().unwrap();
    assert!(done.status.success() && text(&done).contains("is not a Haskell program"), "{}", text(&done));
    assert_eq!((snapshots(&capture).len(), capture.join("heap").exists()), (0, false));
    let asked = text(&heap(&[capture.as_os_str()]));
    assert!(asked.contains("holds no snapshot") && asked.contains("is not a Haskell program"), "{asked}");
    let wrong = recorder(&capture, &["--heap-at", "RSS>1GB"], &line).output().unwrap();
    assert!(wrong.status.code() == Some(2) && text(&wrong).contains("1000s"), "{}", text(&wrong));
}

#[test]
fn live_an_ocaml_program_s_counters_say_where_its_memory_is() {
    for ground in rings::grounds() {
        std::fs::write(ground.path("program.ml"), ARRAYS).unwrap();
        ground.build("ocamlopt", &[], "program");
        let done = ground.record("arrays", &["--heap-every", "1s"], &[]);
        assert!(done.status.success() && text(&done).contains("rings"), "{}", text(&done));
        let report = reported(&ground.path("arrays"));
        let lines = report["memory_ledger"].as_array().unwrap();
        let bytes = |part: &str| {
            let found = lines.iter().find(|line| line["line"].as_str().unwrap().contains(part));
            figure(found.unwrap_or_else(|| panic!("{part} in {lines:?}")), "/bytes")
        };
        // 300,000 arrays of 13 words and one over them; 200 of 10,001.
        let small = 300_000.0 * 13.0 * 8.0;
        assert!((small..1.2 * small).contains(&bytes("alive in pools")), "OCaml {}: {lines:?}", ground.version);
        let large = 200.0 * 10_001.0 * 8.0 + 300_001.0 * 8.0;
        assert!((large..1.1 * large).contains(&bytes("large blocks")), "OCaml {}: {lines:?}", ground.version);
        // The default of 256 Ki words.
        assert!((1.0..=2_097_152.0).contains(&bytes("minor heaps")), "{lines:?}");
        assert!(bytes("not the heap") > 0.0, "{lines:?}");
        let sum: f64 = lines.iter().map(|line| figure(line, "/bytes")).sum();
        let rss = figure(&report, "/memory/rss_bytes/max");
        assert!(sum <= rss && sum >= 0.5 * rss, "{sum} of {rss}");
    }
}

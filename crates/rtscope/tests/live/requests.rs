//! Live: a server that is recorded while a load is sent to it. Owns the whole path from `record` and `load` to
//! what the slowest requests waited for.

use serde_json::Value;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use xtask::cache::cache;
use xtask::missing;
use xtask::runner::target_folder;
use xtask::toolchain::{ALL, Toolchain};
use xtask::workload::{self, Workload};

/// The newest OCaml that is installed, and the server compiled by it, once.
fn server() -> Option<&'static (Toolchain, PathBuf)> {
    static SERVER: OnceLock<Option<(Toolchain, PathBuf)>> = OnceLock::new();
    SERVER.get_or_init(compiled).as_ref()
}

fn compiled() -> Option<(Toolchain, PathBuf)> {
    let mut with = ALL.iter().filter_map(|spec| spec.installed(&cache()));
    let Some(toolchain) = with.rfind(|toolchain| toolchain.ocaml().is_some()) else {
        missing("OCaml: `cargo xtask toolchains`");
        return None;
    };
    let builds = target_folder().join("workloads");
    std::fs::create_dir_all(&builds).unwrap();
    // Any workload of the language will do: only the program is built.
    let workload = Workload { program: Some("answerer".into()), ..workload::load("idle-domain").unwrap() };
    let binary = workload.build(&toolchain, &builds).unwrap();
    Some((toolchain, binary))
}

fn rtscope(words: &[&OsStr]) -> Output {
    Command::new(testkit::rtscope()).args(words).output().unwrap()
}

/// A server that runs under `rtscope record`; ended when dropped.
struct Recorded {
    recorder: Child,
    port: String,
}

impl Recorded {
    /// Starts `answerer` with `words`, recorded into `capture`; it has printed its port.
    fn start((toolchain, binary): &(Toolchain, PathBuf), capture: &Path, words: &[&str]) -> Recorded {
        let (builds, folder) = (binary.parent().unwrap(), capture.parent().unwrap());
        let mut line = toolchain.enter(&[builds, folder]);
        line.push(binary.into());
        let mut command = Command::new(testkit::rtscope());
        command.arg("record").arg("-o").arg(capture).arg("--").args(line).args(words);
        command.current_dir(folder);
        let mut recorder = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let mut said = BufReader::new(recorder.stdout.as_mut().unwrap());
        let mut first = String::new();
        said.read_line(&mut first).unwrap();
        let port = first.trim().strip_prefix("port ").unwrap_or_else(|| panic!("{first}")).to_owned();
        Recorded { recorder, port }
    }

    /// Sends requests and keeps them.
    fn load(&self, rate: &str, kept: &Path) {
        let url = format!("http://127.0.0.1:{}/", self.port);
        let words = [OsStr::new("load"), url.as_ref(), "--rate".as_ref(), rate.as_ref(), "--warm-up".as_ref()];
        let output = rtscope(&[&words[..], &["500ms".as_ref(), "--requests".as_ref(), kept.as_ref()]].concat());
        // Lateness here is the machine's.
        assert!(matches!(output.status.code(), Some(0 | 3)), "{}", String::from_utf8_lossy(&output.stderr));
    }

    /// Waits until it ends by itself; gives its last output.
    fn ended(mut self) -> String {
        let mut said = String::new();
        self.recorder.stdout.take().unwrap().read_to_string(&mut said).unwrap();
        assert!(self.recorder.wait().unwrap().success());
        said
    }
}

impl Drop for Recorded {
    fn drop(&mut self) {
        // Nothing to do where it has ended; its server ends by itself.
        let _ = self.recorder.kill();
        let _ = self.recorder.wait();
    }
}

fn report(capture: &Path, kept: &Path, more: &[&str]) -> Output {
    let words = [OsStr::new("report"), "-v".as_ref(), capture.as_ref(), "--requests".as_ref(), kept.as_ref()];
    rtscope(&[&words[..], &more.iter().map(OsStr::new).collect::<Vec<_>>()].concat())
}

fn joined(capture: &Path, kept: &Path) -> Value {
    let output = report(capture, kept, &["--json"]);
    let document: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    document["requests"].clone()
}

/// Number and share of the slowest requests that waited for something.
fn part(joined: &Value, what: &str) -> (u64, f64) {
    let part = joined["slow"]["parts"].as_array().unwrap().iter().find(|part| part["what"] == what).unwrap();
    (part["requests"].as_u64().unwrap_or(0), part["share"].as_f64().unwrap_or(0.0))
}

#[test]
fn live_the_slowest_requests_waited_for_the_pauses_of_a_large_heap() {
    let Some(server) = server() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (capture, kept) = (folder.path().join("c.rtscope"), folder.path().join("requests"));
    let recorded = Recorded::start(server, &capture, &["150", "700", "9"]);
    recorded.load("200 for 5s", &kept);
    let said = recorded.ended();
    assert!(said.starts_with("answered ") && !said.contains("collected 0"), "{said}");
    let found = joined(&capture, &kept);
    println!("{found:#}");
    assert_eq!((found["count"].as_u64(), found["warm_up"].as_u64()), (Some(1_000), Some(100)));
    assert_eq!((found["outside"].as_u64(), found["slow"]["count"].as_u64()), (Some(0), Some(10)));
    let shares: f64 = found["slow"]["parts"].as_array().unwrap().iter().filter_map(|part| part["share"].as_f64()).sum();
    assert!((shares - 1.0).abs() < 1e-9);
    assert!(part(&found, "pause").0 >= 8, "{found:#}");
    let text = String::from_utf8(report(&capture, &kept, &[]).stdout).unwrap();
    assert!(text.contains("Of the 1 % slowest"), "{text}");
    println!("{text}");
    // Drawn on one axis: what was requested, what was answered, what paused.
    let drawing = folder.path().join("drawing.svg");
    assert!(report(&capture, &kept, &["--svg", drawing.to_str().unwrap()]).status.success());
    let svg = std::fs::read_to_string(&drawing).unwrap();
    assert!(svg.starts_with("<svg xmlns") && svg.ends_with("</svg>"), "{svg}");
    for title in [">latency from when a request was due", ">requests per second<", ">share of the time in pauses<"] {
        assert_eq!(svg.matches(title).count(), 1, "{title}");
    }
    let dots = svg.matches("<circle").count() - svg.matches("<title></title>").count();
    assert_eq!(dots, 10, "one for each of the slowest, besides the legend's");
    assert!(svg.contains(">answered<") && !svg.contains(">failed<"), "none failed");
    let refused = report(&capture, &kept, &["--svg", folder.path().to_str().unwrap()]);
    assert_eq!(refused.status.code(), Some(1), "a folder is no file");
    assert!(String::from_utf8_lossy(&refused.stderr).contains("with --svg"));

    // The same requests with a recording that was made later.
    let later = folder.path().join("later.rtscope");
    let recorded = Recorded::start(server, &later, &["0", "60000", "1"]);
    recorded.ended();
    let refused = report(&later, &kept, &[]);
    let why = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(1), "{why}");
    assert!(why.contains("before the recording began"), "{why}");
}

#[test]
fn live_without_collections_no_request_waited_for_one() {
    let Some(server) = server() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (capture, kept) = (folder.path().join("c.rtscope"), folder.path().join("requests"));
    let recorded = Recorded::start(server, &capture, &["0", "60000", "6"]);
    recorded.load("200 for 3s", &kept);
    assert!(recorded.ended().contains("collected 0"));
    let found = joined(&capture, &kept);
    // Small heaps are collected too, for microseconds.
    let (pauses, queued) = (part(&found, "pause").0, part(&found, "queued").0);
    assert_eq!((found["slow"]["count"].as_u64(), pauses + queued), (Some(6), 0), "{found:#}");
}

//! Recordings of a program that knows which thread serves each of its domains, while neighbours keep
//! the CPUs busy: compares the report with what the program prints.

use super::Bench;
use serde_json::Value;
use std::process::{Child, Command, Stdio};

const MAP: &str = crate::source!("ocaml/domain-map/main.ml");

/// A process that always wants a CPU; it ends with the test.
struct Neighbour(Child);

impl Neighbour {
    fn start() -> Neighbour {
        Neighbour(Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap())
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The result of all runs.
#[derive(Debug, Default)]
pub struct ThreadsOutcome {
    /// Number of domains seen.
    pub domains: usize,
    /// Domains for which the report has another thread, or none, with what it says about them.
    pub wrong: Vec<String>,
}

/// Records the program `runs` times on toolchain `name`, each time with two neighbours running; the
/// program does not post its threads. `None`: not installed.
pub fn compared(name: &str, runs: usize) -> Option<ThreadsOutcome> {
    let bench = Bench::of(name)?;
    bench.write("domain_map.ml", MAP);
    bench.build_events();
    bench.link_events("ocamlopt", &["unix", "threads", "runtime_events", "events"], "domain_map.ml", "domain_map");
    let _neighbours = [Neighbour::start(), Neighbour::start()];
    let mut outcome = ThreadsOutcome::default();
    (0..runs).for_each(|run| one(&bench, run, &mut outcome));
    Some(outcome)
}

fn one(bench: &Bench, run: usize, outcome: &mut ThreadsOutcome) {
    let capture = bench.path(&format!("{run}.rtscope"));
    let rtscope = || Command::new(crate::rtscope());
    let mut recorder = rtscope();
    recorder.args(["record", "-q", "-o"]).arg(&capture).arg("--").args(bench.line(&["domain_map", "5", "300"]));
    // Threads get names, so that the program knows its backup threads, but post nothing in the rings.
    recorder
        .current_dir(bench.path(""))
        .env("RTSCOPE_THREADS", "names")
        .env("CAML_LD_LIBRARY_PATH", bench.path(""))
        .env_remove("OCAMLRUNPARAM");
    let done = recorder.stdin(Stdio::null()).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let shown = rtscope().args(["report", "--json"]).arg(&capture).output().unwrap();
    let report: Value = serde_json::from_slice(&shown.stdout).unwrap();
    for line in String::from_utf8(done.stdout).unwrap().lines() {
        let columns: Vec<&str> = line.split_ascii_whitespace().collect();
        let [slot, own, backup, _] = columns[..] else { panic!("{line}") };
        outcome.domains += 1;
        let lane = report["lanes"].as_array().unwrap().iter().find(|lane| lane["id"].as_u64() == slot.parse().ok());
        let threads = lane.map_or(&Value::Null, |lane| &lane["threads"]);
        let has = |tid: &str, role: &str| {
            let all = threads.as_array().map_or(&[][..], Vec::as_slice);
            all.iter().any(|thread| thread["tid"].as_u64() == tid.parse().ok() && thread["role"] == role)
        };
        if !has(own, "own") || (backup != "-" && !has(backup, "other")) {
            outcome.wrong.push(format!("run {run}: {line}: {threads}"));
        }
    }
}

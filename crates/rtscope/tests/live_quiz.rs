//! Live: the workloads that serve answer `rtscope load` without an error, with the flags
//! that a study tries, and end by SIGINT with their figures written. Owns nothing about
//! how fast they are.

#![forbid(unsafe_code)]

use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use xtask::missing;
use xtask::runner::target_folder;
use xtask::serving::Serving;
use xtask::toolchain::{ALL, Toolchain, cache};
use xtask::workload::{self, Workload};

/// What is asked of it: few students, so that it starts at once.
struct Asked {
    name: &'static str,
    /// Behind the workload's own arguments.
    more: &'static [&'static str],
    /// OCaml's runtime's.
    runparam: Option<&'static str>,
    /// What an answer has.
    keys: &'static [&'static str],
    /// What the runtime writes at the end.
    figures: &'static str,
}

fn toolchains(workload: &Workload) -> Vec<Toolchain> {
    let there = ALL.iter().filter_map(|spec| spec.installed(&cache()));
    let there: Vec<_> = there.filter(|toolchain| workload.compiles_on(toolchain)).collect();
    if there.is_empty() {
        missing(&format!("a compiler for {}, with {:?}: `scripts/setup test`", workload.name, workload.packages));
    }
    there
}

/// The body of one answer.
fn body(url: &str) -> Vec<u8> {
    let (address, path) = url.strip_prefix("http://").and_then(|rest| rest.split_once('/')).unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    // The head comes in two parts, as it may.
    write!(stream, "GET /{path} HTTP/1.1\r\nHo").unwrap();
    std::thread::sleep(std::time::Duration::from_millis(20));
    write!(stream, "st: {address}\r\n\r\n").unwrap();
    let mut got = Vec::new();
    let mut piece = [0; 4096];
    loop {
        let read = stream.read(&mut piece).unwrap();
        assert!(read > 0, "no whole answer: {}", String::from_utf8_lossy(&got));
        got.extend_from_slice(&piece[..read]);
        let Some(end) = got.windows(4).position(|window| window == b"\r\n\r\n") else { continue };
        let head = String::from_utf8_lossy(&got[..end]).to_lowercase();
        assert!(head.starts_with("http/1.1 200 "), "{head}");
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
        let length: usize = length.trim().parse().unwrap();
        if got.len() == end + 4 + length {
            return got.split_off(end + 4);
        }
    }
}

fn serves(asked: &Asked) {
    let plain = workload::load(asked.name).unwrap();
    let workload = Workload { runparam: asked.runparam.map(str::to_owned), ..plain };
    let builds = target_folder().join("workloads");
    std::fs::create_dir_all(&builds).unwrap();
    for toolchain in toolchains(&workload) {
        let on = format!("{} {:?} on {}", asked.name, asked.more, workload.language.compiler(&toolchain).unwrap());
        let serving = Serving::start(&workload, &toolchain, &builds, asked.more).unwrap();
        let answer: Value = serde_json::from_slice(&body(&serving.url)).unwrap_or_else(|error| panic!("{on}: {error}"));
        assert!(asked.keys.iter().all(|key| !answer[key].is_null()), "{on}: {answer}");
        let load = Command::new(env!("CARGO_BIN_EXE_rtscope"))
            .args(["load", &serving.url, "--rate", "100 for 2s", "--json"])
            .output()
            .unwrap();
        let document: Value = serde_json::from_slice(&load.stdout)
            .unwrap_or_else(|error| panic!("{on}: {error}: {}", String::from_utf8_lossy(&load.stderr)));
        // Late requests are the machine's: no status is asked for.
        assert_eq!(document["requests"]["fine"], 200, "{on}: {document}");
        let ended = serving.end().unwrap();
        let said = String::from_utf8_lossy(&ended.stderr);
        assert!(ended.status.success(), "{on}: {}: {said}", ended.status);
        assert!(said.contains(asked.figures), "{on}: {said}");
    }
}

const QUIZ: &[&str] = &["student", "answers", "score", "mastery", "questions"];

#[test]
fn live_the_quiz_serves_with_the_flags_of_the_article() {
    for more in [
        &["+RTS", "-N2", "-s", "-RTS", "--size", "2000"][..],
        &["--size", "2000", "+RTS", "-N6", "-qg", "-A128m", "-s"],
    ] {
        serves(&Asked { name: "quiz", more, runparam: None, keys: QUIZ, figures: "Productivity" });
    }
}

#[test]
fn live_the_quiz_of_ocaml_serves_in_one_domain_and_in_more_than_there_are_cpus() {
    for more in [&["--size", "2000", "--domains", "1"][..], &["--size", "2000", "--domains", "4", "--slow-every", "10"]]
    {
        serves(&Asked {
            name: "quiz-domains",
            more,
            runparam: Some("v=0x400,s=32k"),
            keys: QUIZ,
            figures: "minor_collections: ",
        });
    }
}

#[test]
fn live_the_queue_serves_through_few_places() {
    let more = &["--queue", "2", "--workers", "2", "--rounds", "20", "+RTS", "-N4", "-s"];
    serves(&Asked { name: "queue", more, runparam: None, keys: &["key", "signature"], figures: "Productivity" });
}

#[test]
fn live_what_does_not_listen_is_told() {
    let workload = workload::load("quiz").unwrap();
    let Some(toolchain) = toolchains(&workload).pop() else { return };
    let builds = target_folder().join("workloads");
    std::fs::create_dir_all(&builds).unwrap();
    let told = Serving::start(&workload, &toolchain, &builds, &["--colour", "1"]).unwrap_err().to_string();
    assert!(told.contains("does not listen") && told.contains("--colour"), "{told}");
}

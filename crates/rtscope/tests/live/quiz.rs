//! Live: the workloads that serve answer `rtscope load` without an error, with the flags that a study tries,
//! and end on SIGINT with their figures written. Owns nothing about how fast they are.

use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use xtask::cache::cache;
use xtask::missing;
use xtask::runner::{Runner, plainly};
use xtask::serving::Serving;
use xtask::toolchain::{ALL, Toolchain};
use xtask::workload::{self, Workload};

/// What is asked of it: few students, so that it starts at once.
#[derive(Debug)]
struct Asked {
    name: &'static str,
    /// Added to the workload's own arguments.
    args: &'static [&'static str],
    /// GHC's flags.
    rts: &'static [&'static str],
    /// Parameters of OCaml's runtime.
    runparam: Option<&'static str>,
    /// Keys of an answer.
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

fn runner() -> Runner {
    Runner::new(Path::new(testkit::rtscope())).unwrap()
}

/// The body of one answer.
fn body(url: &str) -> Vec<u8> {
    let (address, path) = url.strip_prefix("http://").and_then(|rest| rest.split_once('/')).unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    // The head may come in two parts.
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
    let mut workload = workload::load(asked.name).unwrap();
    workload.args.extend(asked.args.iter().map(|&word| word.to_owned()));
    workload.rts.extend(asked.rts.iter().map(|&word| word.to_owned()));
    workload.runparam = asked.runparam.map(str::to_owned);
    let runner = runner();
    for toolchain in toolchains(&workload) {
        let on = format!("{asked:?} on {}", workload.language.compiler(&toolchain).unwrap());
        let serving = Serving::start(&runner, &workload, &toolchain, plainly).unwrap();
        let answer: Value = serde_json::from_slice(&body(&serving.url)).unwrap_or_else(|error| panic!("{on}: {error}"));
        assert!(asked.keys.iter().all(|key| !answer[key].is_null()), "{on}: {answer}");
        let load = Command::new(testkit::rtscope())
            .args(["load", &serving.url, "--rate", "50 for 2s", "--timeout", "120s", "--json"])
            .output()
            .unwrap();
        let document: Value = serde_json::from_slice(&load.stdout)
            .unwrap_or_else(|error| panic!("{on}: {error}: {}", String::from_utf8_lossy(&load.stderr)));
        // Late requests are the machine's: the status is not checked.
        assert_eq!(document["requests"]["fine"], 100, "{on}: {document}");
        let ended = serving.end().unwrap();
        let said = String::from_utf8_lossy(&ended.stderr);
        assert!(ended.status.success(), "{on}: {}: {said}", ended.status);
        assert!(said.contains(asked.figures), "{on}: {said}");
    }
}

const QUIZ: &[&str] = &["student", "answers", "score", "mastery", "questions"];

#[test]
fn live_the_quiz_serves_with_the_flags_of_the_article() {
    for rts in [&["-N2", "-s"][..], &["-N6", "-qg", "-A128m", "-s"]] {
        let args = &["--size", "2000", "--slow-every", "20"];
        serves(&Asked { name: "quiz", args, rts, runparam: None, keys: QUIZ, figures: "Productivity" });
    }
}

#[test]
fn live_the_quiz_of_ocaml_serves_in_one_domain_and_in_more_than_there_are_cpus() {
    let [one, four] = [&["--size", "2000", "--domains", "1"], &["--size", "2000", "--domains", "4"]];
    for args in [one, four] {
        let runparam = Some("v=0x400");
        serves(&Asked { name: "quiz-domains", args, rts: &[], runparam, keys: QUIZ, figures: "minor_collections: " });
    }
}

#[test]
fn live_the_queue_serves_through_few_places() {
    let args = &["--queue", "2", "--workers", "2", "--rounds", "20"];
    let keys = &["key", "signature"];
    serves(&Asked { name: "queue", args, rts: &["-N4", "-s"], runparam: None, keys, figures: "Productivity" });
}

#[test]
fn live_what_does_not_listen_is_reported() {
    let mut workload = workload::load("quiz").unwrap();
    workload.args.extend(["--colour".to_owned(), "1".to_owned()]);
    let Some(toolchain) = toolchains(&workload).pop() else { return };
    let error = Serving::start(&runner(), &workload, &toolchain, plainly).unwrap_err().to_string();
    assert!(error.contains("does not listen") && error.contains("--colour"), "{error}");
}

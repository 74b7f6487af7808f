//! Live: programs linked with OCaml's library of events, by the compilers that rtscope is
//! tested with. What they say in their rings is what they know of themselves, and without
//! a ring nothing happens.

use testkit::bindings;

use bindings::Bench;
use bindings::ring::{self, Event, LaneEvents};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;

const PROGRAM: &str = testkit::source!("ocaml/library-events/main.ml");
const MAP: &str = testkit::source!("ocaml/domain-map/main.ml");

/// Does not mention the library.
const PLAIN: &str = testkit::source!("ocaml/plain-domains/main.ml");

/// The order in which dune gives them: what the program asks for comes first.
const THREADS_FIRST: [&str; 4] = ["unix", "threads", "runtime_events", "events"];
const THREADS_LAST: [&str; 4] = ["runtime_events", "events", "unix", "threads"];

/// A program and where its rings go.
struct Runs<'a> {
    bench: &'a Bench,
    program: &'a str,
}

impl Runs<'_> {
    fn figures(&self, variables: &[(&str, &str)], deed: &str) -> Value {
        let library = self.bench.path("").into_os_string().into_string().unwrap();
        let variables = [variables, &[("CAML_LD_LIBRARY_PATH", &library)]].concat();
        self.bench.figures(None, &variables, &[self.program, deed])
    }

    /// What `deed` prints, and its lanes; with a ring from the start where `ring` says so.
    fn run(&self, deed: &str, ring: bool) -> (Value, PathBuf) {
        let folder = self.bench.path(&format!("{}-{deed}-{ring}", self.program));
        fs::create_dir(&folder).unwrap();
        let at = folder.to_str().unwrap();
        let start = if ring { vec![("OCAML_RUNTIME_EVENTS_START", "1")] } else { vec![] };
        let keep = [("OCAML_RUNTIME_EVENTS_DIR", at), ("OCAML_RUNTIME_EVENTS_PRESERVE", "1")];
        (self.figures(&[&start[..], &keep].concat(), deed), folder)
    }

    fn with_ring(&self, deed: &str) -> (Value, Vec<LaneEvents>) {
        let (shown, folder) = self.run(deed, true);
        (shown, ring::only(&folder))
    }
}

fn place(value: &Value) -> (usize, i64) {
    (value[0].as_u64().unwrap() as usize, value[1].as_i64().unwrap())
}

fn threads_have_names(runs: &Runs) {
    let (shown, lanes) = runs.with_ring("names");
    let named = |wanted: &str| {
        let all = shown["names"].as_object().unwrap();
        let found: Vec<i64> =
            all.iter().filter(|(_, name)| *name == wanted).map(|(id, _)| id.parse().unwrap()).collect();
        assert_eq!(found.len(), 1, "{wanted} in {shown}");
        found[0]
    };
    // Names are cut to 15 bytes, and not within a character.
    assert_eq!(place(&shown["places"][0]), (1, named("a long name, en")));
    assert_eq!(place(&shown["places"][1]), (2, named("fourteen charé")));
    let own = shown["main"].as_i64().unwrap();
    assert_eq!(shown["names"][own.to_string()], runs.program, "the process keeps its name");
    assert_eq!(ring::threads(&lanes[0])[0], own, "{shown}");
    // Each thread is announced before the first collection that it serves is over.
    for (slot, own) in [(0, own), (1, named("a long name, en")), (2, named("fourteen charé"))] {
        let backup = named(&format!("dom {slot} backup"));
        let threads = ring::threads(&lanes[slot]);
        assert!(threads[0] == own && threads.contains(&backup), "{slot}: {threads:?} {shown}");
        assert!(threads.iter().all(|thread| [own, backup].contains(thread)), "{slot}: {threads:?} {shown}");
    }
    assert_eq!(ring::threads(&lanes[3])[0], named("dom 3"));
}

fn slots_are_used_again(runs: &Runs) {
    let (shown, lanes) = runs.with_ring("turns");
    let places: Vec<_> = shown["places"].as_array().unwrap().iter().map(place).collect();
    assert_eq!(places.len(), 60);
    let main = place(&shown["main"]);
    assert!(ring::threads(&lanes[main.0]).contains(&main.1), "{main:?}");
    for (slot, lane) in lanes.iter().enumerate().skip(1) {
        let truth: Vec<i64> = places.iter().filter(|place| place.0 == slot).map(|place| place.1).collect();
        let lives: Vec<&[Event]> = lane.split(|event| *event == Event::Spawned).skip(1).collect();
        let firsts: Vec<i64> = lives.iter().map(|life| ring::threads(life)[0]).collect();
        assert_eq!(firsts, truth, "slot {slot}");
        let directly = lives.iter().all(|life| matches!(&life[0], Event::Value(name, _) if name == "rtscope.thread"));
        assert!(directly, "slot {slot}");
    }
    assert!(ring::threads(&lanes[1]).len() > 20, "no slot was used again: {places:?}");
}

fn spans_nest(runs: &Runs) {
    let (shown, lanes) = runs.with_ring("spans");
    assert_eq!(shown, json!({"sum": 42, "raised": true}));
    let begin = |name: &str| Event::Begin(name.into());
    let end = |name: &str| Event::End(name.into());
    let mark = |name: &str| Event::Mark(name.into());
    let wanted = [
        begin("outer"),
        mark("in"),
        begin("inner"),
        Event::Value("depth".into(), -3),
        end("inner"),
        end("outer"),
        begin("outer"),
        begin("inner"),
        end("inner"),
        end("outer"),
        mark("caught"),
        mark(&"x".repeat(126)),
        mark(&("y".repeat(125) + "é")),
    ];
    assert_eq!(ring::own(&lanes[0]), wanted);
}

fn without_a_ring_nothing_happens(runs: &Runs) {
    let (shown, folder) = runs.run("spans", false);
    assert_eq!(shown, json!({"sum": 42, "raised": true}));
    assert!(ring::files(&folder).is_empty(), "{:?}", ring::files(&folder));
}

fn a_ring_may_come_late(runs: &Runs) {
    let (shown, folder) = runs.run("late", false);
    let lanes = ring::only(&folder);
    assert_eq!(shown["started"], json!([true, true]));
    let (main, busy) = (place(&shown["main"]), place(&shown["places"][1]));
    assert_eq!(ring::threads(&lanes[main.0])[0], main.1, "{shown}");
    assert_eq!(ring::threads(&lanes[busy.0])[0], busy.1, "{shown}");
    // The other one blocks: its backup thread serves and is announced.
    let sleeping = place(&shown["places"][0]);
    let first = ring::threads(&lanes[sleeping.0])[0].to_string();
    assert_eq!(shown["names"][first], json!(format!("dom {} backup", sleeping.0)), "{shown}");
}

fn a_ring_that_cannot_be_is_not_started(runs: &Runs) {
    let nowhere = [("OCAML_RUNTIME_EVENTS_DIR", "/nonexistent/folder")];
    let shown = runs.figures(&nowhere, "start");
    assert_eq!(shown, json!({"started": false}));
    let (shown, folder) = runs.run("start", false);
    assert_eq!(shown, json!({"started": true}));
    assert_eq!(ring::threads(&ring::only(&folder)[0]).len(), 1);
}

fn paused_rings_hear_nothing(runs: &Runs) {
    let (shown, lanes) = runs.with_ring("paused");
    assert_eq!(shown, json!({"on": false}));
    assert_eq!(ring::own(&lanes[0]), [Event::Mark("before".into()), Event::Mark("after".into())]);
}

fn names_are_bounded(runs: &Runs) {
    let (_, lanes) = runs.with_ring("many");
    let own = ring::own(&lanes[0]);
    let last = |from: usize| own[from..].iter().filter(|event| **event == Event::Mark("rtscope.other".into())).count();
    assert_eq!((own.len(), last(0), last(2048)), (2100, 52, 52));
    assert_eq!(own[2047], Event::Mark("2048".into()));
}

fn threads_can_be_left_alone(runs: &Runs) {
    for (wish, name) in [("names", "dom 1"), ("off", runs.program)] {
        let folder = runs.bench.path(&format!("{}-{wish}", runs.program));
        fs::create_dir(&folder).unwrap();
        let at = folder.to_str().unwrap();
        let variables = [
            ("OCAML_RUNTIME_EVENTS_START", "1"),
            ("OCAML_RUNTIME_EVENTS_DIR", at),
            ("OCAML_RUNTIME_EVENTS_PRESERVE", "1"),
            ("RTSCOPE_THREADS", wish),
        ];
        let shown = runs.figures(&variables, "threads");
        assert_eq!((&shown["name"], &shown["domain_name"]), (&json!("helper"), &json!(name)), "{shown}");
        assert!(ring::only(&folder).iter().all(|lane| ring::threads(lane).is_empty()), "{wish}");
    }
}

fn other_threads_can_say_so(runs: &Runs) {
    let (shown, lanes) = runs.with_ring("threads");
    let helper = place(&shown["helper"]);
    assert_eq!((helper.0, &shown["name"]), (0, &json!("helper")));
    assert!(ring::threads(&lanes[0]).contains(&helper.1), "{shown}");
    let domain = place(&shown["domain"]);
    assert_eq!(ring::threads(&lanes[domain.0])[0], domain.1, "{shown}");
}

fn a_fork_says_its_own_thread(runs: &Runs) {
    let (shown, folder) = runs.run("fork", true);
    let (child, main) = (shown["child"].as_i64().unwrap(), place(&shown["main"]).1);
    for (pid, word) in [(child, "child"), (main, "parent")] {
        let lanes = ring::lanes(&folder.join(format!("{pid}.events")));
        let threads = ring::threads(&lanes[0]);
        assert!(!threads.is_empty() && threads.iter().all(|thread| *thread == pid), "{word}: {threads:?}");
        assert_eq!(ring::own(&lanes[0]), [Event::Mark(word.into())]);
    }
}

/// The program that tests of the lane map compare with says what the rings say.
fn truth_program_is_true(bench: &Bench) {
    let folder = bench.path("map");
    fs::create_dir(&folder).unwrap();
    let variables = [
        ("OCAML_RUNTIME_EVENTS_START", "1"),
        ("OCAML_RUNTIME_EVENTS_DIR", folder.to_str().unwrap()),
        ("OCAML_RUNTIME_EVENTS_PRESERVE", "1"),
        ("OCAMLRUNPARAM", "e=20"),
    ];
    let done = bench.run(None, &variables, &["domain_map", "7", "300"]);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let lanes = ring::only(&folder);
    let text = String::from_utf8(done.stdout).unwrap();
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split(' ').collect()).collect();
    assert_eq!(lines.len(), 8, "{text}");
    for line in &lines {
        let threads = ring::threads(&lanes[line[0].parse::<usize>().unwrap()]);
        assert_eq!(threads[0].to_string(), line[1], "{text}");
        // A backup thread that is not known served for the first time as the domain ended.
        let mut others: Vec<String> = threads.iter().map(i64::to_string).filter(|thread| thread != line[1]).collect();
        others.dedup();
        let unknown = others.iter().filter(|thread| *thread != line[2]).count();
        assert!(unknown == 0 || (line[2] == "-" && unknown == 1), "{threads:?} for {line:?}");
        // A domain that blocks for long is served by its backup thread.
        let backup = others.iter().any(|thread| thread == line[2]);
        assert!(backup || !["main", "waits", "sleeps"].contains(&line[3]), "{threads:?} for {line:?}");
    }
}

fn library(name: &str) {
    let Some(bench) = Bench::of(name) else { return };
    bench.write("events.ml", PROGRAM);
    bench.write("domain_map.ml", MAP);
    bench.write("plain.ml", PLAIN);
    bench.build_events();
    bench.link_events("ocamlopt", &["runtime_events", "events"], "plain.ml", "plain");
    let shown = bench.figures(None, &[], &["plain"]);
    assert_eq!(shown, json!({"main": "plain", "other": "dom 1"}));
    bench.link_events("ocamlopt", &THREADS_FIRST, "domain_map.ml", "domain_map");
    truth_program_is_true(&bench);
    for (compiler, libraries, program) in
        [("ocamlopt", THREADS_FIRST, "first"), ("ocamlopt", THREADS_LAST, "last"), ("ocamlc", THREADS_FIRST, "bytes")]
    {
        bench.link_events(compiler, &libraries, "events.ml", program);
        let runs = Runs { bench: &bench, program };
        slots_are_used_again(&runs);
        spans_nest(&runs);
        without_a_ring_nothing_happens(&runs);
        a_ring_may_come_late(&runs);
        a_ring_that_cannot_be_is_not_started(&runs);
        paused_rings_hear_nothing(&runs);
        names_are_bounded(&runs);
        other_threads_can_say_so(&runs);
        threads_can_be_left_alone(&runs);
        a_fork_says_its_own_thread(&runs);
        threads_have_names(&runs);
    }
}

#[test]
fn live_events_of_5_3_say_what_the_program_knows() {
    library("ghc-9.6");
}

#[test]
fn live_events_of_5_4_say_what_the_program_knows() {
    library("ghc-9.10");
}

//! Live: whole studies by `rtscope tune -- PROG`, of programs and servers of each compiler, and what becomes of
//! bad input. Owns nothing about speed or about which configuration wins: what is compared is a figure that is
//! the same in every run, the size of a heap or the time of a sleep.

use testkit::ground;
use testkit::tuning;

use ground::{at_home, kill, scratch};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::process::{Child, Output};
use std::thread;
use tuning::{StudyFolder, command, compile, free_port, is_loud, place, rows, running, sleeper, trial, words};
use xtask::cache::cache;
use xtask::missing;
use xtask::surroundings::Neighbours;
use xtask::toolchain::ALL;
use xtask::workload::Language;

const HEAP: [&str; 2] = ["--minimize", "heap"];

/// The study ends like this, unless the machine is never quiet.
fn ends(place: &StudyFolder, options: &[&str], program: &[OsString], status: i32, says: &str) -> Output {
    let done = place.tune(options, program).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    let as_expected = done.status.code() == Some(status) && said.contains(says);
    assert!(as_expected || is_loud(&done), "{options:?}: {:?}: {said}", done.status);
    done
}

#[test]
fn live_a_batch_program_of_ghc_by_its_time() {
    let Some(program) = trial() else { return };
    let place = place();
    let options = ["--trials", "24", "--no-captures"];
    let Some(found) = place.study(&options, &command(program, &["churn", "100000"])) else { return };
    assert!(
        found.is_cut() || found.trials("clean") >= 10 && found.document["objective"] == "time",
        "{}",
        found.document
    );
    assert!(
        found.document["findings"].is_null() && found.stderr.contains("trial 1 of at most 24, "),
        "{}",
        found.stderr
    );
    let Some(row) = found.rows().into_iter().find(|row| !row.dirty) else { return };
    let has = |name: &str| row.figures.contains_key(name);
    assert!(["time_ns", "rss_bytes", "productivity", "max_pause_ns", "foreign"].into_iter().all(has), "{row:?}");
}

#[test]
fn live_what_is_recommended_is_recorded_and_can_be_pasted() {
    let Some(program) = trial() else { return };
    let place = place();
    let options = [&HEAP[..], &["--trials", "40"]].concat();
    let Some(found) = place.study(&options, &command(program, &["churn", "100000"])) else { return };
    if found.verdict() != "better" {
        return assert!(found.document["findings"].is_null());
    }
    let name = found.document["recommended"]["name"].as_str().unwrap();
    let lines: Vec<&str> =
        found.document["paste"].as_array().unwrap().iter().map(|line| line["line"].as_str().unwrap()).collect();
    assert!(lines.len() >= 3 && lines[0].ends_with(" churn 100000"), "{lines:?}");
    // Either both captures, or why not.
    if found.document["findings"].is_array() {
        for capture in ["default.rtscope", "recommended.rtscope"] {
            assert!(found.folder.join(capture).join("manifest.json").exists());
        }
    } else {
        assert!(found.stderr.contains("no capture was made: "), "{}", found.stderr);
    }
    // It prints the result again, for people, and runs nothing for it.
    let before = found.rows();
    let captures: &[&str] = if found.document["findings"].is_array() { &[] } else { &["--no-captures"] };
    let made =
        || fs::metadata(found.folder.join("default.rtscope/manifest.json")).and_then(|file| file.modified()).ok();
    let captured = made();
    let again = [&options[..], captures, &["-o", "study", "--quiet"]].concat();
    let done = ends(&place, &again, &command(program, &["churn", "100000"]), 0, "");
    let text = String::from_utf8(done.stdout).unwrap();
    assert!(text.starts_with(&format!("Use {name}: at ")) && text.contains(lines[0]), "{text}");
    assert!(done.stderr.is_empty() && found.rows() == before && made() == captured);
}

#[test]
fn live_a_newer_ghc_under_other_names_is_no_different() {
    let Some(toolchain) = ALL.iter().rev().find_map(|spec| spec.installed(&cache()).filter(|it| it.root.is_some()))
    else {
        return missing("a tree with a newer GHC");
    };
    let place = place();
    let program = place.path("trial");
    let link = at_home(&toolchain).map(|option| format!("-optl{option}"));
    compile(&toolchain, &program, link.as_deref());
    let options = [&HEAP[..], &["--trials", "24", "--same"]].concat();
    let Some(found) = place.study(&options, &command(&program, &["churn", "100000"])) else { return };
    assert!(!found.answered() || found.verdict() == "no_difference", "{}", found.document);
}

/// `batch-domains` of the newest OCaml, linked to find its tree's libraries on this machine.
fn batch_domains(place: &StudyFolder) -> Option<std::path::PathBuf> {
    let Some(toolchain) =
        ALL.iter().rev().filter(|spec| spec.ocaml.is_some()).find_map(|spec| spec.installed(&cache()))
    else {
        missing("a tree with OCaml 5");
        return None;
    };
    let folder = place.path("batch");
    fs::create_dir(&folder).unwrap();
    for source in ["common/crew.mli", "common/crew.ml", "batch-domains/main.ml"] {
        let from = Language::Ocaml.folder().join(source);
        fs::copy(&from, folder.join(from.file_name().unwrap())).unwrap();
    }
    let mut make = toolchain.command(OsStr::new("ocamlopt"), &folder, &[&folder]);
    make.args(["-I", "+unix", "unix.cmxa", "crew.mli", "crew.ml", "main.ml", "-o", "batch"]);
    if let Some(home) = at_home(&toolchain) {
        make.args(["-ccopt", &home]);
    }
    let done = make.output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    Some(folder.join("batch"))
}

#[test]
fn live_domains_of_ocaml_are_varied_in_an_argument() {
    let place = place();
    let Some(program) = batch_domains(&place) else { return };
    let batch = command(&program, &["{domains:4}", "40"]);
    let Some(found) = place.study(&["--trials", "24", "--no-captures"], &batch) else { return };
    assert_eq!(found.document["argv"], serde_json::json!(["{domains:4}", "40"]));
    assert!(found.document["effects"].as_array().unwrap().iter().any(|of| of["setting"] == "domains="));
    assert!(found.trials("failed") == 0, "{}", found.document);
    ends(&place, &HEAP, &batch, 2, "trials do not say heap: only GHC's runtime does");
}

fn load(port: u16) -> String {
    format!("http://127.0.0.1:{port}/ --rate 100 --for 300ms --warm-up 100ms --connections 4")
}

#[test]
fn live_servers_that_do_not_serve_are_reported_before_a_study() {
    let Some(program) = trial() else { return };
    let (place, port) = (place(), free_port());
    let load = load(port);
    let options = ["--load", &load, "--ready", "300ms", "-o", "study"];
    ends(&place, &options, &sleeper("1000"), 1, "as it is run today; it took no connections within 300 ms");
    ends(
        &place,
        &options,
        &words(&["sh", "-c", "echo none >&2; exit 3"]),
        1,
        "sh does not run; started as it is, none",
    );
    let serve = |status: &str, most: &str| command(program, &["serve", &port.to_string(), status, most]);
    let patient = ["--load", &load, "-o", "study"];
    ends(&place, &patient, &serve("200", "10"), 1, "it ended while it was under load: it ended with 7");
    let _taken = TcpListener::bind(("127.0.0.1", port)).unwrap();
    ends(&place, &patient, &serve("200", "0"), 3, "already; end it, or give another port");
    assert!(!place.path("study/study.sqlite").exists());
}

#[test]
fn live_a_program_that_fails_under_one_flag_is_not_refused_by_its_runtime() {
    let Some(program) = trial() else { return };
    let place = place();
    let picky = command(program, &["picky", "-c", "100000"]);
    let done = ends(&place, &["--dry-run", "--json"], &picky, 0, "");
    let space: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    let refused = space["rejected"].as_array().unwrap().iter().filter(|one| one["by"] == "probe").count();
    assert_eq!(refused, 0, "{space}");
    // In blocks it is certain to be tried.
    let options = ["--try=-c", "--try=-A4m", "--blocks", "6"];
    let Some(found) = place.study(&[&HEAP[..], &options].concat(), &picky) else { return };
    if found.answered() {
        assert_eq!(found.document["failed"][0]["why"], "it ended with 3; it said last: not with -c");
    }
}

#[test]
fn live_wrong_words_are_reported_before_anything_runs() {
    let place = place();
    let program = sleeper("1000");
    for (options, status, says) in [
        (&["--trials", "5"][..], 2, "5 trials are too few for one comparison, which takes 24; give --trials 24"),
        (&["--minimize", "p99"], 2, "p99 is a figure of servers: give the load with --load URL"),
        (&["--minimize", "speed"], 2, "known: time, wall, cpu, rss"),
        (&["--limit", "rss"], 2, "write FIGURE=MOST"),
        (&["--load", "'http://localhost:1/"], 2, "--load cannot be read"),
        (&["--load", "http://localhost:1/"], 2, "--rate"),
        (&["--load", "ftp://localhost:1/ --rate 1 --for 1s"], 2, "ftp"),
        (&["--load", "http://localhost:1/ --rate 1 --for 1s --json"], 2, "a trial writes no files of its load"),
        (&["-o", "/proc/none"], 1, "cannot make the folder /proc/none"),
        (&["--try=-N1", "--blocks", "3"], 2, "3 blocks are too few for one comparison, which takes 6"),
        (&["--try=-N1", "--block", "10", "--store", "shard"], 2, "they are 0 to 9"),
        (&["--export-job", "slurm", "--blocks", "5"], 2, "5 blocks are too few"),
    ] {
        ends(&place, options, &program, status, says);
    }
    ends(&place, &[], &words(&["./absent"]), 1, "./absent cannot be found");
    assert!(fs::read_dir(place.folder.path()).unwrap().next().is_none());
}

#[test]
fn live_a_budget_of_time_too_small_says_how_much_it_takes() {
    let place = place();
    let done = place.tune(&["--within", "1s"], &sleeper("0.1")).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    if done.status.code() != Some(3) {
        assert!(done.status.code() == Some(2) && said.contains("give --within "), "{said}");
    }
}

/// Reads its output until a line contains this; the rest is read too, so that it can continue.
fn says(child: &mut Child, part: &str) -> Option<thread::JoinHandle<String>> {
    let mut lines = BufReader::new(child.stderr.take().unwrap());
    let mut said = String::new();
    while lines.read_line(&mut said).unwrap() > 0 {
        if said.contains(part) {
            return Some(thread::spawn(move || {
                let _ = lines.read_to_string(&mut said);
                said
            }));
        }
    }
    child.wait().unwrap();
    assert!(said.contains("the machine is never quiet"), "it never said {part:?}: {said}");
    eprintln!("not run: {said}");
    None
}

const NEXT_STAGE: &str = "many configurations once";

#[test]
fn live_a_study_that_is_killed_goes_on_where_it_was() {
    let Some(program) = trial() else { return };
    let place = place();
    // An argument that no other process has.
    let program = command(program, &["churn", "271828"]);
    let options = [&HEAP[..], &["--trials", "30", "--json", "--no-captures", "-o", "study"]].concat();
    let mut child = place.tune(&options, &program).spawn().unwrap();
    let Some(rest) = says(&mut child, NEXT_STAGE) else { return };
    child.kill().unwrap();
    child.wait().unwrap();
    ground::wait_for("the program's end", || running("271828").is_empty());
    rest.join().unwrap();
    let before = rows(&place.path("study/study.sqlite"));
    assert!(before.iter().filter(|row| !row.dirty).count() >= 10, "{before:?}");
    // Another study does not continue it, and runs nothing.
    let other = [&options[..], &["--seed", "7"]].concat();
    ends(&place, &other, &program, 1, "it holds another study: not the same budget, seed");
    let Some(found) = place.studied(&place.tune(&options, &program).output().unwrap()) else { return };
    let after = found.rows();
    assert_eq!(after[..before.len()], before[..]);
    assert!(
        (found.is_cut() || after.len() > before.len()) && found.stderr.contains("trials of this study"),
        "{}",
        found.stderr
    );
    assert!(found.is_cut() || found.answered(), "{}", found.document);
}

#[test]
fn live_an_interrupted_study_says_so_and_goes_on() {
    let Some(program) = trial() else { return };
    let place = place();
    let program = command(program, &["churn", "271829"]);
    let options = [&HEAP[..], &["--trials", "30", "--json", "--no-captures", "-o", "study"]].concat();
    let mut child = place.tune(&options, &program).spawn().unwrap();
    let Some(rest) = says(&mut child, NEXT_STAGE) else { return };
    // SIGINT may be ignored where tests run in the background.
    kill("TERM", child.id());
    let done = child.wait_with_output().unwrap();
    let said = rest.join().unwrap();
    assert!(running("271829").is_empty());
    let found = place.studied(&Output { stderr: said.into(), ..done }).unwrap();
    assert_eq!((found.verdict(), found.status), ("stopped", Some(3)));
    // Others may have been first.
    let why = found.document["why"].as_str().unwrap();
    assert!(why == "interrupted" || why.starts_with("the machine is never quiet"), "{why}");
    assert!(found.stderr.contains("study.sqlite: the same command goes on"), "{}", found.stderr);
    let before = found.rows();
    let Some(found) = place.studied(&place.tune(&options, &program).output().unwrap()) else { return };
    assert_eq!(found.rows()[..before.len()], before[..]);
    assert!(found.is_cut() || found.rows().len() > before.len());
}

#[test]
fn live_a_machine_that_becomes_loud_ends_a_study_without_an_answer() {
    let Some(program) = trial() else { return };
    let place = place();
    let folder = scratch();
    let cpus: Vec<usize> = (0..thread::available_parallelism().unwrap().get()).collect();
    let program = command(program, &["churn", "100000"]);
    let options = [&HEAP[..], &["--trials", "30", "--json", "--patience", "1s", "-o", "study"]].concat();
    let mut child = place.tune(&options[..], &program).spawn().unwrap();
    let rest = says(&mut child, NEXT_STAGE);
    let neighbours = Neighbours::start(&cpus, 2, folder.path()).unwrap();
    if let Some(rest) = rest {
        let done = child.wait_with_output().unwrap();
        let found = place.studied(&Output { stderr: rest.join().unwrap().into(), ..done }).unwrap();
        assert!(found.verdict() == "stopped" && found.status == Some(3), "{}", found.document);
        assert!(found.document["why"].as_str().unwrap().starts_with("the machine is never quiet: "));
    }
    // No other study begins.
    let done = place.tune(&["--patience", "1s", "-o", "other"], &program).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.code() == Some(3) && said.contains("the machine is never quiet: in 1 s"), "{said}");
    assert!(done.stdout.is_empty() && !place.path("other/study.sqlite").exists());
    drop(neighbours);
}

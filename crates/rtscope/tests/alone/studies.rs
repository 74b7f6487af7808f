//! Live: studies of a server under its load. A load that is late because others use the CPUs is no trial, so
//! the machine has to be idle.

use rtscope_tune::study::Outcome;
use std::fs;
use std::net::TcpListener;
use testkit::tuning::{command, free_port, place, trial};

const HEAP: [&str; 2] = ["--minimize", "heap"];

fn load(port: u16) -> String {
    format!("http://127.0.0.1:{port}/ --rate 100 --for 300ms --warm-up 100ms --connections 4")
}

#[test]
fn live_a_server_is_studied_under_its_load() {
    let Some(program) = trial() else { return };
    let (place, port) = (place(), free_port());
    let options = ["--load", &load(port), "--trials", "24", "--no-captures", "--limit", "errors=0"];
    let serve = command(program, &["serve", &port.to_string(), "200", "0"]);
    let Some(found) = place.study(&options, &serve) else { return };
    assert_eq!(found.document["objective"], "p99");
    assert!(found.stderr.contains("a trial has 30 requests; from 10,000 on p99 says more"), "{}", found.stderr);
    for row in found.rows().iter().filter(|row| !row.dirty && matches!(row.taken.outcome, Outcome::Measured(_))) {
        assert!(row.figures["requests"] == 30.0 && row.figures["errors"] == 0.0, "{row:?}");
    }
    // Each server has ended.
    TcpListener::bind(("127.0.0.1", port)).unwrap();
}

#[test]
fn live_what_breaks_a_limit_today_and_ever_is_no_recommendation() {
    let Some(program) = trial() else { return };
    let (place, port) = (place(), free_port());
    let load = load(port);
    let options = [&HEAP[..], &["--load", &load, "--limit", "errors=0", "--trials", "24"]].concat();
    let serve = command(program, &["serve", &port.to_string(), "500", "0"]);
    let Some(found) = place.study(&options, &serve) else { return };
    assert!(found.stderr.contains("as it is run today, errors 30 is above the limit of 0"), "{}", found.stderr);
    assert!(["impossible", "too_noisy", "stopped"].contains(&found.verdict()), "{}", found.document);
    // The same limit for a program, with the reason in words.
    fs::remove_dir_all(&found.folder).unwrap();
    let options = [&HEAP[..], &["--limit", "rss=1M", "--trials", "24"]].concat();
    let Some(found) = place.study(&options, &command(program, &["churn", "20000"])) else { return };
    if found.document["verdict"] == "impossible" {
        let why = found.document["why"].as_str().unwrap();
        assert!(why.starts_with("rss ") && why.ends_with("is known to keep to the limits"), "{why}");
        assert!(found.trials("failed") > 0, "{}", found.document);
    }
    assert_eq!((found.answered(), found.status), (false, Some(3)), "{}", found.document);
}

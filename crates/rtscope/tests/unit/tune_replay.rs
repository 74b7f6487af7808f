//! `rtscope tune --replay` with a measured table of 75 configurations of GHC: studies of it are as good as they
//! claim, and bad input is refused.

use serde_json::Value;
use std::process::{Command, Output};

fn tune(words: &[&str]) -> Output {
    let table = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/tables/ghc-flag-sweep.jsonl");
    let mut command = Command::new(testkit::rtscope());
    command.args(["tune", "--replay", table, "--metric", "total_wall_seconds"]).args(words).output().unwrap()
}

fn json(words: &[&str]) -> Value {
    let done = tune(&[words, &["--json"]].concat());
    assert_eq!(done.status.code(), Some(0), "{}", String::from_utf8_lossy(&done.stderr));
    serde_json::from_slice(&done.stdout).unwrap()
}

fn share(found: &Value, name: &str) -> f64 {
    found[name].as_f64().unwrap_or_else(|| panic!("no {name} in {found}"))
}

#[test]
fn studies_of_75_trials_come_near_the_best_and_do_not_over_claim() {
    for draw in ["rows", "rests"] {
        let found = json(&["--trials", "75", "--studies", "400", "--seed", "1", "--draw", draw]);
        assert_eq!((&found["schema"], &found["default"]), (&"rtscope/replay/1".into(), &"-N1 -A1m".into()));
        assert!(share(&found["regret"], "median") <= 0.015 && share(&found["regret"], "p90") <= 0.05, "{found}");
        assert!(share(&found, "coverage") >= 0.93, "{found}");
        assert!(share(&found, "trials_taken") <= 75.0);
    }
}

#[test]
fn the_default_under_other_names_is_no_different() {
    let found = json(&["--trials", "75", "--studies", "100", "--seed", "1", "--same"]);
    assert!(share(&found, "no_difference") >= 0.95, "{found}");
    assert_eq!((share(&found, "better"), found["same"].as_bool()), (share(&found, "over_claims"), Some(true)));
}

#[test]
fn the_same_seed_gives_the_same_document() {
    let words = ["--studies", "5", "--seed", "3"];
    assert_eq!(json(&words), json(&words));
    assert_ne!(json(&words), json(&["--studies", "5", "--seed", "4"]));
}

#[test]
fn what_makes_no_sense_is_refused_with_a_way_out() {
    for (words, status, said) in [
        (&["--trials", "20"][..], 2, "20 trials are too few for one comparison, which takes 24"),
        (&["--default", "-N9"], 2, "-N9 is none of the table's"),
        (&["--trials", "0"], 2, "0 is not in 1..=100000"),
    ] {
        let done = tune(words);
        let error = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(done.status.code() == Some(status) && error.contains(said), "{words:?}: {error}");
    }
    let other = Command::new(testkit::rtscope())
        .args(["tune", "--metric", "none", "--replay"])
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/tables/ghc-flag-sweep.jsonl"))
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&other.stderr).into_owned();
    assert!(other.status.code() == Some(1) && error.contains("has only max_mem_in_use_bytes"), "{error}");
}

#[test]
fn text_says_what_the_document_says() {
    let done = tune(&["--studies", "5"]);
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    for part in ["75 configurations", "the default is -N1 -A1m", "regret", "hold the truth", "no difference"] {
        assert!(text.contains(part), "{text}");
    }
}

//! The code that decides how transactions are scheduled, compiled with sanitizers and run against programs that
//! commit at given rates: it finds what pays, and where nothing does, it costs next to nothing.

use testkit::sanitized;

use sanitized::compiled;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

const NONE: u64 = 0;
const BACKOFF: u64 = 1;
const LIMIT: u64 = 2;

/// The simulator; `None`, after reporting it, if nothing compiles it.
fn simulator() -> Option<&'static Path> {
    static MADE: OnceLock<Option<PathBuf>> = OnceLock::new();
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bindings/haskell-stm");
    let sources = ["tests/simulate.c", "cbits/bandit.c"].map(|file| package.join(file));
    MADE.get_or_init(|| compiled("simulate", &sources)).as_deref()
}

/// The outcome of such a program; `None` if nothing simulates it.
fn simulate(words: &str) -> Option<Value> {
    let done = Command::new(simulator()?).args(words.split(' ')).output().unwrap();
    assert!(done.status.success(), "{words}: {}", String::from_utf8_lossy(&done.stderr));
    Some(serde_json::from_slice(&done.stdout).unwrap())
}

/// `kept` is in force at the end, and at least `share` of the possible commits were made.
fn keeps(words: &str, kept: u64, share: f64) {
    let Some(shown) = simulate(words) else { return };
    assert_eq!(shown["kept"], kept, "{words}: {shown}");
    assert!(shown["share"].as_f64().unwrap() >= share, "{words}: {shown}");
}

#[test]
fn what_pays_is_found_soon() {
    // A shared integer: a quarter of the time where capabilities keep away.
    keeps("seconds=0.3 none=1.2e7 backoff=5e7 limit=3e7 noise=0.2", BACKOFF, 0.9);
    keeps("seconds=5 none=1.2e7 backoff=5e7 limit=3e7 noise=0.2", BACKOFF, 0.97);
    keeps("seconds=5 none=1e5 backoff=1e5 limit=2e5 noise=0.1", LIMIT, 0.9);
    // Small gains are kept if they are clear.
    keeps("seconds=5 none=1e6 backoff=1.15e6 limit=9e5 noise=0.02", BACKOFF, 0.97);
}

#[test]
fn what_does_not_pay_stays_off_and_is_tried_ever_more_rarely() {
    for noise in ["0", "0.05", "0.2"] {
        // A linked list: fewer attempts are lost, and yet it takes a tenth longer.
        keeps(&format!("seconds=5 none=7e5 backoff=6.3e5 limit=5e5 lost=0.3 noise={noise}"), NONE, 0.985);
    }
    // A tie goes to doing nothing.
    keeps("seconds=5 none=1e6 backoff=1e6 limit=1e6 noise=0.02", NONE, 0.99);
    let Some(shown) = simulate("seconds=20 none=7e5 backoff=3e5 limit=3e5 noise=0.1") else { return };
    let trials = shown["trials"].as_u64().unwrap();
    assert!((15..=40).contains(&trials) && shown["share"].as_f64() > Some(0.995), "{shown}");
}

#[test]
fn nothing_is_tried_where_nothing_can_be_gained() {
    let cases = ["lost=0.01", "running=1", "cpus=1", "none=500 backoff=5000 limit=5000", "none=0 backoff=0 limit=0"];
    for words in cases {
        let words = format!("seconds=2 backoff=9e6 {words}");
        let Some(shown) = simulate(&words) else { return };
        assert_eq!((&shown["kept"], &shown["trials"]), (&NONE.into(), &0.into()), "{words}: {shown}");
    }
}

#[test]
fn a_program_that_changes_is_followed() {
    keeps("seconds=10 turn=5 none=1e6 backoff=4e6 limit=1e6 noise=0.1", NONE, 0.9);
    keeps("seconds=10 turn=5 none=4e6 backoff=1e6 limit=1e6 noise=0.1", BACKOFF, 0.85);
}

#[test]
fn pauses_decide_nothing() {
    keeps("seconds=5 none=1e6 backoff=9e5 limit=8e5 noise=0.05 pause=0.05", NONE, 0.98);
    keeps("seconds=5 none=1.2e7 backoff=5e7 limit=3e7 noise=0.1 pause=0.05", BACKOFF, 0.9);
}

#[test]
fn many_capabilities_are_halved_before_one_alone_runs() {
    let Some(shown) = simulate("seconds=5 running=16 cpus=16 none=1e6 backoff=1e6 limit=3e6") else { return };
    assert_eq!(shown["kept"], LIMIT, "{shown}");
    assert_eq!(shown["limit"], 8, "{shown}");
}

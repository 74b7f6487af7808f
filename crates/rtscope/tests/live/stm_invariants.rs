//! Live: programs with transactions, linked with the package that counts and schedules them. Its counts are
//! those of the programs, and none of their invariants breaks under load, however they are scheduled.

use testkit::bindings;

use bindings::Bench;
use bindings::probe::counts_are_those_of_a_probe;
use bindings::stm::{invariants_hold, suite};
use serde_json::{Value, json};
use xtask::missing;
use xtask::stm_suite::{MODES, PROGRAMS};
use xtask::surroundings::QuotaGroup;

/// Operations of each worker.
const OPERATIONS: u64 = 24000;
const WORKERS: u64 = 8;

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("no number: {value}"))
}

/// Counts of a run, after checking what must hold for them.
fn exact(bench: &Bench, mode: &str, words: &[&str]) -> Value {
    let operations = OPERATIONS.to_string();
    let words = [&words[..1], &[operations.as_str()], &words[1..]].concat();
    let shown = bench.figures(None, &[("RTSCOPE_STM", mode)], &words);
    let about = format!("{words:?} RTSCOPE_STM={mode}: {shown}");
    let (own, counts) = (&shown["program"], &shown["counts"]);
    // 39 of 48 operations add one, once each: no update was lost.
    assert_eq!(number(&shown["shared"]), WORKERS * OPERATIONS / 48 * 39, "{about}");
    assert_eq!(own["attempts"], counts["attempts"], "{about}");
    assert_eq!(own["commits"], counts["commits"], "{about}");
    assert_eq!(own["thrown"], counts["exceptions"], "{about}");
    assert_eq!(shown["named"]["exact"], json!([own["named_attempts"], own["named_commits"]]), "{about}");
    let count = |key: &str| number(&counts[key]);
    // The runtime may condemn one that is about to wait.
    let waited = count("waits") + count("wait_conflicts");
    let asked = number(&own["retries"]);
    assert!(waited <= asked && asked <= waited + count("condemned"), "{about}");
    assert_eq!((count("waits"), count("interrupted")), (count("wakes"), 0), "{about}");
    shown
}

fn counts_are_exact(bench: &Bench) {
    for mode in MODES {
        exact(bench, mode, &["exact-threaded", "+RTS", "-N2"]);
    }
    exact(bench, "adaptive", &["exact-threaded", "+RTS", "-N4", "-C0.001"]);
    exact(bench, "nonsense", &["exact-threaded", "+RTS", "-N2"]);
    // A single capability is never delayed.
    for words in [&["exact-threaded", "+RTS", "-N1"][..], &["exact-single"]] {
        for mode in ["adaptive", "backoff", "limit=1"] {
            let counts = &exact(bench, mode, words)["counts"];
            assert_eq!(counts["decisions"].as_u64(), Some(0), "{words:?} {mode}: {counts}");
            assert_eq!((&counts["backoffs"], &counts["limited"]), (&json!(0), &json!(0)), "{words:?} {mode}: {counts}");
        }
    }
    nothing_is_decided_on_one_cpu(bench);
}

/// Capabilities that cannot run at the same time are not scheduled: none of them is waited for.
fn nothing_is_decided_on_one_cpu(bench: &Bench) {
    let pinned = ["/usr/bin/taskset", "-c", "0", "./exact-threaded", "24000", "+RTS", "-N2"];
    let shown = bench.figures(None, &[], &pinned);
    assert_eq!(shown["counts"]["decisions"], 0, "{shown}");
    let group = match QuotaGroup::new(0.5) {
        Ok(group) => group,
        Err(error) => return missing(&format!("a quota group: {error}")),
    };
    let shown = bench.figures(Some(&group), &[], &["exact-threaded", "24000", "+RTS", "-N2"]);
    assert_eq!(shown["counts"]["decisions"], 0, "{shown}");
}

fn invariants(bench: &Bench) {
    for program in PROGRAMS {
        invariants_hold(bench, "threaded", program, "adaptive", 1.0);
        invariants_hold(bench, "single", program, "adaptive", 0.5);
    }
    for mode in &MODES[1..] {
        invariants_hold(bench, "threaded", "bank", mode, 0.5);
        invariants_hold(bench, "threaded", "nest", mode, 0.5);
    }
}

/// Building it takes longer than running it: once for each compiler.
fn whole_suite(ghc: &str) {
    let Some(bench) = suite(ghc) else { return };
    counts_are_exact(&bench);
    counts_are_those_of_a_probe(&bench);
    invariants(&bench);
}

#[test]
fn live_stm_suite_of_9_0_counts_exactly_and_breaks_nothing() {
    whole_suite("ghc-9.0");
}

#[test]
fn live_stm_suite_of_9_6_counts_exactly_and_breaks_nothing() {
    whole_suite("ghc-9.6");
}

#[test]
fn live_stm_suite_of_9_10_counts_exactly_and_breaks_nothing() {
    whole_suite("ghc-9.10");
}

/// Queries the package before and after some transactions.
const ASKS: &str = testkit::source!("haskell/stm-asks/Main.hs");

/// Imports nothing, adds to a variable.
const PLAIN: &str = "import GHC.Conc\nmain :: IO ()\nmain = do { v <- newTVarIO (1 :: Int); \
    atomically (readTVar v >>= writeTVar v . (+ 1)); readTVarIO v >>= print }\n";

fn says_what_it_cannot(ghc: &str) {
    let Some(bench) = Bench::of(ghc) else { return };
    bench.write("Asks.hs", ASKS);
    bench.write("Plain.hs", PLAIN);
    bench.build_haskell();
    bench.build_package("haskell-stm");
    let text = |words: &[&str]| {
        let done = bench.run(None, &[], words);
        assert!(done.status.success(), "{words:?}: {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap()
    };
    let rows = "True,128,NamedCounts {namedAttempts = 5, namedCommits = 5, namedWaits = 0, namedExceptions = 0})";
    let counted = format!("(Counting,Plain,142,142,{rows}\n([1,1,1],[31,32],\"other\")\n");
    bench.link_packages(&["rtscope-stm"], "Asks.hs", &["-threaded"], "asks");
    assert_eq!(text(&["asks"]), counted);
    // With the other package, whose C code is in part the same; and all options twice.
    let twice: Vec<String> = std::fs::read_to_string(bindings::path("haskell-stm/rtscope-stm.cabal"))
        .unwrap()
        .split_whitespace()
        .filter(|word| word.starts_with("-Wl,"))
        .map(|word| format!("-optl{word}"))
        .collect();
    assert!(twice.len() >= 7, "{twice:?}");
    let twice: Vec<&str> = twice.iter().map(String::as_str).collect();
    bench.link_packages(&["rtscope-start", "rtscope-stm"], "Asks.hs", &twice, "both");
    assert_eq!(text(&["both"]), counted);
    bench.link_packages(&["rtscope-stm"], "Plain.hs", &["-threaded"], "plain");
    assert_eq!(text(&["plain"]), "2\n");
    // The runtime's shared library does not call the package.
    bench.link_packages(&["rtscope-stm"], "Asks.hs", &["-threaded", "-dynamic"], "dynamic");
    let nothing = counted.replace("Counting,Plain,142,142", "NotLinked,Plain,0,0").replace("= 5", "= 0");
    assert_eq!(text(&["dynamic"]), nothing.replace("[1,1,1]", "[0,0,0]"));
}

#[test]
fn live_stm_package_of_9_0_says_what_it_cannot() {
    says_what_it_cannot("ghc-9.0");
}

#[test]
fn live_stm_package_of_9_6_says_what_it_cannot() {
    says_what_it_cannot("ghc-9.6");
}

#[test]
fn live_stm_package_of_9_10_says_what_it_cannot() {
    says_what_it_cannot("ghc-9.10");
}

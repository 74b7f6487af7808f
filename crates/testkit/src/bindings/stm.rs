//! The correctness suite of counted and scheduled transactions: its programs, built by one compiler
//! with the package, threaded and not, and run under load. Owns what must hold for every run; refuses
//! to choose how long or how often to run.

use super::{Bench, bindings};
use serde_json::Value;

/// Seconds above a run's own duration until it counts as hanging.
const PATIENCE_SECONDS: u64 = 120;

/// A bench with the package and the suite's programs: `threaded` and `single` run the invariants,
/// `exact-threaded` and `exact-single` count.
pub fn suite(ghc: &str) -> Option<Bench> {
    let bench = Bench::of(ghc)?;
    bench.build_package("haskell-stm");
    let tests = bindings().join("haskell-stm/tests");
    let search = format!("-i{}", tests.display());
    for (main, prefix) in [("Invariants.hs", ""), ("Exact.hs", "exact-")] {
        let source = tests.join(main).into_os_string().into_string().unwrap();
        for (name, more) in [("threaded", &["-threaded", "-rtsopts"][..]), ("single", &["-rtsopts"])] {
            let flags = [&["-O", "-Wall", "-Werror", &search], more].concat();
            bench.link_packages(&["rtscope-stm"], &source, &flags, &format!("{prefix}{name}"));
        }
    }
    Some(bench)
}

/// Runs a program of the suite for `seconds`; `build` is `threaded` or `single`. Panics unless the
/// invariants hold and every attempt ended exactly once.
pub fn invariants_hold(bench: &Bench, build: &str, program: &str, mode: &str, seconds: f64) -> Value {
    let limit = format!("{}", seconds as u64 + PATIENCE_SECONDS);
    let path = bench.path(build).into_os_string().into_string().unwrap();
    let time = seconds.to_string();
    let mut words = vec!["/usr/bin/timeout", "-s", "KILL", &limit, &path, program, &time];
    // Time slices are a twentieth of the default, so that more switches fall into transactions.
    words.extend(["+RTS", "-C0.001", "-V0.001"]);
    if build == "threaded" {
        words.push("-N2");
    }
    let done = bench.run(None, &[("RTSCOPE_STM", mode)], &words);
    let about = format!("{program}, {build}, RTSCOPE_STM={mode}");
    let printed = [done.stdout.clone(), done.stderr].concat();
    assert!(done.status.success(), "{about}: {} {}", done.status, String::from_utf8_lossy(&printed));
    let shown: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(shown["broken"], serde_json::json!([]), "{about}: {shown}");
    assert_eq!(shown["state"], "Counting", "{about}");
    assert!(shown["counts"]["commits"].as_u64() > Some(0), "{about}: {shown}");
    println!("{about}: {}", shares(&shown));
    no_worker_starves(&shown, &about);
    shown
}

/// Each worker's share of the steps, for messages.
fn shares(shown: &Value) -> String {
    let steps: Vec<f64> = shown["steps"].as_array().unwrap().iter().map(|steps| steps.as_f64().unwrap()).collect();
    let total: f64 = steps.iter().sum();
    let share = |steps: &f64| format!("{:.1}", 100.0 * steps / total);
    format!("{total} steps, % of each worker: {}", steps.iter().map(share).collect::<Vec<_>>().join(" "))
}

fn no_worker_starves(shown: &Value, about: &str) {
    for (worker, steps) in shown["steps"].as_array().unwrap().iter().enumerate() {
        assert!(steps.as_u64() > Some(0), "{about}: worker {worker} did nothing: {shown}");
    }
}

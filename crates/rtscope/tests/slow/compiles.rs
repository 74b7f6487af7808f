//! Every program whose truth is judged compiles on every GHC; the alone tier compiles those that it runs.

use testkit::truth::ground;
use xtask::workload::{self, Language};

fn judged_programs_compile(ghc: &str) {
    let Some((runner, toolchain)) = ground(ghc) else { return };
    let judged = |workload: &workload::Workload| workload.judged && workload.language == Language::Haskell;
    let there: Vec<_> = workload::all().unwrap().into_iter().filter(judged).collect();
    assert!(there.len() > 40, "{} workloads", there.len());
    for workload in there.iter().filter(|workload| workload.compiles_on(&toolchain)) {
        assert!(workload.build(&toolchain, &runner.builds).unwrap().exists(), "{}", workload.name);
    }
}

#[test]
fn live_judged_programs_compile_on_9_0() {
    judged_programs_compile("ghc-9.0");
}

#[test]
fn live_judged_programs_compile_on_9_6() {
    judged_programs_compile("ghc-9.6");
}

#[test]
fn live_judged_programs_compile_on_9_10() {
    judged_programs_compile("ghc-9.10");
}

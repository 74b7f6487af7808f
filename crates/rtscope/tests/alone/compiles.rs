//! What the other tests of workloads run is compiled before any of them has the machine to itself.

use crate::workloads::all;
use testkit::truth::ground;
use xtask::workload;

fn compiled_on(ghc: &str) {
    let Some((runner, toolchain)) = ground(ghc) else { return };
    let names: Vec<_> = all().into_iter().filter(|(on, _)| *on == ghc).map(|(_, name)| name).collect();
    assert!(names.len() > 10, "{names:?}");
    for name in names {
        assert!(workload::load(name).unwrap().build(&toolchain, &runner.builds).unwrap().exists(), "{name}");
    }
}

#[test]
fn live_on_9_0() {
    compiled_on("ghc-9.0");
}

#[test]
fn live_on_9_6() {
    compiled_on("ghc-9.6");
}

#[test]
fn live_on_9_10() {
    compiled_on("ghc-9.10");
}

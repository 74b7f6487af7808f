//! Logs of programs whose truth other tests judge: every pause against an independent computation. Owns no
//! truth about a program; it is here because it reuses recordings, and judges no time.

use testkit::recordings;
use testkit::truth::ground;
use xtask::{verify, workload};

/// Every pause of a real log equals the independent computation, to the nanosecond.
fn pauses_equal_the_raw_log(ghc: &str, name: &str) {
    let Some((runner, toolchain)) = ground(ghc) else { return };
    let verdict = recordings::first(&workload::load(name).unwrap(), &toolchain, |outcome| {
        verify::verify(&runner.rtscope, &outcome.capture.join("eventlog/0.eventlog")).unwrap()
    });
    assert!(verdict.pauses > 10, "{} pauses", verdict.pauses);
    assert!(verdict.differences.is_empty(), "{:#?}", verdict.differences.iter().take(10).collect::<Vec<_>>());
}

#[test]
fn live_9_0_pauses_equal_the_raw_log() {
    pauses_equal_the_raw_log("ghc-9.0", "neighbour");
}

#[test]
fn live_9_6_pauses_equal_the_raw_log() {
    pauses_equal_the_raw_log("ghc-9.6", "healthy");
}

#[test]
fn live_9_10_pauses_equal_the_raw_log() {
    pauses_equal_the_raw_log("ghc-9.10", "oversubscribed");
}

//! Slow: the correctness suite of transactions, for an hour, or as many seconds as
//! `RTSCOPE_STM_SECONDS` says; an hour can be made of parts, each from the turn that
//! `RTSCOPE_STM_TURN` says. Prints each worker's share of what was done.

use testkit::bindings;

use bindings::stm::{invariants_hold, suite};
use std::time::{Duration, Instant};
use xtask::stm_suite::{MODES, PROGRAMS};

const HOUR_SECONDS: u64 = 3600;
/// Long enough for every way to be tried repeatedly, short enough for all to have their turns.
const RUN_SECONDS: f64 = 20.0;

#[test]
fn slow_stm_invariants_hold_for_an_hour() {
    let asked = |name, otherwise| std::env::var(name).map_or(otherwise, |text| text.parse().unwrap());
    let (seconds, first) = (asked("RTSCOPE_STM_SECONDS", HOUR_SECONDS), asked("RTSCOPE_STM_TURN", 0));
    let benches: Vec<_> =
        ["ghc-9.0", "ghc-9.6", "ghc-9.10"].iter().filter_map(|ghc| Some((ghc, suite(ghc)?))).collect();
    if benches.is_empty() {
        return;
    }
    let end = Instant::now() + Duration::from_secs(seconds);
    // Scheduling as users have it takes every other turn; a round has all modes.
    let turns = MODES[1..].iter().flat_map(|mode| ["adaptive", mode]).enumerate().cycle();
    for (turn, mode) in turns.skip(usize::try_from(first).unwrap()) {
        for (ghc, bench) in &benches {
            for program in PROGRAMS {
                let left = end.saturating_duration_since(Instant::now()).as_secs_f64();
                if left < 1.0 {
                    return;
                }
                let build = if turn % 4 == 3 { "single" } else { "threaded" };
                print!("turn {turn} {ghc} ");
                invariants_hold(bench, build, program, mode, RUN_SECONDS.min(left));
            }
        }
    }
}

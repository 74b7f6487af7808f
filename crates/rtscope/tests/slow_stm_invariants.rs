//! Slow: the correctness suite of transactions, for an hour, or as many seconds as
//! `RTSCOPE_STM_SECONDS` says. Prints each worker's share of what was done.

#![forbid(unsafe_code)]

mod bindings;

use bindings::stm::{MODES, PROGRAMS, invariants_hold, suite};
use std::time::{Duration, Instant};

const HOUR_SECONDS: u64 = 3600;
/// Long enough for every way to be tried again and again, short enough for all to have
/// their turns.
const RUN_SECONDS: f64 = 20.0;

#[test]
fn slow_stm_invariants_hold_for_an_hour() {
    let seconds = std::env::var("RTSCOPE_STM_SECONDS").map_or(HOUR_SECONDS, |text| text.parse().unwrap());
    let benches: Vec<_> =
        ["ghc-9.0", "ghc-9.6", "ghc-9.10"].iter().filter_map(|ghc| Some((ghc, suite(ghc)?))).collect();
    if benches.is_empty() {
        return;
    }
    let end = Instant::now() + Duration::from_secs(seconds);
    // Scheduling as users have it comes every other time; a round has them all.
    let turns = MODES[1..].iter().flat_map(|mode| ["adaptive", mode]).enumerate().cycle();
    for (turn, mode) in turns {
        for (ghc, bench) in &benches {
            for program in PROGRAMS {
                let left = end.saturating_duration_since(Instant::now()).as_secs_f64();
                if left < 1.0 {
                    return;
                }
                let build = if turn % 4 == 3 { "single" } else { "threaded" };
                print!("{ghc} ");
                invariants_hold(bench, build, program, mode, RUN_SECONDS.min(left));
            }
        }
    }
}

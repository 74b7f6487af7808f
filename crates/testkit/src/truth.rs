//! Workloads with known truth: one is recorded and reported, and its true finding must come first. Owns
//! the number of allowed misses.

use crate::{account, recordings};
use std::path::Path;
use std::time::Duration;
use xtask::cache::cache;
use xtask::missing;
use xtask::runner::{ReportedRun, Runner};
use xtask::toolchain::{Spec, Toolchain, is_root};
use xtask::truth::off;
use xtask::workload::{self, NOTHING, Workload};

/// A runner and the named toolchain; `None` if it is not installed (a message was printed).
pub fn ground(ghc: &str) -> Option<(Runner, Toolchain)> {
    let Some(toolchain) = Spec::find(ghc).unwrap().installed(&cache()) else {
        missing(&format!("{ghc}: `cargo xtask toolchains --only {ghc}`"));
        return None;
    };
    Some((Runner::new(Path::new(crate::rtscope())).unwrap(), toolchain))
}

/// If other processes take this share of all CPUs, a run is dirty, as in the truth suite.
const NOISE_MAX: f64 = 0.05;
/// Number of dirty misses that are ignored.
const DIRTY_MAX: usize = 3;

/// Workloads in which nothing else is found without their rule: if no lane runs the sparks, or one evaluates all, one lane at
/// a time has work, as in a deliberately sequential program; and if no lane has work for long, only the
/// lock's holder distinguishes this from an idle program.
const UNNAMED: [&str; 4] = ["sparks-lazy", "sparks-fizzle", "lock-asleep", "unevaluated"];

/// Other load and the host's come in spells: wait this long before a dirty run is repeated.
const SPELL: Duration = Duration::from_secs(5);

/// Id of the first finding, ignoring steal time that this machine's counters confirm, which is true of
/// any workload on a shared host; in a healthy workload, also ignoring what is known to be true.
fn first_of_the_workload<'o>(outcome: &'o ReportedRun, workload: &Workload) -> &'o str {
    let noise = &outcome.noise;
    let span = outcome.report["span_ns"].as_f64().unwrap_or(f64::INFINITY) / 1e9;
    let stolen = noise.steal * noise.seconds >= NOISE_MAX * span;
    let known = |id: &str| workload.expect == NOTHING && workload.also.iter().any(|also| also == id);
    let of_the_workload = |id: &&str| !(known(id) || stolen && *id == "host-steal");
    outcome.findings().into_iter().find(of_the_workload).unwrap_or(NOTHING)
}

/// The truth suite requires 19 hits in 20 runs, so one run may miss: then the next two must hit.
pub fn comes_first(ghc: &str, name: &str) {
    let Some((runner, toolchain)) = ground(ghc) else { return };
    let workload = workload::load(name).unwrap();
    if workload.quota_cpus.is_some() && !is_root() {
        return missing("root, for a control group with a quota");
    }
    // Whether it hit, and whether that counts.
    let judge = |outcome: &ReportedRun| {
        account::sums_up(&outcome.report);
        if workload.quota_cpus.is_some() {
            assert!(outcome.throttled_periods > Some(0), "the quota did not limit anything");
        }
        let named = workload.names.as_deref().is_none_or(|text| outcome.names(text));
        let both = workload.second.as_deref().is_none_or(|second| outcome.findings().contains(&second));
        let first = first_of_the_workload(outcome, &workload);
        let hit = first == workload.expect && named && both;
        if !hit {
            // Other load on the machine is a neighbour, which the report rightly finds.
            let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
            let (found, noise) = (outcome.findings(), &outcome.noise);
            let (others, host) = (noise.foreign * 100.0, noise.steal * 100.0);
            let claim = &outcome.report["findings"][0]["claim"];
            let parts = outcome.report["account"]["parts"].as_array().into_iter().flatten();
            let parts: Vec<String> = parts.map(|part| format!("{} {}", part["id"], part["ns"])).collect();
            eprintln!(
                "{name} on {ghc}: expected {}, found {found:?}: {claim}; account {}; of all CPUs others took {others:.0} %, the host {host:.0} %; load average {}",
                workload.expect,
                parts.join(", "),
                load.trim()
            );
        }
        if hit && workload.expect != NOTHING {
            let without = |rule: &str| runner.report_without(&outcome.capture, rule);
            let left = off::named(&outcome.report, without).unwrap();
            assert!(
                left != Some(false) || UNNAMED.contains(&name),
                "{name} on {ghc}: nothing is found without {first}"
            );
        }
        // As in the truth suite, a run during which other load was present decides nothing.
        (hit, hit || outcome.noise.taken() <= NOISE_MAX)
    };
    let (mut runs, mut dirty_left) = (0, DIRTY_MAX);
    let mut hit = || loop {
        runs += 1;
        let (hit, counts) = match runs {
            1 => recordings::first(&workload, &toolchain, judge),
            _ => recordings::another(&runner, &workload, &toolchain, judge),
        };
        if counts || dirty_left == 0 {
            break hit;
        }
        dirty_left -= 1;
        std::thread::sleep(SPELL);
    };
    assert!(hit() || (hit() && hit()), "{name} on {ghc}: {} does not come first", workload.expect);
}

/// What `judge` sees in the first recording of the workload called so, which its test judges, too; `None` where its
/// compiler is missing.
pub fn recorded<T>(ghc: &str, name: &str, judge: impl FnOnce(&Path) -> T) -> Option<T> {
    let (_, toolchain) = ground(ghc)?;
    let workload = workload::load(name).unwrap();
    if workload.quota_cpus.is_some() && !is_root() {
        return None;
    }
    Some(recordings::first(&workload, &toolchain, |outcome| judge(&outcome.capture)))
}

/// Tests by compiler: a name, and the workload whose truth it checks. `TESTED` lists all of them.
#[macro_export]
macro_rules! truths {
    ($tested:ident; $($ghc:literal: $($test:ident $name:literal),+;)+) => {
        $crate::truths! { $($ghc: $($test $name),+;)+ }
        const $tested: &[(&str, &str)] = &[$($(($ghc, $name)),+),+];
    };
    ($($ghc:literal: $($test:ident $name:literal),+;)+) => {
        $($(#[test] fn $test() { $crate::truth::comes_first($ghc, $name); })+)+
    };
}

//! Where measurements are known to beat the plan's rules: what to try, and what is known about it.
//! Owns the wording; refuses to run a trial.

use super::given::{GivenOptions, Subject};
use super::knobs::{Ghc, NURSERY, WORKERS, size};
use super::memory;
use crate::plan::workers::Room;
use crate::plan::{Plan, words};
use rtscope_model::{Rtsopts, units};

/// What is worth measuring in a GHC program; `nursery` is the planned size in bytes.
pub fn candidates(
    plan: &mut Plan,
    room: &Room,
    ghc: &Ghc,
    given: &GivenOptions,
    nursery: u64,
    memory_bytes: Option<u64>,
) {
    let workers = plan.workers;
    let threaded = ghc.threaded != Some(false);
    if given.settled(Subject::Nursery).is_none() {
        let sizes = memory::other_nurseries(workers, nursery, memory_bytes).into_iter();
        plan.try_out("-A",
            sizes.map(|bytes| NURSERY.word(size(bytes))).collect(),
            "No rule finds the best size: for one service with 1 MiB of L2 cache, -A1m, -A3m and -A128m gave a p99 of 29, \
             18 and 16 ms, so the largest won and not the one that fits the cache.",
        );
    }
    let sequential = plan.flags.iter().any(|flag| flag.flag == "-qg");
    if threaded && workers > 1 && !sequential && given.settled(Subject::Collectors).is_none() {
        plan.try_out(
            "-qg",
            vec!["-qg".to_owned()],
            "Collecting with one thread often wins where collections are short: for one service with 3 workers it took \
             p99 from 29 to 17 ms.",
        );
    }
    if threaded && given.settled(Subject::Workers).is_none() {
        let double = workers.saturating_mul(2);
        let mut tries = vec![WORKERS.word(workers.saturating_add(1)), format!("-N{double} -qg")];
        tries.dedup();
        plan.try_out(
            "-N",
            tries,
            "More workers than CPUs can pay where requests block in foreign calls: one service on 3 CPUs ended at -N6, \
             with -qg and -A128m. Under -rtsopts=some the runtime refuses more than there are CPUs.",
        );
    }
    old_generation(plan, room, ghc, given);
    let closed = matches!(ghc.rtsopts, Some(Rtsopts::None | Rtsopts::Some | Rtsopts::IgnoreAll));
    if closed && !plan.measure.is_empty() {
        plan.notes.push("Trials of such flags take a program that is linked with -rtsopts=all.".to_owned());
    }
    if threaded && given.settled(Subject::IdleCollection).is_none() {
        plan.try_out(
            "-Iw",
            vec!["-Iw60".to_owned(), "-I0".to_owned()],
            "A server with a large heap may collect all of it in each pause of 0.3 s between requests; try the longer \
             gap before you switch it off.",
        );
    }
}

fn old_generation(plan: &mut Plan, room: &Room, ghc: &Ghc, given: &GivenOptions) {
    if given.settled(Subject::OldGeneration).is_some() || ghc.version.is_some_and(|version| version < (8, 10, 0)) {
        return;
    }
    if ghc.threaded != Some(false) && room.spare(plan.workers) >= 1.0 {
        let why = "Only where collections of the old generation are the pauses that hurt: it marks concurrently with the program, which needs a CPU of its own and costs throughput; before GHC 9.12 it is slow to return memory.";
        plan.try_out("-xn", vec!["-xn".to_owned()], why);
        return;
    }
    let why = format!(
        "The non-moving collector marks concurrently with the program and needs a CPU of its own: {} and {} leave none.",
        words::count(plan.workers.into(), "worker"),
        match room.quota {
            Some(quota) if quota < f64::from(room.cpus) => format!("a quota of {}", units::of_cpus(quota)),
            _ => words::count(room.cpus.into(), "allowed CPU"),
        }
    );
    plan.refuse("-xn", None, why);
}

//! Where the plan's rules are known to be beaten: what to try and what is known.
//! Owns these words; refuses to run a trial.

use super::given::{Options, Subject};
use super::workers::Room;
use super::{Ghc, Measure, Plan, memory};
use rtscope_model::Rtsopts;

/// The command that measures.
fn command(plan: &Plan) -> String {
    format!("rtscope tune -- {}", plan.program.as_deref().unwrap_or("PROG"))
}

fn add(plan: &mut Plan, flag: &str, candidates: Vec<String>, why: String) {
    if candidates.is_empty() {
        return;
    }
    let command = command(plan);
    plan.measure.push(Measure { flag: flag.to_owned(), candidates, why, command });
}

/// What to measure of a GHC program; `nursery` is the planned size in bytes.
pub fn ghc(plan: &mut Plan, room: &Room, ghc: &Ghc, given: &Options, nursery: u64, memory_bytes: Option<u64>) {
    let workers = plan.workers;
    let threaded = ghc.threaded != Some(false);
    if given.settled(Subject::Nursery).is_none() {
        let sizes = memory::other_nurseries(workers, nursery, memory_bytes).into_iter();
        add(
            plan,
            "-A",
            sizes.map(|size| format!("-A{}", super::ghc::size(size))).collect(),
            "No rule finds the best size: for one service with 1 MiB of L2 cache, -A1m, -A3m and -A128m gave a p99 of 29, \
             18 and 16 ms, so the largest won and not the one that fits the cache."
                .to_owned(),
        );
    }
    let sequential = plan.flags.iter().any(|flag| flag.flag == "-qg");
    if threaded && workers > 1 && !sequential && given.settled(Subject::Collectors).is_none() {
        add(
            plan,
            "-qg",
            vec!["-qg".to_owned()],
            "Collecting with one thread often wins where collections are short: for one service with 3 workers it took \
             p99 from 29 to 17 ms."
                .to_owned(),
        );
    }
    if threaded && given.settled(Subject::Workers).is_none() {
        let double = workers.saturating_mul(2);
        let mut tries = vec![format!("-N{}", workers.saturating_add(1)), format!("-N{double} -qg")];
        tries.dedup();
        add(
            plan,
            "-N",
            tries,
            "More workers than CPUs can pay where requests block in foreign calls: one service on 3 CPUs ended at -N6, \
             with -qg and -A128m. Under -rtsopts=some the runtime refuses more than there are CPUs."
                .to_owned(),
        );
    }
    old_generation(plan, room, ghc, given);
    let closed = matches!(ghc.rtsopts, Some(Rtsopts::None | Rtsopts::Some | Rtsopts::IgnoreAll));
    if closed && !plan.measure.is_empty() {
        plan.notes.push("Trials of such flags take a program that is linked with -rtsopts=all.".to_owned());
    }
    if threaded && given.settled(Subject::IdleCollection).is_none() {
        add(
            plan,
            "-Iw",
            vec!["-Iw60".to_owned(), "-I0".to_owned()],
            "A server with a large heap may collect all of it in each pause of 0.3 s between requests; try the longer \
             gap before you switch it off."
                .to_owned(),
        );
    }
}

fn old_generation(plan: &mut Plan, room: &Room, ghc: &Ghc, given: &Options) {
    if given.settled(Subject::OldGeneration).is_some() || ghc.version.is_some_and(|version| version < (8, 10, 0)) {
        return;
    }
    if ghc.threaded != Some(false) && room.spare(plan.workers) >= 1.0 {
        let why = "Only where collections of the old generation are the pauses that hurt: it marks beside the program, \
                   which needs a CPU of its own and costs throughput; before GHC 9.12 it is slow to return memory.";
        add(plan, "-xn", vec!["-xn".to_owned()], why.to_owned());
        return;
    }
    let why = format!(
        "The non-moving collector marks beside the program and needs a CPU of its own: {} and {} leave none.",
        super::words::count(plan.workers.into(), "worker"),
        match room.quota {
            Some(quota) if quota < f64::from(room.cpus) =>
                format!("a quota of {}", rtscope_model::units::of_cpus(quota)),
            _ => super::words::count(room.cpus.into(), "allowed CPU"),
        }
    );
    plan.refuse("-xn", None, why);
}

/// What to measure of an OCaml program; `minor` is the planned size in words.
pub fn ocaml(plan: &mut Plan, minor: u64, memory_bytes: Option<u64>) {
    let sizes = memory::other_minor_heaps(plan.workers, minor, memory_bytes).into_iter();
    let candidates = sizes.map(|size| format!("s={}", super::ocaml::words(size))).collect();
    let why = "The minor heap sets how often all domains are stopped, and the best size depends on the program: of one with \
               4 domains on 2 CPUs, 256k words took 10.9 s and 8M words 0.47 s; another was fastest with 256k and three \
               times slower with 32M.";
    add(plan, "s", candidates, why.to_owned());
}

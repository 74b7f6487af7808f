//! The plan for a GHC program: which flags, with which reasons. Owns the order and the spelling of
//! flags; other modules own sizes, numbers of workers and acceptance.

use super::given::{GivenOptions, LINK, Subject};
use super::knobs::{DIALECT, Ghc, size};
use super::{accept, measure, memory, relink};
use crate::plan::workers::{Room, source_of};
use crate::plan::{Flag, Goal, Plan, words};
use crate::runtime::Given;
use rtscope_model::resources::Resources;
use rtscope_model::{Confidence, Rtsopts, units};

/// Fills in `plan` for a program with this link.
pub fn plan(plan: &mut Plan, resources: &Resources, room: &Room, ghc: &Ghc, given: &Given) {
    let options = GivenOptions::of(ghc, given);
    let cpus = room.found_by_the_runtime(plan.goal);
    plan.kept = options.kept(cpus);
    let wanted_workers = room.workers(plan.goal);
    plan.workers = match (ghc.threaded, options.workers(cpus)) {
        (Some(false), _) => 1,
        (_, Some(number)) => number,
        (_, None) => wanted_workers,
    };
    let open = |subject| options.settled(subject).is_none();
    let mut wanted = Vec::new();
    wanted.extend(open(Subject::Workers).then(|| workers(room, plan.goal, wanted_workers)));
    wanted.extend(open(Subject::Collectors).then(|| collectors(room, plan.workers)).flatten());
    let (nursery, flag) = nursery(plan, resources, ghc);
    wanted.extend(flag.filter(|_| open(Subject::Nursery)));
    wanted.extend(open(Subject::HeapLimit).then(|| heap_limit(plan, resources)).flatten());
    wanted.extend(open(Subject::Numa).then(|| numa(plan, resources, ghc)).flatten());
    let all_words: Vec<String> = wanted.iter().map(|flag| plan.word(&flag.flag, flag.value.as_deref())).collect();
    let all = take_what_is_accepted(plan, ghc, wanted);
    plan.relink = relink::advice(ghc, &all_words, !all);
    plan.refuse("-qa", None, about_pinning(resources, plan.workers));
    measure::candidates(plan, room, ghc, &options, nursery, resources.memory_limit_bytes);
    plan.set(given.variable(&DIALECT).split_ascii_whitespace().map(str::to_owned));
    notes(plan, ghc, &options, given);
}

fn workers(room: &Room, goal: Goal, number: u32) -> Flag {
    Flag::new("-N", Some(number.to_string()), room.reason(goal), room.source(goal), room.confidence(goal))
}

fn collectors(room: &Room, workers: u32) -> Option<Flag> {
    let number = room.collectors(workers);
    if number >= workers {
        return None;
    }
    let value = (number > 1).then(|| number.to_string());
    let flag = if value.is_some() { "-qn" } else { "-qg" };
    let (reason, source) = (room.reason_of_collectors(workers), room.source(Goal::Latency));
    Some(Flag::new(flag, value, reason, source, Confidence::Medium))
}

/// The planned nursery size in bytes, and its flag; none if it is the version's default.
fn nursery(plan: &mut Plan, resources: &Resources, ghc: &Ghc) -> (u64, Option<Flag>) {
    let default = memory::nursery_default(ghc.version);
    let wanted = memory::nursery_wanted(plan.goal, default);
    let limit = resources.memory_limit_bytes;
    let chosen = memory::NURSERIES.choose(plan.workers, wanted, limit);
    let total = chosen.size.saturating_mul(plan.workers.into());
    let of_memory = limit.map(|limit| format!("the {} of memory", units::bytes(limit)));
    if chosen.too_large {
        plan.notes.push(format!(
            "{} with nurseries of 1 MiB take {}, more than a fifth of {}: the process needs more memory or fewer workers.",
            words::count(plan.workers.into(), "worker"),
            units::bytes(total),
            of_memory.as_deref().unwrap_or("memory")
        ));
    }
    if Some(chosen.size) == default {
        return (chosen.size, None);
    }
    let share = of_memory
        .map_or_else(|| "how much memory there is could not be read".to_owned(), |of| chosen.share("a fifth", &of));
    let why = match plan.goal {
        Goal::Latency | Goal::Throughput => "a larger nursery is collected less often",
        Goal::Memory => "small, as the version's own default is",
    };
    let each = words::each(&units::bytes(chosen.size), plan.workers, "worker", total);
    let reason = format!("{why}; {each}: {share}.");
    let (value, source) = (Some(size(chosen.size)), chosen.source(resources));
    (chosen.size, Some(Flag::new("-A", value, capital(&reason), source, Confidence::Medium)))
}

fn heap_limit(plan: &mut Plan, resources: &Resources) -> Option<Flag> {
    let limit = resources.memory_limit_bytes.filter(|_| resources.memory_limited)?;
    let path = resources.memory_limit_path.as_deref().unwrap_or("a control group");
    let Some(mib) = memory::heap_limit_mib(limit) else {
        plan.notes.push(format!(
            "The limit of {} in {path} leaves less than 64 MiB for the heap after what is not heap: no -M is planned, and it is \
             the kernel that acts when the limit is passed.",
            units::bytes(limit)
        ));
        return None;
    };
    let back = units::bytes(limit.saturating_sub(mib << 20));
    let reason = format!(
        "Past {} ({path}) the kernel kills the program or slows it down; {mib} MiB of heap leave {back} for the rest. \
         Near its own limit the runtime compacts, which takes longer, and past it the program gets an exception.",
        units::bytes(limit)
    );
    Some(Flag::new("-M", Some(format!("{mib}m")), reason, path.to_owned(), Confidence::Medium))
}

fn numa(plan: &mut Plan, resources: &Resources, ghc: &Ghc) -> Option<Flag> {
    let nodes = resources.numa_nodes;
    if nodes < 2 || ghc.threaded == Some(false) {
        return None;
    }
    if plan.workers < nodes {
        let why = format!("{} are fewer than {nodes} NUMA nodes.", words::count(plan.workers.into(), "worker"));
        plan.refuse("--numa", None, why);
        return None;
    }
    let why = match ghc.numa {
        Some(true) => {
            let reason = format!(
                "The allowed CPUs lie on {nodes} NUMA nodes, and there are {}: each gets its memory from its own node.",
                words::count(plan.workers.into(), "worker")
            );
            let source =
                source_of(resources, &["CPUs of node"]).unwrap_or_else(|| "the kernel's NUMA nodes".to_owned());
            return Some(Flag::new("--numa", None, reason, source, Confidence::Low));
        }
        Some(false) => "The program's runtime is built without NUMA, or it may not be used here: it would not start.",
        None => "Whether the program's runtime is built with NUMA is not known; without, it would not start.",
    };
    plan.refuse("--numa", None, why);
    None
}

/// Moves the accepted flags into the plan; returns whether all were accepted.
fn take_what_is_accepted(plan: &mut Plan, ghc: &Ghc, wanted: Vec<Flag>) -> bool {
    let mut all = true;
    for flag in wanted {
        match accept::refusal(ghc, &flag.flag) {
            None => plan.flags.push(flag),
            Some(why) => {
                let why = format!("{why} {}", flag.reason);
                plan.refuse(flag.flag, flag.value, why);
                all = false;
            }
        }
    }
    all
}

fn about_pinning(resources: &Resources, workers: u32) -> &'static str {
    if resources.cpus_allowed.iter().copied().eq(0..workers) {
        "-qa pins worker i to CPU i, i + N, … by number: here that is the mask as it is, but it binds for good what the \
         kernel can balance."
    } else {
        "-qa pins worker i to CPU i, i + N, … by number, whatever the mask is: only where that is exactly CPUs 0 to N-1 \
         would the workers stay on what they are given."
    }
}

fn notes(plan: &mut Plan, ghc: &Ghc, options: &GivenOptions, given: &Given) {
    if ghc.rtsopts.is_none() {
        let why = "The program is stripped: what its link allows cannot be read, so no flags are set for it.";
        plan.unknown = Some(why.to_owned());
    }
    let mut note = |text: String| plan.notes.push(text);
    if ghc.assumed {
        note(
            "No program was named: this is for one that is linked with -threaded and -rtsopts=all. Name it, and what it \
             accepts is read from its file."
                .to_owned(),
        );
    }
    if options.automatic {
        note(format!(
            "{LINK} has a bare -N: as many workers as there are CPUs, hyper-threads counted and quotas not. The plan's -N \
             is that number as it should be; your own -N in GHCRTS or after +RTS still wins."
        ));
    }
    if ghc.rtsopts == Some(Rtsopts::Ignore) && !given.arguments.is_empty() {
        note(
            "The program is linked with -rtsopts=ignore: it takes GHCRTS, but +RTS on its command line is its own."
                .to_owned(),
        );
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

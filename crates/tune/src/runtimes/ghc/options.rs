//! What can be tried of a GHC program. Owns its settings, their levels and today's values; `accept`
//! decides what the program accepts, the rules decide what conflicts.

use super::given::{COMMAND_LINE, GivenOptions, Subject};
use super::knobs::*;
use super::{accept, memory};
use crate::dialect::{What, Words, number};
use crate::options::part::{Dimension, SpacePart, plain};
use crate::options::start::counts;
use crate::plan::workers::Room;
use crate::plan::{Goal, KeptOption, Refused};
use crate::runtime::Wish;

const MIB: u64 = 1 << 20;
/// Nursery sizes that form a product with the other settings.
const NURSERIES: [u64; 5] = [MIB, 4 * MIB, 16 * MIB, 64 * MIB, 256 * MIB];
/// Sizes in between.
const MORE_NURSERIES: [u64; 6] = [256 << 10, 512 << 10, 2 * MIB, 8 * MIB, 32 * MIB, 128 * MIB];
/// The nursery of the third base, if it fits in memory.
const ROOMY: u64 = 64 * MIB;

/// The settings, the flags that the program does not accept, and the options that the user gave.
pub fn part(wish: &Wish<'_>, room: &Room, ghc: &Ghc) -> SpacePart {
    let options = GivenOptions::of(ghc, &wish.program.given);
    let cpus = room.found_by_the_runtime(Goal::Throughput);
    let today = today(ghc, &options, cpus);
    let memory = options.words().filter(|word| DIALECT.knob(word) == Some(&HEAP_LIMIT)).filter_map(number).last();
    let mut part = SpacePart { kept: kept(&options, wish.vary_given), memory, ..SpacePart::default() };
    let settled = |subject| part.kept.iter().any(|kept| Subject::of(&kept.option) == Some(subject));
    let subject = |of: &Dimension| of.product.iter().chain(&of.single).find_map(|word| Subject::of(word));
    let open = |dimension: &Dimension| !subject(dimension).is_some_and(settled);
    let (mut taken, refused): (Vec<_>, Vec<_>) =
        dimensions(wish, room, &today).into_iter().filter(open).partition(|of| refusal(ghc, of).is_none());
    for flag in refused.iter().flat_map(|of| of.name.split(", ").map(move |flag| (of.what, flag))) {
        let why = refused_flag(ghc, flag.0, flag.1).unwrap_or_default();
        part.refused.push(Refused { flag: flag.1.to_owned(), value: None, why });
    }
    if taken.iter().any(|dimension| dimension.what == &NURSERY) {
        let limit = [wish.resources.memory_limit_bytes, memory].into_iter().flatten().min();
        let roomy = memory::NURSERIES.choose(wish.plan.workers, ROOMY, limit).size;
        part.roomy = Some((&NURSERY, format!("-A{}", size(roomy))));
    }
    only_what_is_open(&mut taken, wish);
    part.dimensions = taken;
    part.today = today;
    part
}

/// Removes from bases what the program does not accept or its user settled.
fn only_what_is_open(dimensions: &mut [Dimension], wish: &Wish<'_>) {
    let mut open: Vec<What> = dimensions.iter().map(|of| of.what).collect();
    open.extend(wish.plan.words().filter_map(|word| DIALECT.knob(&word)));
    for base in dimensions.iter_mut().flat_map(|of| &mut of.bases) {
        base.retain(|what, _| open.contains(what));
    }
}

/// The user's options that stay: all of them, or, if given options are varied, those on the command
/// line, which override any environment.
fn kept(options: &GivenOptions, vary_given: bool) -> Vec<KeptOption> {
    let settled = Subject::all().filter_map(|subject| options.settled(subject));
    let stays = settled.filter(|(_, from)| !vary_given || *from == COMMAND_LINE);
    stays
        .map(|(option, from)| KeptOption {
            option: option.to_owned(),
            from,
            means: "It stays in every trial.".to_owned(),
        })
        .collect()
}

/// Values in effect without a word: the user's options, else the runtime's defaults.
fn today(ghc: &Ghc, options: &GivenOptions, cpus: u32) -> Words {
    let nursery = memory::nursery_default(ghc.version).map(|bytes| (&NURSERY, format!("-A{}", size(bytes))));
    let mut today: Words = nursery.into_iter().collect();
    for (what, word) in [(&GENERATIONS, "-G2"), (&FACTOR, "-F2"), (&IDLE, "-I0.3"), (&SWITCHING, "-C0.02")] {
        today.insert(what, word.to_owned());
    }
    today.extend(options.words().filter_map(|word| Some((DIALECT.knob(word)?, word.to_owned()))));
    let workers = match options.workers(cpus) {
        _ if ghc.threaded == Some(false) => 1,
        Some(workers) => workers,
        None if options.automatic => cpus,
        None => 1,
    };
    today.insert(&WORKERS, format!("-N{workers}"));
    today
}

fn refusal(ghc: &Ghc, dimension: &Dimension) -> Option<String> {
    dimension.name.split(", ").find_map(|flag| refused_flag(ghc, dimension.what, flag))
}

fn refused_flag(ghc: &Ghc, what: What, flag: &str) -> Option<String> {
    if what == &IDLE && ghc.threaded == Some(false) {
        return Some("Only the threaded runtime collects when the program is idle.".to_owned());
    }
    accept::refusal(ghc, flag)
}

fn dimensions(wish: &Wish<'_>, room: &Room, today: &Words) -> Vec<Dimension> {
    let of = |what: What, name, why: &str, product: Vec<String>, single: Vec<String>| Dimension {
        product,
        single,
        ..Dimension::new(what, name, why)
    };
    let product = |what, name, why: &str, levels| of(what, name, why, levels, Vec::new());
    let single = |what, name, why: &str, levels: &[&str]| {
        of(what, name, why, Vec::new(), levels.iter().map(|word| (*word).to_owned()).collect())
    };
    let sizes = |sizes: &[u64]| sizes.iter().map(|bytes| NURSERY.word(size(*bytes))).collect();
    let workers = counts(room).into_iter().map(|count| WORKERS.word(count)).collect();
    let threads = format!("How many threads run Haskell at once. {}", room.reason(wish.plan.goal));
    let why = "How much each worker allocates between collections: a larger nursery is collected less often, a smaller one \
               stays in the caches.";
    let nursery = of(&NURSERY, "-A", why, sizes(&NURSERIES), sizes(&MORE_NURSERIES));
    let why = "How many threads collect: they wait for each other, and for the one that has lost its CPU. -qg: one.";
    let collectors = product(&COLLECTORS, "-qg, -qn", why, collectors(room));
    let why = "The old generation marked concurrently with the program: shorter pauses, less throughput.";
    let nonmoving = product(&OLD_GENERATION, "--nonmoving-gc", why, vec!["--nonmoving-gc".to_owned()]);
    let why = "The old generation compacted in place: less memory, more time.";
    let compaction = product(&COMPACTION, "-c", why, vec!["-c".to_owned()]);
    let why =
        "Pieces in which nurseries are handed out, so that a capability that allocates more gets more before all stop.";
    let chunk =
        Dimension { bases: bases_of_chunks(wish, room, today), ..single(&CHUNK, "-n", why, &["-n256k", "-n1m"]) };
    let why = "A heap to start with: bare, nurseries grow into what the last full collection took.";
    let heap = single(&HEAP, "-H", why, &["-H", "-H256m"]);
    let why = "Generations: with one each collection is a full one, with three less is copied again.";
    let generations =
        Dimension { bases: bases_of_generations(wish, today), ..single(&GENERATIONS, "-G", why, &["-G1", "-G3"]) };
    let why = "How far the old generation grows before it is collected: memory for time.";
    let factor = single(&FACTOR, "-F", why, &["-F1.5", "-F4"]);
    let why = "Seconds of idleness after which everything is collected; 0: never.";
    let idle = single(&IDLE, "-I", why, &["-I0", "-I5"]);
    let why = "Seconds after which a worker turns to its next Haskell thread.";
    let switching = single(&SWITCHING, "-C", why, &["-C0.005", "-C0.1"]);
    let workers = product(&WORKERS, "-N", &threads, workers);
    vec![workers, collectors, nursery, nonmoving, compaction, chunk, heap, generations, factor, idle, switching]
}

fn collectors(room: &Room) -> Vec<String> {
    let most = room.collectors(u32::MAX);
    let mut counts = vec![most / 2, most];
    counts.retain(|count| *count > 1);
    counts.dedup();
    std::iter::once("-qg".to_owned()).chain(counts.into_iter().map(|count| format!("-qn{count}"))).collect()
}

/// Today's configuration, the plan, and the plan with each other collector of the old generation.
fn bases_of_generations(wish: &Wish<'_>, today: &Words) -> Vec<Words> {
    let plan: Words = wish.plan.words().filter_map(|word| Some((DIALECT.knob(&word)?, word))).collect();
    let with = |what, word: &str| {
        let mut words = plan.clone();
        words.insert(what, word.to_owned());
        plain(words, today)
    };
    let plain = plain(plan.clone(), today);
    vec![Words::new(), plain, with(&OLD_GENERATION, "--nonmoving-gc"), with(&COMPACTION, "-c")]
}

/// Bases with several workers and nurseries large enough to split into chunks.
fn bases_of_chunks(wish: &Wish<'_>, room: &Room, today: &Words) -> Vec<Words> {
    let mut workers = vec![wish.plan.workers, room.workers(Goal::Throughput)];
    workers.dedup();
    let base = |workers: &u32, nursery: u64| {
        let words = [(&WORKERS, format!("-N{workers}")), (&NURSERY, format!("-A{}", size(nursery)))];
        plain(Words::from(words), today)
    };
    workers.iter().flat_map(|count| [4 * MIB, 8 * MIB].map(|nursery| base(count, nursery))).collect()
}

//! What can be tried of a GHC program. Owns its settings, their levels and what holds without
//! them; what the program takes is `accept`'s to say, what goes together the rules'.

use super::build::Dimension;
use super::start::counts;
use super::what::{self, What, Words, size};
use super::{Part, Wish};
use crate::plan::given::{COMMAND_LINE, Options, Subject};
use crate::plan::workers::Room;
use crate::plan::{Ghc, Goal, Kept, Refused, accept, memory};

const MIB: u64 = 1 << 20;
/// Nurseries whose product with the rest is taken.
const NURSERIES: [u64; 5] = [MIB, 4 * MIB, 16 * MIB, 64 * MIB, 256 * MIB];
/// Nurseries in between.
const MORE_NURSERIES: [u64; 6] = [256 << 10, 512 << 10, 2 * MIB, 8 * MIB, 32 * MIB, 128 * MIB];
/// The nursery of the third base, where memory has room for it.
const ROOMY: u64 = 64 * MIB;

/// The settings, with what the program does not take and what the user gave.
pub fn part(wish: &Wish<'_>, room: &Room, ghc: &Ghc) -> Part {
    let options = Options::of(ghc, &wish.program.given);
    let cpus = room.found_by_the_runtime(Goal::Throughput);
    let today = today(ghc, &options, cpus);
    let memory = options.words().filter(|word| What::of(word) == Some(What::HeapLimit)).filter_map(what::number).last();
    let mut part = Part { kept: kept(&options, wish.vary_given), memory, ..Part::default() };
    let settled = |subject| part.kept.iter().any(|kept| Subject::of(&kept.option) == Some(subject));
    let open = |dimension: &Dimension| !settled(subject(dimension.what));
    let (mut taken, refused): (Vec<_>, Vec<_>) =
        dimensions(wish, room, &today).into_iter().filter(open).partition(|of| refusal(ghc, of).is_none());
    for flag in refused.iter().flat_map(|of| of.name.split(", ").map(move |flag| (of.what, flag))) {
        let why = refused_flag(ghc, flag.0, flag.1).unwrap_or_default();
        part.refused.push(Refused { flag: flag.1.to_owned(), value: None, why });
    }
    if taken.iter().any(|dimension| dimension.what == What::Nursery) {
        let limit = [wish.resources.memory_limit_bytes, memory].into_iter().flatten().min();
        let roomy = memory::nursery(wish.plan.workers, ROOMY, limit).size;
        part.roomy = Some((What::Nursery, format!("-A{}", size(roomy))));
    }
    only_what_is_open(&mut taken, wish);
    part.dimensions = taken;
    part.today = today;
    part
}

/// Takes from bases what the program does not take or its user settled.
fn only_what_is_open(dimensions: &mut [Dimension], wish: &Wish<'_>) {
    let mut open: Vec<What> = dimensions.iter().map(|of| of.what).collect();
    open.extend(wish.plan.words().filter_map(|word| What::of(&word)));
    for base in dimensions.iter_mut().flat_map(|of| &mut of.bases) {
        base.retain(|what, _| open.contains(what));
    }
}

/// What the user gave and keeps: all of it, or, where that is to be varied, what stands on the
/// command line, over which no environment wins.
fn kept(options: &Options, vary_given: bool) -> Vec<Kept> {
    const ALL: [Subject; 9] = [
        Subject::Workers,
        Subject::Collectors,
        Subject::Nursery,
        Subject::HeapLimit,
        Subject::Numa,
        Subject::OldGeneration,
        Subject::IdleCollection,
        Subject::OldGenerationSize,
        Subject::Switching,
    ];
    let settled = ALL.into_iter().filter_map(|subject| options.settled(subject));
    let stays = settled.filter(|(_, from)| !vary_given || *from == COMMAND_LINE);
    stays
        .map(|(option, from)| Kept { option: option.to_owned(), from, means: "It stays in every trial.".to_owned() })
        .collect()
}

fn subject(what: What) -> Subject {
    match what {
        What::Workers => Subject::Workers,
        What::Collectors => Subject::Collectors,
        What::Generations | What::OldGeneration | What::Compaction => Subject::OldGeneration,
        What::Factor => Subject::OldGenerationSize,
        What::Idle => Subject::IdleCollection,
        What::Switching => Subject::Switching,
        What::HeapLimit => Subject::HeapLimit,
        What::Numa => Subject::Numa,
        _ => Subject::Nursery,
    }
}

/// What holds without a word: what the user gave, else what the runtime has by itself.
fn today(ghc: &Ghc, options: &Options, cpus: u32) -> Words {
    let nursery = memory::nursery_default(ghc.version).map(|bytes| (What::Nursery, format!("-A{}", size(bytes))));
    let mut today: Words = nursery.into_iter().collect();
    for (what, word) in
        [(What::Generations, "-G2"), (What::Factor, "-F2"), (What::Idle, "-I0.3"), (What::Switching, "-C0.02")]
    {
        today.insert(what, word.to_owned());
    }
    today.extend(options.words().filter_map(|word| Some((What::of(word)?, word.to_owned()))));
    let workers = match options.workers(cpus) {
        _ if ghc.threaded == Some(false) => 1,
        Some(workers) => workers,
        None if options.automatic => cpus,
        None => 1,
    };
    today.insert(What::Workers, format!("-N{workers}"));
    today
}

fn refusal(ghc: &Ghc, dimension: &Dimension) -> Option<String> {
    dimension.name.split(", ").find_map(|flag| refused_flag(ghc, dimension.what, flag))
}

fn refused_flag(ghc: &Ghc, what: What, flag: &str) -> Option<String> {
    if what == What::Idle && ghc.threaded == Some(false) {
        return Some("Only the threaded runtime collects when the program is idle.".to_owned());
    }
    accept::refusal(ghc, flag)
}

fn dimensions(wish: &Wish<'_>, room: &Room, today: &Words) -> Vec<Dimension> {
    let words = |prefix: &str, sizes: &[u64]| sizes.iter().map(|bytes| format!("{prefix}{}", size(*bytes))).collect();
    let plain = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let dimension = |what, name, why: &str, product, single| Dimension {
        what,
        name,
        why: why.to_owned(),
        product,
        single,
        bases: Vec::new(),
    };
    let workers = counts(room).into_iter().map(|count| format!("-N{count}")).collect();
    let nobody = Vec::new;
    let mut all = vec![
        dimension(
            What::Workers,
            "-N",
            &format!("How many threads run Haskell at once. {}", room.reason(wish.plan.goal)),
            workers,
            nobody(),
        ),
        dimension(
            What::Collectors,
            "-qg, -qn",
            "How many threads collect: they wait for each other, and for whoever has lost its CPU. -qg: one.",
            collectors(room),
            nobody(),
        ),
        dimension(
            What::Nursery,
            "-A",
            "How much each worker allocates between collections: a larger nursery is collected less often, a smaller one \
             stays in the caches.",
            words("-A", &NURSERIES),
            words("-A", &MORE_NURSERIES),
        ),
        dimension(
            What::OldGeneration,
            "--nonmoving-gc",
            "The old generation marked beside the program: shorter pauses, less throughput.",
            plain(&["--nonmoving-gc"]),
            nobody(),
        ),
        dimension(
            What::Compaction,
            "-c",
            "The old generation compacted in place: less memory, more time.",
            plain(&["-c"]),
            nobody(),
        ),
        dimension(
            What::Chunk,
            "-n",
            "Pieces in which nurseries are handed out, so that whoever allocates more gets more before all stop.",
            nobody(),
            plain(&["-n256k", "-n1m"]),
        ),
        dimension(
            What::Heap,
            "-H",
            "A heap to start with: bare, nurseries grow into what the last full collection took.",
            nobody(),
            plain(&["-H", "-H256m"]),
        ),
        dimension(
            What::Generations,
            "-G",
            "Generations: with one each collection is a full one, with three less is copied again.",
            nobody(),
            plain(&["-G1", "-G3"]),
        ),
        dimension(
            What::Factor,
            "-F",
            "How far the old generation grows before it is collected: memory for time.",
            nobody(),
            plain(&["-F1.5", "-F4"]),
        ),
        dimension(
            What::Idle,
            "-I",
            "Seconds of idleness after which everything is collected; 0: never.",
            nobody(),
            plain(&["-I0", "-I5"]),
        ),
        dimension(
            What::Switching,
            "-C",
            "Seconds after which a worker turns to its next Haskell thread.",
            nobody(),
            plain(&["-C0.005", "-C0.1"]),
        ),
    ];
    for of in &mut all {
        match of.what {
            What::Chunk => of.bases = bases_of_chunks(wish, room, today),
            What::Generations => of.bases = bases_of_generations(wish, today),
            _ => {}
        }
    }
    all
}

fn collectors(room: &Room) -> Vec<String> {
    let most = room.collectors(u32::MAX);
    let mut counts = vec![most / 2, most];
    counts.retain(|count| *count > 1);
    counts.dedup();
    std::iter::once("-qg".to_owned()).chain(counts.into_iter().map(|count| format!("-qn{count}"))).collect()
}

/// Today's, the plan, and the plan with each other collector of the old generation.
fn bases_of_generations(wish: &Wish<'_>, today: &Words) -> Vec<Words> {
    let plan: Words = wish.plan.words().filter_map(|word| Some((What::of(&word)?, word))).collect();
    let with = |what, word: &str| {
        let mut words = plan.clone();
        words.insert(what, word.to_owned());
        super::build::plain(words, today)
    };
    let plain = super::build::plain(plan.clone(), today);
    vec![Words::new(), plain, with(What::OldGeneration, "--nonmoving-gc"), with(What::Compaction, "-c")]
}

/// Several workers with nurseries that can be cut.
fn bases_of_chunks(wish: &Wish<'_>, room: &Room, today: &Words) -> Vec<Words> {
    let mut workers = vec![wish.plan.workers, room.workers(Goal::Throughput)];
    workers.dedup();
    let base = |workers: &u32, nursery: u64| {
        let words = [(What::Workers, format!("-N{workers}")), (What::Nursery, format!("-A{}", size(nursery)))];
        super::build::plain(Words::from(words), today)
    };
    workers.iter().flat_map(|count| [4 * MIB, 8 * MIB].map(|nursery| base(count, nursery))).collect()
}

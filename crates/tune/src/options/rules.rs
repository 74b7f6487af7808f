//! Which words do not go together, before anything is run: what the runtime refuses, what it
//! drops without effect, what does not fit the machine. Read from the option parsers of GHC
//! 9.0, 9.6 and 9.10, and seen in their programs. Owns the rules and their words.

use super::what::{View, What};
use crate::plan::memory;
use rtscope_model::Rtsopts;
use rtscope_model::units;

const MIB: u64 = 1 << 20;
/// From this nursery on chunks are worth their name.
const CHUNKS_FROM: u64 = 4 * MIB;
/// From this nursery on the runtime sets chunks of 4 MiB itself.
const CHUNKS_UNTIL: u64 = 16 * MIB;

/// What of the machine and the program the rules go by.
#[derive(Copy, Clone, Debug, Default)]
pub struct Bounds {
    /// Bytes that the program may have.
    pub memory: Option<u64>,
    /// CPUs that it may run on.
    pub cpus: u32,
    /// Which options a GHC program takes.
    pub rtsopts: Option<Rtsopts>,
}

/// The words that do not go together, and why.
pub type Broken = (Vec<String>, String);

/// The first rule that `view` breaks.
pub fn broken(view: &View<'_>, bounds: &Bounds) -> Option<Broken> {
    let rules = [old_generation, collectors, chunks, workers, nurseries, heap, minor_heaps, narrow];
    rules.into_iter().find_map(|rule| rule(view, bounds))
}

fn because(view: &View<'_>, whats: &[What], why: &str) -> Option<Broken> {
    Some((view.named(whats), why.to_owned()))
}

fn old_generation(view: &View<'_>, _: &Bounds) -> Option<Broken> {
    let nonmoving = matches!(view.word(What::OldGeneration), Some("--nonmoving-gc" | "-xn" | "-xns"));
    let compacting = view.word(What::Compaction).is_some();
    if nonmoving && compacting {
        let why = "The runtime refuses: an old generation is either compacted or not moved.";
        return because(view, &[What::OldGeneration, What::Compaction], why);
    }
    if view.number(What::Generations) != Some(1) {
        return None;
    }
    if nonmoving {
        let why =
            "The runtime aborts: the non-moving collector is for the old generation, and one generation has none.";
        return because(view, &[What::OldGeneration, What::Generations], why);
    }
    let why = "With one generation the runtime drops -c, with a warning: it would be -G1 alone.";
    compacting.then(|| because(view, &[What::Compaction, What::Generations], why)).flatten()
}

fn collectors(view: &View<'_>, bounds: &Bounds) -> Option<Broken> {
    let word = view.words.get(&What::Collectors)?;
    let workers = view.count(What::Workers)?;
    let both = [What::Workers, What::Collectors];
    if workers == 1 {
        return because(view, &both, "One worker collects alone: there is nothing to share or to switch off.");
    }
    let threads = word.strip_prefix("-qn").and_then(super::what::number)?;
    if threads >= u64::from(workers.min(bounds.cpus)) {
        return because(view, &both, "No more threads collect than there are workers and CPUs: that is the default.");
    }
    None
}

fn chunks(view: &View<'_>, _: &Bounds) -> Option<Broken> {
    let chunk = number_of(view, What::Chunk)?;
    let nursery = view.number(What::Nursery)?;
    let both = [What::Nursery, What::Chunk];
    if nursery >= CHUNKS_UNTIL {
        return because(view, &both, "From -A16m on the runtime sets -n4m itself and does not say so.");
    }
    if nursery < CHUNKS_FROM {
        return because(view, &both, "A nursery below 4 MiB is too small to be handed out in chunks.");
    }
    if chunk >= nursery {
        return because(view, &both, "A chunk as large as the nursery is no chunk.");
    }
    if view.count(What::Workers) == Some(1) {
        return because(
            view,
            &[What::Workers, What::Chunk],
            "Chunks are shared among workers: one has nobody to share with.",
        );
    }
    None
}

fn workers(view: &View<'_>, bounds: &Bounds) -> Option<Broken> {
    let workers = number_of(view, What::Workers)?;
    if bounds.rtsopts == Some(Rtsopts::Some) && workers > u64::from(bounds.cpus) {
        let why = "The program is linked with -rtsopts=some: the runtime then refuses more workers than CPUs.";
        return because(view, &[What::Workers], why);
    }
    None
}

fn nurseries(view: &View<'_>, bounds: &Bounds) -> Option<Broken> {
    let workers = view.count(What::Workers).unwrap_or(1);
    let nursery = view.number(What::Nursery)?;
    let memory = bounds.memory?;
    let own = view.words.contains_key(&What::Workers) || view.words.contains_key(&What::Nursery);
    if own && !memory::nurseries_fit(workers, nursery, Some(memory)) {
        let why = format!("The nurseries would take more than a fifth of {}.", units::bytes(memory));
        return because(view, &[What::Workers, What::Nursery], &why);
    }
    None
}

fn heap(view: &View<'_>, bounds: &Bounds) -> Option<Broken> {
    let heap = number_of(view, What::Heap)?;
    let memory = bounds.memory?;
    if !memory::nurseries_fit(1, heap, Some(memory)) {
        let why = format!("The heap would be at least a fifth of {} from the start.", units::bytes(memory));
        return because(view, &[What::Heap], &why);
    }
    None
}

fn minor_heaps(view: &View<'_>, bounds: &Bounds) -> Option<Broken> {
    let words = number_of(view, What::MinorHeap)?;
    let memory = bounds.memory?;
    let limits = [view.count(What::Domains), view.count(What::MostDomains)];
    let domains = limits.into_iter().flatten().min().unwrap_or(1);
    if !memory::minor_heaps_fit(domains, words, Some(memory)) {
        let why = format!("The minor heaps would take more than a tenth of {}.", units::bytes(memory));
        let which = if view.word(What::Domains).is_some() { What::Domains } else { What::MostDomains };
        return because(view, &[which, What::MinorHeap], &why);
    }
    None
}

fn narrow(view: &View<'_>, _: &Bounds) -> Option<Broken> {
    let cpus = view.count(What::Cpus)?;
    for (what, one) in [(What::Workers, "workers"), (What::Domains, "domains")] {
        if view.count(what).is_some_and(|workers| workers > cpus) {
            let why = format!("More {one} than CPUs would only queue for them.");
            return because(view, &[what, What::Cpus], &why);
        }
    }
    None
}

/// The number of a word that the configuration itself has.
fn number_of(view: &View<'_>, what: What) -> Option<u64> {
    super::what::number(view.words.get(&what)?)
}

//! Which words conflict, known before any run: what the runtime refuses, what it ignores, what does
//! not fit the machine. Derived from the option parsers of GHC 9.0, 9.6 and 9.10, and checked with
//! their programs. Owns the rules and their wording.

use super::knobs::*;
use super::memory::NURSERIES;
use crate::dialect::number;
use crate::options::part::{Bounds, Broken, View};
use rtscope_model::Rtsopts;
use rtscope_model::units;

const MIB: u64 = 1 << 20;
/// Smallest nursery that is worth splitting into chunks.
const CHUNKS_FROM: u64 = 4 * MIB;
/// Smallest nursery that the runtime splits into chunks of 4 MiB by default.
const CHUNKS_UNTIL: u64 = 16 * MIB;

/// The first rule that `view` breaks.
pub fn broken(view: &View<'_>, bounds: &Bounds, ghc: &Ghc) -> Option<Broken> {
    let rules = [old_generation, collectors, chunks, workers, nurseries, heap];
    rules.into_iter().find_map(|rule| rule(view, bounds, ghc))
}

fn old_generation(view: &View<'_>, _: &Bounds, _: &Ghc) -> Option<Broken> {
    let nonmoving = matches!(view.word(&OLD_GENERATION), Some("--nonmoving-gc" | "-xn" | "-xns"));
    let compacting = view.word(&COMPACTION).is_some();
    if nonmoving && compacting {
        let why = "The runtime refuses: an old generation is either compacted or not moved.";
        return view.because(&[&OLD_GENERATION, &COMPACTION], why);
    }
    if view.number(&GENERATIONS) != Some(1) {
        return None;
    }
    if nonmoving {
        let why =
            "The runtime aborts: the non-moving collector is for the old generation, and one generation has none.";
        return view.because(&[&OLD_GENERATION, &GENERATIONS], why);
    }
    let why = "With one generation the runtime drops -c, with a warning: it would be -G1 alone.";
    compacting.then(|| view.because(&[&COMPACTION, &GENERATIONS], why)).flatten()
}

fn collectors(view: &View<'_>, bounds: &Bounds, _: &Ghc) -> Option<Broken> {
    let word = view.words.get(&COLLECTORS)?;
    let workers = view.count(&WORKERS)?;
    let both = [&WORKERS, &COLLECTORS];
    if workers == 1 {
        return view.because(&both, "One worker collects alone: there is nothing to share or to switch off.");
    }
    let threads = word.strip_prefix("-qn").and_then(number)?;
    if threads >= u64::from(workers.min(bounds.cpus)) {
        return view.because(&both, "No more threads collect than there are workers and CPUs: that is the default.");
    }
    None
}

fn chunks(view: &View<'_>, _: &Bounds, _: &Ghc) -> Option<Broken> {
    let chunk = view.own_number(&CHUNK)?;
    let nursery = view.number(&NURSERY)?;
    let both = [&NURSERY, &CHUNK];
    if nursery >= CHUNKS_UNTIL {
        return view.because(&both, "From -A16m on the runtime sets -n4m itself and does not say so.");
    }
    if nursery < CHUNKS_FROM {
        return view.because(&both, "A nursery below 4 MiB is too small to be handed out in chunks.");
    }
    if chunk >= nursery {
        return view.because(&both, "A chunk as large as the nursery is no chunk.");
    }
    if view.count(&WORKERS) == Some(1) {
        return view.because(&[&WORKERS, &CHUNK], "Chunks are shared among workers: one has none to share with.");
    }
    None
}

fn workers(view: &View<'_>, bounds: &Bounds, ghc: &Ghc) -> Option<Broken> {
    let workers = view.own_number(&WORKERS)?;
    if ghc.rtsopts == Some(Rtsopts::Some) && workers > u64::from(bounds.cpus) {
        let why = "The program is linked with -rtsopts=some: the runtime then refuses more workers than CPUs.";
        return view.because(&[&WORKERS], why);
    }
    None
}

fn nurseries(view: &View<'_>, bounds: &Bounds, _: &Ghc) -> Option<Broken> {
    let workers = view.count(&WORKERS).unwrap_or(1);
    let nursery = view.number(&NURSERY)?;
    let memory = bounds.memory?;
    let own = view.words.contains_key(&WORKERS) || view.words.contains_key(&NURSERY);
    if own && !NURSERIES.fit(workers, nursery, Some(memory)) {
        let why = format!("The nurseries would take more than a fifth of {}.", units::bytes(memory));
        return view.because(&[&WORKERS, &NURSERY], &why);
    }
    None
}

fn heap(view: &View<'_>, bounds: &Bounds, _: &Ghc) -> Option<Broken> {
    let heap = view.own_number(&HEAP)?;
    let memory = bounds.memory?;
    if !NURSERIES.fit(1, heap, Some(memory)) {
        let why = format!("The heap would be at least a fifth of {} from the start.", units::bytes(memory));
        return view.because(&[&HEAP], &why);
    }
    None
}

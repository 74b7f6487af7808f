//! `blocked-in-kernel`: pauses are long because of kernel work: page faults of a heap that grows or was given back,
//! memory that is given back, reads from a disk.
//!
//! Cost: wall-clock time inside pauses, in three parts that do not overlap: waits for lanes whose thread was in the
//! kernel on a CPU; the share of collection work that samples found in the kernel; time in which a thread that serves
//! a lane was blocked in the kernel. A collector thread that yields because it has no work is left out.

use super::{
    COLLECT, Cost, Facts, Rule, SAMPLES_SURE, STOP, Verdict, evidence, found_in, longest, needs, stopped_late, sure,
};
use crate::kernel::code::{SampledWaits, called};
use rtscope_model::code::{FIRST_TOUCH, PAGE_FAULT};
use rtscope_model::units::duration;
use rtscope_model::{Cause, CodeKind, Evidence, Figure, Remedy, Setting, SymbolId};
use std::collections::BTreeMap;

pub(super) static RULE: Rule = Rule {
    id: "blocked-in-kernel",
    explains: &["collecting", "standing-still", "kept"],
    order: 90,
    needs: Some(&needs::CODE),
    yields_to: &["long-major-gc", "fork-pause"],
    share_min: 0.05,
    why: "every machine has a little of it",
    check,
    ..Rule::BLANK
};

const FAULTS: &str = "fewer page faults, and this finding is gone";

/// The parts of the cost, nanoseconds.
struct KernelCost {
    /// Waits for a lane whose thread was on a CPU in the kernel.
    waits: u64,
    /// Collection work in the kernel.
    work: u64,
    /// Time in which threads of lanes were blocked.
    blocked: u64,
}

impl KernelCost {
    fn of(facts: &Facts<'_>) -> KernelCost {
        let collects = facts.code.map(|code| &code.collects);
        // Threads work in parallel: no more than the share of the wall clock, and no more than the samples found.
        let work = collects.map_or(0, |collects| {
            let kernel = collects.part_ns(CodeKind::Kernel).min(collects.sampled_ns(CodeKind::Kernel));
            (kernel as f64 * (1.0 - unavoidable(facts, collects))) as u64
        });
        let blocked = facts.held.map_or(0, |held| held.blocked.ns());
        // Samples miss most short waits: as in `late-safepoint`.
        let stops = facts.code.map_or(0, |code| code.stops.part_ns(CodeKind::Kernel));
        KernelCost { waits: facts.paused_ns(Cause::InKernel).max(stops), work, blocked }
    }

    fn sum(&self) -> u64 {
        self.waits + self.work + self.blocked
    }
}

/// The share of the kernel's work for collections that touched memory which the program had not had before: it needs
/// each page once, whatever its settings. Entering the kernel is shared out among faults of every kind.
fn unavoidable(facts: &Facts<'_>, collects: &SampledWaits) -> f64 {
    let Some(given_back) = facts.given_back else { return 0.0 };
    let source = |id: SymbolId| facts.symbols.get(id).source.as_deref();
    let faults = collects.found_ns(|id| facts.symbols.get(id).is_fault()) as f64;
    let of_a_kind = faults - collects.found_ns(|id| source(id) == Some(PAGE_FAULT)) as f64;
    let first = collects.found_ns(|id| source(id) == Some(FIRST_TOUCH)) as f64 * (1.0 - given_back);
    let kernel = collects.sampled_ns(CodeKind::Kernel) as f64;
    if first > 0.0 { first / of_a_kind * faults / kernel } else { 0.0 }
}

fn check(facts: &Facts<'_>) -> Option<Verdict> {
    let parts = KernelCost::of(facts);
    let samples = facts.code.map_or(0, |code| code.collects.samples);
    let sure = sure(samples >= SAMPLES_SURE || parts.work * 2 < parts.sum());
    let waits = facts.code.map(|code| if parts.waits >= parts.work { &code.stops } else { &code.collects });
    let most = waits.and_then(|waits| most(facts, &waits.top(CodeKind::Kernel)));
    let verdict = Verdict::new(Cost::Time(parts.sum().min(facts.span_ns)), sure, "Pauses waited for the kernel for ")
        .then(most.map_or(".".to_owned(), |most| format!(", most of it for {most}.")));
    Some(verdict.seen(seen(facts, &parts)).remedies(remedies(facts, &parts)))
}

/// What the kernel did most: by the thread's entry path if that is known, else by the kernel function.
fn most(facts: &Facts<'_>, places: &[(SymbolId, u64)]) -> Option<String> {
    let mut entries: BTreeMap<&str, u64> = BTreeMap::new();
    for (id, ns) in places {
        let symbol = facts.symbols.get(*id);
        let entry = if symbol.is_fault() { PAGE_FAULT } else { symbol.source.as_deref().unwrap_or(called(symbol)) };
        *entries.entry(entry).or_default() += ns;
    }
    let (entry, _) = entries.into_iter().max_by_key(|entry| entry.1)?;
    Some(if entry == PAGE_FAULT { "page faults".to_owned() } else { format!("`{entry}`") })
}

fn seen(facts: &Facts<'_>, parts: &KernelCost) -> Vec<Evidence> {
    let mut seen = Vec::new();
    if let Some(collects) = facts.code.map(|code| &code.collects).filter(|_| parts.work > 0) {
        let found = found_in(facts, collects, CodeKind::Kernel, "the kernel");
        let worked = duration(collects.lengths.ns);
        seen.push(facts.overall(format!("{} collections worked for {worked}: {found}.", collects.lengths.count)));
    }
    if let Some(stops) = facts.code.map(|code| &code.stops).filter(|stops| stops.sampled_ns(CodeKind::Kernel) > 0) {
        seen.push(stopped_late(facts, stops, CodeKind::Kernel, "the kernel"));
    }
    if let Some((minor, major)) = facts.counters.faults() {
        seen.push(facts.overall(format!(
            "The program's threads took {minor} page faults that found memory and {major} that read from a disk, {:.0} \
             a second.",
            facts.per_second(minor + major)
        )));
    }
    if let Some(held) = facts.held.filter(|_| parts.blocked > 0) {
        let (nouns, time) = (facts.runtime.lane.1, duration(parts.blocked));
        let text = format!("Threads of {nouns} were blocked in the kernel during {time} of pauses.");
        seen.push(evidence(text, held.blocked.pieces.longest));
    }
    seen.extend(longest(facts, Cause::InKernel, " for a thread in the kernel"));
    seen.extend(longest(facts, Cause::BlockedInKernel, " for a thread blocked in the kernel"));
    seen
}

fn remedies(facts: &Facts<'_>, parts: &KernelCost) -> Vec<Remedy> {
    let (stop, collect) = (Figure { shows: FAULTS, ..STOP }, Figure { shows: FAULTS, ..COLLECT });
    let program = [
        Remedy::new(
            "Keep memory instead of getting it anew: pages that were touched before are there, each new one costs a \
             page fault. Reuse large buffers, or fill them before others wait.",
        )
        .falls(stop),
        Remedy::new("Where malloc gets them: let it keep what is freed.")
            .set(Setting::variables([("MALLOC_MMAP_MAX_", "0"), ("MALLOC_TRIM_THRESHOLD_", "-1")]))
            .falls(stop),
    ];
    let knobs = &facts.runtime.knobs;
    let at_once = knobs.return_at_once.filter(|flag| facts.context.options().any(|option| option == *flag));
    let lazily = at_once.map(|flag| {
        let text = format!("Leave {flag} out: the kernel then takes memory back only when it needs it.");
        Remedy::new(text).falls(collect)
    });
    let heap = facts.lines.levels(facts.end).heap_bytes.map(|heap| heap.max).filter(|bytes| *bytes > 0);
    let sized = heap.and_then(|bytes| facts.runtime.heap_size_flag(bytes)).map(|size| {
        let text = "Name a heap size to keep to: the runtime uses what is free of it for allocation, collects less \
                    often and copies less into new pages.";
        Remedy::new(text).set(size).falls(collect)
    });
    let runtime = lazily.into_iter().chain(sized);
    match parts.waits >= parts.work {
        true => program.into_iter().chain(runtime).collect(),
        false => runtime.chain(program).collect(),
    }
}

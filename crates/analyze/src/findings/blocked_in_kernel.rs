//! `blocked-in-kernel`: pauses are long because the kernel works for them: page
//! faults of a heap that grows or was given back, memory that is given back, reads
//! from a disk.
//!
//! Cost: wall-clock time inside pauses, of three parts that do not overlap: lanes
//! waited for while their thread was in the kernel on a CPU; the share of collection
//! work that samples found in the kernel; time in which a thread that serves a lane
//! was blocked there. A collector thread that yields because it has no work is left
//! out.

use super::{Cost, Facts, Rule, STOP, Verdict, blind_to_code, evidence, found_in, longest};
use crate::kernel::code::{CodeSamples, LATE_MIN_NS, called};
use crate::results::BlamedPause;
use rtscope_model::runtimes::GHC;
use rtscope_model::units::{duration, percent};
use rtscope_model::{Cause, CodeKind, Confidence, Evidence, Metric, Names, Remedy, SymbolId};
use std::collections::BTreeMap;

const SHARE_MIN: f64 = 0.05;
/// So many samples are more than chance.
const SAMPLES_SURE: u64 = 5;
/// Where the sum of collection work stands in `report --json`.
const COLLECT: &str = "pauses.collect_ns.sum";
/// The runtime's flag that makes it give memory back so that it has to be found again.
const RETURN_AT_ONCE: &str = "--disable-delayed-os-memory-return";

pub(super) struct BlockedInKernel;

/// The parts of the cost, nanoseconds.
struct Parts {
    /// Waits for a lane whose thread was on a CPU in the kernel.
    waits: u64,
    /// Collection work in the kernel.
    work: u64,
    /// Threads of lanes blocked.
    blocked: u64,
}

impl Parts {
    fn of(facts: &Facts<'_>) -> Parts {
        let collects = facts.code.map(CodeSamples::collects);
        // Threads work side by side: not more than the share of the wall clock, and
        // not more than was found.
        let work = collects
            .map_or(0, |collects| collects.part_ns(CodeKind::Kernel).min(collects.sampled_ns(CodeKind::Kernel)));
        let blocked = facts.held.map_or(0, |held| held.blocked.ns());
        // Short waits are mostly not hit: as in `late-safepoint`.
        let stops = facts.code.map_or(0, |code| code.stops().part_ns(CodeKind::Kernel));
        Parts { waits: facts.paused_ns(Cause::InKernel).max(stops), work, blocked }
    }

    fn sum(&self) -> u64 {
        self.waits + self.work + self.blocked
    }
}

impl Rule for BlockedInKernel {
    fn id(&self) -> &'static str {
        "blocked-in-kernel"
    }

    fn blind(&self, facts: &Facts<'_>) -> Option<String> {
        blind_to_code(facts)
    }

    fn check(&self, facts: &Facts<'_>) -> Option<Verdict> {
        let parts = Parts::of(facts);
        if facts.share(parts.sum()) < SHARE_MIN {
            return None;
        }
        let samples = facts.code.map_or(0, |code| code.collects().samples);
        let sure = samples >= SAMPLES_SURE || parts.work * 2 < parts.sum();
        Some(Verdict {
            confidence: if sure { Confidence::High } else { Confidence::Medium },
            cost: Cost::Time(parts.sum().min(facts.span_ns)),
            evidence: seen(facts, &parts),
            remedies: remedies(facts, &parts),
        })
    }

    fn summary(&self, facts: &Facts<'_>, verdict: &Verdict) -> String {
        let parts = Parts::of(facts);
        let waits = facts.code.map(|code| if parts.waits >= parts.work { code.stops() } else { code.collects() });
        let most = waits.and_then(|waits| most(facts, &waits.top(CodeKind::Kernel)));
        let most = most.map_or(String::new(), |most| format!(", most of it for {most}"));
        format!(
            "Pauses waited for the kernel for {} of {} ({}){most}.",
            duration(verdict.cost_ns()),
            duration(facts.span_ns),
            percent(facts.share(verdict.cost_ns()))
        )
    }

    fn yields_to(&self) -> &'static [&'static str] {
        &["long-major-gc", "fork-pause"]
    }

    fn instance(&self, blamed: &BlamedPause, _: &Names) -> Option<String> {
        let inside = |cause| matches!(cause, Cause::InKernel | Cause::BlockedInKernel);
        let pieces = blamed.causes.iter().filter(|piece| inside(piece.cause));
        let ns: u64 = pieces.clone().map(|piece| piece.ns()).sum();
        let longest = pieces.max_by_key(|piece| piece.ns())?;
        let lane = longest.lane.map_or("a lane".to_owned(), |lane| format!("lane {lane}"));
        Some(format!("The world waited {} while {lane} was in the kernel.", duration(ns)))
    }
}

/// What the kernel did most: by the door that the thread came through, where that is
/// known, else by the function that it was in.
fn most(facts: &Facts<'_>, places: &[(SymbolId, u64)]) -> Option<String> {
    let mut doors: BTreeMap<&str, u64> = BTreeMap::new();
    for (id, ns) in places {
        let symbol = facts.symbols.get(*id);
        *doors.entry(symbol.source.as_deref().unwrap_or(called(symbol))).or_default() += ns;
    }
    let (door, _) = doors.into_iter().max_by_key(|door| door.1)?;
    Some(if door == "page fault" { "page faults".to_owned() } else { format!("`{door}`") })
}

fn seen(facts: &Facts<'_>, parts: &Parts) -> Vec<Evidence> {
    let mut seen = Vec::new();
    if let Some(collects) = facts.code.map(CodeSamples::collects).filter(|_| parts.work > 0) {
        let text = format!(
            "{} collections worked for {}: {}.",
            collects.count,
            duration(collects.ns),
            found_in(facts, collects, CodeKind::Kernel, "the kernel")
        );
        seen.push(evidence(text, Some((facts.started, facts.end))));
    }
    if let Some(stops) = facts.code.map(CodeSamples::stops).filter(|stops| stops.sampled_ns(CodeKind::Kernel) > 0) {
        let text = format!(
            "The world waited {} for a lane that was on a CPU, where that took {} and more: {}.",
            duration(stops.ns),
            duration(LATE_MIN_NS),
            found_in(facts, stops, CodeKind::Kernel, "the kernel")
        );
        seen.push(evidence(text, stops.longest.map(|piece| (piece.from, piece.to))));
    }
    if let Some((minor, major)) = facts.counters.faults() {
        let per_second = (minor + major) as f64 / (facts.span_ns.max(1) as f64 / 1e9);
        let text = format!(
            "The program's threads took {minor} page faults that found memory and {major} that read from a disk, {per_second:.0} \
             a second."
        );
        seen.push(evidence(text, Some((facts.started, facts.end))));
    }
    if let Some(held) = facts.held.filter(|_| parts.blocked > 0) {
        let text = format!("Threads of lanes were blocked in the kernel during {} of pauses.", duration(parts.blocked));
        seen.push(evidence(text, held.blocked.longest));
    }
    seen.extend(longest(facts, Cause::InKernel, " for a lane in the kernel"));
    seen.extend(longest(facts, Cause::BlockedInKernel, " for a lane blocked in the kernel"));
    seen
}

fn remedies(facts: &Facts<'_>, parts: &Parts) -> Vec<Remedy> {
    let verify = "Record again: fewer page faults, and this finding is gone.".to_owned();
    let mut program = [
        Remedy {
            text: "Keep memory instead of getting it anew: pages that were touched before are there, each new one costs a page \
                   fault. Reuse large buffers, or fill them before others wait."
                .into(),
            flag: None,
            verify: verify.clone(),
            metric: Metric::falls(STOP),
        },
        Remedy {
            text: "Where malloc gets them: let it keep what is freed.".into(),
            flag: Some("MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=-1 PROGRAM".into()),
            verify: verify.clone(),
            metric: Metric::falls(STOP),
        },
    ]
    .to_vec();
    let mut runtime = vec![Remedy {
        text: "Name a heap size to keep to: the runtime uses what is free of it for allocation, collects less often and copies \
               less into new pages."
            .into(),
        flag: Some("+RTS -HSIZE".into()),
        verify: verify.clone(),
        metric: Metric::falls(COLLECT),
    }];
    if *facts.runtime != GHC {
        runtime.clear();
    }
    if facts.context.runtime.args.iter().any(|arg| arg == RETURN_AT_ONCE) {
        let text = format!("Leave {RETURN_AT_ONCE} out: the kernel then takes memory back only when it needs it.");
        runtime.insert(0, Remedy { text, flag: None, verify, metric: Metric::falls(COLLECT) });
    }
    let (first, second) =
        if parts.waits >= parts.work { (&mut program, &mut runtime) } else { (&mut runtime, &mut program) };
    first.append(second);
    std::mem::take(first)
}

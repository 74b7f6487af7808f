//! Diagnosis rules: one file each, each with three voices. `check` looks at the
//! sums and says yes or no, with cost, evidence and remedies; `summary` is the
//! sentence of the report; `instance` is a sentence for one pause.
//!
//! Owns the rules' shape, order and thresholds in common. Refuses to count a
//! moment for two causes: the holders of a CPU are exclusive by construction
//! (see `blame`), with a quota before a neighbour.

mod asked_gc;
mod blackhole_or_lock;
mod blocked_in_kernel;
mod cpu_throttled;
mod explicit_gc;
mod fork_pause;
mod heap;
mod host_steal;
mod idle_domain;
mod idle_gc;
mod late_release;
mod late_safepoint;
mod leadership_contention;
mod long_major_gc;
mod oversubscribed;
mod parallel_gc_not_paying;
mod preempted;
mod remembered_set;
mod small_minor_heap;
mod small_nursery;
mod stm_contention;
mod tracer_disturbance;
mod unsafe_foreign_call;

use crate::blame::held::Held;
use crate::collector::allocation::Allocation;
use crate::collector::collections::Collections;
use crate::collector::tracer::Disturbance;
use crate::kernel::code::{CodeSamples, Waits, called};
use crate::kernel::samples::{Counters, QuotaTotal};
use crate::memory::lines::Lines;
use crate::pauses::sums::Sums;
use crate::program::green::GreenThreads;
use crate::recording::Context;
use crate::results::stm::Transactions;
use crate::results::{BlamedPause, Checked, Forks, Outcome};
use crate::runtimes::ghc::triggers::Triggers;
use crate::runtimes::ocaml::answers::Answers;
use crate::runtimes::ocaml::leadership::Leadership;
use rtscope_model::heap::Heap;
use rtscope_model::units::duration;
use rtscope_model::{
    Cause, CodeKind, Confidence, Evidence, Finding, GroupId, NameId, Names, Remedy, RuntimeInfo, Severity, SymbolId,
    Symbols, Time,
};
use std::collections::{BTreeMap, BTreeSet};

/// Cost below which nothing is reported, whatever its share: a person does not
/// feel it, and a recording of a second would report a single scheduling slice.
const COST_MIN_NS: u64 = 10_000_000;
/// The same for memory: less is noise beside a runtime's own tables and areas.
const COST_MIN_BYTES: u64 = 32 << 20;

/// Places in the code told in a piece of evidence.
const CODE_NAMED_MAX: usize = 3;

/// Where the sum of times to stop stands in `report --json`.
const STOP: &str = "pauses.time_to_stop_ns.sum";
/// And the wall-clock union of pauses.
const PAUSED: &str = "pauses.total_ns";

/// What rules look at.
pub(crate) struct Facts<'a> {
    pub context: &'a Context,
    pub names: &'a Names,
    pub span_ns: u64,
    pub started: Time,
    pub end: Time,
    /// Lanes switched on at the end.
    pub lanes: usize,
    /// Whose words and flags are used.
    pub runtime: &'static RuntimeInfo,
    /// Waits to become leader.
    pub leadership: &'a Leadership,
    /// What single lanes cost collections.
    pub answers: &'a Answers,
    pub sums: &'a Sums,
    /// What held the program off its CPUs; `None` without usable kernel events.
    pub held: Option<&'a Held>,
    /// Names of the recorder's own threads: what they take is the tracer's cost.
    pub recorder: BTreeSet<NameId>,
    /// Kernel events say what ran instead of a thread that waits.
    pub names_next: bool,
    /// Names of code; only the unknown one where nothing was sampled.
    pub symbols: &'a Symbols,
    /// Where the code was; `None`: not sampled.
    pub code: Option<&'a CodeSamples>,
    /// The recorder's counters.
    pub counters: &'a Counters,
    /// What writing the log cost.
    pub disturbance: &'a Disturbance,
    /// Memory lines.
    pub lines: &'a Lines,
    /// What lanes allocate.
    pub allocation: &'a Allocation,
    /// What collections were like.
    pub collections: &'a Collections,
    /// Why collections were asked for.
    pub triggers: &'a Triggers,
    /// Green threads, where the log has them.
    pub green: &'a GreenThreads,
    /// Its transactions; `None`: nobody looked at their counts.
    pub transactions: Option<&'a Transactions>,
    /// CPU time of lanes outside pauses, by number; empty: not told.
    pub lane_cpu: BTreeMap<u16, u64>,
    /// Looks at the heap, in time order.
    pub heaps: &'a [Heap],
    /// Counters of quotas over the whole recording.
    pub quotas: Vec<(GroupId, QuotaTotal)>,
}

impl Facts<'_> {
    fn share(&self, ns: u64) -> f64 {
        if self.span_ns > 0 { (ns as f64 / self.span_ns as f64).min(1.0) } else { 0.0 }
    }

    /// Pause time waited for because of `cause`.
    fn paused_ns(&self, cause: Cause) -> u64 {
        self.sums.cause_total(cause).map_or(0, |total| total.ns)
    }
}

/// What something costs.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub(crate) enum Cost {
    /// Wall-clock time, nanoseconds.
    Time(u64),
    /// Resident bytes, and how many there are in all.
    Memory { bytes: u64, of: u64 },
}

/// A rule's yes.
pub(crate) struct Verdict {
    pub confidence: Confidence,
    pub cost: Cost,
    pub evidence: Vec<Evidence>,
    pub remedies: Vec<Remedy>,
}

impl Verdict {
    /// Wall-clock time; 0 where it costs memory.
    fn cost_ns(&self) -> u64 {
        match self.cost {
            Cost::Time(ns) => ns,
            Cost::Memory { .. } => 0,
        }
    }

    /// Resident bytes; 0 where it costs time.
    fn cost_bytes(&self) -> u64 {
        match self.cost {
            Cost::Time(_) => 0,
            Cost::Memory { bytes, .. } => bytes,
        }
    }
}

/// The runtimes of which a rule can be true.
#[derive(Copy, Clone, Debug)]
pub(crate) enum Runtimes {
    /// Any that stops the world, also one that is not known.
    All,
    /// This one.
    Only(&'static RuntimeInfo),
}

impl Runtimes {
    fn have(self, runtime: &RuntimeInfo) -> bool {
        match self {
            Runtimes::All => true,
            Runtimes::Only(one) => one == runtime,
        }
    }
}

/// One diagnosis.
pub(crate) trait Rule {
    /// Its stable name.
    fn id(&self) -> &'static str;
    /// The runtimes of which it can be true.
    fn runtimes(&self) -> Runtimes {
        Runtimes::All
    }
    /// Why it cannot be checked on this recording; `None` where it can.
    fn blind(&self, facts: &Facts<'_>) -> Option<String>;
    /// It is blind unless `record` was asked for more than usual: nothing was missed then.
    fn optional(&self) -> bool {
        false
    }
    /// Whether it holds, over the whole recording.
    fn check(&self, facts: &Facts<'_>) -> Option<Verdict>;
    /// The claim.
    fn summary(&self, facts: &Facts<'_>, verdict: &Verdict) -> String;
    /// Rules that explain the same time better: where one of them finds at least half
    /// of this one's cost, this one is silent. A cause has one name.
    fn yields_to(&self) -> &'static [&'static str] {
        &[]
    }
    /// The sentence for one pause in which it showed; `None` where it did not.
    fn instance(&self, blamed: &BlamedPause, names: &Names) -> Option<String>;
}

/// One line each, in the order in which `instance` is asked.
#[rustfmt::skip]
const RULES: &[&dyn Rule] = &[
    &cpu_throttled::CpuThrottled,
    &preempted::Preempted,
    &late_release::LateRelease,
    &idle_domain::IdleDomain,
    &fork_pause::ForkPause,
    &oversubscribed::Oversubscribed,
    &unsafe_foreign_call::UnsafeForeignCall,
    &late_safepoint::LateSafepoint,
    &blocked_in_kernel::BlockedInKernel,
    &host_steal::HostSteal,
    &tracer_disturbance::TracerDisturbance,
    &long_major_gc::LongMajorGc,
    &parallel_gc_not_paying::ParallelGcNotPaying,
    &remembered_set::RememberedSet,
    &small_nursery::SmallNursery,
    &small_minor_heap::SmallMinorHeap,
    &leadership_contention::LeadershipContention,
    &idle_gc::IdleGc,
    &explicit_gc::ExplicitGc,
    &asked_gc::AskedGc,
    &heap::PINNED_RETENTION,
    &heap::LARGE_OBJECTS,
    &heap::BLOCK_FRAGMENTATION,
    &heap::MEMORY_NOT_RETURNED,
    &heap::COPY_RESERVE,
    &heap::NotTheHaskellHeap,
    &blackhole_or_lock::BlackholeOrLock,
    &stm_contention::StmContention,
];

/// The rules that can be true of the runtime that was recorded.
fn rules<'a>(facts: &Facts<'_>) -> impl Iterator<Item = &'a &'static dyn Rule> + use<'a> {
    let runtime = facts.runtime;
    RULES.iter().filter(move |rule| rule.runtimes().have(runtime))
}

/// Every finding, most costly first; empty: nothing found. A quota that ran out in
/// most of its periods comes before all: in such a period the program got all that
/// it may have, so a neighbour did not make it less.
pub(crate) fn run(facts: &Facts<'_>) -> Vec<Finding> {
    let finding = |rule: &&dyn Rule| {
        let verdict = rule.check(facts)?;
        let (share, matters) = match verdict.cost {
            Cost::Time(ns) => (facts.share(ns), ns >= COST_MIN_NS),
            Cost::Memory { bytes, of } => ((bytes as f64 / of.max(1) as f64).min(1.0), bytes >= COST_MIN_BYTES),
        };
        if !matters {
            return None;
        }
        Some(Finding {
            id: rule.id().to_owned(),
            severity: severity(share),
            confidence: verdict.confidence,
            claim: rule.summary(facts, &verdict),
            cost_ns: verdict.cost_ns(),
            cost_bytes: matches!(verdict.cost, Cost::Memory { .. }).then(|| verdict.cost_bytes()),
            share,
            evidence: verdict.evidence,
            remedies: verdict.remedies,
        })
    };
    let mut findings: Vec<Finding> = rules(facts).filter_map(finding).collect();
    let costs: Vec<(String, u64)> = findings.iter().map(|found| (found.id.clone(), cost(found))).collect();
    findings.retain(|found| !explained(found, &costs));
    let quota_first = cpu_throttled::limits(facts);
    // Time and memory have the share in common.
    findings.sort_by(|one, other| {
        let first = |finding: &Finding| quota_first && finding.id == cpu_throttled::ID;
        first(other).cmp(&first(one)).then(other.share.total_cmp(&one.share)).then(cost(other).cmp(&cost(one)))
    });
    findings
}

/// What it costs, in nanoseconds or bytes.
fn cost(finding: &Finding) -> u64 {
    finding.cost_bytes.unwrap_or(finding.cost_ns)
}

/// Whether a rule that `found`'s yields to covers at least half of its cost.
fn explained(found: &Finding, costs: &[(String, u64)]) -> bool {
    let rule = RULES.iter().find(|rule| rule.id() == found.id);
    let better = rule.map_or(&[][..], |rule| rule.yields_to());
    costs.iter().any(|(id, better_cost)| better.contains(&id.as_str()) && better_cost.saturating_mul(2) >= cost(found))
}

/// What each rule came to, in the rules' order.
pub(crate) fn checked(facts: &Facts<'_>, findings: &[Finding]) -> Vec<Checked> {
    let one = |rule: &&dyn Rule| {
        let id = rule.id();
        let why = rule.blind(facts);
        let outcome = match &why {
            _ if findings.iter().any(|finding| finding.id == id) => Outcome::Found,
            Some(_) if rule.optional() => Outcome::NotAsked,
            Some(_) => Outcome::CouldNotLook,
            None => Outcome::Clear,
        };
        Checked { id, outcome, why: why.filter(|_| outcome.blind()) }
    };
    rules(facts).map(one).collect()
}

/// Wall-clock time in which the recorder's own threads ran on CPUs that the
/// program wanted; `None` where that cannot be seen.
pub(crate) fn recorder_held_ns(facts: &Facts<'_>) -> Option<u64> {
    let held = facts.held.filter(|_| facts.names_next)?;
    Some(preempted::recorder_ns(held, &facts.recorder))
}

/// What starting processes came to.
pub(crate) fn forks(facts: &Facts<'_>) -> Option<Forks> {
    fork_pause::forks(facts)
}

/// Wall-clock time in which other processes ran on CPUs that the program wanted,
/// the recorder apart; `None` where that cannot be seen.
pub(crate) fn others_held_ns(facts: &Facts<'_>) -> Option<u64> {
    let held = facts.held.filter(|_| facts.names_next)?;
    Some(held.foreign.ns().saturating_sub(preempted::recorder_ns(held, &facts.recorder)))
}

fn log_alone(facts: &Facts<'_>, what: &str) -> String {
    format!("the {} alone does not show {what}: record with `rtscope record`.", facts.runtime.log)
}

/// Why what ran instead of the program's threads is not known.
fn blind_to_runners(facts: &Facts<'_>) -> Option<String> {
    let why = match (&facts.context.kernel, facts.held) {
        (None, _) => return Some(log_alone(facts, "what else ran")),
        (Some(_), None) => "the kernel's scheduling events were not there or could not be used (see `kernel.notes`).",
        (Some(_), Some(_)) if !facts.names_next => {
            "only the program's own threads were seen: `rtscope doctor` says how to see what runs instead."
        }
        (Some(_), Some(_)) => return None,
    };
    Some(why.to_owned())
}

/// Why it is not known where the code was.
fn blind_to_code(facts: &Facts<'_>) -> Option<String> {
    let why = match (&facts.context.kernel, facts.held, facts.code) {
        (None, ..) => return Some(log_alone(facts, "where the code was")),
        (Some(_), None, _) => {
            "the kernel's scheduling events were not there or could not be used (see `kernel.notes`), so no wait could be looked up."
        }
        (Some(_), Some(_), None) => "the program's code was not sampled: `rtscope doctor` says how to see it.",
        (Some(_), Some(_), Some(_)) => return None,
    };
    Some(why.to_owned())
}

/// Where samples found the code in waits: "87 of 92 samples in foreign code, 85 of
/// them in `c_busy` (prog)".
fn found_in(facts: &Facts<'_>, waits: &Waits, kind: CodeKind, what: &str) -> String {
    let period = facts.code.map_or(1, |code| code.period_ns().max(1));
    let places = waits.top(kind).into_iter().take(CODE_NAMED_MAX).map(|(id, ns)| {
        let symbol = facts.symbols.get(id);
        let at = symbol.source.as_ref().unwrap_or(&symbol.module);
        let at = if at.is_empty() { String::new() } else { format!(" ({at})") };
        format!("{} in {}{at}", ns.div_ceil(period), called(symbol))
    });
    let places = places.collect::<Vec<_>>().join(", ");
    let found = waits.sampled_ns(kind).div_ceil(period);
    format!("{found} of {} samples found it in {what}: {places}", waits.samples)
}

/// "a", "a and b": places that hold most, or what to say where none is known.
fn listed_code(symbols: &Symbols, places: &[(SymbolId, u64)], unknown: &str) -> String {
    let worst = places.first().map_or(0, |place| place.1);
    // What has less than a fifth of the worst is left to the evidence.
    let big = places.iter().take(2).filter(|place| place.1.saturating_mul(5) >= worst);
    let named: Vec<_> = big.map(|place| format!("`{}`", called(symbols.get(place.0)))).collect();
    if named.is_empty() { unknown.to_owned() } else { named.join(" and ") }
}

/// What one pause waited for, in a sentence; `None` where no rule knows it.
pub fn explain(blamed: &BlamedPause, names: &Names) -> Option<String> {
    RULES.iter().find_map(|rule| rule.instance(blamed, names))
}

/// A quarter of the wall clock dominates; a twentieth is felt.
fn severity(share: f64) -> Severity {
    match share {
        share if share >= 0.25 => Severity::Severe,
        share if share >= 0.05 => Severity::Warning,
        _ => Severity::Note,
    }
}

fn evidence(text: String, range: Option<(Time, Time)>) -> Evidence {
    Evidence { text, from: range.map(|range| range.0), to: range.map(|range| range.1) }
}

/// The evidence of one cause's longest piece in a pause.
fn longest(facts: &Facts<'_>, cause: Cause, what: &str) -> Option<Evidence> {
    let total = facts.sums.cause_total(cause)?;
    let piece = total.longest;
    let lane = piece.lane.map_or(String::new(), |lane| format!(" for lane {lane}"));
    let text = format!(
        "Pauses waited {} in all{}, in {} pieces; the longest took {}{lane}.",
        duration(total.ns),
        what,
        total.count,
        duration(piece.ns())
    );
    Some(evidence(text, Some((piece.from, piece.to))))
}

#[cfg(test)]
#[path = "findings_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "collector_tests.rs"]
mod collector_tests;

//! Diagnosis rules. A rule is data: what it is called, what it has to see, from where on it
//! speaks, whom it leaves the word to; and one or two functions: `check` looks at the sums of
//! a recording and gives its verdict, `instance` is a sentence for one pause.
//!
//! Owns the rules' shape, the rules that hold for every runtime, and what they have in common:
//! least costs, ranking, what makes a rule blind. Refuses to know a runtime: rules that only
//! one has are handed over by it (see `runtimes`), flags come from its `RuntimeInfo`. Refuses
//! to count a moment for two causes: the holders of a CPU are exclusive by construction (see
//! `blame`), with a quota before a neighbour.

mod blocked_in_kernel;
mod cpu_throttled;
pub(crate) mod explicit_gc;
mod foreign_call;
mod host_steal;
mod long_major_gc;
pub(crate) mod needs;
pub(crate) mod oversubscribed;
mod preempted;
mod table;

pub use explicit_gc::EXPLICIT_GC;
pub use needs::Need;
pub use table::table;

use crate::blame::held::Held;
use crate::collector::allocation::Allocation;
use crate::collector::collections::Collections;
use crate::collector::tracer::Disturbance;
use crate::folds::{Fold, Folds};
use crate::kernel::code::{CodeSamples, LATE_MIN_NS, Waits, called};
use crate::kernel::samples::{Counters, QuotaTotal};
use crate::memory::lines::Lines;
use crate::pauses::sums::Sums;
use crate::program::green::GreenThreads;
use crate::recording::Context;
use crate::results::stm::Transactions;
use crate::results::{BlamedPause, Checked, Outcome};
use rtscope_model::heap::Heap;
use rtscope_model::units::{bytes, duration, percent};
use rtscope_model::{
    Cause, CausePiece, Claim, CodeKind, Confidence, Evidence, Figure, Finding, GroupId, NameId, Names, Remedy,
    RuntimeInfo, Severity, SymbolId, Symbols, Time,
};
use std::collections::{BTreeMap, BTreeSet};

/// Cost below which nothing is reported, whatever its share: a person does not
/// feel it, and a recording of a second would report a single scheduling slice.
const COST_MIN_NS: u64 = 10_000_000;
/// The same for memory: less is noise beside a runtime's own tables and areas.
pub const COST_MIN_BYTES: u64 = 32 << 20;

/// Places in the code named in a piece of evidence.
const CODE_NAMED_MAX: usize = 3;

/// So many samples of waits are more than chance.
pub(crate) const SAMPLES_SURE: u64 = 5;

/// The sum of times to stop.
pub const STOP: Figure =
    Figure { path: "pauses.time_to_stop_ns.sum", shows: "this finding is gone and the time to stop falls" };
/// The wall-clock union of pauses.
pub const PAUSED: Figure =
    Figure { path: "pauses.total_ns", shows: "this finding is gone and collections take less of the run" };
/// The sum of collection work.
pub const COLLECT: Figure = Figure { path: "pauses.collect_ns.sum", shows: "collections take less time" };

/// One diagnosis.
pub struct Rule {
    /// Its stable name, unique among the rules of a runtime.
    pub id: &'static str,
    /// Its place in the list of what was checked, and in the order in which `instance` is asked.
    pub order: u16,
    /// What it has to see.
    pub needs: Option<&'static Need>,
    /// Rules that explain the same time better: where one of them finds at least half
    /// of this one's cost, this one is silent. A cause has one name.
    pub yields_to: &'static [&'static str],
    /// It speaks from this share of the wall clock, or of the resident memory,
    pub share_min: f64,
    /// or where one alone takes so long,
    pub long_ns: Option<u64>,
    /// and from so many bytes; above 0 where it is about memory.
    pub bytes_min: u64,
    /// What else `check` asks for, in words that go on after the share.
    pub also: &'static str,
    /// Why from there.
    pub why: &'static str,
    /// Whether it holds, over the whole recording.
    pub check: fn(&Facts<'_>) -> Option<Verdict>,
    /// The sentence for one pause in which it showed; `None` where it did not.
    pub instance: fn(&BlamedPause, &Names) -> Option<String>,
}

impl Rule {
    /// A rule that finds nothing: what others need not say.
    pub const BLANK: Rule = Rule {
        id: "",
        order: u16::MAX,
        needs: None,
        yields_to: &[],
        share_min: 0.0,
        long_ns: None,
        bytes_min: 0,
        also: "",
        why: "",
        check: |_| None,
        instance: |_, _| None,
    };

    /// Whether a verdict is worth reporting.
    fn speaks(&self, verdict: &Verdict, share: f64) -> bool {
        match verdict.cost {
            Cost::Time(ns) => {
                let long = self.long_ns.is_some_and(|least| verdict.longest_ns >= least);
                ns >= COST_MIN_NS && (share >= self.share_min || long)
            }
            Cost::Memory { bytes, .. } => bytes >= self.bytes_min.max(COST_MIN_BYTES) && share >= self.share_min,
        }
    }
}

/// The rules that hold for every runtime that stops the world, also for one that is not known.
pub static RULES: [&Rule; 7] = [
    &cpu_throttled::RULE,
    &preempted::RULE,
    &oversubscribed::RULE,
    &foreign_call::RULE,
    &blocked_in_kernel::RULE,
    &host_steal::RULE,
    &long_major_gc::RULE,
];

/// What rules look at.
pub struct Facts<'a> {
    /// What is known of the recording as a whole.
    pub context: &'a Context,
    /// Names of processes.
    pub names: &'a Names,
    /// Wall clock of the recording,
    pub span_ns: u64,
    /// from here
    pub started: Time,
    /// to here.
    pub end: Time,
    /// Lanes switched on at the end.
    pub lanes: usize,
    /// Whose words and flags are used.
    pub runtime: &'static RuntimeInfo,
    /// Sums over pauses.
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
    /// Green threads, where the log has them.
    pub green: &'a GreenThreads,
    /// Its transactions; `None`: their counts were not read.
    pub transactions: Option<&'a Transactions>,
    /// CPU time of lanes outside pauses, by number; empty: not known.
    pub lane_cpu: BTreeMap<u16, u64>,
    /// Looks at the heap, in time order.
    pub heaps: &'a [Heap],
    /// Every fold, also those that one runtime alone has.
    pub folds: &'a Folds,
    /// Counters of quotas over the whole recording.
    pub quotas: Vec<(GroupId, QuotaTotal)>,
}

impl<'a> Facts<'a> {
    /// A fold that this recording has.
    pub fn fold<T: Fold>(&self) -> Option<&'a T> {
        self.folds.get()
    }

    /// Of the wall clock.
    pub fn share(&self, ns: u64) -> f64 {
        if self.span_ns > 0 { (ns as f64 / self.span_ns as f64).min(1.0) } else { 0.0 }
    }

    /// So many, per second of the recording.
    pub fn per_second(&self, count: u64) -> f64 {
        count as f64 / (self.span_ns.max(1) as f64 / 1e9)
    }

    /// Pause time waited for because of `cause`.
    fn paused_ns(&self, cause: Cause) -> u64 {
        self.sums.cause_total(cause).map_or(0, |total| total.ns)
    }

    /// What was seen over the whole recording.
    pub fn overall(&self, text: String) -> Evidence {
        evidence(text, Some((self.started, self.end)))
    }

    /// High confidence with usable kernel events, else medium.
    pub fn sure_with_kernel(&self) -> Confidence {
        sure(self.held.is_some())
    }
}

/// High or medium.
pub fn sure(sure: bool) -> Confidence {
    if sure { Confidence::High } else { Confidence::Medium }
}

/// What something costs.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum Cost {
    /// Wall-clock time, nanoseconds.
    Time(u64),
    /// Resident bytes.
    Memory {
        /// So many
        bytes: u64,
        /// of so many in all.
        of: u64,
    },
}

/// How a claim says its cost.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum Says {
    /// "2.00 s of 10.0 s (20 %)".
    Share,
    /// "2.00 s of 10.0 s on each (20 %)": of every CPU.
    ShareOfEach,
    /// "2.00 s (20 % of 10.0 s)".
    Bracketed,
    /// "100 MiB of 200 MiB resident".
    Amount,
}

/// A rule's yes: its claim in parts (what, its cost, the rest), and what stands under it.
pub struct Verdict {
    cost: Cost,
    confidence: Confidence,
    what: String,
    says: Says,
    rest: String,
    evidence: Vec<Evidence>,
    remedies: Vec<Remedy>,
    /// The longest that it took at once.
    longest_ns: u64,
    /// It comes before all others, whatever they cost.
    first: bool,
}

impl Verdict {
    /// That `what` costs `cost`.
    pub fn new(cost: Cost, confidence: Confidence, what: impl Into<String>) -> Verdict {
        Verdict {
            cost,
            confidence,
            what: what.into(),
            says: Says::Share,
            rest: ".".to_owned(),
            evidence: Vec::new(),
            remedies: Vec::new(),
            longest_ns: 0,
            first: false,
        }
    }

    /// Goes on after the cost with `rest`, to the full stop.
    pub fn then(self, rest: impl Into<String>) -> Verdict {
        Verdict { rest: rest.into(), ..self }
    }

    /// Says its cost in another way.
    pub fn says(self, says: Says) -> Verdict {
        Verdict { says, ..self }
    }

    /// What was seen.
    pub fn seen(self, evidence: impl IntoIterator<Item = Evidence>) -> Verdict {
        Verdict { evidence: evidence.into_iter().collect(), ..self }
    }

    /// What to change, best first.
    pub fn remedies(self, remedies: impl IntoIterator<Item = Remedy>) -> Verdict {
        Verdict { remedies: remedies.into_iter().collect(), ..self }
    }

    /// The longest that it took at once: see [`Rule::long_ns`].
    pub fn longest(self, longest_ns: u64) -> Verdict {
        Verdict { longest_ns, ..self }
    }

    fn share(&self, facts: &Facts<'_>) -> f64 {
        match self.cost {
            Cost::Time(ns) => facts.share(ns),
            Cost::Memory { bytes, of } => (bytes as f64 / of.max(1) as f64).min(1.0),
        }
    }

    /// The claim as a sentence.
    fn claim(&self, facts: &Facts<'_>, share: f64) -> Claim {
        let (cost, all) = match self.cost {
            Cost::Time(ns) => (duration(ns), duration(facts.span_ns)),
            Cost::Memory { bytes: cost, of } => (bytes(cost), format!("{} resident", bytes(of))),
        };
        let (what, rest, share) = (&self.what, &self.rest, percent(share));
        let text = match self.says {
            Says::Share => format!("{what}{cost} of {all} ({share}){rest}"),
            Says::ShareOfEach => format!("{what}{cost} of {all} on each ({share}){rest}"),
            Says::Bracketed => format!("{what}{cost} ({share} of {all}){rest}"),
            Says::Amount => format!("{what}{cost} of {all}{rest}"),
        };
        Claim::new(text, self.says != Says::Amount)
    }
}

/// A verdict that is worth reporting.
struct Found {
    rule: &'static Rule,
    first: bool,
    /// In nanoseconds or bytes.
    cost: u64,
    finding: Finding,
}

impl Found {
    fn by(rule: &'static Rule, facts: &Facts<'_>) -> Option<Found> {
        let verdict = (rule.check)(facts)?;
        let share = verdict.share(facts);
        if !rule.speaks(&verdict, share) {
            return None;
        }
        let (cost, cost_ns, cost_bytes) = match verdict.cost {
            Cost::Time(ns) => (ns, ns, None),
            Cost::Memory { bytes, .. } => (bytes, 0, Some(bytes)),
        };
        let finding = Finding {
            id: rule.id.to_owned(),
            severity: severity(share),
            confidence: verdict.confidence,
            claim: verdict.claim(facts, share),
            cost_ns,
            cost_bytes,
            share,
            evidence: verdict.evidence,
            remedies: verdict.remedies,
        };
        Some(Found { rule, first: verdict.first, cost, finding })
    }

    /// Whether a rule that this one yields to covers at least half of its cost.
    fn explained(&self, costs: &[(&str, u64)]) -> bool {
        let better = |id| self.rule.yields_to.contains(&id);
        costs.iter().any(|(id, cost)| better(*id) && cost.saturating_mul(2) >= self.cost)
    }
}

/// Every finding of `rules`, most costly first; empty: nothing found. A quota that ran out in
/// most of its periods comes before all: in such a period the program got all that
/// it may have, so a neighbour did not make it less.
pub fn run(rules: &[&'static Rule], facts: &Facts<'_>) -> Vec<Finding> {
    let mut found: Vec<Found> = rules.iter().filter_map(|rule| Found::by(rule, facts)).collect();
    let costs: Vec<(&str, u64)> = found.iter().map(|one| (one.rule.id, one.cost)).collect();
    found.retain(|one| !one.explained(&costs));
    // Time and memory have the share in common.
    found.sort_by(|one, other| {
        let share = other.finding.share.total_cmp(&one.finding.share);
        other.first.cmp(&one.first).then(share).then(other.cost.cmp(&one.cost))
    });
    found.into_iter().map(|one| one.finding).collect()
}

/// What each rule came to, in the rules' order.
pub fn checked(rules: &[&'static Rule], facts: &Facts<'_>, findings: &[Finding]) -> Vec<Checked> {
    let one = |rule: &&'static Rule| {
        let id = rule.id;
        let missing = rule.needs.and_then(|need| Some((need, (need.missing)(facts)?)));
        let (outcome, why) = match missing {
            _ if findings.iter().any(|finding| finding.id == id) => (Outcome::Found, None),
            Some((need, why)) if need.optional => (Outcome::NotAsked, Some(why)),
            Some((_, why)) => (Outcome::CouldNotLook, Some(why)),
            None => (Outcome::Clear, None),
        };
        Checked { id, outcome, why }
    };
    rules.iter().map(one).collect()
}

/// What one pause waited for, in a sentence; `None` where no rule knows it.
pub fn explain(rules: &[&'static Rule], blamed: &BlamedPause, names: &Names) -> Option<String> {
    rules.iter().find_map(|rule| (rule.instance)(blamed, names))
}

/// Wall-clock time in which the recorder's own threads ran on CPUs that the
/// program wanted; `None` where that cannot be seen.
pub fn recorder_held_ns(facts: &Facts<'_>) -> Option<u64> {
    facts.held.filter(|_| facts.names_next).map(|held| recorder_ns(held, &facts.recorder))
}

/// Wall-clock time in which other processes ran on CPUs that the program wanted,
/// the recorder apart; `None` where that cannot be seen.
pub fn others_held_ns(facts: &Facts<'_>) -> Option<u64> {
    Some(facts.held?.foreign.ns().saturating_sub(recorder_held_ns(facts)?))
}

/// Wall-clock time that the recorder's threads took, at most.
pub(crate) fn recorder_ns(held: &Held, recorder: &BTreeSet<NameId>) -> u64 {
    held.by_name.iter().filter(|(name, _)| recorder.contains(*name)).map(|(_, (part, _))| part.ns()).sum()
}

/// Where samples found the code in waits: "87 of 92 samples in foreign code, 85 of
/// them in `c_busy` (prog)".
pub(crate) fn found_in(facts: &Facts<'_>, waits: &Waits, kind: CodeKind, what: &str) -> String {
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
pub(crate) fn listed_code(symbols: &Symbols, places: &[(SymbolId, u64)], unknown: &str) -> String {
    let worst = places.first().map_or(0, |place| place.1);
    // What has less than a fifth of the worst is left to the evidence.
    let big = places.iter().take(2).filter(|place| place.1.saturating_mul(5) >= worst);
    let named: Vec<_> = big.map(|place| format!("`{}`", called(symbols.get(place.0)))).collect();
    if named.is_empty() { unknown.to_owned() } else { named.join(" and ") }
}

/// A quarter of the wall clock dominates; a twentieth is felt.
fn severity(share: f64) -> Severity {
    match share {
        share if share >= 0.25 => Severity::Severe,
        share if share >= 0.05 => Severity::Warning,
        _ => Severity::Note,
    }
}

/// One sentence, and where in the recording it was seen.
pub fn evidence(text: String, range: Option<(Time, Time)>) -> Evidence {
    Evidence { text, from: range.map(|range| range.0), to: range.map(|range| range.1) }
}

/// How long a pause waited in the pieces that `shows` holds of, and the longest of them.
pub(crate) fn waited(blamed: &BlamedPause, shows: impl Fn(&CausePiece) -> bool) -> Option<(String, &CausePiece)> {
    let pieces = || blamed.causes.iter().filter(|piece| shows(piece));
    let longest = pieces().max_by_key(|piece| piece.ns())?;
    Some((duration(pieces().map(CausePiece::ns).sum()), longest))
}

/// " for lane 3"; empty where the lane is not known.
fn for_lane(piece: &CausePiece) -> String {
    piece.lane.map_or(String::new(), |lane| format!(" for lane {lane}"))
}

/// "lane 3", or "a lane" where it is not known.
pub(crate) fn a_lane(piece: &CausePiece) -> String {
    piece.lane.map_or("a lane".to_owned(), |lane| format!("lane {lane}"))
}

/// "The world waited 2.00 s for a lane that was on a CPU, ...: 87 of 92 samples found it in `what`".
pub(crate) fn stopped_late(facts: &Facts<'_>, stops: &Waits, kind: CodeKind, what: &str) -> Evidence {
    let text = format!(
        "The world waited {} for a lane that was on a CPU, where that took {} and more: {}.",
        duration(stops.ns),
        duration(LATE_MIN_NS),
        found_in(facts, stops, kind, what)
    );
    evidence(text, stops.longest.map(|piece| (piece.from, piece.to)))
}

/// The evidence of one cause's longest piece in a pause.
pub(crate) fn longest(facts: &Facts<'_>, cause: Cause, what: &str) -> Option<Evidence> {
    let total = facts.sums.cause_total(cause)?;
    let piece = total.longest;
    let lane = for_lane(&piece);
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

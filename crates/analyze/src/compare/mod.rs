//! Comparison of two runs: which figures differ, whether a difference is real and matters, which findings came and
//! went, and which of these changes other processes caused.
//!
//! Owns the answer as values; words and drawings are the report's. One run of each can show only so much: how a run
//! varies from one start to the next can only be estimated from its variation within itself (see `blocks`).

pub mod account;
pub(crate) mod blocks;
pub mod condition;
pub(crate) mod figures;
pub mod findings;
pub mod judge;
pub mod sample;
pub mod setting;

pub use sample::Side;

use account::PartChange;
use blocks::{Others, PausePart};
pub use figures::Unit;
use figures::{Figure, Measure};
use findings::FindingChange;
use judge::{Compared, JudgedRun};
use rtscope_model::Cause;
use serde::Serialize;
use setting::Difference;

/// Schema of the document that holds a [`Comparison`].
pub const SCHEMA: &str = "rtscope/compare/1";

/// Other processes must have taken this much more of the wall clock before it is reported.
const OTHERS_SHARE_MIN: f64 = 0.05;

/// The answer of a comparison.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// A difference that is real and matters.
    Different,
    /// Only what other processes and the host took differs.
    OthersDiffer,
    /// No difference that these two runs could show.
    NoDifference,
    /// Nothing could be judged.
    CannotTell,
}

/// What the machine took of the program's time; the program had no part in it.
#[derive(Copy, Clone, Debug, Serialize)]
pub struct OtherProcesses {
    /// Before: share of the wall clock in which other processes ran while a thread of the program waited for their
    /// CPU, and in which pauses waited because the kernel queued threads of the program on one CPU although there
    /// were CPUs for all lanes. Null where the kernel side does not show it.
    pub a_share: Option<f64>,
    /// The share after.
    pub b_share: Option<f64>,
    /// Whether the two differ enough to be reported.
    pub differ: bool,
}

/// The comparison of two runs.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// The answer.
    pub verdict: Verdict,
    /// What differs between the recordings themselves.
    pub settings: Vec<Difference>,
    /// Shares of lane time; the parts that changed most first.
    pub account: Vec<PartChange>,
    /// Figures; those that differ first, most costly first.
    pub figures: Vec<Compared>,
    /// Findings; those that came or went first.
    pub findings: Vec<FindingChange>,
    /// What other processes took.
    pub others: OtherProcesses,
}

impl Comparison {
    /// Finds a figure by its path.
    pub fn figure(&self, path: &str) -> Option<&Compared> {
        self.figures.iter().find(|one| one.path == path)
    }
}

/// Compares `a` (before) with `b` (after).
pub fn compare(a: &Side<'_>, b: &Side<'_>) -> Comparison {
    let mut figures = judge::judge(&JudgedRun::of(a), &JudgedRun::of(b), Others::Counted, figures::all());
    let others = others(a, b);
    mark_others(&mut figures, (a, b), &others);
    costs(&mut figures, b.results.span_ns);
    let findings = findings::changes(a.results, b.results);
    let verdict = verdict(&figures, &findings);
    // The sort is stable: what does not differ keeps its reading order. The whole pause is the sum of its parts,
    // which say more; figures that are no times come last.
    figures.sort_by(|one, other| {
        let rank = |one: &Compared| match one.figure {
            _ if !one.differs() => 0,
            Figure::Of(PausePart::Whole, _) => 2,
            Figure::Of(..) => 3,
            Figure::PausesPerSecond | Figure::Memory(_) => 1,
        };
        let cost = |one: &Compared| if one.differs() { one.cost_ns.map_or(0.0, f64::abs) } else { 0.0 };
        rank(other).cmp(&rank(one)).then(cost(other).total_cmp(&cost(one)))
    });
    let account = account::changes(a.results, b.results);
    Comparison { verdict, settings: setting::differences(a, b), account, figures, findings, others }
}

fn others(a: &Side<'_>, b: &Side<'_>) -> OtherProcesses {
    let (a_share, b_share) = (taken(a), taken(b));
    let differ = a_share.zip(b_share).is_some_and(|(a, b)| (b - a).abs() >= OTHERS_SHARE_MIN);
    OtherProcesses { a_share, b_share, differ }
}

fn taken(side: &Side<'_>) -> Option<f64> {
    let results = side.results;
    let held = results.kernel.others_held_ns?;
    let queued = results.causes.iter().filter(|sum| sum.cause == Cause::Oversubscribed).map(|sum| sum.sum_ns);
    let placed = if cpus_for_all(side) { queued.sum() } else { 0u64 };
    let ns = held.saturating_add(placed) as f64;
    (results.span_ns > 0).then(|| ns / results.span_ns as f64)
}

/// Whether there was a CPU for each lane: surplus lanes queue by themselves, others only if the kernel places
/// them so.
fn cpus_for_all(side: &Side<'_>) -> bool {
    side.manifest.is_some_and(|manifest| side.results.lanes.len() <= manifest.machine.cpus_allowed.len())
}

/// Marks the differences that may follow from what other processes took: those that disappear when it is subtracted
/// from the pauses, and those of a part that changed by no more than the difference of what others took. The latter
/// applies in both directions: a run with less of the CPUs also uses less of its quota.
fn mark_others(figures: &mut [Compared], (a, b): (&Side<'_>, &Side<'_>), others: &OtherProcesses) {
    let differing: Vec<Figure> = figures.iter().filter(|one| one.differs()).map(|one| one.figure).collect();
    let waits =
        |figure: &Figure| matches!(figure, Figure::Of(PausePart::Stop | PausePart::Release | PausePart::Whole, _));
    let out = Others::TakenOut { siblings: cpus_for_all(a) && cpus_for_all(b) };
    let without = judge::judge(&JudgedRun::of(a), &JudgedRun::of(b), out, differing.iter().copied().filter(waits));
    let gone = |figure: Figure| without.iter().any(|other| other.figure == figure && !other.differs_as_drawn());
    let shares = others.a_share.zip(others.b_share).filter(|_| others.differ);
    let budget = shares.map_or(0.0, |(a, b)| (b - a).abs() * 1e9);
    let sums: Vec<(PausePart, f64)> = figures
        .iter()
        .filter_map(|one| match one.figure {
            Figure::Of(part, Measure::Sum) => Some((part, one.change?.abs())),
            _ => None,
        })
        .collect();
    let covered = |part: PausePart| sums.iter().any(|(other, change)| *other == part && *change <= budget);
    for one in figures.iter_mut().filter(|one| one.differs()) {
        one.by_others = match one.figure {
            Figure::Of(part, _) => covered(part) || gone(one.figure),
            _ => false,
        };
    }
}

/// Gives each figure of a part the cost of that part's change.
fn costs(figures: &mut [Compared], span_ns: u64) {
    let seconds = span_ns as f64 / 1e9;
    let sum = |part: PausePart, figures: &[Compared]| {
        let sum = figures.iter().find(|one| one.figure == Figure::Of(part, Measure::Sum));
        sum.and_then(|sum| sum.change).map(|per_second| per_second * seconds)
    };
    let costs = PausePart::ALL.map(|part| (part, sum(part, figures)));
    for one in figures.iter_mut() {
        if let Figure::Of(part, _) = one.figure {
            one.cost_ns = costs.iter().find(|(other, _)| *other == part).and_then(|(_, cost)| *cost);
        }
    }
}

fn verdict(figures: &[Compared], findings: &[FindingChange]) -> Verdict {
    let figure = |by_others: bool| figures.iter().any(|one| one.differs() && one.by_others == by_others);
    // Other processes count only where they show in a figure: on a busy machine their findings come and go without
    // any change in the program.
    if figure(false) || findings.iter().any(|one| one.matters && !one.by_others) {
        Verdict::Different
    } else if figure(true) {
        Verdict::OthersDiffer
    } else if figures.iter().all(|one| one.real.is_none()) {
        Verdict::CannotTell
    } else {
        Verdict::NoDifference
    }
}

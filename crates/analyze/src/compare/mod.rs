//! Two runs beside each other: which figures differ, whether a difference is real
//! and matters, which findings came and went, and what of it other processes did.
//!
//! Owns the answer as values; words and drawings are the report's. What one run of
//! each can show is bounded: how a run varies from one start to the next can only
//! be guessed from how it varies within itself (see `blocks`).

pub mod blocks;
mod chance;
pub mod condition;
pub mod figures;
pub mod findings;
pub mod judge;
pub mod sample;
pub mod setting;

use crate::results::Results;
use blocks::{Others, Part};
use figures::{Figure, Measure};
use findings::FindingChange;
use judge::{Compared, Run};
use rtscope_model::manifest::Manifest;
use sample::Samples;
use serde::Serialize;
use setting::Difference;

/// Schema of the document that holds a [`Comparison`].
pub const SCHEMA: &str = "rtscope/compare/1";

/// Others must have taken so much more of the wall clock before it is told.
const OTHERS_SHARE_MIN: f64 = 0.05;

/// One run.
#[derive(Copy, Clone)]
pub struct Side<'r> {
    /// What its report says.
    pub results: &'r Results,
    /// Its pauses.
    pub samples: &'r Samples,
    /// Its manifest; `None` for a log on its own.
    pub manifest: Option<&'r Manifest>,
}

/// What it comes to.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Something is different, really and so that it matters.
    Different,
    /// What differs is what other processes and the host took.
    OthersDiffer,
    /// Nothing that these two runs could show.
    NoDifference,
    /// Nothing could be judged.
    CannotTell,
}

/// What other processes took of the program's CPUs.
#[derive(Copy, Clone, Debug, Serialize)]
pub struct OtherProcesses {
    /// Share of the wall clock in which they ran where a thread of the program
    /// waited for a CPU, before; null where the kernel side does not tell.
    pub a_share: Option<f64>,
    /// After.
    pub b_share: Option<f64>,
    /// Far enough apart to be told.
    pub differ: bool,
}

/// Two runs beside each other.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// The answer.
    pub verdict: Verdict,
    /// What differs between the recordings themselves.
    pub settings: Vec<Difference>,
    /// Figures; those that differ first, most costly first.
    pub figures: Vec<Compared>,
    /// Findings; those that came or went first.
    pub findings: Vec<FindingChange>,
    /// What others took.
    pub others: OtherProcesses,
}

impl Comparison {
    /// A figure by its path.
    pub fn figure(&self, path: &str) -> Option<&Compared> {
        self.figures.iter().find(|one| one.path == path)
    }
}

/// Compares `a` (before) with `b` (after).
pub fn compare(a: &Side<'_>, b: &Side<'_>) -> Comparison {
    let (first, second) = (Run::of(a), Run::of(b));
    let mut figures = judge::judge(&first, &second, Others::Counted, figures::all());
    let others = others(a.results, b.results);
    mark_others(&mut figures, &first, &second, &others);
    costs(&mut figures, b.results.span_ns);
    let findings = findings::changes(a.results, b.results);
    let verdict = verdict(&figures, &findings);
    // A stable sort: what does not differ keeps the order in which one reads.
    figures.sort_by(|one, other| {
        let weight = |one: &Compared| if one.differs() { one.cost_ns.map_or(0.0, f64::abs) } else { -1.0 };
        weight(other).total_cmp(&weight(one))
    });
    Comparison { verdict, settings: setting::differences(a, b), figures, findings, others }
}

fn others(a: &Results, b: &Results) -> OtherProcesses {
    let share = |results: &Results| {
        let held = results.kernel.others_held_ns?;
        (results.span_ns > 0).then(|| held as f64 / results.span_ns as f64)
    };
    let (a_share, b_share) = (share(a), share(b));
    let differ = a_share.zip(b_share).is_some_and(|(a, b)| (b - a).abs() >= OTHERS_SHARE_MIN);
    OtherProcesses { a_share, b_share, differ }
}

/// Marks the differences that are gone when what others took is taken out. Of
/// collecting it is not known who slowed it down: there it counts when others took
/// at least as much more as collecting grew.
fn mark_others(figures: &mut [Compared], a: &Run<'_>, b: &Run<'_>, others: &OtherProcesses) {
    let differing: Vec<Figure> = figures.iter().filter(|one| one.differs()).map(|one| one.figure).collect();
    let waits = |figure: &Figure| matches!(figure, Figure::Of(Part::Stop | Part::Release | Part::Whole, _));
    let without = judge::judge(a, b, Others::TakenOut, differing.iter().copied().filter(waits));
    let taken = others.a_share.zip(others.b_share).map_or(0.0, |(a, b)| (b - a) * 1e9);
    let collecting = figures.iter().find(|one| one.figure == Figure::Of(Part::Collect, Measure::Sum));
    let grew = collecting.and_then(|one| one.change).unwrap_or(0.0);
    let covers = others.differ && taken.signum() == grew.signum() && taken.abs() >= grew.abs();
    for one in figures.iter_mut().filter(|one| one.differs()) {
        one.by_others = match one.figure {
            Figure::Of(Part::Collect, _) => covers,
            Figure::Of(Part::Whole, _) if covers => true,
            figure => without.iter().any(|other| other.figure == figure && !other.differs_as_drawn()),
        };
    }
}

/// Gives each figure of a part what the change of that part costs.
fn costs(figures: &mut [Compared], span_ns: u64) {
    let seconds = span_ns as f64 / 1e9;
    let sum = |part: Part, figures: &[Compared]| {
        let sum = figures.iter().find(|one| one.figure == Figure::Of(part, Measure::Sum));
        sum.and_then(|sum| sum.change).map(|per_second| per_second * seconds)
    };
    let parts = [Part::Stop, Part::Collect, Part::Release, Part::Whole];
    let costs = parts.map(|part| (part, sum(part, figures)));
    for one in figures.iter_mut() {
        if let Figure::Of(part, _) = one.figure {
            one.cost_ns = costs.iter().find(|(other, _)| *other == part).and_then(|(_, cost)| *cost);
        }
    }
}

fn verdict(figures: &[Compared], findings: &[FindingChange]) -> Verdict {
    let figure = |by_others: bool| figures.iter().any(|one| one.differs() && one.by_others == by_others);
    let finding = |by_others: bool| findings.iter().any(|one| one.matters && one.by_others == by_others);
    if figure(false) || finding(false) {
        Verdict::Different
    } else if figure(true) || finding(true) {
        Verdict::OthersDiffer
    } else if figures.iter().all(|one| one.real.is_none()) {
        Verdict::CannotTell
    } else {
        Verdict::NoDifference
    }
}

//! Findings that came, went away or stayed. Owns when that is a difference: a finding at the edge of its threshold
//! comes and goes from run to run, and a rule that could not look has not made a finding go away.

use crate::results::Results;
use rtscope_model::{Finding, Severity};
use serde::Serialize;

/// A finding that costs a smaller share of a run than this may come and go by chance: rules report from a
/// twentieth on.
const SHARE_MIN: f64 = 0.1;
/// Findings about the machine, not the program.
const BY_OTHERS: [&str; 3] = ["preempted", "host-steal", "tracer-disturbance"];

/// What became of a finding.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// Only after.
    Came,
    /// Only before.
    Gone,
    /// In both.
    Stays,
    /// In one; the other recording does not hold what its rule needs.
    CannotTell,
}

/// A finding in one run.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct RunFinding {
    /// Wall-clock time that it cost.
    pub cost_ns: u64,
    /// Memory that it cost, instead of time.
    pub cost_bytes: Option<u64>,
    /// Share of the run, or of the resident memory.
    pub share: f64,
    /// How much it matters in that run.
    pub severity: Severity,
    /// Its sentence.
    pub claim: String,
}

/// One finding of either run.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct FindingChange {
    /// Stable name of the finding.
    pub id: String,
    /// What became of it.
    pub change: Change,
    /// The finding before; `None`: absent.
    pub a: Option<RunFinding>,
    /// The finding after; `None`: absent.
    pub b: Option<RunFinding>,
    /// It came or went, and not by chance.
    pub matters: bool,
    /// It is about other processes or the host.
    pub by_others: bool,
    /// Why the other run cannot show it.
    pub why: Option<String>,
}

impl FindingChange {
    /// Change of its cost as a share of the run; an absent finding costs 0.
    pub fn share_change(&self) -> f64 {
        let share = |seen: &Option<RunFinding>| seen.as_ref().map_or(0.0, |seen| seen.share);
        share(&self.b) - share(&self.a)
    }
}

/// Every finding of both runs, the largest change first.
pub(super) fn changes(a: &Results, b: &Results) -> Vec<FindingChange> {
    let mut ids: Vec<&str> = Vec::new();
    for finding in a.findings.iter().chain(&b.findings) {
        if !ids.contains(&finding.id.as_str()) {
            ids.push(&finding.id);
        }
    }
    let mut changes: Vec<FindingChange> = ids.into_iter().map(|id| change(id, a, b)).collect();
    changes.sort_by(|one, other| {
        let weight = |change: &FindingChange| (change.matters, change.share_change().abs());
        let (one, other) = (weight(one), weight(other));
        other.0.cmp(&one.0).then(other.1.total_cmp(&one.1))
    });
    changes
}

fn change(id: &str, a: &Results, b: &Results) -> FindingChange {
    let (before, after) = (seen(a, id), seen(b, id));
    let (change, why) = match (&before, &after) {
        (Some(_), Some(_)) => (Change::Stays, None),
        (Some(_), None) => blind(b, id).map_or((Change::Gone, None), |why| (Change::CannotTell, Some(why))),
        (None, _) => blind(a, id).map_or((Change::Came, None), |why| (Change::CannotTell, Some(why))),
    };
    let share = before.iter().chain(&after).map(|seen| seen.share).fold(0.0, f64::max);
    FindingChange {
        id: id.to_owned(),
        matters: matches!(change, Change::Came | Change::Gone) && share >= SHARE_MIN,
        by_others: BY_OTHERS.contains(&id),
        change,
        a: before,
        b: after,
        why,
    }
}

fn seen(results: &Results, id: &str) -> Option<RunFinding> {
    let finding: &Finding = results.findings.iter().find(|finding| finding.id == id)?;
    Some(RunFinding {
        cost_ns: finding.cost_ns,
        cost_bytes: finding.cost_bytes,
        share: finding.share,
        severity: finding.severity,
        claim: finding.claim.to_string(),
    })
}

/// Why the rule could not look; `None`: it could.
fn blind(results: &Results, id: &str) -> Option<String> {
    let checked = results.checked.iter().find(|checked| checked.id == id && checked.outcome.blind())?;
    Some(checked.why.clone().unwrap_or_else(|| "what it needs was not recorded".into()))
}

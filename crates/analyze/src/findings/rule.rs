//! A rule as data, its verdict, and how verdicts become findings. Refuses to know any particular rule.

use super::facts::Facts;
use super::needs::Need;
use super::spelled;
use crate::results::{Checked, RuleOutcome};
use rtscope_model::units::{bytes, duration, percent};
use rtscope_model::{Claim, Confidence, Evidence, Figure, Finding, Remedy, Severity};

/// Cost below which nothing is reported, whatever its share: a person does not feel it, and a recording of one second
/// would report a single time slice.
const COST_MIN_NS: u64 = 10_000_000;
/// Memory below which nothing is reported: less is noise compared with a runtime's own tables and areas.
pub const COST_MIN_BYTES: u64 = 32 << 20;

/// The sum of times to stop.
pub const STOP: Figure =
    Figure { path: "pauses.time_to_stop_ns.sum", shows: "this finding is gone and the time to stop falls" };
/// The wall-clock union of pauses.
pub const PAUSED: Figure =
    Figure { path: "pauses.total_ns", shows: "this finding is gone and collections take less of the run" };
/// The sum of collection work.
pub const COLLECT: Figure = Figure { path: "pauses.collect_ns.sum", shows: "collections take less time" };

/// Lane time in which there was nothing to run.
pub const IDLE: Figure = Figure { path: "account.parts.idle.ns", shows: "having nothing to run takes less of the run" };

/// One diagnosis.
pub struct Rule {
    /// Its stable name, unique among the rules of a runtime.
    pub id: &'static str,
    /// Its position in the list of what was checked.
    pub order: u16,
    /// What it needs to see.
    pub needs: Option<&'static Need>,
    /// Rules that explain the same time better: where one of them finds at least half of this one's cost, this one is
    /// silent. A cause has one name.
    pub yields_to: &'static [&'static str],
    /// Ids of findings that are parts of the account and that it partly explains: its cost is subtracted from theirs.
    pub explains: &'static [&'static str],
    /// It is such a part, and reports what no rule explains.
    pub rest: bool,
    /// Minimum share of the wall clock, or of the resident memory.
    pub share_min: f64,
    /// It also reports if a single occurrence takes this long, nanoseconds.
    pub long_ns: Option<u64>,
    /// Minimum number of bytes; above 0 for rules about memory.
    pub bytes_min: u64,
    /// Further conditions of `check`, in words that follow the share.
    pub also: &'static str,
    /// Why the threshold is there.
    pub why: &'static str,
    /// Checks whether it holds, over the whole recording.
    pub check: fn(&Facts<'_>) -> Option<Verdict>,
}

impl Rule {
    /// A rule that finds nothing: the defaults of others.
    pub const BLANK: Rule = Rule {
        id: "",
        order: u16::MAX,
        needs: None,
        yields_to: &[],
        explains: &[],
        rest: false,
        share_min: 0.0,
        long_ns: None,
        bytes_min: 0,
        also: "",
        why: "",
        check: |_| None,
    };

    /// Its threshold, in words.
    pub(crate) fn threshold(&self) -> String {
        let mut text = format!("{:.0} %", self.share_min * 100.0);
        if self.bytes_min > 0 {
            text += &format!(" of the resident memory, and {}", bytes(self.bytes_min));
        }
        text += self.also;
        text + &self.long_ns.map_or(String::new(), |ns| format!(", or one of {}", duration(ns)))
    }

    /// Whether a verdict is worth reporting.
    fn reports(&self, verdict: &Verdict, share: f64) -> bool {
        match verdict.cost {
            Cost::Time(ns) => {
                let long = self.long_ns.is_some_and(|least| verdict.longest_ns >= least);
                ns >= COST_MIN_NS && (share >= self.share_min || long)
            }
            Cost::Memory { bytes, .. } => bytes >= self.bytes_min.max(COST_MIN_BYTES) && share >= self.share_min,
        }
    }
}

/// What something costs.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum Cost {
    /// Wall-clock time, nanoseconds.
    Time(u64),
    /// Resident bytes.
    Memory {
        /// The bytes that it costs.
        bytes: u64,
        /// All resident bytes.
        of: u64,
    },
}

/// How a claim states its cost.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum Says {
    /// "2.00 s of 10.0 s (20 %)".
    Share,
    /// "2.00 s of 10.0 s on each (20 %)": for every CPU.
    ShareOfEach,
    /// "2.00 s (20 % of 10.0 s)".
    Bracketed,
    /// "100 MiB of 200 MiB resident".
    Amount,
}

/// The positive result of a rule: its claim in parts (what, its cost, the rest), with evidence and remedies.
pub struct Verdict {
    cost: Cost,
    confidence: Confidence,
    what: String,
    says: Says,
    rest: String,
    /// Its cost in single parts of the account that it explains; for parts not listed, its whole cost.
    explains_ns: Vec<(&'static str, u64)>,
    evidence: Vec<Evidence>,
    remedies: Vec<Remedy>,
    /// The longest single occurrence, nanoseconds.
    longest_ns: u64,
    /// Whether it ranks before all others, whatever they cost.
    first: bool,
    /// Ids of findings that follow from it.
    covers: &'static [&'static str],
}

impl Verdict {
    /// The verdict that `what` costs `cost`.
    pub fn new(cost: Cost, confidence: Confidence, what: impl Into<String>) -> Verdict {
        Verdict {
            cost,
            confidence,
            what: what.into(),
            says: Says::Share,
            rest: ".".to_owned(),
            explains_ns: Vec::new(),
            evidence: Vec::new(),
            remedies: Vec::new(),
            longest_ns: 0,
            first: false,
            covers: &[],
        }
    }

    /// Continues the claim after the cost with `rest`, up to the full stop.
    pub fn then(self, rest: impl Into<String>) -> Verdict {
        Verdict { rest: rest.into(), ..self }
    }

    /// Sets its cost in this part of the account, which its rule explains; by default its whole cost.
    pub fn explaining(mut self, part: &'static str, ns: u64) -> Verdict {
        self.explains_ns.push((part, ns));
        self
    }

    /// States its cost in another way.
    pub fn says(self, says: Says) -> Verdict {
        Verdict { says, ..self }
    }

    /// Appends evidence.
    pub fn seen(mut self, evidence: impl IntoIterator<Item = Evidence>) -> Verdict {
        self.evidence.extend(evidence);
        self
    }

    /// Appends remedies, best first.
    pub fn remedies(mut self, remedies: impl IntoIterator<Item = Remedy>) -> Verdict {
        self.remedies.extend(remedies);
        self
    }

    /// The longest single occurrence: see [`Rule::long_ns`].
    pub fn longest(self, longest_ns: u64) -> Verdict {
        Verdict { longest_ns, ..self }
    }

    /// Whether it ranks before all others, whatever they cost.
    pub fn first(self, first: bool) -> Verdict {
        Verdict { first, ..self }
    }

    /// These findings follow from it and are part of its cost, so they are not reported on their own.
    pub fn covering(self, covers: &'static [&'static str]) -> Verdict {
        Verdict { covers, ..self }
    }

    /// Subtracts what others explain.
    fn without(self, ns: u64) -> Verdict {
        match self.cost {
            Cost::Time(all) if ns > 0 => {
                // The largest share of the whole need not be the largest of the rest.
                let rest = ", beyond what other findings explain.".to_owned();
                Verdict { cost: Cost::Time(all.saturating_sub(ns)), rest, ..self }
            }
            _ => self,
        }
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
struct RankedVerdict {
    rule: &'static Rule,
    verdict: Verdict,
    /// Share of the wall clock, or of the resident memory.
    share: f64,
    /// Its rank among the others: larger is earlier.
    rank: f64,
}

impl RankedVerdict {
    /// `explained`: the part of its cost that others found, if it reports the rest.
    fn by(rule: &'static Rule, facts: &Facts<'_>, explained: u64) -> Option<RankedVerdict> {
        let verdict = (rule.check)(facts)?.without(explained);
        let share = verdict.share(facts);
        rule.reports(&verdict, share).then_some(RankedVerdict { rule, verdict, share, rank: share })
    }

    /// Nanoseconds or bytes.
    fn cost(&self) -> u64 {
        match self.verdict.cost {
            Cost::Time(cost) | Cost::Memory { bytes: cost, .. } => cost,
        }
    }

    /// Its cost in part `id` of the account.
    fn explains_of(&self, id: &str) -> u64 {
        let Cost::Time(cost_ns) = self.verdict.cost else { return 0 };
        let listed = self.verdict.explains_ns.iter().find(|(part, _)| *part == id);
        listed.map_or(cost_ns, |(_, ns)| (*ns).min(cost_ns))
    }

    /// Whether a rule that this one yields to covers at least half of its cost.
    fn explained(&self, costs: &[(&str, u64)]) -> bool {
        costs.iter().any(|(id, cost)| self.rule.yields_to.contains(id) && cost.saturating_mul(2) >= self.cost())
    }

    fn finding(self, facts: &Facts<'_>) -> Finding {
        let (cost_ns, cost_bytes) = match self.verdict.cost {
            Cost::Time(ns) => (ns, None),
            Cost::Memory { bytes, .. } => (0, Some(bytes)),
        };
        Finding {
            id: self.rule.id.to_owned(),
            severity: severity(self.share),
            confidence: self.verdict.confidence,
            claim: self.verdict.claim(facts, self.share),
            cost_ns,
            cost_bytes,
            share: self.share,
            evidence: self.verdict.evidence,
            remedies: self.verdict.remedies,
        }
    }
}

/// Every finding of `rules`, most costly first; empty: nothing found. A quota that ran out in most of its periods
/// ranks before all others: in such a period the program got all that it may have, so a neighbour did not reduce it.
pub fn run(rules: &[&'static Rule], facts: &Facts<'_>) -> Vec<Finding> {
    let (rests, causes): (Vec<&Rule>, Vec<&Rule>) = rules.iter().copied().partition(|rule| rule.rest);
    let mut found: Vec<RankedVerdict> =
        causes.into_iter().filter_map(|rule| RankedVerdict::by(rule, facts, 0)).collect();
    let costs: Vec<(&str, u64)> = found.iter().map(|one| (one.rule.id, one.cost())).collect();
    found.retain(|one| !one.explained(&costs));
    let covered: Vec<&str> = found.iter().flat_map(|one| one.verdict.covers).copied().collect();
    found.retain(|one| !covered.contains(&one.rule.id));
    for rule in rests {
        let causes: Vec<&RankedVerdict> = found.iter().filter(|one| one.rule.explains.contains(&rule.id)).collect();
        let explained: u64 = causes.iter().map(|one| one.explains_of(rule.id)).sum();
        let ranks = || causes.iter().map(|one| one.rank);
        let (last, most) = (ranks().fold(1.0, f64::min), ranks().fold(0.0, f64::max));
        let rest = RankedVerdict::by(rule, facts, explained).map(|rest| {
            // A cause that explains a good part of it says more than the rest. So does a single cause half as large,
            // since a rest has several causes.
            let rank = match () {
                () if explained.saturating_mul(2) >= rest.cost() => rest.rank.min(last),
                () if most * 2.0 >= rest.rank => rest.rank.min(most),
                () => rest.rank,
            };
            RankedVerdict { rank, ..rest }
        });
        found.extend(rest);
    }
    // The share makes time and memory comparable.
    found.sort_by(|one, other| {
        let first = other.verdict.first.cmp(&one.verdict.first);
        first
            .then(other.rank.total_cmp(&one.rank))
            .then(one.rule.rest.cmp(&other.rule.rest))
            .then(other.cost().cmp(&one.cost()))
    });
    let mut findings: Vec<Finding> = found.into_iter().map(|one| one.finding(facts)).collect();
    spelled::spell(&mut findings, facts.runtime, facts.context);
    findings
}

/// The result of each rule, in the rules' order.
pub fn checked(rules: &[&'static Rule], facts: &Facts<'_>, findings: &[Finding]) -> Vec<Checked> {
    let one = |rule: &&'static Rule| {
        let id = rule.id;
        let missing = rule.needs.and_then(|need| Some((need, (need.missing)(facts)?)));
        let (outcome, why) = match missing {
            _ if findings.iter().any(|finding| finding.id == id) => (RuleOutcome::Found, None),
            Some((need, why)) if need.optional => (RuleOutcome::NotAsked, Some(why)),
            Some((_, why)) => (RuleOutcome::CouldNotLook, Some(why)),
            None => (RuleOutcome::Clear, None),
        };
        Checked { id, outcome, needs: rule.needs.map(|need| need.name), why }
    };
    rules.iter().map(one).collect()
}

/// A quarter of the wall clock dominates; a twentieth is noticeable.
fn severity(share: f64) -> Severity {
    match share {
        share if share >= 0.25 => Severity::Severe,
        share if share >= 0.05 => Severity::Warning,
        _ => Severity::Note,
    }
}

#[cfg(test)]
#[path = "rule_tests.rs"]
mod tests;

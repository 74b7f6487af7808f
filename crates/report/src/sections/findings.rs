//! The verdict: findings with evidence and remedy, or what "nothing found" is based on.

use crate::drawings::waterfall::WORST_MAX;
use crate::{EVIDENCE_MAX, REMEDIES_MAX, no_findings, shows, units, words};
use rtscope_analyze::results::Results;
use rtscope_draw::present::{Block, Card, Change, Grade, Section, Seen, Verdict};
use rtscope_model::text::word;
use rtscope_model::{Evidence, Finding, Remedy, Severity};

/// The section.
pub fn section(results: &Results) -> Section<'_> {
    let cards = cards(results);
    let block = if cards.is_empty() { Block::Verdict(verdict(results)) } else { Block::Findings(cards) };
    Section::new("verdict", "Verdict", [Some(block)])
}

fn verdict(results: &Results) -> Verdict {
    answer(no_findings::without_findings(results))
}

/// The verdict without a finding and without the rules that were checked.
pub fn verdict_in_short(results: &Results) -> Verdict {
    answer(no_findings::without_findings_in_short(results))
}

fn answer((clear, head, text): (bool, &str, String)) -> Verdict {
    let grade = if clear { Grade::Good } else { Grade::Warning };
    Verdict { grade, head: head.to_owned(), text, doubts: Vec::new() }
}

/// The findings as they are shown.
pub fn cards(results: &Results) -> Vec<Card> {
    results.findings.iter().map(|finding| card(results, finding)).collect()
}

fn card(results: &Results, finding: &Finding) -> Card {
    let (cost, of) = words::costs(finding.cost_ns, finding.cost_bytes);
    let rank = shows::pause(finding, results, WORST_MAX);
    Card {
        id: finding.id.clone(),
        grade: match finding.severity {
            Severity::Severe => Grade::Severe,
            Severity::Warning => Grade::Warning,
            Severity::Note => Grade::Note,
        },
        severity: word(&finding.severity),
        confidence: finding.confidence.word(),
        claim: finding.claim.to_string(),
        cost: [cost, format!("{} {of}", units::percent(finding.share))],
        claim_has_cost: finding.claim.has_share(),
        seen: finding.evidence.iter().take(EVIDENCE_MAX).map(|evidence| seen(results, evidence)).collect(),
        changes: finding.remedies.iter().take(REMEDIES_MAX).map(change).collect(),
        shown: rank.map(|rank| [format!("pause-{rank}"), "show its longest pause".to_owned()]),
    }
}

/// Evidence, and when it was seen.
fn seen(results: &Results, evidence: &Evidence) -> Seen {
    let at = |time: rtscope_model::Time| units::duration(time.since(results.started));
    let to = evidence.to.map_or(String::new(), |to| format!(" to {}", at(to)));
    Seen { text: evidence.text.clone(), when: evidence.from.map(|from| format!("from {}{to}", at(from))) }
}

fn change(remedy: &Remedy) -> Change {
    Change {
        text: remedy.text.words.clone(),
        alternative: remedy.text.alternative,
        paste: remedy.flag.clone(),
        verify: remedy.verify.clone(),
    }
}

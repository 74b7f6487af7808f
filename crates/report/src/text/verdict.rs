//! The verdict: the worst finding in full, the others in short, or what "nothing found" is based on.

use crate::{no_findings, units, words};
use rtscope_analyze::results::Results;
use rtscope_model::text::word;
use rtscope_model::{Finding, Severity};
use rtscope_terminal::screen::Screen;
use rtscope_terminal::style::{Tone, clean, wrap};

/// Findings after the first that get lines of their own.
const SHORT_SHOWN: usize = 2;
/// Evidence lines of the first finding.
const EVIDENCE_SHOWN: usize = 3;
/// Column of the text after "seen", "change", "verify".
const INDENT: usize = 10;

pub(super) fn write(screen: &mut Screen, results: &Results) {
    screen.blank();
    let Some((first, others)) = results.findings.split_first() else {
        return say(screen, no_findings::without_findings(results));
    };
    in_full(screen, first);
    for (index, finding) in others.iter().take(SHORT_SHOWN).enumerate() {
        in_short(screen, index + 2, finding);
    }
    let more = others.len().saturating_sub(SHORT_SHOWN);
    if more > 0 {
        screen.line(&format!("   and {more} more: see --html or --json"));
    }
}

/// The verdict in a line or two.
pub(super) fn in_a_line(screen: &mut Screen, results: &Results) {
    screen.blank();
    let Some((first, others)) = results.findings.split_first() else {
        return say(screen, no_findings::without_findings_in_short(results));
    };
    let mut line = format!("{}: {}, {}", word(&first.severity), first.id, cost(first));
    if !others.is_empty() {
        line.push_str(&format!("; {} below", units::counted(others.len() as u64, "other finding", "other findings")));
    }
    screen.paragraph("Verdict  ", 9, Some(tone(first.severity)), &line);
}

fn say(screen: &mut Screen, (clear, verdict, text): (bool, &str, String)) {
    let tone = if clear { Tone::Good } else { Tone::Warn };
    // The verdict counts as part of the paragraph, but its colour codes must not.
    for (index, line) in wrap(&format!("{verdict} {text}"), screen.style().width).iter().enumerate() {
        match line.strip_prefix(verdict).filter(|_| index == 0) {
            Some(rest) => screen.line(&format!("{}{rest}", screen.style().paint(tone, verdict))),
            None => screen.line(line),
        }
    }
}

fn tone(severity: Severity) -> Tone {
    match severity {
        Severity::Severe => Tone::Bad,
        Severity::Warning => Tone::Warn,
        Severity::Note => Tone::Calm,
    }
}

fn cost(finding: &Finding) -> String {
    let (cost, of) = words::costs(finding.cost_ns, finding.cost_bytes);
    format!("{cost} = {} {of}", units::percent(finding.share))
}

fn in_full(screen: &mut Screen, finding: &Finding) {
    let tone = tone(finding.severity);
    let head = screen.style().paint(tone, "1. ").into_owned();
    screen.paragraph(&head, 3, Some(tone), &finding.claim);
    let mut facts = Vec::new();
    facts.extend((!finding.claim.has_share()).then(|| format!("costs {}", cost(finding))));
    let confidence = format!("confidence {}", finding.confidence.word());
    facts.extend([word(&finding.severity), confidence, finding.id.clone()]);
    screen.paragraph("   ", 3, Some(Tone::Faint), &facts.join(screen.style().dot()));
    for (index, evidence) in finding.evidence.iter().take(EVIDENCE_SHOWN).enumerate() {
        screen.paragraph(if index == 0 { "   seen   " } else { "          " }, INDENT, None, &evidence.text);
    }
    remedies(screen, finding);
}

/// The best remedy with flag and check, the others by their flags.
fn remedies(screen: &mut Screen, finding: &Finding) {
    let Some((best, others)) = finding.remedies.split_first() else { return };
    screen.paragraph("   change ", INDENT, None, &best.text.to_string());
    if let Some(flag) = &best.flag {
        // To be pasted: neither wrapped nor squeezed.
        for line in flag.lines() {
            let line = screen.style().paint(Tone::Strong, &clean(line)).into_owned();
            screen.line(&format!("{}{line}", " ".repeat(INDENT)));
        }
    }
    for other in others.iter().take(2) {
        // The label says "or" already.
        let words = &other.text.words;
        match &other.flag {
            Some(flag) => screen.paragraph_then("   or     ", INDENT, words, flag),
            None => screen.paragraph("   or     ", INDENT, None, words),
        }
    }
    if !best.verify.is_empty() {
        screen.paragraph("   verify ", INDENT, None, &best.verify);
    }
}

fn in_short(screen: &mut Screen, number: usize, finding: &Finding) {
    let tone = tone(finding.severity);
    let head = screen.style().paint(tone, &format!("{number}. ")).into_owned();
    let facts = match finding.claim.has_share() {
        true => finding.id.clone(),
        false => format!("{}, {}", cost(finding), finding.id),
    };
    screen.paragraph(&head, 3, None, &format!("{} ({facts})", finding.claim));
    if let Some(remedy) = finding.remedies.first() {
        let text = remedy.flag.clone().unwrap_or_else(|| remedy.text.to_string());
        screen.paragraph("   change ", INDENT, Some(Tone::Strong), &text);
    }
}

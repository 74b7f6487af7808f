//! The verdict on the page: findings with evidence and remedy, or what "nothing found" is based on.

use super::frame::paste;
use super::svg_waterfall;
use crate::{EVIDENCE_MAX, REMEDIES_MAX, no_findings, shows, units, words};
use rtscope_analyze::results::Results;
use rtscope_draw::escape::{escape, marked};
use rtscope_model::text::word;
use rtscope_model::{Evidence, Finding, Remedy};
use std::fmt::Write as _;

const FINDINGS_MAX: usize = 20;
/// Maximum lines of a text to paste.
const LINES_MAX: usize = 40;

pub(super) fn verdict(results: &Results) -> String {
    let mut out = String::new();
    if results.findings.is_empty() {
        let (clear, verdict, text) = no_findings::without_findings(results);
        let (class, text) = (if clear { "good" } else { "warning" }, marked(&text));
        let _ = write!(out, "<article class=\"finding {class}\"><h3>{verdict}</h3><p>{text}</p></article>");
    }
    out.extend(results.findings.iter().take(FINDINGS_MAX).map(|finding| article(results, finding)));
    if let Some(more) = results.findings.len().checked_sub(FINDINGS_MAX).filter(|more| *more > 0) {
        let _ = write!(out, "<p>and {more} more, see <code>rtscope report --json</code></p>");
    }
    out
}

fn article(results: &Results, finding: &Finding) -> String {
    let severity = word(&finding.severity);
    let (cost, of) = words::costs(finding.cost_ns, finding.cost_bytes);
    let shown = shows::pause(finding, results, svg_waterfall::WORST_MAX)
        .map_or_else(String::new, |rank| format!(" &middot; <a href=\"#pause-{rank}\">show its longest pause</a>"));
    let mut out = format!(
        "<article class=\"finding {severity}\"><h3>{}</h3><p class=\"faint\"><strong>costs {cost}, {} {of}</strong> \
         &middot; {severity} &middot; confidence {} &middot; <code>rtscope explain {}</code>{}</p>",
        marked(&finding.claim),
        escape(&units::percent(finding.share)),
        finding.confidence.word(),
        escape(&finding.id),
        shown,
    );
    let seen = |evidence: &Evidence| format!("{}{}", marked(&evidence.text), range(results, evidence));
    out += &titled("Seen", finding.evidence.iter().take(EVIDENCE_MAX).map(seen));
    out += &titled("Change", finding.remedies.iter().take(REMEDIES_MAX).map(item));
    out + "</article>"
}

/// A list with its heading; empty without items.
fn titled(title: &str, items: impl Iterator<Item = String>) -> String {
    let items: String = items.map(|item| format!("<li>{item}</li>")).collect();
    if items.is_empty() { items } else { format!("<h4>{title}</h4><ul>{items}</ul>") }
}

fn item(remedy: &Remedy) -> String {
    let mut out = marked(&remedy.text.to_string());
    if let Some(flag) = &remedy.flag {
        out += &paste(flag, LINES_MAX);
    }
    if !remedy.verify.is_empty() {
        let _ = write!(out, " <span class=\"faint\">Verify: {}</span>", marked(&remedy.verify));
    }
    out
}

/// Where in the recording the evidence is.
fn range(results: &Results, evidence: &Evidence) -> String {
    let at = |time: rtscope_model::Time| units::duration(time.since(results.started));
    let to = evidence.to.map_or(String::new(), |to| format!(" to {}", at(to)));
    evidence.from.map_or(String::new(), |from| format!(" <span class=\"faint\">(from {}{to})</span>", at(from)))
}

//! The comparison as text: what changed, what differs between the recordings,
//! figures, findings, conditions, and what two runs cannot show.

use crate::compare::{Came, Compared};
use crate::draw::screen::Screen;
use crate::report::{compare as words, units};
use crate::style::{Style, Tone, clean, shorten, shorten_front};
use rtscope_analyze::compare::Verdict;
use rtscope_analyze::compare::setting::Kind;
use rtscope_analyze::results::Results;

/// Losses told one by one.
const LOSSES_SHOWN: usize = 4;
/// Findings told one by one.
const FINDINGS_SHOWN: usize = 6;

/// The comparison for `style`. Ends with a line feed.
pub fn render(compared: &Compared, style: &Style) -> String {
    let mut screen = Screen::new(style);
    title(&mut screen, "A", &compared.a.results);
    title(&mut screen, "B", &compared.b.results);
    settings(&mut screen, compared);
    screen.blank();
    let tone = match compared.comparison.verdict {
        Verdict::NoDifference => Tone::Good,
        Verdict::Different => Tone::Strong,
        Verdict::OthersDiffer | Verdict::CannotTell => Tone::Warn,
    };
    screen.paragraph("", 0, Some(tone), &words::headline(compared));
    screen.blank();
    figures(&mut screen, compared);
    entries(&mut screen, "Findings", &findings(compared));
    conditions(&mut screen, compared);
    screen.blank();
    entries(&mut screen, "Two runs", &words::limits(&compared.comparison));
    let mut losses = words::losses(compared);
    if losses.len() > LOSSES_SHOWN {
        let more = losses.split_off(LOSSES_SHOWN).len();
        losses.push(format!("and {more} more, see the report of each"));
    }
    entries(&mut screen, "Not seen", &losses);
    screen.finish()
}

fn title(screen: &mut Screen, side: &str, results: &Results) {
    let mut facts = Vec::new();
    facts.extend(crate::report::words::runtime(&results.runtime).map(|text| shorten(&clean(&text), 40).into_owned()));
    if !results.lanes.is_empty() {
        facts.push(units::counted(results.lanes.len() as u64, "lane", "lanes"));
    }
    facts.push(units::duration(results.span_ns));
    facts.extend(crate::report::words::ending(results));
    if crate::report::words::has_runtime(results) {
        facts.push(units::counted(results.pauses.count, "pause", "pauses"));
    }
    let path = clean(&results.source.path).into_owned();
    let path = shorten_front(&path, screen.style().width.saturating_sub(2)).into_owned();
    let facts = facts.join(screen.style().dot());
    screen.spread(Tone::Strong, &format!("{side} {path}"), &facts);
}

/// What differs before any figure does.
fn settings(screen: &mut Screen, compared: &Compared) {
    let settings = &compared.comparison.settings;
    for (index, difference) in settings.iter().enumerate() {
        let text = words::setting(difference);
        let text = match difference.kind {
            Kind::Program => format!("{text}: two things are compared, not one before and after"),
            _ => text,
        };
        screen.entry(if index == 0 { "Not the same" } else { "" }, &text);
    }
}

fn figures(screen: &mut Screen, compared: &Compared) {
    let span_ns = compared.b.results.span_ns;
    let shown = compared.comparison.figures.iter().filter(|figure| words::shown(figure));
    let rows: Vec<Vec<String>> = shown
        .map(|figure| {
            vec![
                words::name(&figure.path),
                words::value(figure, figure.a),
                words::value(figure, figure.b),
                words::change(figure, figure.change, span_ns),
                words::interval(figure, span_ns),
                words::decided(figure).into(),
            ]
        })
        .collect();
    if !rows.is_empty() {
        screen.table("Figures", &["A", "B", "change", "95 in 100", ""], &rows);
    }
}

fn findings(compared: &Compared) -> Vec<String> {
    let mut told: Vec<String> = compared.comparison.findings.iter().map(words::finding).collect();
    if told.len() > FINDINGS_SHOWN {
        let more = told.split_off(FINDINGS_SHOWN).len();
        told.push(format!("and {more} more, see --json"));
    }
    if told.is_empty() {
        told.push("none in either".into());
    }
    told
}

fn conditions(screen: &mut Screen, compared: &Compared) {
    for (index, asked) in compared.conditions.iter().enumerate() {
        let head = screen.label(if index == 0 { "Fail if" } else { "" });
        let tone = match asked.outcome {
            Came::Holds => Some(Tone::Bad),
            Came::Unknown => Some(Tone::Warn),
            Came::DoesNotHold | Came::NotReal => None,
        };
        screen.paragraph(&head, crate::draw::screen::LABEL, tone, &words::condition(asked));
    }
}

fn entries(screen: &mut Screen, label: &str, texts: &[String]) {
    for (index, text) in texts.iter().enumerate() {
        screen.entry(if index == 0 { label } else { "" }, text);
    }
}

//! The comparison as text: what changed, what differs between the recordings,
//! figures, findings, conditions, and what two runs cannot show.

use crate::compared::{Compared, ConditionOutcome};
use crate::{compare as words, units, words as report_words};
use rtscope_analyze::compare::Verdict;
use rtscope_analyze::compare::account::PartChange;
use rtscope_analyze::compare::setting::{Difference, SettingKind};
use rtscope_analyze::results::Results;
use rtscope_terminal::screen::Screen;
use rtscope_terminal::style::{Style, Tone, clean, short, shorten_front};

/// Maximum losses listed.
const LOSSES_SHOWN: usize = 4;
/// Maximum characters of a part's name.
const PART_SHOWN: usize = 40;
/// Maximum findings listed.
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
    account(&mut screen, compared);
    figures(&mut screen, compared);
    screen.entries("Findings", findings(compared));
    conditions(&mut screen, compared);
    screen.blank();
    screen.entries("Two runs", words::limits(&compared.comparison));
    let losses = report_words::cut(words::losses(compared), LOSSES_SHOWN, |more| {
        format!("and {more} more, see the report of each")
    });
    screen.entries("Not seen", &losses);
    screen.finish()
}

fn title(screen: &mut Screen, side: &str, results: &Results) {
    let facts = report_words::facts(results, super::runtime, units::duration(results.span_ns), false);
    let path = clean(&results.source.path);
    let path = shorten_front(&path, screen.style().width.saturating_sub(2));
    screen.spread(Tone::Strong, &format!("{side} {path}"), &facts.join(screen.style().dot()));
}

/// What differs between the recordings apart from figures.
fn settings(screen: &mut Screen, compared: &Compared) {
    let item = |difference: &Difference| {
        let text = words::setting(difference);
        match difference.kind {
            SettingKind::Program => format!("{text}: two things are compared, not one before and after"),
            _ => text,
        }
    };
    screen.entries("Not the same", compared.comparison.settings.iter().map(item));
}

/// Where lane time went: the parts whose share changed.
fn account(screen: &mut Screen, compared: &Compared) {
    let parts = compared.comparison.account.iter().filter(|part| part.depth == 0 || part.change().abs() >= 0.01);
    let row = |part: &PartChange| {
        let [name, figures @ ..] = words::part_cells(part);
        [vec![format!("{:1$}{2}", "", 2 * part.depth, short(&name, PART_SHOWN))], figures.to_vec()].concat()
    };
    let rows: Vec<Vec<String>> = parts.map(row).collect();
    if !rows.is_empty() {
        screen.table("Lane time", &["A", "B", "change"], &rows);
    }
}

fn figures(screen: &mut Screen, compared: &Compared) {
    let span_ns = compared.b.results.span_ns;
    let shown = compared.comparison.figures.iter().filter(|figure| words::shown(figure));
    let row = |figure| words::cells(figure, span_ns).into_iter().chain([words::decided(figure).into()]).collect();
    let rows: Vec<Vec<String>> = shown.map(row).collect();
    if !rows.is_empty() {
        screen.table("Figures", &["A", "B", "change", "95 in 100", ""], &rows);
    }
}

fn findings(compared: &Compared) -> Vec<String> {
    let items = compared.comparison.findings.iter().map(words::finding).collect();
    let mut items = report_words::cut(items, FINDINGS_SHOWN, |more| format!("and {more} more, see --json"));
    if items.is_empty() {
        items.push("none in either".into());
    }
    items
}

fn conditions(screen: &mut Screen, compared: &Compared) {
    for (index, condition) in compared.conditions.iter().enumerate() {
        let head = screen.label(if index == 0 { "Fail if" } else { "" });
        let tone = match condition.outcome {
            ConditionOutcome::Holds => Some(Tone::Bad),
            ConditionOutcome::Unknown => Some(Tone::Warn),
            ConditionOutcome::DoesNotHold | ConditionOutcome::NotReal => None,
        };
        screen.paragraph(&head, rtscope_terminal::screen::LABEL, tone, &words::condition(condition));
    }
}

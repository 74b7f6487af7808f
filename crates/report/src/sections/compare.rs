//! The content of a comparison that every medium shows: what changed, which parts of the time, figures, findings, and what
//! two runs cannot show.

use crate::compare as words;
use crate::compared::Compared;
use rtscope_analyze::compare::Verdict as Answer;
use rtscope_analyze::compare::account::PartChange;
use rtscope_analyze::compare::judge::Compared as Figure;
use rtscope_analyze::compare::setting::{Difference, SettingKind};
use rtscope_draw::present::{Block, Cell, Grade, Name, Row, Section, Table, TextForm, Verdict};
use std::collections::BTreeMap;

/// A part of a part is shown on a terminal from this change on.
const CHANGE_SHOWN: f64 = 0.01;

/// What changed, what differs between the recordings apart from figures, and what was asked.
pub fn verdict(compared: &Compared) -> Section<'_> {
    let grade = match compared.comparison.verdict {
        Answer::NoDifference => Grade::Good,
        Answer::Different => Grade::Note,
        Answer::OthersDiffer | Answer::CannotTell => Grade::Warning,
    };
    let verdict = Verdict { grade, head: words::headline(compared), text: String::new(), doubts: Vec::new() };
    let setting = |difference: &Difference| {
        let text = words::setting(difference);
        match difference.kind {
            SettingKind::Program => format!("{text}: two things are compared, not one before and after"),
            _ => text,
        }
    };
    let blocks = [
        Some(Block::Verdict(verdict)),
        Block::text("Not the same", TextForm::List, compared.comparison.settings.iter().map(setting)),
        Block::text("Fail if", TextForm::List, compared.conditions.iter().map(words::condition)),
    ];
    Section::new("verdict", "What changed", blocks)
}

/// Which shares of lane time changed from A to B.
pub fn account(compared: &Compared) -> Section<'_> {
    let row = |part: &PartChange| {
        let [name, figures @ ..] = words::part_cells(part);
        let name = Name { depth: part.depth, ..Name::from(name) };
        let detail = part.depth > 0 && part.change().abs() < CHANGE_SHOWN;
        Row { name, cells: figures.map(Cell::from).into(), detail }
    };
    let mut table = Table::of_columns("lane time", ["A", "B", "change"]);
    table.rows = compared.comparison.account.iter().map(row).collect();
    let lanes = compared.a.results.runtime.info().lane.1;
    let about = format!("Shares of the time of all {lanes}. One run of each: no interval.");
    let about = Block::text("", TextForm::Faint, Some(about).filter(|_| !table.rows.is_empty()));
    Section::new("account", "Where the time went", [table.block(), about])
}

/// The figures that both have, and those that were not judged.
pub fn figures(compared: &Compared) -> Section<'_> {
    let span_ns = compared.b.results.span_ns;
    let known = || compared.comparison.figures.iter().filter(|figure| figure.a.is_some() && figure.b.is_some());
    let row = |figure: &Figure| {
        let [name, a, b, change, interval] = words::cells(figure, span_ns);
        let interval = match figure.low.zip(figure.high) {
            Some((low, high)) => Cell::Interval { text: interval, low, high, differs: figure.differs() },
            None => Cell::from(interval),
        };
        let cells = vec![a.into(), b.into(), change.into(), interval, words::decided(figure).into()];
        Row { name: name.into(), cells, detail: !words::shown(figure) }
    };
    let mut table = Table::of_columns("figures", ["A", "B", "change", "95 in 100", ""]);
    table.rows = known().map(row).collect();
    let about = "Sums: share of each run, and their change as time in a run as long as B. Interval: 95 in 100 pairs of quarters; \
                 the stroke in the small drawing is no change.";
    let about = Block::text("", TextForm::Faint, Some(about.to_owned()).filter(|_| !table.rows.is_empty()));
    let blocks = [table.block(), about, Block::text("Not judged", TextForm::List, not_judged(known()))];
    Section::new("figures", "Figures", blocks)
}

/// The figures that were not judged, grouped by reason.
fn not_judged<'f>(known: impl Iterator<Item = &'f Figure>) -> Vec<String> {
    let mut whys: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for figure in known {
        if let Some(why) = &figure.why_not {
            whys.entry(why).or_default().push(words::name(&figure.path));
        }
    }
    whys.iter().map(|(why, names)| format!("{}: {why}", names.join("; "))).collect()
}

/// Findings that stay, come or go.
pub fn findings(compared: &Compared) -> Section<'_> {
    let mut items: Vec<String> = compared.comparison.findings.iter().map(words::finding).collect();
    if items.is_empty() {
        items.push("none in either".to_owned());
    }
    Section::new("findings", "Findings", [Block::text("Findings", TextForm::List, items)])
}

/// What two runs cannot show, and what was not seen of them; at most `most` losses.
pub fn unseen(compared: &Compared, most: usize) -> Section<'_> {
    let more = |more| format!("and {more} more, see the report of each");
    let losses = crate::words::cut(words::losses(compared), most, more);
    let limits = words::limits(&compared.comparison);
    let blocks = [Block::text("Two runs", TextForm::List, limits), Block::text("Not seen", TextForm::List, losses)];
    Section::new("losses", "What this cannot show", blocks)
}

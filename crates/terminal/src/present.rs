//! The writer of terminals: each form of content as lines. Owns their layout; refuses to know results. Tables lose
//! columns from the right, and names their ends, where a line is too short.

use crate::charts;
use crate::screen::Screen;
use crate::style::{Style, Tone, capitalised, clean, short, wrap};
use rtscope_draw::present::{
    Block, Card, Cell, Change, Command, Grade, Name, Row, Section, Table, Text, TextForm, Verdict,
};
use rtscope_model::units;

/// Width of the names in a table if there is no room for more.
const NAME_MIN: usize = 24;
/// Findings after the first that get lines of their own.
const SHORT_SHOWN: usize = 2;
/// Evidence lines of the first finding, and alternatives to its first remedy.
const SEEN_SHOWN: usize = 3;
const OTHERS_SHOWN: usize = 2;
/// Column of the text after "seen", "change", "verify".
const INDENT: usize = 10;

/// Writes a section after a blank line; nothing if a terminal shows nothing of it.
pub fn section(screen: &mut Screen<'_>, section: &Section<'_>) {
    screen.add(content(screen.style(), section));
}

/// Like [`self::section`], with its heading.
pub fn titled(screen: &mut Screen<'_>, section: &Section<'_>) {
    let content = content(screen.style(), section);
    if !content.is_empty() {
        let mut own = Screen::new(screen.style());
        own.line(&screen.style().paint(Tone::Strong, &clean(&section.title)));
        own.append(content);
        screen.add(own);
    }
}

fn content<'s>(style: &'s Style, section: &Section<'_>) -> Screen<'s> {
    let mut own = Screen::new(style);
    for (index, block) in section.blocks.iter().enumerate() {
        if index > 0 && matches!(block, Block::Tree(_)) {
            own.blank();
        }
        self::block(&mut own, block);
    }
    own
}

fn block(screen: &mut Screen<'_>, block: &Block<'_>) {
    match block {
        Block::Text(text) => self::text(screen, text),
        Block::Verdict(found) => verdict(screen, found),
        Block::Findings(all) => findings(screen, all),
        Block::Table(all) => table(screen, all),
        Block::Tree(all) => charts::tree(screen, all, all.lines),
        Block::Chart(chart) => charts::shape(screen, &chart.shape),
        Block::Commands(all) => commands(screen, all),
    }
}

fn text(screen: &mut Screen<'_>, text: &Text) {
    let tone = (text.form == TextForm::Faint).then_some(Tone::Faint);
    for (index, sentence) in text.sentences.iter().enumerate() {
        screen.entry_in(tone, if index == 0 { &text.topic } else { "" }, sentence);
    }
}

/// Texts to paste: neither wrapped nor cut.
fn commands(screen: &mut Screen<'_>, all: &[Command]) {
    let wide = all.iter().map(|command| command.what.chars().count()).max().unwrap_or(0);
    for Command { what, text } in all {
        let pad = " ".repeat(wide - what.chars().count());
        let what = screen.style().paint(Tone::Faint, what).into_owned();
        let mut lines = text.lines();
        screen.line(&format!("  {what}{pad}  {}", clean(lines.next().unwrap_or_default())));
        lines.for_each(|line| screen.line(&format!("  {:wide$}  {}", "", clean(line))));
    }
}

/// An answer; what it rests on follows in the same paragraph.
pub fn verdict(screen: &mut Screen<'_>, found: &Verdict) {
    let (head, tone) = (clean(&found.head), tone(found.grade));
    match found.text.as_str() {
        "" => screen.paragraph("", 0, Some(tone), &head),
        // The head counts as part of the paragraph, but its colour codes must not.
        text => {
            for (index, line) in wrap(&format!("{head} {}", clean(text)), screen.style().width).iter().enumerate() {
                match line.strip_prefix(&*head).filter(|_| index == 0) {
                    Some(rest) => screen.line(&format!("{}{rest}", screen.style().paint(tone, &head))),
                    None => screen.line(line),
                }
            }
        }
    }
    found.doubts.iter().for_each(|doubt| screen.paragraph("", 0, Some(Tone::Warn), doubt));
}

fn tone(grade: Grade) -> Tone {
    match grade {
        Grade::Good => Tone::Good,
        Grade::Note => Tone::Calm,
        Grade::Warning => Tone::Warn,
        Grade::Severe => Tone::Bad,
    }
}

/// The worst finding in full, the others in short.
fn findings(screen: &mut Screen<'_>, all: &[Card]) {
    let Some((first, others)) = all.split_first() else { return };
    in_full(screen, first);
    for (number, card) in (2..).zip(others.iter().take(SHORT_SHOWN)) {
        in_short(screen, number, card);
    }
    let more = others.len().saturating_sub(SHORT_SHOWN);
    if more > 0 {
        screen.line(&format!("   and {more} more: see --html or --json"));
    }
}

/// The worst finding in a line or two.
pub fn headline(screen: &mut Screen<'_>, all: &[Card]) {
    let Some((first, others)) = all.split_first() else { return };
    let mut line = format!("{}: {}, {}", first.severity, first.id, first.cost.join(" = "));
    if !others.is_empty() {
        line += &format!("; {} below", units::counted(others.len() as u64, "other finding", "other findings"));
    }
    screen.paragraph("Verdict  ", 9, Some(tone(first.grade)), &line);
}

fn in_full(screen: &mut Screen<'_>, card: &Card) {
    let tone = tone(card.grade);
    let head = screen.style().paint(tone, "1. ").into_owned();
    screen.paragraph(&head, 3, Some(tone), &card.claim);
    let cost = (!card.claim_has_cost).then(|| format!("costs {}", card.cost.join(" = ")));
    let facts = [card.severity.clone(), format!("confidence {}", card.confidence), card.id.clone()];
    let facts: Vec<String> = cost.into_iter().chain(facts).collect();
    screen.paragraph("   ", 3, Some(Tone::Faint), &facts.join(screen.style().dot()));
    for (index, seen) in card.seen.iter().take(SEEN_SHOWN).enumerate() {
        screen.paragraph(if index == 0 { "   seen   " } else { "          " }, INDENT, None, &seen.text);
    }
    changes(screen, &card.changes);
}

/// The best remedy with flag and check, the others by their flags.
fn changes(screen: &mut Screen<'_>, all: &[Change]) {
    let Some((best, others)) = all.split_first() else { return };
    screen.paragraph("   change ", INDENT, None, &best.text);
    // To be pasted: neither wrapped nor squeezed.
    for line in best.paste.iter().flat_map(|text| text.lines()) {
        let line = screen.style().paint(Tone::Strong, &clean(line)).into_owned();
        screen.line(&format!("{}{line}", " ".repeat(INDENT)));
    }
    for other in others.iter().take(OTHERS_SHOWN) {
        match &other.paste {
            Some(paste) => screen.paragraph_then("   or     ", INDENT, &other.text, paste),
            None => screen.paragraph("   or     ", INDENT, None, &other.text),
        }
    }
    if !best.verify.is_empty() {
        screen.paragraph("   verify ", INDENT, None, &best.verify);
    }
}

fn in_short(screen: &mut Screen<'_>, number: usize, card: &Card) {
    let head = screen.style().paint(tone(card.grade), &format!("{number}. ")).into_owned();
    let cost = if card.claim_has_cost { String::new() } else { card.cost.join(" = ") + ", " };
    screen.paragraph(&head, 3, None, &format!("{} ({cost}{})", card.claim, card.id));
    if let Some(change) = card.changes.first() {
        let text = change.paste.as_ref().unwrap_or(&change.text);
        screen.paragraph("   change ", INDENT, Some(Tone::Strong), text);
    }
}

/// A table; its topic is its label.
pub fn table(screen: &mut Screen<'_>, table: &Table) {
    let shown = |index: &usize| {
        let notes = |row: &Row| matches!(row.cells.get(*index), Some(Cell::Note(_)));
        !table.columns.get(*index).is_none_or(|column| column.detail) && !table.rows.iter().any(notes)
    };
    let shown: Vec<usize> = (0..table.columns.len()).filter(shown).collect();
    let (most, what) = table.short;
    let cells = |row: &Row| -> Vec<String> {
        shown.iter().map(|index| row.cells.get(*index).map_or_else(String::new, cell)).collect()
    };
    let all: Vec<&Row> = table.rows.iter().filter(|row| !row.detail).collect();
    let figures: Vec<Vec<String>> = all.iter().take(most).map(|row| cells(row)).collect();
    let heads: Vec<&str> =
        shown.iter().filter_map(|index| table.columns.get(*index)).map(|column| &*column.head).collect();
    let width = |(index, head): (usize, &&str)| {
        let cells = figures.iter().filter_map(|row| row.get(index)).map(|cell| cell.chars().count());
        cells.chain([head.chars().count()]).max().unwrap_or(0) + 1
    };
    let figures_width: usize = heads.iter().enumerate().map(width).sum();
    let room = screen.style().width.saturating_sub(figures_width + 4).max(NAME_MIN);
    let marked = all.iter().any(|row| !row.name.mark.is_empty());
    let unicode = screen.style().unicode;
    let named = |(row, figures): (&&Row, Vec<String>)| [vec![name(&row.name, marked, unicode, room)], figures].concat();
    let mut rows: Vec<Vec<String>> = all.iter().zip(figures).map(named).collect();
    let more = all.len().saturating_sub(most) as u64;
    rows.extend((more > 0).then(|| vec![format!("{} more {what}, see --json", units::count(more))]));
    let share = |row: &&Row| match row.cells.get(*shown.last()?) {
        Some(Cell::Share(share)) => Some(*share),
        _ => None,
    };
    let shares: Vec<Option<f64>> = all.iter().take(most).map(share).collect();
    screen.table(&clean(&capitalised(&table.topic)), &heads, &rows, &shares);
}

fn name(name: &Name, marked: bool, unicode: bool, room: usize) -> String {
    let mark = match name.mark {
        "" if marked => "  ".to_owned(),
        "" => String::new(),
        mark => format!("{} ", charts::glyph(mark, unicode)),
    };
    let indent = " ".repeat(2 * name.depth);
    short(&format!("{mark}{indent}{}", name.text), room)
}

fn cell(cell: &Cell) -> String {
    match cell {
        Cell::Figure(text) | Cell::Interval { text, .. } => clean(text).into_owned(),
        Cell::Share(share) => units::percent(*share),
        Cell::Note(_) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(width: usize, table: Table) -> String {
        let style = Style::plain(width);
        let mut screen = Screen::new(&style);
        section(&mut screen, &Section::new("id", "Title", [table.block()]));
        screen.finish()
    }

    fn of_names(names: &[&str]) -> Table {
        let row = |name: &&str| (Name::from(*name), ["12".into(), Cell::Share(0.5), Cell::Note("why".into())]);
        Table::new("things", ["count", "share", "what it is"], names.iter().map(row))
    }

    #[test]
    fn names_are_cut_and_cleaned_and_rows_are_counted() {
        let long = "x".repeat(90);
        let text = shown(60, of_names(&[&long, "a\x1b[2Jb", "c", "d"]).short(2, "things"));
        assert!(text.lines().all(|line| line.chars().count() <= 60), "{text}");
        assert!(text.contains("xxx...") && text.contains("a\\u{1b}[2Jb") && text.contains("2 more things, see --json"));
        assert!(text.starts_with("\nThings ") && !text.contains("what it is"), "{text}");
    }

    #[test]
    fn a_long_answer_has_its_colour_on_every_line() {
        let style = Style { colour: true, ..Style::plain(60) };
        let mut screen = Screen::new(&style);
        let head = "word ".repeat(20).trim_end().to_owned();
        verdict(&mut screen, &Verdict { grade: Grade::Note, head, text: String::new(), doubts: Vec::new() });
        let text = screen.finish();
        assert!(text.lines().count() == 2 && text.lines().all(|line| line.starts_with("\x1b[34m")), "{text:?}");
    }

    #[test]
    fn what_a_terminal_cannot_show_leaves_no_trace() {
        let style = Style::plain(80);
        let mut screen = Screen::new(&style);
        section(&mut screen, &Section::new("id", "Title", [Block::picture(|| Some("<svg/>".to_owned()))]));
        assert_eq!(screen.finish(), "");
    }
}

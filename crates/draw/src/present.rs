//! What a report consists of: sections of sentences, findings, tables, trees, charts and commands. A report is built once from
//! results and drawn by a writer for each medium: a terminal (`rtscope_terminal::present`), a page (`html`), JSON for the
//! viewer. Owns the forms of content; refuses to know results, and to lay anything out.

use crate::tree::Tree;
use serde::Serialize;
use std::borrow::Cow;

/// A text that is fixed or made from results.
pub type Words = Cow<'static, str>;

/// A part of a report with a heading.
#[derive(Debug, Serialize)]
pub struct Section<'r> {
    /// Its anchor on a page.
    pub id: Words,
    /// The heading.
    pub title: Words,
    /// The content, from the top.
    pub blocks: Vec<Block<'r>>,
}

impl<'r> Section<'r> {
    /// A section with the blocks that exist.
    pub fn new(
        id: impl Into<Words>,
        title: impl Into<Words>,
        blocks: impl IntoIterator<Item = Option<Block<'r>>>,
    ) -> Section<'r> {
        Section { id: id.into(), title: title.into(), blocks: blocks.into_iter().flatten().collect() }
    }
}

/// A piece of content.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Block<'r> {
    /// Sentences about one thing.
    Text(Text),
    /// An answer in a few words, with what it rests on.
    Verdict(Verdict),
    /// Findings, the worst first.
    Findings(Vec<Card>),
    /// Rows of figures.
    Table(Table),
    /// Time, divided into parts.
    Tree(Tree<'r>),
    /// A picture for a page, and its plain form for a terminal.
    Chart(Chart<'r>),
    /// Texts to paste.
    Commands(Vec<Command>),
}

/// A text to paste; its lines are kept as they are.
#[derive(Clone, Eq, PartialEq, Debug, Serialize)]
pub struct Command {
    /// What it is for.
    pub what: String,
    /// The text.
    pub text: String,
}

/// Sentences about one thing.
#[derive(Clone, Eq, PartialEq, Debug, Serialize)]
pub struct Text {
    /// What they are about, in a word or two; may be empty.
    pub topic: Words,
    /// The sentences.
    pub sentences: Vec<String>,
    /// How they are set.
    pub form: TextForm,
}

/// How sentences are set.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TextForm {
    /// Paragraphs; a single one begins with its topic.
    Plain,
    /// As the most important one.
    Strong,
    /// Less important.
    Faint,
    /// Items, without an order.
    List,
}

impl<'r> Block<'r> {
    /// A sentence with its topic, if there is one.
    pub fn fact(topic: impl Into<Words>, sentence: Option<String>) -> Option<Block<'r>> {
        Block::text(topic, TextForm::Plain, sentence)
    }

    /// Sentences in this form; `None` without any.
    pub fn text(
        topic: impl Into<Words>,
        form: TextForm,
        sentences: impl IntoIterator<Item = String>,
    ) -> Option<Block<'r>> {
        let sentences: Vec<String> = sentences.into_iter().collect();
        (!sentences.is_empty()).then(|| Block::Text(Text { topic: topic.into(), sentences, form }))
    }

    /// A picture for pages alone, as SVG.
    pub fn picture(picture: impl Fn() -> Option<String> + 'r) -> Option<Block<'r>> {
        Some(Block::Chart(Chart { picture: Picture::Svg(Box::new(picture)), shape: Shape::None }))
    }

    /// A part of pages alone, as HTML.
    pub fn markup(markup: impl Fn() -> Option<String> + 'r) -> Option<Block<'r>> {
        Some(Block::Chart(Chart { picture: Picture::Html(Box::new(markup)), shape: Shape::None }))
    }
}

/// How good or bad an answer is: also a class of the page's style sheet.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Grade {
    /// Nothing to do.
    Good,
    /// Worth knowing.
    Note,
    /// Costs something, or does not say all.
    Warning,
    /// It dominates the run.
    Severe,
}

/// An answer in a few words.
#[derive(Clone, Eq, PartialEq, Debug, Serialize)]
pub struct Verdict {
    /// How good it is.
    pub grade: Grade,
    /// The answer.
    pub head: String,
    /// What it rests on.
    pub text: String,
    /// What makes it doubtful, a sentence each.
    pub doubts: Vec<String>,
}

/// A finding as it is shown.
#[derive(Clone, Eq, PartialEq, Debug, Serialize)]
pub struct Card {
    /// Its stable name.
    pub id: String,
    /// How much it matters.
    pub grade: Grade,
    /// That in a word.
    pub severity: String,
    /// How sure it is.
    pub confidence: &'static str,
    /// What happens, what it costs, what causes it.
    pub claim: String,
    /// Its cost: "1.93 s", and "64 % of the run".
    pub cost: [String; 2],
    /// Whether the claim has the cost already.
    pub claim_has_cost: bool,
    /// The evidence.
    pub seen: Vec<Seen>,
    /// What to change, best first.
    pub changes: Vec<Change>,
    /// The anchor of the picture that shows it best, and words for the way there.
    pub shown: Option<[String; 2]>,
}

/// A piece of evidence.
#[derive(Clone, Eq, PartialEq, Debug, Serialize)]
pub struct Seen {
    /// What was seen.
    pub text: String,
    /// When: "from 1.20 s to 1.31 s".
    pub when: Option<String>,
}

/// Something to change.
#[derive(Clone, Eq, PartialEq, Debug, Serialize)]
pub struct Change {
    /// What to do.
    pub text: String,
    /// Whether it is an alternative to the one before.
    pub alternative: bool,
    /// What to paste.
    pub paste: Option<String>,
    /// How to see that it helped.
    pub verify: String,
}

/// Rows of figures; the first column names the rows.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Table {
    /// What the rows are: head of the first column.
    pub topic: Words,
    /// The other columns.
    pub columns: Vec<Column>,
    /// The rows; each has a cell for each column.
    pub rows: Vec<Row>,
    /// Maximum rows on a terminal, and what the others are called there.
    pub short: (usize, &'static str),
}

/// A column of figures.
#[derive(Clone, Eq, PartialEq, Debug, Serialize)]
pub struct Column {
    /// The head.
    pub head: Words,
    /// Whether a terminal leaves it out.
    pub detail: bool,
}

/// A row of a table.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Row {
    /// Its name.
    pub name: Name,
    /// Its cells.
    pub cells: Vec<Cell>,
    /// Whether a terminal leaves it out.
    pub detail: bool,
}

/// What a row is called.
#[derive(Clone, Eq, PartialEq, Debug, Default, Serialize)]
pub struct Name {
    /// The words.
    pub text: String,
    /// Whether they are code.
    pub code: bool,
    /// Class of the colour that marks it in a chart; empty: none.
    pub mark: &'static str,
    /// How many rows above contain it.
    pub depth: usize,
}

impl<S: Into<String>> From<S> for Name {
    fn from(text: S) -> Name {
        Name { text: text.into(), ..Name::default() }
    }
}

impl Name {
    /// A name from the program's code.
    pub fn code(text: impl Into<String>) -> Name {
        Name { code: true, ..Name::from(text) }
    }

    /// Marked like a chart's part of this class.
    pub fn marked(text: impl Into<String>, mark: &'static str) -> Name {
        Name { mark, ..Name::from(text) }
    }
}

/// A figure or a word in a table.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cell {
    /// A figure in words.
    Figure(String),
    /// A share from 0 to 1, which a page also draws.
    Share(f64),
    /// A change with its bounds, relative to none, which a page also draws.
    #[allow(missing_docs)]
    Interval { text: String, low: f64, high: f64, differs: bool },
    /// An explanation.
    Note(String),
}

impl<S: Into<String>> From<S> for Cell {
    fn from(text: S) -> Cell {
        Cell::Figure(text.into())
    }
}

impl Table {
    /// A table with these heads: of the first column, and of the others. A head that begins with `+` is a detail, left out
    /// on a terminal; one that is empty belongs to a column that this table lacks.
    pub fn new<const N: usize>(
        topic: impl Into<Words>,
        heads: [&'static str; N],
        rows: impl IntoIterator<Item = (Name, [Cell; N])>,
    ) -> Table {
        let kept: Vec<bool> = heads.iter().map(|head| !head.is_empty()).collect();
        let column = |head: &'static str| match head.strip_prefix('+') {
            Some(head) => Column { head: head.into(), detail: true },
            None => Column { head: head.into(), detail: false },
        };
        let row = |(name, cells): (Name, [Cell; N])| Row {
            name,
            cells: cells.into_iter().zip(&kept).filter(|(_, kept)| **kept).map(|(cell, _)| cell).collect(),
            detail: false,
        };
        Table {
            topic: topic.into(),
            columns: heads.into_iter().filter(|head| !head.is_empty()).map(column).collect(),
            rows: rows.into_iter().map(row).collect(),
            short: (usize::MAX, ""),
        }
    }

    /// A table whose columns are made from results.
    pub fn of_columns(topic: impl Into<Words>, heads: impl IntoIterator<Item = impl Into<Words>>) -> Table {
        let column = |head: Words| Column { head, detail: false };
        let columns = heads.into_iter().map(|head| column(head.into())).collect();
        Table { topic: topic.into(), columns, rows: Vec::new(), short: (usize::MAX, "") }
    }

    /// Adds a row.
    pub fn row(&mut self, name: impl Into<Name>, cells: impl IntoIterator<Item = impl Into<Cell>>) {
        let cells = cells.into_iter().map(Into::into).collect();
        self.rows.push(Row { name: name.into(), cells, detail: false });
    }

    /// At most `most` rows on a terminal; the others are counted, as so many more `what`.
    pub fn short(self, most: usize, what: &'static str) -> Table {
        Table { short: (most, what), ..self }
    }

    /// As a block; `None` without rows.
    pub fn block<'r>(self) -> Option<Block<'r>> {
        (!self.rows.is_empty()).then_some(Block::Table(self))
    }
}

/// A picture for a page, and its plain form for a terminal.
#[derive(Debug, Serialize)]
pub struct Chart<'r> {
    /// Drawn only where it is shown.
    #[serde(skip)]
    pub picture: Picture<'r>,
    /// For a terminal.
    pub shape: Shape,
}

type Drawn<'r> = Box<dyn Fn() -> Option<String> + 'r>;

/// What a page shows.
pub enum Picture<'r> {
    /// A drawing.
    Svg(Drawn<'r>),
    /// A drawing with its surroundings.
    Html(Drawn<'r>),
}

impl std::fmt::Debug for Picture<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("picture")
    }
}

/// What a terminal shows.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// Nothing: only a page shows it.
    None,
    /// One bar: for each part its class and its length.
    Bar {
        /// What the bar is.
        topic: &'static str,
        /// Its parts.
        parts: Vec<(&'static str, u64)>,
    },
    /// Columns over one logarithmic scale of time.
    Columns {
        /// What the scale is of.
        topic: &'static str,
        /// Bounds of each column, nanoseconds.
        bounds: Vec<(u64, u64)>,
        /// Names and heights of the rows.
        rows: Vec<(&'static str, Vec<u64>)>,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_a_cell_for_each_column_that_it_has() {
        let row = (Name::from("x"), ["1".into(), Cell::Share(0.5), "3".into()]);
        let table = Table::new("rows", ["a", "", "+c"], [row]);
        let heads: Vec<(&str, bool)> = table.columns.iter().map(|column| (&*column.head, column.detail)).collect();
        assert_eq!(heads, [("a", false), ("c", true)]);
        assert_eq!(table.rows[0].cells, [Cell::from("1"), Cell::from("3")]);
        assert!(Table::new("rows", ["a"], []).block().is_none());
    }

    #[test]
    fn a_section_has_the_blocks_that_exist() {
        let blocks = [Block::fact("Of it", None), Block::fact("Of it", Some("something".to_owned()))];
        assert_eq!(Section::new("id", "Title", blocks).blocks.len(), 1);
    }
}

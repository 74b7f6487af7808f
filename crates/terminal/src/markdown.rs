//! Renders a page of the documentation for a terminal. Owns the layout: paragraphs are wrapped, a table becomes a
//! list of its rows. Refuses to show where links lead.

use crate::style::{Style, Tone, wrap};
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// Indentation of the lines of an item.
const INDENT: usize = 2;
const CODE_INDENT: usize = 4;

/// Lays out `page` for `style`, with a blank line between blocks.
pub fn render(page: &str, style: &Style) -> String {
    let mut blocks =
        Blocks { style, done: Vec::new(), text: String::new(), items: None, header: Vec::new(), cells: None };
    Parser::new_ext(page, Options::ENABLE_TABLES).for_each(|event| blocks.take(event));
    blocks.done.join("\n\n") + "\n"
}

struct Blocks<'s> {
    style: &'s Style,
    done: Vec<String>,
    /// Text of the open block.
    text: String,
    /// Items of the open list.
    items: Option<Vec<String>>,
    /// Column heads of the open table.
    header: Vec<String>,
    /// Rows of the open table.
    cells: Option<Vec<Vec<String>>>,
}

impl Blocks<'_> {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Text(text) => self.text.push_str(&text),
            Event::Code(code) => self.text.extend(["`", &code, "`"]),
            Event::SoftBreak | Event::HardBreak => self.text.push(' '),
            Event::Start(Tag::Table(_)) => self.cells = Some(Vec::new()),
            Event::Start(Tag::TableRow) => self.cells.iter_mut().for_each(|rows| rows.push(Vec::new())),
            Event::End(TagEnd::TableCell) => self.cell(),
            Event::End(TagEnd::Table) => self.table(),
            Event::End(TagEnd::Heading(_)) => {
                let heading = std::mem::take(&mut self.text);
                self.done.push(self.style.paint(Tone::Strong, heading.trim_matches('`')).into_owned());
            }
            Event::Start(Tag::List(_)) => self.items = Some(Vec::new()),
            // In a list whose items are paragraphs.
            Event::End(TagEnd::Paragraph) if self.items.is_some() => self.text.push(' '),
            Event::End(TagEnd::Paragraph) => {
                let text = std::mem::take(&mut self.text);
                self.done.push(wrap(&text, self.style.width).join("\n"));
            }
            Event::End(TagEnd::Item) => {
                let text = std::mem::take(&mut self.text);
                let item = self.item(&text);
                self.items.iter_mut().for_each(|items| items.push(item.clone()));
            }
            Event::End(TagEnd::List(_)) => self.done.extend(self.items.take().map(|items| items.join("\n"))),
            Event::End(TagEnd::CodeBlock) => {
                let code = std::mem::take(&mut self.text);
                let lines = code.lines().map(|line| format!("{:CODE_INDENT$}{line}", ""));
                self.done.push(lines.collect::<Vec<_>>().join("\n"));
            }
            _ => {}
        }
    }

    fn cell(&mut self) {
        let cell = std::mem::take(&mut self.text).trim().to_owned();
        match self.cells.as_mut().and_then(|rows| rows.last_mut()) {
            Some(row) => row.push(cell),
            None => self.header.push(cell),
        }
    }

    /// Turns each row into an item: its first cell, and below it the other cells, each after its column head.
    fn table(&mut self) {
        let header = std::mem::take(&mut self.header);
        let rows = self.cells.take().unwrap_or_default();
        let row = |cells: Vec<String>| -> String {
            let mut named = header.iter().zip(cells).filter(|(_, cell)| !cell.is_empty());
            let first = named.next().map_or_else(String::new, |(_, cell)| self.item(&cell));
            let rest = named.map(|(head, cell)| self.indented(&format!("{head}: {cell}"), "  "));
            std::iter::once(first).chain(rest).collect::<Vec<_>>().join("\n")
        };
        let rows: Vec<String> = rows.into_iter().map(row).collect();
        self.done.push(rows.join("\n"));
    }

    fn item(&self, text: &str) -> String {
        self.indented(text, "- ")
    }

    fn indented(&self, text: &str, first: &str) -> String {
        format!("{first}{}", wrap(text, self.style.width.saturating_sub(INDENT)).join("\n  "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_laid_out_and_links_are_their_words() {
        let page = "# `idle`\n\nSee [the\naccount](a.md), **or** `x`.\n\n- one\n- two\n\nThen:\n\n    +RTS -N2\n\n\
                    | change | flag | verify |\n|---|---|---|\n| fewer | `-N1` | less |\n| more | | |\n";
        let shown = render(page, &Style::plain(60));
        assert_eq!(
            shown,
            "idle\n\nSee the account, or `x`.\n\n- one\n- two\n\nThen:\n\n    +RTS -N2\n\n\
             - fewer\n  flag: `-N1`\n  verify: less\n- more\n"
        );
        assert_eq!(
            render("one two three four five six seven eight nine ten eleven twelve", &Style::plain(60)).lines().count(),
            2
        );
    }
}

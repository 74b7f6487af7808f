//! Lines of the text report: headings, labelled entries, tables. Owns layout and colour, knows nothing of
//! the content.

use crate::style::{Style, Tone, clean, shorten, wrap};

/// Width of the label column.
pub const LABEL: usize = 14;
/// Width of the word column in rows.
const WORD: usize = 10;

/// Lines of a report that is being written.
pub struct Screen<'s> {
    style: &'s Style,
    out: String,
}

impl<'s> Screen<'s> {
    /// An empty screen.
    pub fn new(style: &'s Style) -> Self {
        Screen { style, out: String::with_capacity(4096) }
    }

    /// Its style.
    pub fn style(&self) -> &'s Style {
        self.style
    }

    /// All lines.
    pub fn finish(self) -> String {
        self.out
    }

    /// An empty line.
    pub fn blank(&mut self) {
        self.out.push('\n');
    }

    /// What was written on another screen, after an empty line; nothing if that is empty.
    pub fn add(&mut self, other: Screen<'_>) {
        if !other.is_empty() {
            self.blank();
            self.append(other);
        }
    }

    /// What was written on another screen.
    pub fn append(&mut self, other: Screen<'_>) {
        self.out += &other.out;
    }

    /// Whether nothing was written.
    pub fn is_empty(&self) -> bool {
        self.out.is_empty()
    }

    /// One line as is; the caller has cleaned it.
    pub fn line(&mut self, text: &str) {
        self.out.push_str(text.trim_end());
        self.out.push('\n');
    }

    /// `left` in `tone`, `right` faint and at the right margin; below each other if one line is too short.
    pub fn spread(&mut self, tone: Tone, left: &str, right: &str) {
        let (left, right) = (&clean(left), &clean(right));
        let used = left.chars().count() + right.chars().count();
        let gap = self.style.width.saturating_sub(used);
        let left = self.style.paint(tone, left);
        if gap >= 2 {
            let right = self.style.paint(Tone::Faint, right);
            self.line(&format!("{left}{}{right}", " ".repeat(gap)));
        } else {
            self.line(&left);
            self.paragraph("  ", 2, Some(Tone::Faint), right);
        }
    }

    /// A paragraph from column `indent` on, its first line after `head` (which is as wide as `indent`).
    pub fn paragraph(&mut self, head: &str, indent: usize, tone: Option<Tone>, text: &str) {
        let width = self.style.width.saturating_sub(indent).max(20);
        for (index, line) in wrap(&clean(text), width).iter().enumerate() {
            let painted = tone.map_or_else(|| line.as_str().into(), |tone| self.style.paint(tone, line));
            let head = if index == 0 { head.to_string() } else { " ".repeat(indent) };
            self.line(&format!("{head}{painted}"));
        }
    }

    /// A paragraph and a text to paste, which is never wrapped: it follows the last line if it fits, else it gets a
    /// line of its own.
    pub fn paragraph_then(&mut self, head: &str, indent: usize, text: &str, paste: &str) {
        let paste = clean(paste);
        let width = self.style.width.saturating_sub(indent).max(20);
        let last = wrap(&clean(text), width).last().map_or(0, |line| line.chars().count());
        self.paragraph(head, indent, None, text);
        let fits = last + 2 + paste.chars().count() <= width;
        let paste = self.style.paint(Tone::Strong, &paste).into_owned();
        if fits {
            self.out.truncate(self.out.trim_end_matches('\n').len());
            self.line(&format!("  {paste}"));
        } else {
            self.line(&format!("{}{paste}", " ".repeat(indent)));
        }
    }

    /// A label in the left column, followed by text.
    pub fn entry(&mut self, label: &str, text: &str) {
        self.entry_in(None, label, text);
    }

    /// A label in the left column, followed by text in `tone`.
    pub fn entry_in(&mut self, tone: Option<Tone>, label: &str, text: &str) {
        self.paragraph(&self.label(label), LABEL, tone, text);
    }

    /// Several texts under one label.
    pub fn entries(&mut self, label: &str, texts: impl IntoIterator<Item = impl AsRef<str>>) {
        for (index, text) in texts.into_iter().enumerate() {
            self.entry(if index == 0 { label } else { "" }, text.as_ref());
        }
    }

    /// A padded, coloured label.
    pub fn label(&self, label: &str) -> String {
        self.padded(label, LABEL, Tone::Strong)
    }

    fn padded(&self, word: &str, width: usize, tone: Tone) -> String {
        format!("{}{:2$}", self.style.paint(tone, word), "", width.saturating_sub(word.chars().count()))
    }

    /// A word, followed by a paragraph.
    pub fn note(&mut self, word: &str, tone: Tone, text: &str) {
        self.paragraph(&self.padded(word, WORD, tone), WORD, None, text);
    }

    /// A paragraph below a row, aligned with the row's head.
    pub fn below(&mut self, tone: Option<Tone>, text: &str) {
        self.paragraph(&" ".repeat(WORD), WORD, tone, text);
    }

    /// A word and a head on one line, a paragraph below.
    pub fn row(&mut self, word: &str, tone: Tone, head: &str, text: &str) {
        self.command(word, tone, head);
        self.below(None, text);
    }

    /// A word, a head padded to `column` characters, and a text that is cut at the end of the line.
    pub fn brief(&mut self, word: &str, tone: Tone, (head, column): (&str, usize), text: &str) {
        let (word, head) = (self.padded(word, WORD, tone), clean(head));
        let taken = WORD + column.max(head.chars().count() + 1);
        let text = shorten(&clean(text), self.style.width.saturating_sub(taken)).into_owned();
        let head = self.padded(&head, column.max(head.chars().count() + 1), Tone::Strong);
        self.line(&format!("{word}{head}{text}"));
    }

    /// A word, followed by a text to paste: neither wrapped nor squeezed.
    pub fn command(&mut self, word: &str, tone: Tone, command: &str) {
        let word = self.padded(word, WORD, tone);
        self.line(&format!("{word}{}", self.style.paint(Tone::Strong, command)));
    }

    /// A table with its label and column heads in the first line. The first cell of each row is left-aligned, the
    /// others are right-aligned; columns are as wide as needed. Those without room are left out from the right. Where
    /// there is room after the last, a bar is drawn for each of `shares`.
    pub(crate) fn table(&mut self, label: &str, heads: &[&str], rows: &[Vec<String>], shares: &[Option<f64>]) {
        let mut widths = heads.iter().map(|head| head.chars().count()).collect::<Vec<_>>();
        let mut first = LABEL.max(label.chars().count() + 2);
        for row in rows {
            first = first.max(row.first().map_or(0, |cell| cell.chars().count()) + 4);
            for (width, cell) in widths.iter_mut().zip(row.iter().skip(1)) {
                *width = (*width).max(cell.chars().count());
            }
        }
        while widths.len() > 1 && first + widths.len() + widths.iter().sum::<usize>() > self.style.width {
            widths.pop();
        }
        // Spread over the line, but not so far that the eye loses the row.
        let room = self.style.width.saturating_sub(first + widths.iter().sum::<usize>());
        let gap = (room / widths.len().max(1)).clamp(1, 3);
        let mut line = self.padded(label, first, Tone::Strong);
        for (head, width) in heads.iter().zip(&widths) {
            line += &format!("{:1$}", "", gap + width - head.chars().count());
            line += &self.style.paint(Tone::Faint, head);
        }
        self.line(&line);
        let left = room.saturating_sub(gap * widths.len() + BAR_GAP);
        let bars = (left >= BAR.0 && widths.len() == heads.len()).then(|| left.min(BAR.1));
        for (index, row) in rows.iter().enumerate() {
            let cells = row.iter().skip(1).zip(&widths).map(|(cell, width)| format!("{cell:>0$}", gap + width));
            let name = row.first().map_or("", String::as_str);
            let share = shares.get(index).copied().flatten();
            let bar = bars.zip(share).map(|(width, share)| bar(share, width, self.style.unicode));
            let bar = self.style.paint(Tone::Calm, bar.as_deref().unwrap_or_default()).into_owned();
            let cells = cells.collect::<String>();
            self.line(&format!("  {name:0$}{cells}{1:2$}{bar}", first - 2, "", BAR_GAP));
        }
    }
}

/// Shortest and longest bar for a whole, and the distance to the last column.
const BAR: (usize, usize) = (8, 24);
const BAR_GAP: usize = 2;

/// A bar as long as `share` of `width` characters.
fn bar(share: f64, width: usize, unicode: bool) -> String {
    let eighths = (share.clamp(0.0, 1.0) * width as f64 * 8.0).round() as usize;
    if !unicode {
        return "#".repeat((eighths + 4) / 8);
    }
    let rest = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    "█".repeat(eighths / 8) + rest.get(eighths % 8).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_as_long_as_their_shares() {
        assert_eq!((bar(0.5, 8, true), bar(0.1, 8, true)), ("████".into(), "▊".into()));
        assert_eq!((bar(0.5, 8, false), bar(f64::NAN, 8, true)), ("####".into(), String::new()));
    }
}

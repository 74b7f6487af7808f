//! What the terminal can show (width, colour, characters), and text laid out for it. Owns escape codes (no
//! other module writes one); strings that come from outside are cleaned by the model's `text`, so that a
//! program's arguments cannot move the cursor.

use clap::ColorChoice;
use rtscope_model::text::clean_json;
pub use rtscope_model::text::{capitalised, clean, sentence, short, shorten, shorten_front};
use serde::Serialize;
use std::borrow::Cow;
use std::io::{self, Write};
use std::sync::OnceLock;

/// Narrowest and widest text that is laid out; wider terminals keep a margin.
const WIDTHS: std::ops::RangeInclusive<usize> = 60..=110;

/// A screen that changes is cut by the terminal, so it may be as narrow as the terminal.
const WIDTH_OF_A_SCREEN: usize = 32;
/// Width of an output whose width is unknown.
const WIDTH_OF_A_PIPE: usize = 100;

/// Takes over the whole terminal, which then cuts lines that are too long; and restores it.
pub const SCREEN_OPEN: &str = "\x1b[?1049h\x1b[?25l\x1b[?7l";
/// Restores the terminal after [`SCREEN_OPEN`].
pub const SCREEN_CLOSE: &str = "\x1b[?7h\x1b[?25h\x1b[?1049l";

/// Lines that replace what a whole terminal of so many rows showed before: without a flicker, and never so many
/// that it scrolls.
pub fn screen(lines: &[String], rows: usize) -> String {
    let kept = if lines.len() > rows { rows.saturating_sub(1) } else { lines.len() };
    let more = (kept < lines.len()).then_some("...");
    let shown = lines.iter().take(kept).map(String::as_str).chain(more);
    let shown: Vec<String> = shown.map(|line| format!("{line}\x1b[K")).collect();
    format!("\x1b[H{}\x1b[J", shown.join("\r\n"))
}

/// Colour as the command line asks for it; unset: as the output and the environment say.
static COLOUR: OnceLock<bool> = OnceLock::new();

/// Applies `--color` to what this process prints on its standard output.
pub fn choose_colour(choice: ColorChoice) {
    let asked = match choice {
        ColorChoice::Auto => None,
        ColorChoice::Always => Some(true),
        ColorChoice::Never => Some(false),
    };
    // The command line is parsed once.
    asked.into_iter().for_each(|colour| _ = COLOUR.set(colour));
}

/// What the output can show.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct Style {
    /// Width in columns.
    pub width: usize,
    /// Whether escape codes for colour may be used.
    pub colour: bool,
    /// Whether characters beyond ASCII can be shown.
    pub unicode: bool,
}

/// An output for JSON, which gets whole characters in each write: what a terminal would interpret is escaped.
#[derive(Debug)]
pub struct Json<W>(pub W);

impl<W: Write> Write for Json<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match std::str::from_utf8(bytes) {
            Ok(text) => self.0.write_all(clean_json(text).as_bytes())?,
            Err(_) => self.0.write_all(bytes)?,
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// A JSON document for a terminal, on one line.
///
/// # Errors
/// It cannot be represented in JSON.
pub fn json(document: &impl Serialize) -> serde_json::Result<String> {
    serde_json::to_string(document).map(|text| clean_json(&text).into_owned())
}

/// The members of three documents in one, in their order.
#[derive(Serialize)]
#[allow(missing_docs)]
pub struct Joined<A, B, C> {
    #[serde(flatten)]
    pub head: A,
    #[serde(flatten)]
    pub body: B,
    #[serde(flatten)]
    pub tail: C,
}

rtscope_model::listed! {
    /// What a piece of text means; [`Style::paint`] chooses the colour.
    #[derive(Copy, Clone, Eq, PartialEq, Debug)]
    pub enum Tone: code {
        /// A heading, a flag to paste.
        Strong = "1",
        /// Less important.
        Faint = "2",
        /// Fine, or the program's own work.
        Good = "32",
        /// Dominates, or broken.
        Bad = "1;31",
        /// Costs something.
        Warn = "33",
        /// Collecting; notes.
        Calm = "34",
        /// Letters of a map on a background of that colour, as the next six.
        OnRed = "97;41",
        /// Letters of a map on green.
        OnGreen = "30;42",
        /// On yellow.
        OnYellow = "30;43",
        /// On blue.
        OnBlue = "97;44",
        /// On magenta.
        OnMagenta = "97;45",
        /// On cyan.
        OnCyan = "30;46",
        /// On grey.
        OnGrey = "97;100",
        /// None of these.
        Plain = "",
    }
}

impl Style {
    /// The style of this process's standard output.
    pub fn of_stdout() -> Style {
        use std::io::IsTerminal;
        let columns = terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
        let style = Style::new(std::io::stdout().is_terminal(), columns, &|name| std::env::var(name).ok());
        Style { colour: COLOUR.get().copied().unwrap_or(style.colour), ..style }
    }

    /// The style of a screen that takes over the whole terminal, which may be narrower.
    pub fn of_screen() -> Style {
        let style = Style::of_stdout();
        let columns = terminal_size::terminal_size().map_or(style.width, |(width, _)| usize::from(width.0));
        Style { width: columns.clamp(WIDTH_OF_A_SCREEN, style.width.max(WIDTH_OF_A_SCREEN)), ..style }
    }

    /// The style for an output that is a terminal or not, `columns` wide, in
    /// the environment `var`. `NO_COLOR` (not empty) and `TERM=dumb` turn colour
    /// off; characters beyond ASCII need a UTF-8 locale.
    pub fn new(terminal: bool, columns: Option<usize>, var: &dyn Fn(&str) -> Option<String>) -> Style {
        let set = |name: &str| var(name).filter(|value| !value.is_empty());
        let locale = set("LC_ALL").or_else(|| set("LC_CTYPE")).or_else(|| set("LANG")).unwrap_or_default();
        let locale = locale.to_ascii_lowercase();
        let width = if terminal { columns.unwrap_or(WIDTH_OF_A_PIPE) } else { WIDTH_OF_A_PIPE };
        Style {
            width: width.clamp(*WIDTHS.start(), *WIDTHS.end()),
            colour: terminal && set("NO_COLOR").is_none() && set("TERM").is_none_or(|term| term != "dumb"),
            unicode: locale.contains("utf-8") || locale.contains("utf8"),
        }
    }

    /// No colour, ASCII only, `width` columns.
    pub fn plain(width: usize) -> Style {
        Style { width, colour: false, unicode: false }
    }

    /// `text` in the colour of `tone`, if colour is enabled.
    pub fn paint<'t>(&self, tone: Tone, text: &'t str) -> Cow<'t, str> {
        let code = tone.code();
        if !self.colour || text.is_empty() || code.is_empty() {
            return Cow::Borrowed(text);
        }
        Cow::Owned(format!("\x1b[{code}m{text}\x1b[0m"))
    }

    /// What precedes a text that replaces the previous one; `None`: this is no terminal that can do that.
    pub fn again(&self) -> Option<&'static str> {
        self.colour.then_some("\x1b[H\x1b[J")
    }

    /// The separator between short facts on one line.
    pub fn dot(&self) -> &'static str {
        if self.unicode { " · " } else { ", " }
    }
}

/// Breaks `text` at spaces into lines of at most `width` characters. A longer word stays whole, as flags and
/// paths are copied.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in words(text) {
        let fits = |line: &&mut String| line.chars().count() + 1 + word.chars().count() <= width;
        match lines.last_mut().filter(fits) {
            Some(line) => line.extend([" ", word]),
            None => lines.push(word.to_owned()),
        }
    }
    if lines.is_empty() { vec![String::new()] } else { lines }
}

/// The words of `text`; a figure and its unit count as one.
fn words(text: &str) -> impl Iterator<Item = &str> {
    const UNITS: [&str; 10] = ["%", "s", "ms", "us", "ns", "B", "KiB", "MiB", "GiB", "CPUs"];
    let mut rest = text.trim_start();
    std::iter::from_fn(move || {
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        let (mut word, mut after) = rest.split_at(end);
        if word.trim_start_matches('(').starts_with(|c: char| c.is_ascii_digit()) && after.starts_with(' ') {
            let unit = after.get(1..).unwrap_or("").split_whitespace().next().unwrap_or("");
            let bare = unit.trim_end_matches(|c: char| c.is_ascii_punctuation() && c != '%');
            if after.get(1..).is_some_and(|next| next.starts_with(unit)) && UNITS.contains(&bare) {
                (word, after) = rest.split_at(end + 1 + unit.len());
            }
        }
        rest = after.trim_start();
        (!word.is_empty()).then_some(word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn style(terminal: bool, vars: &[(&str, &str)]) -> Style {
        Style::new(terminal, Some(200), &|name| {
            vars.iter().find(|(key, _)| *key == name).map(|(_, value)| value.to_string())
        })
    }

    #[test]
    fn colour_only_on_a_terminal_that_wants_it() {
        assert!(style(true, &[("TERM", "xterm")]).colour);
        assert!(!style(false, &[("TERM", "xterm")]).colour);
        assert!(!style(true, &[("NO_COLOR", "1")]).colour);
        assert!(style(true, &[("NO_COLOR", "")]).colour, "an empty NO_COLOR does not count");
        assert!(!style(true, &[("TERM", "dumb")]).colour);
    }

    #[test]
    fn characters_follow_the_locale() {
        assert!(style(false, &[("LANG", "de_DE.UTF-8")]).unicode);
        assert!(style(false, &[("LANG", "C.utf8")]).unicode);
        assert!(!style(false, &[("LANG", "C")]).unicode);
        assert!(!style(false, &[("LC_ALL", "C"), ("LANG", "de_DE.UTF-8")]).unicode, "LC_ALL wins");
        assert!(!style(false, &[]).unicode);
    }

    #[test]
    fn width_is_bounded() {
        assert_eq!(style(true, &[]).width, 110);
        assert_eq!(style(false, &[]).width, WIDTH_OF_A_PIPE);
        assert_eq!(Style::new(true, Some(20), &|_| None).width, 60);
    }

    #[test]
    fn paint_is_the_text_itself_without_colour() {
        assert_eq!(Style::plain(80).paint(Tone::Bad, "x"), "x");
        let on = Style { colour: true, ..Style::plain(80) };
        assert_eq!(on.paint(Tone::Bad, "x"), "\x1b[1;31mx\x1b[0m");
    }

    #[test]
    fn wrapping_breaks_at_spaces_only() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("a/very/long/path b", 4), ["a/very/long/path", "b"]);
        assert_eq!(wrap("", 4), [""]);
        assert_eq!(wrap("for 9.8 s (18 %). It  is", 8), ["for", "9.8 s", "(18 %).", "It is"]);
    }
}

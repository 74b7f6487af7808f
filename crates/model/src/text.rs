//! Cleans text from outside: from a program, a file, the network. Owns which characters have an effect instead of
//! being shown; any such text passes through here before it is printed, drawn or used in a name. Values of the model
//! have their own texts.

use serde::Serialize;
use std::borrow::Cow;
use std::fmt::{self, Write as _};

/// Longest name that is made from a program's, in characters.
const NAME_MAX: usize = 64;

/// `text` with characters that have an effect instead of being shown (control characters, and marks that reorder or
/// hide text) spelled out.
pub fn clean(text: &str) -> Cow<'_, str> {
    spelled(text, acts, |c, out| match c {
        '\n' | '\t' => out.push(' '),
        c => _ = write!(out, "\\u{{{:x}}}", u32::from(c)),
    })
}

/// JSON with the same characters escaped in its strings, the only place where they can occur. Its meaning does not
/// change, and a terminal obeys none of it. Line ends between values stay.
pub fn clean_json(json: &str) -> Cow<'_, str> {
    let acts = |c: char| acts(c) && c != '\n';
    spelled(json, acts, |c, out| {
        c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| _ = write!(out, "\\u{unit:04x}"));
    })
}

/// `text` with each character for which `acts` is true written by `spell`.
fn spelled(text: &str, acts: impl Fn(char) -> bool, spell: impl Fn(char, &mut String)) -> Cow<'_, str> {
    if !text.chars().any(&acts) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if acts(c) { spell(c, &mut out) } else { out.push(c) }
    }
    Cow::Owned(out)
}

/// `text` as one word of a shell; unchanged if it needs no quotes.
pub fn quoted(text: &str) -> String {
    if is_plain(text) { text.to_owned() } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

/// Whether every shell reads `text` as one word without quotes.
pub fn is_plain(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "_-+=.,:/@%".contains(c))
}

/// A part of a file name, made from a program's name: ASCII letters, digits, `.`, `_` and `-`, and not starting like
/// a hidden file or an option.
pub fn name(text: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') { c } else { '_' };
    let name: String = text.trim_start_matches(['.', '-']).chars().take(NAME_MAX).map(plain).collect();
    if name.is_empty() { "program".to_owned() } else { name }
}

/// The text in reports for a value of the model.
pub fn word<T: fmt::Debug + Serialize>(value: &T) -> String {
    struct Word<'a, T>(&'a T);
    impl<T: Serialize> fmt::Display for Word<'_, T> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            self.0.serialize(f)
        }
    }
    let mut word = String::new();
    match write!(word, "{}", Word(value)) {
        Ok(()) => word,
        Err(_) => format!("{value:?}"),
    }
}

fn acts(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(c, '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// A text with an initial capital.
pub fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// A note as a sentence, with a capital and a full stop.
pub fn sentence(text: &str) -> String {
    let mut out = capitalised(text);
    if !out.ends_with('.') {
        out.push('.');
    }
    out
}

/// `text` cut to `width` characters, with three dots if something is missing.
pub fn shorten(text: &str, width: usize) -> Cow<'_, str> {
    if text.chars().count() <= width {
        return Cow::Borrowed(text);
    }
    let kept: String = text.chars().take(width.saturating_sub(3)).collect();
    Cow::Owned(kept + "...")
}

/// Like [`shorten`], but for a text from outside, which is also cleaned.
pub fn short(text: &str, width: usize) -> String {
    shorten(&clean(text), width).into_owned()
}

/// `text` cut to its last `width` characters: the end of a path says more than its beginning.
pub fn shorten_front(text: &str, width: usize) -> Cow<'_, str> {
    let length = text.chars().count();
    if length <= width {
        return Cow::Borrowed(text);
    }
    let kept: String = text.chars().skip(length - width.saturating_sub(3).min(length)).collect();
    Cow::Owned(format!("...{kept}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_pass_through_a_shell_unchanged() {
        for text in ["-N4", "-N4 -A16m", "d=4,s=1M", "", "it's $HOME `x` \"y\" \\", "a\nb"] {
            let done = std::process::Command::new("sh").args(["-c", &format!("printf %s {}", quoted(text))]).output();
            assert_eq!(String::from_utf8(done.unwrap().stdout).unwrap(), text);
        }
        assert_eq!(quoted("d=4,s=1M"), "d=4,s=1M", "what needs no quotes is read by docker's env-file as well");
    }

    #[test]
    fn hostile_text_cannot_act() {
        assert_eq!(clean("a\x1b]0;x\x07b"), "a\\u{1b}]0;x\\u{7}b");
        assert_eq!(clean("a\u{202e}b\u{9b}2J\u{7f}"), "a\\u{202e}b\\u{9b}2J\\u{7f}");
        assert_eq!(clean("\u{61c}\u{2066}\u{e0041}"), "\\u{61c}\\u{2066}\\u{e0041}");
        assert_eq!(clean("plain, größer, 日本"), "plain, größer, 日本");
        assert_eq!(clean("two\nlines"), "two lines");
    }

    #[test]
    fn cleaned_json_means_the_same() {
        assert_eq!(
            clean_json("{\n \"a\": \"\u{9b}x\u{7f}\u{e0041}\"\n}\n"),
            "{\n \"a\": \"\\u009bx\\u007f\\udb40\\udc41\"\n}\n"
        );
        assert!(matches!(clean_json("[\"ä\"]\n"), Cow::Borrowed(_)));
    }

    #[test]
    fn names_of_files_are_plain() {
        assert_eq!(name("my-prog_1.2"), "my-prog_1.2");
        assert_eq!(name("\x1b]0;x\x07\u{202e}a b"), "__0_x__a_b");
        assert_eq!(name("--output=x"), "output_x");
        assert_eq!(name("...."), "program");
        assert_eq!(name(&"x".repeat(300)).len(), NAME_MAX);
    }

    #[test]
    fn shortening_says_so() {
        assert_eq!(shorten("abcdefgh", 6), "abc...");
        assert_eq!(shorten("abc", 6), "abc");
        assert_eq!(shorten_front("abcdefgh", 6), "...fgh");
        assert_eq!(shorten_front("abc", 6), "abc");
        assert_eq!(shorten_front("abcdefgh", 2), "...");
    }
}

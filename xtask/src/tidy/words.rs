//! Unwanted words in what users read: the program's messages and documents. Owns the list.

use super::modules::Crate;
use std::collections::BTreeSet;
use std::path::Path;

/// A word, and what a native engineer would write instead.
const WORDS: [(&str, &str); 6] = [
    ("nobody", "no thread, no process, none"),
    ("somebody", "another thread, another process"),
    ("anybody", "any thread, any process"),
    ("told", "shown, reported, known"),
    ("onlooker", "observer"),
    ("mends", "fixes"),
];
/// One sentence for each message in `crates` that contains such a word.
pub(super) fn messages(crates: &[Crate]) -> BTreeSet<String> {
    let all = crates.iter().flat_map(Crate::words);
    // Text without a space is a key, not a message.
    let messages =
        all.filter(|(file, word)| word.starts_with('"') && word.contains(' ') && !file.starts_with("crates/testkit"));
    messages.filter_map(|(file, text)| sentence(file, text)).collect()
}

/// One sentence for each line of a document that contains such a word.
pub(super) fn document(file: &Path, text: &str) -> BTreeSet<String> {
    text.lines().filter_map(|line| sentence(file, line)).collect()
}

fn sentence(file: &Path, text: &str) -> Option<String> {
    let (word, better) = unwanted(text)?;
    let start: String = text.trim().chars().take(60).collect();
    Some(format!("{} says \"{word}\" ({better}): {start}", file.display()))
}

fn unwanted(text: &str) -> Option<(&'static str, &'static str)> {
    let mut words = text.split(|c: char| !c.is_alphanumeric() && c != '`');
    words.find_map(|used| WORDS.into_iter().find(|(word, _)| used.eq_ignore_ascii_case(word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_are_not_blamed_for_what_machines_do() {
        assert_eq!(unwanted("Nobody looked at the heap.").map(|(word, _)| word), Some("nobody"));
        assert_eq!(unwanted("its lane is not told.").map(|(word, _)| word), Some("told"));
        for fine in ["`told` by the library", "a thread ran there", "untold"] {
            assert_eq!(unwanted(fine), None, "{fine}");
        }
        assert_eq!(document(Path::new("a.md"), "one\nsomebody did\n").len(), 1);
    }
}

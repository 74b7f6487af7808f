//! Unwanted words in what people read: documents, and messages, names and comments of the sources. Owns the lists.

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
/// Such words of comments alone: in a message a thread may well wait `behind` a lock.
const COMMENT_WORDS: [(&str, &str); 6] = [
    ("tell", "show, report, say"),
    ("tells", "shows, reports, says"),
    ("behind", "after"),
    ("beside", "with, next to, also"),
    ("whoever", "the caller, any process"),
    ("mended", "fixed"),
];

/// One sentence for each line of a document or a source that contains such a word.
pub(super) fn lines(file: &Path, text: &str) -> BTreeSet<String> {
    text.lines().filter_map(|line| sentence(file, line, &WORDS)).collect()
}

/// One sentence for each comment of a source that contains such a word, or is a doc of one word.
pub(super) fn comments(file: &Path, text: &str) -> BTreeSet<String> {
    let all = [WORDS, COMMENT_WORDS].concat();
    let mut wrong = BTreeSet::new();
    let mut before = "";
    for line in text.lines().map(str::trim_start) {
        if line.starts_with("//") {
            wrong.extend(sentence(file, line, &all));
        }
        let word =
            line.strip_prefix("/// ").filter(|_| !before.starts_with("///")).and_then(|doc| doc.strip_suffix('.'));
        if word.is_some_and(|word| word.chars().all(char::is_alphabetic)) {
            wrong.insert(format!("{} has a doc of one word: {line}", file.display()));
        }
        before = line;
    }
    wrong
}

fn sentence<'l>(file: &Path, text: &'l str, list: &[(&'l str, &'l str)]) -> Option<String> {
    let (word, better) = unwanted(text, list)?;
    let start: String = text.trim().chars().take(60).collect();
    Some(format!("{} says \"{word}\" ({better}): {start}", file.display()))
}

fn unwanted<'l>(text: &'l str, list: &[(&'l str, &'l str)]) -> Option<(&'l str, &'l str)> {
    let mut words = text.split(|c: char| !c.is_alphanumeric() && c != '`' && c != '"');
    // A word in quotes of its own is a value.
    let bare = |used: &'l str| if used.starts_with('"') && used.ends_with('"') { "" } else { used.trim_matches('"') };
    words.find_map(|used| list.iter().find(|(word, _)| bare(used).eq_ignore_ascii_case(word)).copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_are_not_blamed_for_what_machines_do() {
        assert_eq!(unwanted("Nobody looked at the heap.", &WORDS).map(|(word, _)| word), Some("nobody"));
        assert_eq!(unwanted("its lane is not told.", &WORDS).map(|(word, _)| word), Some("told"));
        assert_eq!(unwanted("say(\"nobody reads\")", &WORDS).map(|(word, _)| word), Some("nobody"));
        for fine in ["`told` by the library", "a thread ran there", "untold", "Reported = \"told\","] {
            assert_eq!(unwanted(fine, &WORDS), None, "{fine}");
        }
        let source = "/// Which.\n/// Who is behind it.\nlet behind = 1; // fine\n";
        assert_eq!(comments(Path::new("a.rs"), source).len(), 2);
        assert_eq!(lines(Path::new("a.md"), "one\nsomebody did\n").len(), 1);
    }
}

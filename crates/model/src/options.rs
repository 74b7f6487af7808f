//! Options of a runtime: how its programs get them, which of them set the same thing, and why a program does not accept
//! one. Owns these types; the options themselves are defined by each runtime, in its folder of [`crate::runtimes`].

use crate::manifest::Binary;
use crate::program::{Link, Refusal, Rtsopts};

/// How the programs of a runtime get its options. The default: among their arguments, without restrictions by the link.
#[derive(Copy, Clone, Debug)]
pub struct Spelling {
    /// Variables that it reads options from: the first one is set for a program, and the first one present counts.
    pub variables: &'static [&'static str],
    /// Separator between two options.
    pub between: &'static str,
    /// Separator between an option and its value.
    pub equals: &'static str,
    /// Patterns (see [`matches`]) of options that set the same thing, if their names do not show it.
    pub kinds: &'static [&'static [&'static str]],
    /// Patterns of options of which a program can have only one: with two it would not start.
    pub exclusive: &'static [&'static str],
    /// Restrictions by the link of a program; `None`: there are none.
    pub link: Option<AtLink>,
}

/// How the link of a program restricts its runtime's options.
#[derive(Copy, Clone, Debug)]
pub struct AtLink {
    /// Returns the link of a binary.
    pub of: fn(&Binary) -> Link,
    /// The compiler's default link.
    pub usual: Rtsopts,
    /// Whether a program that was started with these options accepts every option.
    pub proven: fn(&[&str]) -> bool,
    /// Why a program with that link does not accept an option; `None`: it does.
    pub refusal: fn(&Link, &str) -> Option<Refusal>,
    /// Explains a refusal in one sentence.
    pub explain: fn(Refusal) -> String,
    /// Remark for a program whose link is unknown.
    pub unknown_note: &'static str,
    /// The field of a package description with the compiler's options.
    pub field: &'static str,
    /// The compiler's option that links in options of the runtime.
    pub with: &'static str,
    /// The compiler's option that links the runtime with several lanes.
    pub threaded: &'static str,
}

impl Spelling {
    /// Options among the arguments of a program.
    pub const PLAIN: Spelling =
        Spelling { variables: &[], between: " ", equals: "", kinds: &[], exclusive: &[], link: None };

    /// The variable that is set for a program.
    pub fn variable(&self) -> &'static str {
        self.variables.first().copied().unwrap_or_default()
    }

    /// Whether two options set the same thing; then the last one counts.
    pub fn same(&self, one: &str, other: &str) -> bool {
        let kind = |word| self.kinds.iter().position(|kind| kind.iter().any(|pattern| matches(pattern, word)));
        match (kind(one), kind(other)) {
            (None, None) => name(one) == name(other),
            (one, other) => one == other,
        }
    }

    /// Whether a program with the option `own` does not start if `word` is added.
    pub fn clash(&self, own: &str, word: &str) -> bool {
        let is = |word| self.exclusive.iter().any(|pattern| matches(pattern, word));
        own != word && is(own) && is(word)
    }

    /// The options of `own` that `words` do not replace, followed by `words`.
    pub fn merged<S: AsRef<str>>(&self, own: &str, words: &[S]) -> String {
        let words = words.iter().map(AsRef::as_ref);
        let replaced = |own: &&str| words.clone().any(|word| self.same(own, word));
        self.split(own).filter(|own| !replaced(own)).chain(words.clone()).collect::<Vec<_>>().join(self.between)
    }

    /// Splits a text into options.
    pub fn split<'t>(&self, text: &'t str) -> impl Iterator<Item = &'t str> {
        text.split(|c: char| c.is_ascii_whitespace() || self.between.contains(c)).filter(|word| !word.is_empty())
    }
}

/// An option without its value, which starts at a digit or `=`.
fn name(word: &str) -> &str {
    let end = word.find(|c: char| c.is_ascii_digit() || c == '=').unwrap_or(word.len());
    word.get(..end).unwrap_or(word)
}

/// Whether `word` matches `pattern`: literally, or with a suffix `#` by prefix and a number, or with a suffix
/// `*` by prefix.
pub fn matches(pattern: &str, word: &str) -> bool {
    let rest = |pattern| word.strip_prefix(pattern);
    match (pattern.strip_suffix('#'), pattern.strip_suffix('*')) {
        (Some(number), _) => rest(number).is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit())),
        (_, Some(any)) => rest(any).is_some(),
        _ => word == pattern,
    }
}

#[cfg(test)]
mod tests {
    use crate::runtimes::{GHC, OCAML};

    #[test]
    fn an_option_replaces_what_sets_the_same_thing() {
        for (own, word, merged) in [
            ("", "-A64m", "-A64m"),
            ("-N -T", "-N2", "-T -N2"),
            ("-maxN4 -A1m", "-N2", "-A1m -N2"),
            ("-A1m -AL2m", "-A64m", "-AL2m -A64m"),
            ("-qg -T", "-qn2", "-T -qn2"),
            ("-I0.3 -Iw1", "-Iw60", "-I0.3 -Iw60"),
            ("-c -xn", "--nonmoving-gc", "--nonmoving-gc"),
            ("-F2  --disable-delayed-os-memory-return", "-F4", "--disable-delayed-os-memory-return -F4"),
        ] {
            assert_eq!(GHC.spelling.merged(own, &[word]), merged, "{own} with {word}");
        }
        for (own, word, merged) in
            [("", "s=8M", "s=8M"), ("v=0x400,s=4k,b", "s=8M", "v=0x400,b,s=8M"), ("o=80,", "o=200", "o=200")]
        {
            assert_eq!(OCAML.spelling.merged(own, &[word]), merged, "{own} with {word}");
        }
    }
}

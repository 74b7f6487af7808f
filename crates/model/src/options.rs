//! Options of a runtime: how its programs are given them, which of them set one thing, and why a program does not take
//! one. Owns these words; which options a runtime has is its own to say, in its folder of [`crate::runtimes`].

use crate::manifest::Binary;
use crate::program::{Link, Refusal, Rtsopts};

/// How the programs of a runtime are given its options; the default: among their arguments, and the link has no say.
#[derive(Copy, Clone, Debug)]
pub struct Spelling {
    /// Variables that it reads options from: the first is the one that is set, and the first that is there counts.
    pub variables: &'static [&'static str],
    /// Between two options.
    pub between: &'static str,
    /// Between an option and its value.
    pub equals: &'static str,
    /// Patterns (see [`matches`]) of options that set one thing, where their names do not tell.
    pub kinds: &'static [&'static [&'static str]],
    /// Those of one kind that a program cannot have two of: it would not start.
    pub exclusive: &'static [&'static str],
    /// What the link of a program decides; `None`: nothing.
    pub link: Option<AtLink>,
}

/// What the link of a program decides of its runtime's options.
#[derive(Copy, Clone, Debug)]
pub struct AtLink {
    /// What a binary's link is.
    pub of: fn(&Binary) -> Link,
    /// The compiler's default link.
    pub usual: Rtsopts,
    /// Whether a program that was started with these options takes every one.
    pub proven: fn(&[&str]) -> bool,
    /// Why a program of that link does not take an option; `None`: it does.
    pub refusal: fn(&Link, &str) -> Option<Refusal>,
    /// What that comes to, for people: a sentence.
    pub says: fn(Refusal) -> String,
    /// What is to be known of a program whose link is not.
    pub doubt: &'static str,
    /// What a package's description calls the options of its compiler.
    pub field: &'static str,
    /// The compiler's option that links options of the runtime in.
    pub with: &'static str,
    /// The compiler's option that links the runtime of several lanes.
    pub threaded: &'static str,
}

impl Spelling {
    /// Among the arguments of its programs.
    pub const PLAIN: Spelling =
        Spelling { variables: &[], between: " ", equals: "", kinds: &[], exclusive: &[], link: None };

    /// The variable that is set.
    pub fn variable(&self) -> &'static str {
        self.variables.first().copied().unwrap_or_default()
    }

    /// Whether two options set one thing, of which the last counts.
    pub fn same(&self, one: &str, other: &str) -> bool {
        let kind = |word| self.kinds.iter().position(|kind| kind.iter().any(|pattern| matches(pattern, word)));
        match (kind(one), kind(other)) {
            (None, None) => name(one) == name(other),
            (one, other) => one == other,
        }
    }

    /// Whether a program that has the option `own` does not start with `word`.
    pub fn clash(&self, own: &str, word: &str) -> bool {
        let is = |word| self.exclusive.iter().any(|pattern| matches(pattern, word));
        own != word && is(own) && is(word)
    }

    /// What there is already, without what `words` replace, then these.
    pub fn merged<S: AsRef<str>>(&self, own: &str, words: &[S]) -> String {
        let words = words.iter().map(AsRef::as_ref);
        let replaced = |own: &&str| words.clone().any(|word| self.same(own, word));
        self.split(own).filter(|own| !replaced(own)).chain(words.clone()).collect::<Vec<_>>().join(self.between)
    }

    /// The options in a text.
    pub fn split<'t>(&self, text: &'t str) -> impl Iterator<Item = &'t str> {
        text.split(|c: char| c.is_ascii_whitespace() || self.between.contains(c)).filter(|word| !word.is_empty())
    }
}

/// An option without its value: it ends where a number or `=` begins.
fn name(word: &str) -> &str {
    let end = word.find(|c: char| c.is_ascii_digit() || c == '=').unwrap_or(word.len());
    word.get(..end).unwrap_or(word)
}

/// Whether `word` is `pattern`; one that ends with `#` stands for its beginning and then a number, one
/// that ends with `*` for all that begins so.
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

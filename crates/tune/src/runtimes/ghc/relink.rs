//! What to link a GHC program with, so that it accepts flags that the plan had to refuse. Owns the
//! advice; the refusals come from `accept`.

use super::given::Subject;
use super::knobs::{DIALECT, Ghc};
use crate::plan::Relink;
use rtscope_model::Rtsopts;

/// `wanted`: all words of the plan, accepted or not; `refused`: whether some were not accepted.
pub fn advice(ghc: &Ghc, wanted: &[String], refused: bool) -> Vec<Relink> {
    let mut advice = Vec::new();
    let mut add = |with: &str, why: &str| advice.push(Relink { with: with.to_owned(), why: why.to_owned() });
    if ghc.threaded == Some(false) {
        let why = "More than one worker, and calls that block without stopping the rest, take the threaded runtime.";
        add("-threaded", why);
    }
    if !refused {
        return advice;
    }
    if ghc.rtsopts.is_none() {
        let why = "The section in which GHC says what it linked is gone: keep it when you strip, or plan with the \
                   unstripped file. It is a few hundred bytes.";
        add("strip --keep-section=.debug-ghc-link-info", why);
        return advice;
    }
    if !matches!(ghc.rtsopts, Some(Rtsopts::All | Rtsopts::Ignore)) {
        let why = "Then GHCRTS brings every flag of this plan, and each start can have its own. A user that sets the \
                   program's environment can then write files with its rights: leave it where that matters.";
        add("-rtsopts=all", why);
        let words = with_rtsopts(ghc, wanted);
        if !words.is_empty() {
            let why = "Then the flags need no environment, but the figures are those of this machine.";
            add(&format!("\"-with-rtsopts={words}\""), why);
        }
        let why = "Depend on it and the program reckons this plan itself when it starts, whatever -rtsopts says.";
        add("the package in bindings/haskell", why);
    }
    advice
}

/// The plan's words, then those that are already linked in: the last one wins.
fn with_rtsopts(ghc: &Ghc, wanted: &[String]) -> String {
    let own = ghc.with_rtsopts.split_ascii_whitespace();
    // A bare -N would override the plan's number.
    let own =
        own.filter(|word| *word != "-N" || !wanted.iter().any(|flag| Subject::of(flag) == Some(Subject::Workers)));
    let wanted = wanted.iter().filter(|word| ghc.threaded != Some(false) || !is_threaded(word));
    wanted.map(String::as_str).chain(own).collect::<Vec<_>>().join(" ")
}

/// The options already linked in, except those that `words` replace, followed by `words`.
pub fn linked_in(ghc: &Ghc, words: &[&str]) -> String {
    format!("-with-rtsopts={}", DIALECT.info.spelling.merged(&ghc.with_rtsopts, words))
}

fn is_threaded(word: &str) -> bool {
    matches!(Subject::of(word), Some(Subject::Workers | Subject::Collectors | Subject::Numa))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::open;

    fn with(ghc: &Ghc, refused: bool) -> Vec<String> {
        advice(ghc, &["-N4".into(), "-A16m".into()], refused).into_iter().map(|relink| relink.with).collect()
    }

    #[test]
    fn nothing_is_advised_where_nothing_is_missing() {
        assert!(with(&open(), false).is_empty());
        let closed = Ghc { rtsopts: Some(Rtsopts::Some), ..open() };
        assert!(with(&closed, false).is_empty());
    }

    #[test]
    fn the_link_that_is_missing_is_named() {
        let closed = Ghc { rtsopts: Some(Rtsopts::Some), with_rtsopts: "-N -T".into(), ..open() };
        assert_eq!(
            with(&closed, true),
            ["-rtsopts=all", "\"-with-rtsopts=-N4 -A16m -T\"", "the package in bindings/haskell"]
        );
        let plain = Ghc { threaded: Some(false), ..open() };
        assert_eq!(with(&plain, true), ["-threaded"]);
        let stripped = Ghc { rtsopts: None, threaded: None, ..open() };
        assert_eq!(with(&stripped, true), ["strip --keep-section=.debug-ghc-link-info"]);
    }
}

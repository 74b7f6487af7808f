//! What a GHC program takes from its environment. Owns that one question: a flag
//! that is not accepted keeps the program from starting, so what is not known is
//! not accepted.

use super::knobs::Ghc;
use rtscope_model::Rtsopts;

/// Flags that `-rtsopts=some` lets through, of those that can be tried.
const HARMLESS: [&str; 3] = ["-N", "--numa", "--nonmoving-gc"];
/// Flags that only the threaded runtime has.
const THREADED: [&str; 4] = ["-N", "-qn", "-qg", "--numa"];
/// Flags that came with GHC 8.2.
const FROM_8_2: [&str; 2] = ["-qn", "--numa"];
/// A flag that came with GHC 8.10.
const FROM_8_10: &str = "--nonmoving-gc";

/// Why `ghc` does not take `flag` from its environment; `None`: it does.
pub fn refusal(ghc: &Ghc, flag: &str) -> Option<String> {
    let needs_threads = THREADED.contains(&flag);
    if needs_threads && ghc.threaded == Some(false) {
        return Some(format!(
            "{flag} is an option of the threaded runtime, and the program is not linked with -threaded."
        ));
    }
    if ghc.version.is_some_and(|version| version < (8, 2, 0)) && FROM_8_2.contains(&flag) {
        return Some(format!("{flag} came with GHC 8.2."));
    }
    if ghc.version.is_some_and(|version| version < (8, 10, 0)) && flag == FROM_8_10 {
        return Some(format!("{flag} came with GHC 8.10."));
    }
    match ghc.rtsopts {
        None => Some(
            "What the program accepts is not known, and a flag that it does not accept would keep it from starting."
                .to_owned(),
        ),
        _ if needs_threads && ghc.threaded.is_none() => Some(format!(
            "Whether the program is linked with -threaded is not known; without that, {flag} would keep it from starting."
        )),
        Some(Rtsopts::None) => {
            Some("The program is linked with -rtsopts=none: it takes no options of the runtime.".to_owned())
        }
        Some(Rtsopts::IgnoreAll) => Some(
            "The program is linked with -rtsopts=ignoreAll: it does not look at options of the runtime.".to_owned(),
        ),
        Some(Rtsopts::Some) if !HARMLESS.contains(&flag) => Some(format!(
            "The program is linked with -rtsopts=some (GHC's default), which does not let {flag} through: it would not start."
        )),
        Some(Rtsopts::Some | Rtsopts::All | Rtsopts::Ignore) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::open;

    #[test]
    fn what_is_accepted_follows_from_the_link() {
        for (rtsopts, workers, nursery) in [
            (Some(Rtsopts::None), false, false),
            (Some(Rtsopts::Some), true, false),
            (Some(Rtsopts::All), true, true),
            (Some(Rtsopts::Ignore), true, true),
            (Some(Rtsopts::IgnoreAll), false, false),
            (None, false, false),
        ] {
            let ghc = Ghc { rtsopts, ..open() };
            assert_eq!(refusal(&ghc, "-N").is_none(), workers, "{rtsopts:?}");
            assert_eq!(refusal(&ghc, "-A").is_none(), nursery, "{rtsopts:?}");
        }
    }

    #[test]
    fn the_plain_runtime_has_no_workers() {
        for threaded in [Some(false), None] {
            let ghc = Ghc { threaded, ..open() };
            for flag in THREADED {
                assert!(refusal(&ghc, flag).unwrap().contains("-threaded"), "{flag}");
            }
            assert_eq!(refusal(&ghc, "-A"), None);
            assert_eq!(refusal(&ghc, "-M"), None);
        }
    }

    #[test]
    fn old_compilers_lack_flags() {
        let ghc = Ghc { version: Some((8, 0, 2)), ..open() };
        assert!(refusal(&ghc, "-qn").unwrap().contains("8.2"));
        assert_eq!(refusal(&ghc, "-qg"), None);
        assert!(refusal(&ghc, "--nonmoving-gc").unwrap().contains("8.10"));
        let some = Ghc { rtsopts: Some(Rtsopts::Some), ..open() };
        assert_eq!(refusal(&some, "--nonmoving-gc"), None);
    }
}

//! Explains why a GHC program does not accept a flag from its environment. Which flags a link allows
//! is part of the runtime's data.

use super::knobs::Ghc;
use rtscope_model::runtimes::ghc::options;
use rtscope_model::{Refusal, Rtsopts};

/// Why `ghc` does not accept `flag` from its environment; `None`: it does.
pub fn refusal(ghc: &Ghc, flag: &str) -> Option<String> {
    Some(match options::refusal(&ghc.link(), flag)? {
        Refusal::NotThreaded => {
            format!("{flag} is an option of the threaded runtime, and the program is not linked with -threaded.")
        }
        Refusal::Since((major, minor, _)) => format!("{flag} came with GHC {major}.{minor}."),
        Refusal::Unknown => {
            "What the program accepts is not known, and a flag that it does not accept would keep it from starting."
                .to_owned()
        }
        Refusal::PerhapsNotThreaded => format!(
            "Whether the program is linked with -threaded is not known; without that, {flag} would keep it from starting."
        ),
        Refusal::Link(Rtsopts::None) => {
            "The program is linked with -rtsopts=none: it takes no options of the runtime.".to_owned()
        }
        Refusal::Link(Rtsopts::IgnoreAll) => {
            "The program is linked with -rtsopts=ignoreAll: it does not look at options of the runtime.".to_owned()
        }
        Refusal::Link(_) => format!(
            "The program is linked with -rtsopts=some (GHC's default), which does not let {flag} through: it would not start."
        ),
    })
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
            for flag in ["-N", "-qn", "-qg", "--numa"] {
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

//! Finds files of `crates` whose code names a runtime, its language or its flags. Owns what counts (names and
//! literals; comments and tests do not count) and where such names belong.

use super::modules::Crate;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Most other files that may name a runtime.
const FILES_MAX: usize = 8;

/// Names of runtimes, their languages and their flags.
const NAMES: [&str; 5] = ["ghc", "ocaml", "haskell", "+rts", "camlrunparam"];

/// Folders that may name a runtime, in addition to the heap reader and the counters of Haskell's transactions.
const HOMES: [&str; 3] = ["runtimes", "ghc_eventlog", "ocaml_ring"];

/// Files of `crates` that name a runtime outside these places.
pub(super) fn files(crates: &[Crate]) -> BTreeSet<PathBuf> {
    let all = crates.iter().flat_map(Crate::words);
    let naming = all.filter(|(file, word)| names_one(word) && !is_home(file));
    naming.map(|(file, _)| file.to_owned()).collect()
}

/// One sentence for each file that ARCHITECTURE.md does not list, or one if there are too many.
pub(super) fn check(files: &BTreeSet<PathBuf>, architecture: &str) -> Vec<String> {
    if files.len() > FILES_MAX {
        return vec![format!("{} files of crates name a runtime, more than {FILES_MAX}", files.len())];
    }
    let unlisted = |file: &&PathBuf| !architecture.contains(&format!("\n- `{}`", file.display()));
    files
        .iter()
        .filter(unlisted)
        .map(|file| format!("{} names a runtime: ARCHITECTURE.md does not say why", file.display()))
        .collect()
}

fn names_one(word: &str) -> bool {
    let word = word.to_lowercase();
    NAMES.iter().any(|name| word.contains(name))
}

fn is_home(file: &Path) -> bool {
    let inside = file.with_extension("");
    let mut parts = inside.components().filter_map(|part| part.as_os_str().to_str());
    file.starts_with("crates/heap")
        || file.starts_with("crates/testkit")
        || parts.any(|part| HOMES.contains(&part) || part.starts_with("stm"))
}

#[cfg(test)]
mod tests {
    use super::super::modules::tests::of;
    use super::*;

    #[test]
    fn code_that_names_a_runtime_counts_and_comments_do_not() {
        let files_of = |text: &str| {
            let all = [("lib.rs", "mod a; mod runtimes;"), ("a.rs", text), ("runtimes.rs", "fn ghc() {}")];
            files(&[of(&all)]).len()
        };
        for code in ["enum E { Ghc }", "const F: &str = \"+RTS -s\";", "fn f() { is_ocaml() }", "use a::Haskell;"] {
            assert_eq!(files_of(code), 1, "{code}");
        }
        for code in ["/// Of GHC.\nfn f() {}", "//! ocaml\n// ghc", "#[cfg(test)] mod tests { fn ghc() {} }"] {
            assert_eq!(files_of(code), 0, "{code}");
        }
    }

    #[test]
    fn each_file_is_listed() {
        let files: BTreeSet<PathBuf> = ["crates/a/src/b.rs".into(), "crates/a/src/c.rs".into()].into();
        let wrong = check(&files, "a list:\n- `crates/a/src/b.rs` says why");
        assert_eq!(wrong, ["crates/a/src/c.rs names a runtime: ARCHITECTURE.md does not say why"]);
        let many: BTreeSet<PathBuf> = (0..=FILES_MAX).map(|n| PathBuf::from(format!("{n}"))).collect();
        assert_eq!(check(&many, "").len(), 1);
    }
}

//! On programs of which it is known what the runtime works for, samples say it: one compiler of each language. The others
//! are among the tests that take long.

use testkit::known_work::has_its_purpose;
use xtask::workload::Language;

#[test]
fn what_ghc_9_6_does_is_known() {
    has_its_purpose("ghc-9.6", Language::Haskell, |_| true);
}

/// What ephemerons and large blocks evict from the caches makes the rest of a cycle slower, by up to a fifteenth of their
/// work on a machine with small caches: theirs is judged where nothing else is at work.
#[test]
fn what_ocaml_5_4_does_is_known() {
    has_its_purpose("ghc-9.10", Language::Ocaml, |kind| !["ephemerons", "large"].contains(&kind));
}

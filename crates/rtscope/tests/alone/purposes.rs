//! On programs of which it is known what the runtime works for, samples say it: one compiler of each language, and kinds
//! of work that caches and a busy machine leave as they are. The others are among the tests that take long.

use testkit::known_work::has_its_purpose;
use xtask::workload::Language;

#[test]
fn what_ghc_9_6_does_is_known() {
    let kinds = ["arrays", "copy", "finalisers", "touch", "transactions"];
    has_its_purpose("ghc-9.6", Language::Haskell, |kind| kinds.contains(&kind));
}

#[test]
fn what_ocaml_5_4_does_is_known() {
    let kinds = ["copy", "finalisers", "marshalling", "stacks"];
    has_its_purpose("ghc-9.10", Language::Ocaml, |kind| kinds.contains(&kind));
}

//! Samples show what the runtime works for, in programs of which that is known: what the regular tests leave out.

use testkit::known_work::has_its_purpose;
use xtask::workload::Language;

#[test]
fn what_ghc_9_0_does_is_known() {
    has_its_purpose("ghc-9.0", Language::Haskell, |_| true);
}

#[test]
fn what_ghc_9_10_does_is_known() {
    has_its_purpose("ghc-9.10", Language::Haskell, |_| true);
}

#[test]
fn what_the_kernel_does_for_ghc_9_6_is_known() {
    has_its_purpose("ghc-9.6", Language::Haskell, |kind| ["copy", "touch", "retouch"].contains(&kind));
}

#[test]
fn what_ocaml_5_3_does_is_known() {
    has_its_purpose("ghc-9.6", Language::Ocaml, |_| true);
}

#[test]
fn what_ocaml_5_4_and_the_kernel_do_for_what_takes_long_is_known() {
    has_its_purpose("ghc-9.10", Language::Ocaml, |kind| {
        ["ephemerons", "large", "copy", "touch", "retouch"].contains(&kind)
    });
}

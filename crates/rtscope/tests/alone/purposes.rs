//! Samples show what the runtime works for, in programs of which that is known: one compiler of each language.
//! The others, and work of the kernel, which its ticks count too coarsely for a short run, are slow tests.

use testkit::known_work::has_its_purpose;
use xtask::workload::Language;

const IN_THE_KERNEL: [&str; 3] = ["copy", "touch", "retouch"];

#[test]
fn what_ghc_9_6_does_is_known() {
    has_its_purpose("ghc-9.6", Language::Haskell, |kind| !IN_THE_KERNEL.contains(&kind));
}

/// What ephemerons and large blocks evict from the caches slows down the rest of a cycle, by up to a fifteenth
/// of their work on a machine with small caches: theirs is judged where nothing else runs.
#[test]
fn what_ocaml_5_4_does_is_known() {
    has_its_purpose("ghc-9.10", Language::Ocaml, |kind| {
        !["ephemerons", "large"].contains(&kind) && !IN_THE_KERNEL.contains(&kind)
    });
}

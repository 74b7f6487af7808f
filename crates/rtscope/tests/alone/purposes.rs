//! On programs of which it is known what the runtime works for, samples say it: one compiler of each language. The others,
//! and work that the kernel does, which its ticks count too coarsely for a short run, are among the tests that take long.

use testkit::known_work::has_its_purpose;
use xtask::workload::Language;

const IN_THE_KERNEL: [&str; 3] = ["copy", "touch", "retouch"];

#[test]
fn what_ghc_9_6_does_is_known() {
    has_its_purpose("ghc-9.6", Language::Haskell, |kind| !IN_THE_KERNEL.contains(&kind));
}

/// What ephemerons and large blocks evict from the caches makes the rest of a cycle slower, by up to a fifteenth of their
/// work on a machine with small caches: theirs is judged where nothing else is at work.
#[test]
fn what_ocaml_5_4_does_is_known() {
    has_its_purpose("ghc-9.10", Language::Ocaml, |kind| {
        !["ephemerons", "large"].contains(&kind) && !IN_THE_KERNEL.contains(&kind)
    });
}

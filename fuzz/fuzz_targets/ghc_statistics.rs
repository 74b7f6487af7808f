//! See `fuzz/checks/ghc_statistics.rs`, which tests of the decoders replay too.
#![no_main]

#[path = "../checks/ghc_statistics.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| checks::check(bytes));

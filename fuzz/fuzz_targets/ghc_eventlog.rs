//! See `fuzz/checks/ghc_eventlog.rs`, which tests of the decoders replay too.
#![no_main]

#[path = "../checks/ghc_eventlog.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| checks::check(bytes));

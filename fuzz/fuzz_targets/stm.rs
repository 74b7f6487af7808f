//! See `fuzz/checks/stm.rs`, which tests of the decoders replay too.
#![no_main]

#[path = "../checks/stm.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| checks::check(bytes));

//! See `fuzz/checks/levels.rs`, which tests of the crate replay too.
#![no_main]

#[path = "../checks/levels.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| checks::check(bytes));

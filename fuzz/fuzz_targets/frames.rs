//! See `fuzz/checks/frames.rs`, which tests of the decoders replay too.
#![no_main]

#[path = "../checks/frames.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| checks::check(bytes));

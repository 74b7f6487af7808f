//! See `fuzz/checks/host_threads.rs`, which tests of the readers replay too.
#![no_main]

#[path = "../checks/host_threads.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| checks::check(bytes));

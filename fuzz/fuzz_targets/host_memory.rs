//! See `fuzz/checks/host_memory.rs`, which tests of the readers replay too.
#![no_main]

#[path = "../checks/host_memory.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| checks::check(bytes));

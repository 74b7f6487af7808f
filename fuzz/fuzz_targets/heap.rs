//! See `fuzz/checks/heap.rs`, which tests of the reader replay too.
#![no_main]

#[path = "../checks/heap.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| checks::check(bytes));

//! See `fuzz/checks/heap_snapshot.rs`, which tests of the decoders replay too.
#![no_main]

#[path = "../checks/heap_snapshot.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| checks::check(bytes));

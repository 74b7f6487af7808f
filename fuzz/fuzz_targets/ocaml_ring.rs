//! See `fuzz/checks/ocaml_ring.rs`, which tests of the decoders replay too.
#![no_main]

#[path = "../checks/ocaml_ring.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| checks::check(bytes));

//! Tests that only need the build. Owns the list of its files; `scripts/test` checks that none is left out.
#![forbid(unsafe_code)]

mod fuzz_seeds;
mod levels;

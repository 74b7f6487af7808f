//! Tests that only need the build. Owns the list of its files; `scripts/test` checks that none is left out.
#![forbid(unsafe_code)]

mod fxt_round_trip;

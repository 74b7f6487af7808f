//! Tests that take long. Owns the list of its files; `scripts/test` checks that none is left out.
#![forbid(unsafe_code)]

mod compiles;
mod domain_threads;
mod guests;
mod heap_snapshots;
mod hostile;
mod kills;
mod purposes;
mod starts;
mod stm_invariants;
mod workloads;
